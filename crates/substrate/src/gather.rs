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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found_and_bounded_and_the_rest_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        crate::fsx::replace(&folder.path().join("b"), b"hello there", 0o600).unwrap();
        crate::fsx::replace(&folder.path().join("a"), b"", 0o600).unwrap();
        let root = folder.path().display().to_string();
        let facts = gather(vec![
            Need::File { path: path("b"), max: 5 },
            Need::File { path: path("nobody"), max: 5 },
            Need::Folder { path: root.clone(), max: 10 },
        ]);
        assert_eq!(facts.file(&path("b"), 5), Some("hello"));
        assert_eq!(facts.file(&path("nobody"), 5), None);
        assert_eq!(facts.folder(&root, 10), Some(&["a".to_owned(), "b".to_owned()][..]));
    }
}
