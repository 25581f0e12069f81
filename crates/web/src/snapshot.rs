//! One state of a page, and what a tab is told that shows another one.
//!
//! What tabs are told is made once for all tabs that need the same, and only when one does.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::layout::{Layout, NavItem};
use crate::rows::{Row, rows};

pub(crate) struct Snapshot {
    title: String,
    nav: Value,
    main: Box<str>,
    /// Where each row stands in `main`, in the order of `digests.rows`.
    places: Vec<Range<usize>>,
    pub(crate) digests: Arc<Digests>,
    whole: OnceLock<Bytes>,
    /// What tabs that showed that page were told last.
    told: Mutex<Option<(Arc<Digests>, Option<Bytes>)>>,
}

/// What pages are compared by: the title and the header, each row, and what is around the rows with their ids.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Digests {
    head: u64,
    rows: Vec<u64>,
    around: u64,
}

impl Digests {
    fn of(title: &str, nav: &[NavItem], rows: &[Row<'_>], around: u64) -> Self {
        let mut head = DefaultHasher::new();
        title.hash(&mut head);
        for item in nav {
            (item.page.path, item.count).hash(&mut head);
        }
        Self { head: head.finish(), rows: rows.iter().map(Row::digest).collect(), around }
    }

    /// One number for all of it: a browser says with it which page it has.
    pub(crate) fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// The number of a page as it is sent.
pub(crate) fn state(page: &Layout) -> u64 {
    let (found, around) = rows(&page.main);
    Digests::of(&page.title, &page.nav, &found, around).state()
}

impl Snapshot {
    pub(crate) fn new(page: Layout) -> Self {
        let Layout { title, nav, main, .. } = page;
        let main = main.into_boxed_str();
        let (found, around) = rows(&main);
        let place = |html: &str| {
            let begins = html.as_ptr() as usize - main.as_ptr() as usize;
            begins..begins + html.len()
        };
        let places = found.iter().map(|row| place(row.html)).collect();
        let digests = Arc::new(Digests::of(&title, &nav, &found, around));
        let counted = |item: &NavItem| json!([item.page.path, item.count, item.counts]);
        let nav = nav.iter().map(counted).collect();
        Self { title, nav, main, places, digests, whole: OnceLock::new(), told: Mutex::default() }
    }

    /// The whole page.
    pub(crate) fn whole(&self) -> Bytes {
        let event = || {
            let mut data = format!("event: page\ndata: {{{},\"main\":", self.head()).into_bytes();
            data.reserve(self.main.len() + self.main.len() / 8);
            // Text always has JSON.
            let _infallible = serde_json::to_writer(&mut data, &self.main);
            data.extend_from_slice(b"}\n\n");
            data.shrink_to_fit();
            Bytes::from(data)
        };
        self.whole.get_or_init(event).clone()
    }

    /// What a tab with that page must be told: the rows that changed, or all of it if rows came, went or moved.
    pub(crate) fn since(&self, before: &Arc<Digests>) -> Option<Bytes> {
        if Arc::ptr_eq(before, &self.digests) {
            return None;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, event)) = told.as_ref().filter(|(known, _)| Arc::ptr_eq(known, before)) {
            return event.clone();
        }
        let event = self.difference(before);
        *told = Some((Arc::clone(before), event.clone()));
        event
    }

    fn difference(&self, before: &Digests) -> Option<Bytes> {
        let now = &self.digests;
        if before.around != now.around || before.rows.len() != now.rows.len() {
            return Some(self.whole());
        }
        let rows = now.rows.iter().zip(&before.rows).zip(&self.places);
        let changed: Vec<&str> = rows
            .filter(|((now, before), _)| now != before)
            .map(|(_, place)| &self.main[place.clone()])
            .collect();
        if changed.is_empty() && before.head == now.head {
            return None;
        }
        let event =
            format!("event: rows\ndata: {{{},\"rows\":{}}}\n\n", self.head(), json!(changed));
        Some(event.into())
    }

    fn head(&self) -> String {
        format!("\"title\":{},\"nav\":{}", json!(self.title), self.nav)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, main: &str) -> Snapshot {
        Snapshot::new(layout(title, main))
    }

    fn layout(title: &str, main: &str) -> Layout {
        Layout { title: title.to_owned(), main: main.to_owned(), ..Layout::default() }
    }

    fn told(before: &Snapshot, now: &Snapshot) -> String {
        let event = now.since(&before.digests);
        event.map_or_else(String::new, |event| String::from_utf8(event.to_vec()).unwrap())
    }

    const ROW: &str = "<ol><li id=\"a\" data-row>1</li><li id=\"b\" data-row>2</li></ol>";

    #[test]
    fn only_rows_that_changed_are_told() {
        let (before, now) = (page("t", ROW), page("t", &ROW.replace('2', "3")));
        assert_eq!(
            told(&before, &now),
            "event: rows\ndata: {\"title\":\"t\",\"nav\":[],\"rows\":[\"<li id=\\\"b\\\" data-row>3</li>\"]}\n\n"
        );
        assert_eq!(told(&before, &page("t", ROW)), "", "nothing changed");
    }

    #[test]
    fn a_title_is_told_without_rows_and_a_row_that_comes_with_the_page() {
        let before = page("t", ROW);
        assert!(told(&before, &page("(1) t", ROW)).contains("\"(1) t\",\"nav\":[],\"rows\":[]"));
        let more = told(&before, &page("t", &ROW.replace("</ol>", "<li id=\"c\" data-row>3</li>")));
        assert!(more.starts_with("event: page\n") && more.contains("\\\"c\\\""), "{more}");
    }

    #[test]
    fn tabs_with_the_same_page_are_told_the_same_bytes() {
        let (before, now) = (page("t", ROW), page("t", &ROW.replace('2', "3")));
        let bytes = || now.since(&before.digests).unwrap();
        assert_eq!(bytes().as_ptr(), bytes().as_ptr());
        assert_eq!(now.whole().as_ptr(), now.whole().as_ptr());
        assert!(now.since(&now.digests).is_none());
    }

    #[test]
    fn a_page_that_a_browser_got_has_the_number_of_its_snapshot() {
        assert_eq!(state(&layout("t", ROW)), page("t", ROW).digests.state());
        assert_ne!(state(&layout("t", ROW)), page("u", ROW).digests.state());
        assert_ne!(state(&layout("t", ROW)), page("t", "").digests.state());
    }
}
