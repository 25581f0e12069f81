//! Answers, and the headers that all of them carry.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::json;

use crate::layout;
use crate::site::Refusal;

/// What a page may load and do: only what we sent, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const ALWAYS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Adds the headers that every answer has.
pub(crate) fn guard(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.insert(*name, HeaderValue::from_static(value));
    }
}

pub(crate) fn answer(status: u16, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn html(status: u16, body: String) -> Response<Body> {
    answer(status, "text/html; charset=utf-8", body)
}

pub(crate) fn json(status: u16, body: String) -> Response<Body> {
    answer(status, "application/json", body + "\n")
}

/// Goes elsewhere with a GET.
pub(crate) fn see_other(place: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place = HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, place);
    response
}

/// Why nothing was done, in the form that was asked for.
pub(crate) fn refused(refusal: &Refusal, as_json: bool, back: &str) -> Response<Body> {
    if as_json {
        let hints: Vec<&String> = refusal.hints.iter().filter(|hint| !hint.is_empty()).collect();
        return json(refusal.status, json!({"error": refusal.message, "hints": hints}).to_string());
    }
    html(refusal.status, layout::problem(refusal, back))
}
