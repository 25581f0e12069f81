//! From rules to wishes.

use substrate_core::wish::{Cause, Insists};
use substrate_core::{Cx, Event, FeatureError, Wish};

use super::rule::Rule;

pub(super) fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let tool = event.tool().map(|call| call.name.as_str());
    let rules = cx.settings.texts("probe.rules");
    rules
        .iter()
        .filter_map(|line| Rule::read(line))
        .filter(|rule| rule.is_about(&event.name, tool))
        .map(wish)
        .collect()
}

fn wish(rule: Rule<'_>) -> Result<Wish, FeatureError> {
    let text = rule.text.to_owned();
    Ok(match rule.wish {
        "context" => Wish::context(text, Some("substrate config".to_owned())),
        "deny" => Wish::Deny {
            rule: "probe.rules".to_owned(),
            reason: text,
            next: "Take the rule out of `config.toml`; `substrate config` shows where it is."
                .to_owned(),
        },
        "ask" => Wish::Ask { rule: "probe.rules".to_owned(), reason: text },
        "block" => Wish::block(Cause::Rule, text, Insists::Always),
        "block-once" => Wish::block(Cause::Rule, text, Insists::Once),
        "notice" => Wish::Notice { text },
        "export" => {
            let (name, value) = rule.text.split_once('=').unwrap_or((rule.text, ""));
            Wish::Export { name: name.to_owned(), value: value.to_owned() }
        }
        "panic" => panic!("probe.rules asked for it: {}", rule.text),
        other => {
            return Err(FeatureError::Other(format!(
                "probe.rules: no wish is called `{other}` ({})",
                rule.text
            )));
        }
    })
}
