//! From a request to its handler: authentication, access, body; and back.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HOST, HeaderName, HeaderValue, LOCATION, ORIGIN,
    RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use subtle::ConstantTimeEq;
use wayleave_controller::{DEFAULT_TENANT, Principal};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::status::ClusterRole;

use crate::access::{RouteAccess, tenant_of};
use crate::account::{Account, CountedBytes, ExceededLimit};
use crate::answer::{HttpReply, invalid, problem};
use crate::audit::{Note, is_noted};
use crate::clock::wall;
use crate::cluster_role::old_name;
use crate::http::call::{AuthorizedRequest, object_of};
use crate::http::connection_limit::RequestGuard;
use crate::http::operation::Verb;
use crate::http::peer::{self, Peer};
use crate::http::query::Query;
use crate::http::route::{Handler, Reply, Row};
use crate::http::routes::ROWS;
use crate::metrics::Limit;
use crate::queue::Message;
use crate::read_view::Holder;
use crate::secret;
use crate::state::Shared;
use crate::ui;

/// Role of a controller in its cluster: `leader`, `follower` or `unknown`.
const ROLE: HeaderName = HeaderName::from_static("x-wayleave-role");
/// The role as `leads`, `follows` or `unknown`. Deprecated; sent for one release beside [`ROLE`].
const STANDING: HeaderName = HeaderName::from_static("x-wayleave-standing");
/// Number of the last commit that a controller of a cluster shows.
const COMMIT: HeaderName = HeaderName::from_static("x-wayleave-commit");
/// Epoch: each leader has a later one. Absent where a controller does not know its role.
const EPOCH: HeaderName = HeaderName::from_static("x-wayleave-epoch");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Minimum size charged for a request with a body: it has buffers besides.
const MIN_BYTES: usize = 64 << 10;

/// Monitoring routes: answered even when others are not, and while the ledger cannot be written.
const WATCHING: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/v1/status"];

/// Marks a request of this process: no request that comes over a socket can have it.
#[derive(Clone)]
pub(crate) struct InternalRequest(pub(crate) Arc<Holder>);

/// Everything that can be asked.
pub(crate) fn router(shared: &Arc<Shared>) -> Router {
    router_of(pages(shared), shared, ROWS.iter())
}

/// The dashboard, which is no part of the REST interface.
fn pages(shared: &Arc<Shared>) -> Router {
    let shared = shared.clone();
    let page = move |request: Request| {
        let shared = shared.clone();
        async move { page(&shared, &request) }
    };
    let routes = ["/ui", ui::ROOT, "/ui/{*file}"];
    routes.into_iter().fold(Router::new(), |router, path| router.route(path, on(MethodFilter::GET, page.clone())))
}

/// Returns a file of the dashboard. It needs no token: every copy of this program contains the file.
fn page(shared: &Shared, request: &Request) -> Response {
    let (began, id) = (Instant::now(), request_id());
    let is_reserved =
        request.extensions().get::<Arc<RequestGuard>>().is_some_and(|request_guard| request_guard.is_reserved);
    let mut response = match request.uri().path().strip_prefix(ui::ROOT) {
        _ if is_reserved => {
            shared.metrics.limited(Limit::Connections);
            let detail = "connection limit reached: retry later, or raise --connections";
            respond(HttpReply::from(problem(Code::Unavailable, detail)).into(), &id)
        }
        None => ui::redirect(),
        Some(path) => ui::file(path).unwrap_or_else(|| {
            let detail = format!("no file {}: the dashboard is at {}", shorten(path), ui::ROOT);
            respond(HttpReply::from(problem(Code::NotFound, detail)).into(), &id)
        }),
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    put(headers, REQUEST_ID, &id);
    finish(shared, "/ui/{file}", "GET", "nobody", &id, began, response)
}

/// The answer to a request for `/healthz`.
pub(crate) async fn healthz(shared: &Arc<Shared>, request: Request) -> Option<Response> {
    let row = ROWS.iter().find(|row| matches!(row.handler, Handler::Alone(_)))?;
    Some(serve(shared.clone(), row, None, request).await)
}

/// Returns a router for the monitoring routes, for a separate address.
pub(crate) fn watching(shared: &Arc<Shared>) -> Router {
    router_of(Router::new(), shared, ROWS.iter().filter(|row| WATCHING.contains(&row.path)))
}

/// Adds routes for these rows to a router.
fn router_of(mut router: Router, shared: &Arc<Shared>, rows: impl Iterator<Item = &'static Row>) -> Router {
    for row in rows {
        let filter = match row.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Put => MethodFilter::PUT,
            Verb::Delete => MethodFilter::DELETE,
        };
        let shared = shared.clone();
        let handler = move |path: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let shared = shared.clone();
            async move { serve(shared, row, Some(path), request).await }
        };
        router = router.route(row.path, on(filter, handler));
    }
    let (unknown, wrong) = (shared.clone(), shared.clone());
    router
        .fallback(move |request: Request| async move {
            let detail = format!(
                "no resource at {}: /docs lists all paths, /ui is the dashboard",
                shorten(request.uri().path())
            );
            outside(&unknown, problem(Code::NotFound, detail))
        })
        .method_not_allowed_fallback(move |request: Request| async move {
            let detail = format!("method {} is not allowed here: see the Allow header", request.method());
            outside(&wrong, problem(Code::MethodNotAllowed, detail))
        })
}

