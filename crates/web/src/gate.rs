//! Who may come in. Every request passes here first, streams and files included.

use axum::http::{HeaderMap, HeaderName, Method, Uri, header};

use crate::keys::KeyInfo;
use crate::site::{Refusal, Site};

/// The name of the cookie. Cookies are shared between the ports of a host, so the port is in it.
pub(crate) fn cookie_name(port: &str) -> String {
    format!("substrate-{port}")
}

const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// The longest path with its query.
const MAX_TARGET: usize = 4_096;

/// Checks everything that needs no key. Returns our own name as the browser knows it.
pub(crate) fn admit<'a>(
    site: &'a Site,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<&'a str, Refusal> {
    let host = our_host(site, uri, headers)?;
    if uri.path_and_query().is_none_or(|target| target.as_str().len() > MAX_TARGET) {
        return Err(Refusal::new(414, "the address is too long"));
    }
    // Nothing of ours has another character in its path, so nothing has to be decoded or resolved.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let path = uri.path();
    if !path.chars().all(is_plain) || path.contains("..") || path.contains("//") {
        return Err(Refusal::new(400, "the path has characters that no page of ours has"));
    }
    match *method {
        Method::GET | Method::HEAD => reads(headers)?,
        Method::POST => writes(host, headers)?,
        _ => return Err(Refusal::new(405, "only GET, HEAD and POST are answered")),
    }
    Ok(host)
}

/// Exactly one of our names: a name that someone else's DNS points at us is not.
fn our_host<'a>(site: &'a Site, uri: &Uri, headers: &HeaderMap) -> Result<&'a str, Refusal> {
    let wrong = || Refusal::new(421, "this address is not the dashboard's");
    let mut given = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (given.next(), given.next()) else { return Err(wrong()) };
    let host = host.to_str().map_err(|_| wrong())?;
    // A proxy's form of a request names a host as well.
    if uri.authority().is_some_and(|authority| authority.as_str() != host) {
        return Err(wrong());
    }
    site.hosts.iter().find(|ours| *ours == host).map(String::as_str).ok_or_else(wrong)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Another site may link to us, and nothing more.
fn reads(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_ours = matches!(text(headers, &SITE), None | Some("same-origin" | "none"));
    if is_ours || text(headers, &MODE) == Some("navigate") {
        return Ok(());
    }
    Err(Refusal::new(403, "another site asked for this"))
}

fn writes(host: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let foreign = || Refusal::new(403, "another site sent this");
    let origin = text(headers, &header::ORIGIN);
    let is_ours = |origin: &str| origin.strip_prefix("http://") == Some(host);
    let fits = match (text(headers, &SITE), origin) {
        // Our pages send no referrer, so a browser hides the origin of their forms as well. A page in a sandbox hides its
        // own too, but is another site.
        (Some("same-origin"), None | Some("null")) | (Some("none"), None) => true,
        (Some("same-origin" | "none") | None, Some(origin)) => is_ours(origin),
        _ => false,
    };
    if !fits {
        return Err(foreign());
    }
    match content_type(headers) {
        Some("application/json" | "application/x-www-form-urlencoded") => Ok(()),
        _ => Err(Refusal::new(415, "only forms and JSON are taken")),
    }
}

/// Without parameters such as a charset.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    text(headers, &header::CONTENT_TYPE)?.split(';').next().map(str::trim)
}

/// A browser that only prefetches, or a program that previews links, must not use up a key.
pub(crate) fn is_a_look_ahead(method: &Method, headers: &HeaderMap) -> bool {
    *method != Method::GET || headers.contains_key(PURPOSE)
}

/// Whose request it is.
pub(crate) fn signed_in(site: &Site, host: &str, headers: &HeaderMap) -> Result<KeyInfo, Refusal> {
    let name = cookie_name(host.rsplit(':').next().unwrap_or_default());
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies =
        values.flat_map(|value| value.split(';')).filter_map(|one| one.split_once('='));
    let given = cookies.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim());
    let holder = given.and_then(|given| site.holder(given));
    holder.ok_or_else(|| {
        Refusal::new(401, "this browser has no key, or its key was withdrawn or has expired")
            .hint("run `substrate ui` in a terminal, and open the address that it prints")
    })
}

/// For what writes.
pub(crate) fn may_act(holder: &KeyInfo) -> Result<(), Refusal> {
    if holder.may_act {
        return Ok(());
    }
    Err(Refusal::new(403, "this device may only look")
        .hint("`substrate ui pair --may-act` makes a key that may also act"))
}
