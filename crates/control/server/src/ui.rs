//! The dashboard at `/ui/`: files that `make ui` builds from the folder `ui` at the root and that are part of the
//! program.
//!
//! The page uses the REST interface with the token that its user enters; this module is independent of contracts.

use axum::body::Body;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
};
use http::{HeaderMap, StatusCode};

/// Names and contents, made with the files.
static FILES: &[(&str, &[u8])] = include!("../ui/files.in");

/// The page itself: it names the other files, whose names change with their contents.
const INDEX: &str = "index.html";

/// Scripts and styles of this server only, no frame around it, and requests to this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Path of the dashboard.
pub(crate) const ROOT: &str = "/ui/";

/// The file behind `/ui/`; the page for nothing.
pub(crate) fn file(path: &str) -> Option<Response> {
    let path = if path.is_empty() { INDEX } else { path };
    let (name, content) = FILES.iter().find(|(name, _)| *name == path)?;
    let mut response = Response::new(Body::from(*content));
    let headers = response.headers_mut();
    put(headers, CONTENT_TYPE, media(name));
    // Files with a hash in their names never change; the page names the current ones.
    let is_page = *name == INDEX;
    put(headers, CACHE_CONTROL, if is_page { "no-store" } else { "public, max-age=31536000, immutable" });
    put(headers, CONTENT_SECURITY_POLICY, POLICY);
    put(headers, REFERRER_POLICY, "no-referrer");
    Some(response)
}

/// From `/ui` to `/ui/`, to which the names of files in the page are relative.
pub(crate) fn redirect() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    put(response.headers_mut(), LOCATION, ROOT);
    response
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
