//! A settings file with hooks in groups, `{"hooks":{EVENT:[{"hooks":[…]}]}}`: several clients keep such a file, and each
//! says what is particular about its own ([`Flavour`]).
//!
//! Everything is a function from text to text. Invariants, each with a test over a client's `corpus/`: an edit inserts or
//! cuts whole entries of our own and copies every other byte; `remove` undoes `add` byte for byte; what the client would
//! drop is not written into.

pub(crate) mod add;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod findings;
pub(crate) mod layout;
pub(crate) mod ours;
pub(crate) mod remove;
pub(crate) mod render;
pub(crate) mod schema;

use crate::install::SettingsFormat;
use ours::Ours;
use schema::Schema;

/// What is particular about one client's file.
pub(crate) trait Flavour {
    const OURS: Ours<'static>;
    const SCHEMA: Schema;
    /// The key that switches every hook off, if there is one at the top of the file.
    const HOOKS_OFF: Option<&'static str>;
}

/// The format of that client's file.
pub(crate) const fn format<F: Flavour>() -> SettingsFormat {
    SettingsFormat {
        add: |text, wanted| add::add(text, wanted, &F::OURS, &F::SCHEMA),
        remove: |text, rules| remove::remove(text, rules, &F::OURS, F::SCHEMA.new),
        without_status_line: remove::without_status_line,
        registered: |text| ours::registered(text, &F::OURS),
        findings: |text| findings::findings(text, &F::SCHEMA),
        rules: findings::rules,
        hooks_off: |text| F::HOOKS_OFF.filter(|key| findings::is_on(text, key)),
    }
}
