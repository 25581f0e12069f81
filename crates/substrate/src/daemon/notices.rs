//! Notices for the person about a project, once per session.

use std::collections::HashSet;

use substrate_core::facts::Found;
use substrate_core::text::one_line;
use substrate_core::{SafeId, Wish};

use crate::host::Prepared;

/// How many are remembered. After that they may be shown again.
const MAX: usize = 4_096;

/// Characters of one notice.
const MAX_TEXT: usize = 400;

/// Which session has seen which notice.
#[derive(Debug, Default)]
pub(super) struct Notices(HashSet<(SafeId, String)>);

impl Notices {
    /// The notices for this event: project settings that are refused, and git ignore files that are too long.
    pub(super) fn of(&mut self, prepared: &Prepared) -> Vec<Wish> {
        let of_settings = prepared.settings.refused.iter().map(ToString::to_string);
        let unread = prepared.gathered.facts.places().filter_map(|(_, found)| match found {
            Found::Place(place) => place.unread_rules.as_ref(),
            _ => None,
        });
        let of_git = unread.map(|file| {
            format!("{file} is too long to be used, so what it names counts as not ignored")
        });
        let mut told = of_settings.chain(of_git).peekable();
        let Some(session) = &prepared.decoded.event.session else { return Vec::new() };
        if told.peek().is_none() || !prepared.decoded.delivers_notice() {
            return Vec::new();
        }
        let mut out = Vec::new();
        for text in told {
            if self.0.len() >= MAX {
                self.0.clear();
            }
            if self.0.insert((session.clone(), text.clone())) {
                let text = format!("Substrate: {}.", one_line(&text, MAX_TEXT));
                out.push(Wish::Notice { text });
            }
        }
        out
    }
}
