//! The page of the dashboard's own settings: notifications of this browser, the devices that may come in, and what the
//! user's settings say about both. Nothing is changed here but the browser's own choice.

use askama::Template;
use substrate_core::settings::{Kind, Value};
use substrate_core::time::Ago;
use substrate_core::{Cx, PageBody, html};

use crate::keys::{self, KeyInfo};
use crate::site::{Refusal, Site};

pub(crate) const PATH: &str = "/settings";

/// The settings that are shown begin so.
const SHOWN: [&str; 2] = ["notify.", "ui."];

#[derive(Template)]
#[template(path = "settings.html", escape = "none")]
struct SettingsPage {
    keys: Vec<KeyRow>,
    settings: Vec<(&'static str, String, String)>,
    may_act: bool,
}

struct KeyRow {
    id: i64,
    name: String,
    kind: &'static str,
    may: &'static str,
    used: String,
    expires: String,
    is_here: bool,
}

pub(crate) fn render(site: &Site, holder: &KeyInfo, cx: &Cx<'_>) -> Result<PageBody, Refusal> {
    let keys = site.keys().all(cx.now);
    let known: Vec<_> = site.host.features().iter().flat_map(|feature| feature.keys).collect();
    let kind_of = |name: &str| known.iter().find(|key| key.name == name).map(|key| key.kind);
    let shown = cx.settings.iter().filter(|(name, _)| SHOWN.iter().any(|it| name.starts_with(it)));
    let page = SettingsPage {
        keys: keys
            .iter()
            .map(|key| KeyRow {
                id: key.id,
                name: html::shown(&key.name),
                kind: match key.kind {
                    keys::Kind::Once => "an address that is not opened yet",
                    keys::Kind::Browser => "browser on this machine",
                    keys::Kind::Device => "device",
                },
                may: if key.may_act { "looks and acts" } else { "only looks" },
                used: format!("{} ago", Ago(cx.now.0 - key.used_ms)),
                expires: format!("in {}", Ago(key.expires_ms - cx.now.0)),
                is_here: key.id == holder.id,
            })
            .collect(),
        settings: shown
            .map(|(name, found)| {
                let value = written(&found.value, kind_of(name));
                let origin = found.origin.as_deref().unwrap_or("default");
                (name, html::shown(&value), html::shown(origin))
            })
            .collect(),
        may_act: holder.may_act,
    };
    let html = page.render().map_err(|error| Refusal::new(500, error.to_string()))?;
    Ok(PageBody { title: "Settings".to_owned(), html })
}

/// As a settings file writes it.
fn written(value: &Value, kind: Option<Kind>) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Int(number) => {
            kind.and_then(|kind| kind.written(*number)).unwrap_or_else(|| number.to_string())
        }
        Value::Word(text) | Value::Text(text) if text.is_empty() => "none".to_owned(),
        Value::Word(text) | Value::Text(text) => text.clone(),
        Value::Texts(texts) if texts.is_empty() => "none".to_owned(),
        Value::Texts(texts) => texts.join(", "),
        Value::Tables(tables) => format!("{} entries", tables.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_in_a_file() {
        assert_eq!(written(&Value::Bool(true), None), "true");
        assert_eq!(written(&Value::Int(8_000), None), "8000");
        assert_eq!(written(&Value::Text(String::new()), None), "none");
        assert_eq!(written(&Value::Texts(vec!["a".to_owned(), "b".to_owned()]), None), "a, b");
    }
}
