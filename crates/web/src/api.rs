//! `/api/…`: what read verbs print as JSON. `/do/…`: forms that run a verb as the user.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use serde_json::Value;
use substrate_core::page::Nonces;
use substrate_core::{Access, Audience, Caller, Verb};

use crate::form::{Fields, NoFiles};
use crate::gate;
use crate::keys::KeyInfo;
use crate::respond::{json, see_other};
use crate::site::{Refusal, Site};

/// The longest form.
const MAX_BODY: usize = 256 << 10;

/// Answers `GET /api/<words>?<flags>` with exactly what `substrate <words> <flags> --format json` prints.
pub(crate) fn read(site: &Site, path: &str, query: &str) -> Result<Response<Body>, Refusal> {
    let verb = find(site, path)?;
    if verb.access != Access::Read {
        return Err(Refusal::new(405, format!("`{}` changes something", verb.path.join(" ")))
            .hint("post it as a form to `/do/…`"));
    }
    let (caller, body) = asked(site, verb, Fields::of_form(query))?;
    let output = site.host.read(verb, &caller, body)?;
    Ok(json(200, site.host.printed(&output.json)))
}

fn find(site: &Site, path: &str) -> Result<&'static Verb, Refusal> {
    let words: Vec<&str> = path.split('/').collect();
    site.verb(&words).ok_or_else(|| {
        Refusal::new(404, format!("there is no command `{}`", words.join(" ")))
            .hint("the reference lists them")
    })
}

/// Who asks, and for what. Two flags of every command come as fields as well.
fn asked(site: &Site, verb: &Verb, mut fields: Fields) -> Result<(Caller, Value), Refusal> {
    let mut caller = site.host.caller(fields.take("project-dir"));
    caller.agent = fields.take("agent");
    caller.agent_typed = caller.agent.is_some();
    let place = |path: &str| site.host.place(path);
    let body = fields.body(verb, &mut NoFiles { place: &place })?;
    Ok((caller, body))
}

/// Runs `POST /do/<words>` once, and goes back to the page of the form.
pub(crate) async fn act(
    site: Arc<Site>,
    holder: KeyInfo,
    request: Request<Body>,
) -> Result<Response<Body>, (Refusal, String)> {
    let at = |back: &str| {
        let back = back.to_owned();
        move |refusal: Refusal| (refusal, back)
    };
    gate::may_act(&holder).map_err(at("/"))?;
    let path = request.uri().path().trim_start_matches("/do/").to_owned();
    let verb = find(&site, &path).map_err(at("/"))?;
    let is_json = gate::content_type(request.headers()) == Some("application/json");
    let bytes = to_bytes(request.into_body(), MAX_BODY)
        .await
        .map_err(|_| at("/")(Refusal::new(413, "the form is too long, or did not come whole")))?;
    let fields = if is_json {
        Fields::of_json(&bytes)
    } else {
        std::str::from_utf8(&bytes).ok().map(Fields::of_form)
    };
    let unreadable = || Refusal::new(400, "the form can't be read");
    let mut fields = fields.ok_or_else(unreadable).map_err(at("/"))?;
    let back = back(&fields.take("_back").unwrap_or_default());
    let (row, nonce) =
        (fields.take("_row").unwrap_or_default(), fields.take("_nonce").unwrap_or_default());
    let secret = site.keys().secret.clone();
    if nonce != Nonces::new(&secret, holder.id).of(&verb.path.join(" "), &row) {
        let stale = Refusal::new(403, "this form is not from a page of this browser")
            .hint("load the page again");
        return Err(at(&back)(stale));
    }
    if verb.audience == Audience::Agent && fields.0.iter().all(|(name, _)| name != "agent") {
        return Err(at(&back)(Refusal::new(422, "this command is for agents")));
    }
    let (caller, body) = asked(&site, verb, fields).map_err(at(&back))?;
    if !site.spend(&nonce) {
        let done = Refusal::new(409, "this was sent before, and was done once");
        return Err(at(&back)(done));
    }
    let answered = site.host.act(verb, caller, body).await;
    let output = answered.unwrap_or_else(|_| Err(Refusal::new(503, "the daemon is ending")));
    let output = output.map_err(|refusal| {
        site.give_back(&nonce);
        at(&back)(refusal)
    })?;
    Ok(if is_json { json(200, site.host.printed(&output.json)) } else { see_other(&back) })
}

/// A page of ours to go back to.
fn back(given: &str) -> String {
    let is_ours = given.starts_with('/')
        && !given.starts_with("//")
        && given.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours { given.to_owned() } else { "/".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("/mail/42?x=y", "/mail/42?x=y")]
    #[case("//evil.example/", "/")]
    #[case("https://evil.example/", "/")]
    #[case("/\\evil.example", "/")]
    #[case("/a\r\nset-cookie: x", "/")]
    #[case("", "/")]
    fn it_goes_back_to_a_page_of_ours(#[case] given: &str, #[case] expected: &str) {
        assert_eq!(back(given), expected);
    }
}
