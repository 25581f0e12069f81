//! Looking up the facts that features need, before any transaction is open.

use std::io::Read as _;

use substrate_core::facts::Found;
use substrate_core::{Facts, Need};

/// Looks everything up; what fails is left out.
pub(crate) fn gather(needs: Vec<Need>) -> Facts {
    let mut facts = Facts::default();
    for need in needs {
        if let Some(found) = look_up(&need) {
            facts.insert(need, found);
        }
    }
    facts
}

fn look_up(need: &Need) -> Option<Found> {
    match need {
        Need::File { path, max } => {
            let mut bytes = Vec::new();
            let limit = u64::try_from(*max).unwrap_or(u64::MAX);
            std::fs::File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
            Some(Found::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Need::Folder { path, max } => {
            let entries = std::fs::read_dir(path).ok()?;
            let mut names: Vec<String> = entries
                .flatten()
                .take(*max)
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            Some(Found::Names(names))
        }
    }
}
