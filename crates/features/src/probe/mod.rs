//! Says what the settings tell it to say, so that a person (or a test) can see whether a client delivers it.
//!
//! It is silent until somebody writes a rule, and a project's files can't write one.

mod policy;
mod rule;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

pub(crate) const FEATURE: Feature = Feature {
    name: "probe",
    about: "Wishes what `probe.rules` says, to see what a client really delivers.",
    keys: &[Key {
        name: "probe.rules",
        kind: Kind::Texts,
        default: "[]",
        about: "Rules such as \"PreToolUse Bash deny: not here\" or \"Stop block: go on\". Wishes: context, deny, ask, block, notice, export; fail and panic try the containment.",
        project: ProjectMay::Nothing,
        profiles: &[],
    }],
    consider: Some(policy::consider),
    ..Feature::NOTHING
};