fn shorten(path: &str) -> String {
    path.chars().take(200).collect()
}

/// Returns an answer to a request that matches no row.
fn outside(shared: &Shared, problem: Box<Problem>) -> Response {
    let began = Instant::now();
    let id = request_id();
    // The method may be any text: it is not counted under its name.
    finish(shared, "other", "other", "nobody", &id, began, respond(HttpReply::from(problem).into(), &id))
}

/// Returns an identifier for the answer, the log and the audit. It is a keyed hash, so that a client cannot count the
/// requests of others.
fn request_id() -> String {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{:016x}", KEY.hash_one(NEXT.fetch_add(1, Ordering::Relaxed)))
}

async fn serve(
    shared: Arc<Shared>,
    row: &'static Row,
    path: Option<Result<RawPathParams, RawPathParamsRejection>>,
    request: Request,
) -> Response {
    let (began, id) = (Instant::now(), request_id());
    // In hand until it is answered.
    let request_guard = request.extensions().get::<Arc<RequestGuard>>().cloned();
    let mut asker =
        Asker { from: request_guard.as_ref().map(|request_guard| request_guard.address), ..Asker::default() };
    // Answers of `Alone` handlers wait for no lock of the view.
    let before = if matches!(row.handler, Handler::Alone(_)) { None } else { shared.cluster_state() };
    let reply = match admit(&shared, row, path, request, &id, &mut asker).await {
        // Its bytes are counted until it is answered.
        Ok((call, _held)) => row.handler.handle(shared.clone(), call).await,
        Err(problem) => Err(problem),
    };
    let reply = reply.unwrap_or_else(|problem| HttpReply::from(problem).into());
    let role = asker.who.as_ref().map_or("nobody", |who| role_name(&who.role));
    if let Reply::Whole(answer) = &reply {
        asker.refused(&shared, row, answer, &id);
    }
    let mut response = respond(reply, &id);
    if let Some(before) = before {
        // Records read before this controller became the leader are those of a follower.
        let lasts = shared.cluster_state().is_some_and(|now| before.lasts_until(&now));
        let cluster_role = if lasts { before.role } else { ClusterRole::Unknown };
        let headers = response.headers_mut();
        put(headers, ROLE, cluster_role.name());
        put(headers, STANDING, old_name(cluster_role));
        put(headers, COMMIT, &before.commit.to_string());
        if lasts {
            put(headers, EPOCH, &before.generation.to_string());
        }
    }
    finish(&shared, row.path, row.verb.name(), role, &id, began, response)
}

/// Identity of the client, as far as it is known.
#[derive(Default)]
struct Asker {
    from: Option<IpAddr>,
    who: Option<Arc<Holder>>,
    /// The first parameter of the address.
    object: String,
    is_dry_run: bool,
}

impl Asker {
    /// Writes down what was refused: every token that was not good for something, and every change that was not made.
    fn refused(self, shared: &Shared, row: &Row, answer: &HttpReply, id: &str) {
        let is_of_credentials = matches!(answer.status, 401 | 403);
        let is_of_change = is_noted(row.verb, row.name) && !self.is_dry_run;
        if answer.status < 400 || !(is_of_credentials || is_of_change) {
            return;
        }
        let tenant = self.who.as_ref().map(|who| tenant_of(&who.role).unwrap_or(DEFAULT_TENANT));
        let object = tenant.map_or_else(|| self.object.clone(), |tenant| object_of(row.name, &self.object, tenant));
        let note = Note::new(self.who.as_deref(), self.from, row.name, &object, id);
        let note = note.answered(wall(), answer.status, answer.detail.as_deref().unwrap_or_default());
        if shared.refusals.add(note) {
            shared.jobs.send(Message::Progress);
        }
    }
}

fn finish(
    shared: &Shared,
    route: &'static str,
    method: &'static str,
    role: &'static str,
    id: &str,
    began: Instant,
    response: Response,
) -> Response {
    let (status, time) = (response.status().as_u16(), began.elapsed());
    shared.metrics.answered(route, method, status, time);
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    tracing::info!(method, route, status, micros, role, request = id, "request");
    response
}

