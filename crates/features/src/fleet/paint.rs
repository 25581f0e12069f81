//! The colours of a pane: after the strongest status of those whose client runs in it.

use substrate_core::{Cx, DbError, Effect, Look, Pane, Settings};

use super::ops::{self, Kept};
use super::status::Status;
use crate::identity::book;

/// Colours a pane as it should be now, or gives it back, if its server shows colours at all.
pub(super) fn pane(cx: &mut Cx<'_>, pane: &Pane) -> Result<(), DbError> {
    if ops::is_on(cx.db, &pane.socket)? {
        let status = status_in(cx, pane)?;
        let look = status.map(|status| look(cx.settings, status));
        cx.effects.push(Effect::Paint { pane: pane.clone(), look });
    }
    Ok(())
}

/// The strongest status in a pane; nothing when nobody is there any more.
pub(super) fn status_in(cx: &mut Cx<'_>, pane: &Pane) -> Result<Option<Status>, DbError> {
    let mut strongest = None;
    for kept in ops::in_pane(cx.db, pane)? {
        if is_there(cx, &kept)? {
            strongest = strongest.max(Some(kept.shown()));
        }
    }
    Ok(strongest)
}

fn is_there(cx: &mut Cx<'_>, kept: &Kept) -> Result<bool, DbError> {
    let pulse = book::pulse(cx.db, cx.world, &kept.session, &kept.actor)?;
    Ok(pulse.is_some_and(|pulse| !pulse.is_over))
}

pub(super) fn look(settings: &Settings, status: Status) -> Look {
    Look {
        status: status.name().to_owned(),
        rank: status.rank(),
        pane: colour(settings.texts("fleet.pane_colours"), status),
        tab: colour(settings.texts("fleet.tab_colours"), status),
    }
}

/// The colour that a list names for a status. What is no colour counts as none: tmux would read more into it.
fn colour(list: &[String], status: Status) -> String {
    let of = list
        .iter()
        .rev()
        .find_map(|entry| entry.trim().strip_prefix(status.name())?.strip_prefix(':'));
    let colour = of.unwrap_or_default().trim();
    if is_colour(colour) { colour.to_owned() } else { String::new() }
}

/// `red`, `colour52`, `#3a1418`.
fn is_colour(text: &str) -> bool {
    match text.strip_prefix('#') {
        Some(hex) => hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::named(&["error:red"], "red")]
    #[case::numbered(&["done:green", "error: colour52 "], "colour52")]
    #[case::hex(&["error:#3a1418"], "#3a1418")]
    #[case::the_last_counts(&["error:red", "error:blue"], "blue")]
    #[case::not_listed(&["done:green"], "")]
    #[case::a_command(&["error:#(touch /tmp/x)"], "")]
    #[case::another_option(&["error:red,fg=blue"], "")]
    #[case::a_format(&["error:#{pane_id}"], "")]
    fn a_colour_is_a_colour_and_nothing_else(#[case] list: &[&str], #[case] expected: &str) {
        let list: Vec<String> = list.iter().map(|entry| (*entry).to_owned()).collect();
        assert_eq!(colour(&list, Status::Error), expected);
    }
}
