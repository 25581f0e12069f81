//! Cuts and insertions over a text. What they do not name is copied.

use std::ops::Range;

use super::document::List;
use super::layout::{Layout, Style};
use super::render::{Json, render_gap, render_key};

/// Stands first in a container that was there and empty before we put something into it, so that `remove` leaves the
/// container. Nothing else writes it there: we begin a container of our own without it, and no formatter puts two
/// blanks behind a bracket.
const WAS_EMPTY: &str = "  ";

/// Edits of one text, none of which overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, new) in &self.0 {
            out.push_str(&text[done..range.start]);
            out.push_str(new);
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }

    /// Where a byte of the text after these cuts was before them.
    pub(crate) fn before(&self, at: usize) -> usize {
        let mut cuts: Vec<_> = self.0.iter().map(|(range, _)| range.clone()).collect();
        cuts.sort_by_key(|range| range.start);
        cuts.iter().fold(at, |at, cut| if cut.start <= at { at + cut.len() } else { at })
    }

    /// Puts items behind the last one of a container.
    pub(crate) fn append(
        &mut self,
        list: &List,
        items: &[(Option<&str>, Json)],
        place: &Place<'_>,
    ) {
        if items.is_empty() {
            return;
        }
        let (style, indent) = (place.style, place.layout.indent());
        let mut new = String::new();
        for (n, (key, value)) in items.iter().enumerate() {
            render_gap(n == 0 && list.items.is_empty(), style, indent, &mut new);
            if let Some(key) = key {
                render_key(key, style, &mut new);
            }
            value.render(style, indent, &mut new);
        }
        match list.items.last() {
            Some(last) => self.0.push((last.end..last.end, new)),
            None => {
                let mark = if place.is_root { "" } else { WAS_EMPTY };
                let new = format!("{mark}{new}{}", place.layout.closing(style));
                self.0.push((list.open..list.open, new));
            }
        }
    }

    /// Takes items out of a container, each with the comma that came with it.
    pub(crate) fn cut(&mut self, list: &List, is_gone: &[bool], text: &str) {
        let first_kept = is_gone.iter().position(|gone| !gone).unwrap_or(is_gone.len());
        for (n, item) in list.items.iter().enumerate().filter(|(n, _)| is_gone[*n]) {
            let range = match (n < first_kept, list.items.get(n + 1)) {
                (true, Some(next)) => item.start..next.start,
                (true, None) => item.clone(),
                (false, _) => list.items[n - 1].end..item.end,
            };
            self.0.push((range, String::new()));
        }
        if first_kept > 0 && was_empty(list, text) {
            self.0.push((list.open..list.open + WAS_EMPTY.len(), String::new()));
        }
    }

    /// Takes everything out of a container that stays, and leaves the white space that was in it before us.
    pub(crate) fn clear(&mut self, list: &List, text: &str, place: &Place<'_>) {
        let Some(last) = list.items.last() else { return };
        let closing = place.layout.closing(place.style);
        let is_ours = text[last.end..list.close].starts_with(&closing);
        let end = last.end + if is_ours { closing.len() } else { 0 };
        self.0.push((list.open..end, String::new()));
    }
}

/// Where an edit happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub style: &'a Style,
    pub layout: &'a Layout,
    pub is_root: bool,
}

/// Whether the container was there and empty before us.
pub(crate) fn was_empty(list: &List, text: &str) -> bool {
    text[list.open..list.close].starts_with(WAS_EMPTY)
}