fn role_name(role: &Principal) -> &'static str {
    match role {
        Principal::Operator => "operator",
        Principal::Tenant { .. } => "tenant",
        Principal::Agent { .. } => "agent",
        Principal::Reader { .. } => "reader",
    }
}

/// Checks that the request is permitted, and reads all its parts.
async fn admit(
    shared: &Shared,
    row: &'static Row,
    path: Option<Result<RawPathParams, RawPathParamsRejection>>,
    request: Request,
    id: &str,
    asker: &mut Asker,
) -> Result<(AuthorizedRequest, Option<CountedBytes>), Box<Problem>> {
    let (parts, body) = request.into_parts();
    let path = path.transpose().map_err(|error| invalid("path", error.to_string()));
    let path = path.map(|path| path.iter().flatten().map(|(_, value)| value.to_owned()).collect::<Vec<_>>());
    asker.object = path.iter().flatten().next().cloned().unwrap_or_default();
    let (who, certificate) =
        if row.access == RouteAccess::Open { (None, None) } else { shared.as_known(credentials(shared, &parts))? };
    asker.who.clone_from(&who);
    let request_guard = parts.extensions.get::<Arc<RequestGuard>>().cloned();
    let is_watched = WATCHING.contains(&row.path);
    let is_operator = who.as_ref().is_some_and(|who| who.role == Principal::Operator);
    if request_guard.as_ref().is_some_and(|request_guard| request_guard.is_reserved) && !is_operator && !is_watched {
        shared.metrics.limited(Limit::Connections);
        return Err(problem(Code::Unavailable, "connection limit reached: retry later, or raise --connections"));
    }
    if let Some(who) = &who {
        if !row.access.allows(&who.role) {
            let role = role_name(&who.role);
            let detail = format!("allowed for {}, but this token has the role {role}", row.access.description());
            return Err(problem(Code::Forbidden, detail));
        }
        shared.limits.take(who).inspect_err(|_| shared.metrics.limited(Limit::Requests))?;
        if !is_watched {
            shared.check_health(row.verb == Verb::Get && row.access != RouteAccess::Agent, &who.role)?;
            if row.needs_reports {
                shared.check_reports()?;
            }
        }
    }
    let path = path?;
    let query = Query::read(parts.uri.query().unwrap_or_default(), row.query)?;
    asker.is_dry_run = query.flag("dryRun");
    let (body, held) = read_body(shared, row, &parts.headers, body, who.as_deref()).await?;
    let uri = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let headers = parts.headers;
    Ok((
        AuthorizedRequest {
            verb: row.verb,
            operation: row.name,
            who,
            certificate,
            path,
            query,
            uri,
            headers,
            body,
            request_guard,
            request: id.to_owned(),
        },
        held,
    ))
}

/// Identity of the client, and its certificate, if it used one.
type Credentials = (Option<Arc<Holder>>, Option<Arc<Peer>>);

/// Returns the holder of the request's token; without a token, the holder of the connection's certificate.
fn credentials(shared: &Shared, parts: &Parts) -> Result<Credentials, Box<Problem>> {
    if let Some(InternalRequest(who)) = parts.extensions.get() {
        return Ok((Some(who.clone()), None));
    }
    if let Some(value) = parts.headers.get(AUTHORIZATION) {
        return Ok((Some(holder(shared, value)?), None));
    }
    let Some(peer) = parts.extensions.get::<Arc<Peer>>() else {
        return Err(problem(Code::Unauthorized, "no token: send the header `Authorization: Bearer wl_...`"));
    };
    check_origin(&parts.headers)?;
    Ok((Some(certified(shared, peer)?), Some(peer.clone())))
}

/// Refuses requests from pages of other origins: a browser presents its certificate for any page.
fn check_origin(headers: &HeaderMap) -> Result<(), Box<Problem>> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let from = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    if from.is_some() && from == headers.get(HOST).and_then(|host| host.to_str().ok()) {
        return Ok(());
    }
    Err(problem(
        Code::Forbidden,
        "certificates are not accepted from pages of other servers (the Origin header): send a token",
    ))
}

/// The holder of the token that was made for a certificate.
fn certified(shared: &Shared, peer: &Peer) -> Result<Arc<Holder>, Box<Problem>> {
    let names = peer.names()?;
    let mut known: Vec<Arc<Holder>> = {
        let tables = shared.view.read();
        names.iter().filter_map(|name| tables.holders.get(&peer::hash(name)).cloned()).collect()
    };
    known.dedup_by(|one, other| one.id == other.id);
    match (known.pop(), known.pop()) {
        (Some(who), None) => unexpired(who),
        (Some(one), Some(other)) => {
            let detail = format!("the certificate matches several tokens: {}, {}", one.id, other.id);
            Err(problem(Code::Unauthorized, detail))
        }
        (None, _) => {
            let names = if names.is_empty() { "none".to_owned() } else { shorten(&names.join(", ")) };
            let detail = format!("no token matches the names of the certificate (URI, DNS): {names}");
            Err(problem(Code::Unauthorized, detail))
        }
    }
}

