//! What other features may ask about rules.

use serde::Serialize;
use substrate_core::{Cx, DbError, Settings};

use super::{ops, rule_set};

/// The rule behind a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RuleNote {
    pub(crate) name: String,
    /// The pack of a built-in rule, or the file and line where the rule was written.
    pub(crate) origin: String,
    pub(crate) action: String,
    /// The safer way that the rule names.
    pub(crate) safer: String,
}

/// The rule behind a refusal of an agent in that folder, as it stands now, or as it stood when it spoke.
pub(crate) fn rule_behind(
    cx: &mut Cx<'_>,
    told: &str,
    cwd: &str,
) -> Result<Option<RuleNote>, DbError> {
    let Some(named) = rule_of(cx.settings, told) else { return Ok(None) };
    if !named.action.is_empty() {
        return Ok(Some(named));
    }
    let stood = ops::stood(cx.db, &named.name, cwd)?;
    Ok(Some(stood.unwrap_or(named)))
}

/// The rule that a refusal names, or whose reason it gives. Of a rule of a project or a skill only its name is known here.
pub(crate) fn rule_of(settings: &Settings, told: &str) -> Option<RuleNote> {
    let named = told.split_once("[guards.").map(|(_, rest)| {
        let end = rest.find([',', ']']).unwrap_or(rest.len());
        &rest[..end]
    });
    let set = rule_set::of(settings);
    let is_it = |entry: &&rule_set::LoadedRule| match named {
        Some(name) => entry.name() == name,
        None => !entry.rule.reason.is_empty() && told.contains(&entry.rule.reason),
    };
    if let Some(entry) = set.entries.iter().find(is_it) {
        return Some(entry.note());
    }
    named.map(|name| RuleNote {
        name: name.to_owned(),
        origin: "a project or a skill".to_owned(),
        action: String::new(),
        safer: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use substrate_core::settings::{Layer, Scope};

    use super::*;

    #[test]
    fn a_refusal_names_its_rule_and_where_it_stands() {
        let keys = crate::keys();
        let toml = "[[guards.rules]]\nname = \"deploys\"\naction = \"ask\"\nwhen = 'true'\nreason = \"Deploys are yours.\"\nnext = \"Ask first.\"\n";
        let settings =
            Settings::resolve(&keys, &[&Layer::read(Scope::User, "my.toml", toml, &keys)]);
        let note = |told: &str| rule_of(&settings, told);
        let own = note("Deploys are yours. Ask first.").unwrap();
        assert_eq!((own.name.as_str(), own.safer.as_str()), ("deploys", "Ask first."));
        assert!(own.origin.contains("my.toml"), "{own:?}");
        assert_eq!(note("No. [guards.deploys] Ask.").unwrap().name, "deploys");
        let theirs = note("No. [guards.odd, a rule of this project] Ask.").unwrap();
        assert_eq!((theirs.name.as_str(), theirs.action.as_str()), ("odd", ""));
        assert_eq!(note("CalmOtter holds src/lib.rs"), None);
    }
}
