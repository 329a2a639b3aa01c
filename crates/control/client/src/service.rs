//! The operations of the interface, in its own types.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wayleave_protocol::List;

use super::address::Address;
use super::http::Http;
use super::path::encode;
use super::request_error::{self, RequestError};
use super::wire::{ClientRequest, ClientResponse, Method, OnEvent, Text, Wire};
use crate::error::Error;

const JSON: &str = "application/json";

/// A controller that is asked.
pub struct Service {
    wire: Box<dyn Wire>,
    /// Tenant of unqualified names, if given.
    tenant: Option<String>,
}

impl Service {
    /// Behind a wire; whose names are meant, if that is known.
    pub fn new(wire: Box<dyn Wire>, tenant: Option<String>) -> Self {
        Self { wire, tenant }
    }

    /// A server.
    ///
    /// # Errors
    /// If its certificates cannot be read.
    pub fn http(address: Address, tenant: Option<String>) -> Result<Self, Error> {
        Ok(Self::new(Box::new(Http::new(address)?), tenant))
    }

    /// Returns the human-readable location of the controller.
    pub fn place(&self) -> String {
        self.wire.place()
    }

    /// Returns `true` if it is a file in place of a server.
    pub fn is_local(&self) -> bool {
        self.wire.is_local()
    }

    /// Returns the tenant of unqualified names, if given.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// The name of a contract or VM as the interface has it.
    pub fn id(&self, name: &str) -> String {
        match &self.tenant {
            Some(tenant) if !name.contains(':') => format!("{tenant}:{name}"),
            _ => name.to_owned(),
        }
    }

    /// An object.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        let answer = self.ask(Method::Get, path, JSON, None)?;
        self.read(&answer.body)
    }

    /// A text of a media type.
    pub fn text(&self, path: &str, accept: &'static str) -> Result<String, RequestError> {
        let answer = self.ask(Method::Get, path, accept, None)?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    /// Returns a whole list, over all its pages; at most the given number of items.
    pub fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        filters: &[(&str, Option<&str>)],
        most: usize,
    ) -> Result<Vec<T>, RequestError> {
        const PAGE: usize = 1000;
        let mut items: Vec<T> = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let limit = PAGE.min(most - items.len()).max(1);
            let mut asked = format!("{path}?limit={limit}");
            for (name, value) in filters.iter().chain(&[("after", after.as_deref())]) {
                if let Some(value) = value {
                    asked += &format!("&{name}={}", encode(value));
                }
            }
            let List { items: page, next } = self.get::<List<T>>(&asked)?;
            items.extend(page);
            after = next;
            if after.is_none() || items.len() >= most {
                return Ok(items);
            }
        }
    }

    /// Sends an object; returns the status and the body of the answer.
    pub fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(u16, T), RequestError> {
        let text = serde_json::to_string(body)
            .map_err(|error| Error::Failed(format!("cannot encode the request as JSON: {error}")))?;
        self.send_text(method, path, Text { media: JSON, text })
    }

    /// Sends an object whose answer has no content.
    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<(), RequestError> {
        let text = serde_json::to_string(body)
            .map_err(|error| Error::Failed(format!("cannot encode the request as JSON: {error}")))?;
        self.ask(Method::Post, path, JSON, Some(Text { media: JSON, text })).map(|_| ())
    }

    /// Sends a document.
    pub fn send_text<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        text: Text,
    ) -> Result<(u16, T), RequestError> {
        let answer = self.ask(method, path, JSON, Some(text))?;
        Ok((answer.status, self.read(&answer.body)?))
    }

    /// Ends an object.
    pub fn delete(&self, path: &str) -> Result<(), RequestError> {
        self.ask(Method::Delete, path, JSON, None).map(|_| ())
    }

    /// Hands on events as they happen.
    pub fn watch(&self, after: Option<u64>, on_event: &mut OnEvent<'_>) -> Result<(), Error> {
        self.wire.watch(after, on_event)
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Option<Text>,
    ) -> Result<ClientResponse, RequestError> {
        // A secret is shown once, so an answer that has one is not kept for a second time. What agents send may arrive twice.
        let may_repeat = method == Method::Post && path != "/v1/tokens" && !path.starts_with("/v1/agents/");
        let key = may_repeat.then(crate::secret::key).transpose()?;
        let answer = self.wire.ask(&ClientRequest { method, path: path.to_owned(), accept, body, key })?;
        match answer.status {
            200..300 => Ok(answer),
            status => Err(request_error::of(status, &answer.body, answer.retry_after)),
        }
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, RequestError> {
        serde_json::from_slice(body).map_err(|error| request_error::unreadable(&self.place(), &error).into())
    }
}
