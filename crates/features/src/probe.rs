//! A feature for tests: it wishes what its settings say, such as `PreToolUse Bash deny: not here` or `Stop fail: x`.

use std::sync::LazyLock;

use substrate_core::settings::{Key, Kind, ProjectMay};
use substrate_core::wish::{Cause, Insists};
use substrate_core::{Cx, Event, Feature, FeatureError, Wish};

static FEATURE: Feature = Feature {
    name: "probe",
    keys: &[Key {
        name: "probe.rules",
        kind: Kind::Texts,
        default: "[]",
        about: "`EVENT [TOOL] WISH: TEXT`",
        project: ProjectMay::Nothing,
        profiles: &[],
    }],
    consider: Some(consider),
    ..Feature::NOTHING
};

static WITH_ALL: LazyLock<Vec<&Feature>> =
    LazyLock::new(|| std::iter::once(&FEATURE).chain(crate::ALL.iter().copied()).collect());

/// Every feature, and this one before them.
pub(crate) fn with_all() -> &'static [&'static Feature] {
    &WITH_ALL
}

/// Every setting, and this feature's.
pub(crate) fn keys() -> Vec<&'static Key> {
    crate::keys().into_iter().chain(FEATURE.keys).collect()
}

fn consider(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, FeatureError> {
    let tool = event.tool().map(|call| call.name.as_str());
    let mut out = Vec::new();
    for rule in cx.settings.texts("probe.rules") {
        let (head, text) = rule.split_once(": ").expect("a rule has a text");
        let (name, of, wanted) = match head.split(' ').collect::<Vec<_>>()[..] {
            [name, wanted] => (name, None, wanted),
            [name, of, wanted] => (name, Some(of), wanted),
            _ => panic!("a rule has an event, maybe a tool, and a wish: {rule}"),
        };
        if name == event.name && of.is_none_or(|of| tool == Some(of)) {
            out.push(wish(wanted, text)?);
        }
    }
    Ok(out)
}

fn wish(wanted: &str, text: &str) -> Result<Wish, FeatureError> {
    let (rule, reason) = ("probe.rules".to_owned(), text.to_owned());
    Ok(match wanted {
        "context" => Wish::context(reason, Some("substrate config".to_owned())),
        "deny" => Wish::Deny { rule, reason, next: "Take the rule out.".to_owned() },
        "block" => Wish::block(Cause::Rule, reason, Insists::Always),
        "panic" => panic!("{text}"),
        "fail" => return Err(FeatureError::Other(reason)),
        other => panic!("no wish is called `{other}`"),
    })
}