/// Returns the holder of the secret in this header.
fn holder(shared: &Shared, value: &HeaderValue) -> Result<Arc<Holder>, Box<Problem>> {
    let text = value.to_str().unwrap_or_default();
    let (scheme, secret) = text.split_once(' ').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(problem(Code::Unauthorized, "expected `Authorization: Bearer wl_...`"));
    }
    let hash = secret::hash(secret.trim());
    let known = shared.view.read().holders.get(&hash).cloned();
    let known = known.filter(|holder| bool::from(holder.hash.ct_eq(&hash)));
    let known = known.ok_or_else(|| problem(Code::Unauthorized, "unknown token: it may have been deleted"))?;
    unexpired(known)
}

fn unexpired(known: Arc<Holder>) -> Result<Arc<Holder>, Box<Problem>> {
    match known.expires.filter(|&expires| expires <= wall()) {
        Some(expires) => Err(problem(Code::Unauthorized, format!("the token has expired at {expires}"))),
        None => Ok(known),
    }
}

/// Reads the body; returns also the guard that counts its bytes.
async fn read_body(
    shared: &Shared,
    row: &Row,
    headers: &HeaderMap,
    body: Body,
    who: Option<&Holder>,
) -> Result<(Bytes, Option<CountedBytes>), Box<Problem>> {
    let most = match row.body {
        Some(body) if body.is_large => shared.limits.list_bytes,
        Some(_) => shared.limits.body_bytes,
        None => 0,
    };
    let too_large = || problem(Code::TooLarge, format!("the body is larger than {most} B"));
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if row.body.is_some() && announced.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let Some(expected) = row.body else { return Ok((Bytes::new(), None)) };
    check_media(headers, expected.is_yaml)?;
    // A body without an announced length may have the maximum length.
    let bytes = announced.and_then(|length| usize::try_from(length).ok()).unwrap_or(most).max(MIN_BYTES);
    let held = who.map(|who| hold(shared, who, bytes)).transpose()?;
    let collected = tokio::time::timeout(shared.limits.read_within, Limited::new(body, most).collect()).await;
    match collected {
        Ok(Ok(body)) => Ok((body.to_bytes(), held)),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(invalid("body", "the body ended too early")),
        Err(_) => Err(problem(Code::TimedOut, "the body did not come in time")),
    }
}

/// Counts the bytes of a body before they come.
fn hold(shared: &Shared, who: &Holder, bytes: usize) -> Result<CountedBytes, Box<Problem>> {
    let (account, most) = (Account::of(&who.role), shared.limits.open_bytes);
    shared.open_bytes.take(&account, bytes, most).map_err(|beyond| {
        shared.metrics.limited(Limit::OpenBytes);
        match beyond {
            ExceededLimit::Account => {
                let detail = format!("requests of {account} in progress use all of their memory: retry");
                problem(Code::RateLimited, detail)
            }
            ExceededLimit::All => problem(Code::Unavailable, "requests in progress use too much memory: retry"),
        }
    })
}

/// Checks for JSON, or YAML where that is read. A missing media type is accepted.
fn check_media(headers: &HeaderMap, is_yaml: bool) -> Result<(), Box<Problem>> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let media = text.split(';').next().unwrap_or_default().trim();
    let is_json = media == "application/json" || media.ends_with("+json");
    let yaml = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];
    if is_json || (is_yaml && yaml.contains(&media)) {
        return Ok(());
    }
    let expected = if is_yaml { "application/json or application/yaml" } else { "application/json" };
    Err(problem(Code::UnsupportedMediaType, format!("expected Content-Type: {expected}")))
}

fn respond(reply: Reply, id: &str) -> Response {
    let mut response = match reply {
        Reply::Whole(answer) => whole(answer),
        Reply::Stream(body) => {
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    put(headers, REQUEST_ID, id);
    response
}

fn whole(answer: HttpReply) -> Response {
    let HttpReply { status, etag, location, media, retry_after, body, .. } = answer;
    let has_body = !body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    }
    if let Some(revision) = etag {
        put(headers, ETAG, &format!("\"{revision}\""));
    }
    if let Some(location) = location {
        put(headers, LOCATION, &location);
    }
    if let Some(seconds) = retry_after {
        put(headers, RETRY_AFTER, &seconds.to_string());
    }
    if status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"wayleave\""));
    }
    if media.starts_with("text/html") {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
        headers.insert(http::header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    response
}

fn put(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}
