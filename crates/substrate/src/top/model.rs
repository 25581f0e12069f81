//! The state of the screen: events in, what to do out. It knows no terminal, no socket and no clock.

use ratatui::layout::Rect;
use serde_json::{Value, json};
use substrate_core::Timestamp;
use substrate_core::need::{Action, PaneView};
use substrate_core::text::{one_line, visible_line};

use super::area::Areas;
use super::detail;
use super::keys::Key;
use super::rows::{self, Row};
use super::views::View;

/// How long after a row took the place of another its keys do nothing.
const MOVED_MS: i64 = 1_000;

/// How many entries of the journal are kept.
const MAX_ENTRIES: usize = 1_000;

/// How long a subject is that is taken from the text.
const MAX_SUBJECT: usize = 60;

/// Something that happened.
#[derive(Debug)]
pub(super) enum Event {
    Key(Key),
    Resized(Rect),
    /// What each view's verb returned, or why it did not.
    Fed(Vec<(View, Result<Value, String>)>),
    /// The daemon is away, and why.
    Away(String),
    /// What came of a command.
    Done(Result<String, String>),
    /// What was found for a view, or why not.
    Found {
        view: View,
        words: String,
        answer: Result<Value, String>,
    },
}

/// Something that the host has to do.
#[derive(Debug, PartialEq)]
pub(super) enum Todo {
    Quit,
    /// Run a verb.
    Act {
        verb: Vec<String>,
        body: Value,
    },
    /// Ask for what has these words in all that a view could show.
    Find {
        view: View,
        words: String,
    },
    /// Show a pane of tmux.
    Jump {
        pane: PaneView,
        who: String,
    },
    /// Draw everything again.
    Repaint,
}

/// The connection to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Opening,
    Live,
    Away { why: String, since: Timestamp },
}

/// What keys mean now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mode {
    Look,
    Help,
    /// Typing what rows must have.
    Search,
    /// Choosing one of a row's actions.
    Choose {
        actions: Vec<Action>,
        at: usize,
    },
    /// Typing a text that goes with a verb.
    Write {
        title: String,
        verb: Vec<String>,
        body: Value,
        field: &'static str,
        text: String,
    },
}

/// The line at the foot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// One view's rows, and where the user is in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    pub(super) rows: Vec<Row>,
    /// The id of the row that the user is at.
    selected: Option<String>,
    /// Its place when it was last there.
    place: usize,
    /// What it was about. One dialog follows another under the same id.
    about: Option<(String, Vec<Action>)>,
    /// When it took the place of a row that went, or became about something else.
    moved: Option<Timestamp>,
    /// The first row on the screen.
    pub(super) first: usize,
    /// The first line of the detail on the screen.
    pub(super) detail_first: usize,
    /// How many lines of the detail were on the screen.
    seen: usize,
    pub(super) search: String,
    /// What the daemon found for the search, beyond the rows that are here.
    pub(super) found: Option<Vec<Row>>,
    /// Why there are no newer rows.
    pub(super) trouble: Option<String>,
}

pub(super) struct Model {
    pub(super) view: View,
    pub(super) lists: [Listed; 6],
    pub(super) area: Rect,
    pub(super) mode: Mode,
    pub(super) link: Link,
    pub(super) notice: Option<Notice>,
    pub(super) n_unread: i64,
    pub(super) now: Timestamp,
    pub(super) tz_offset_s: i32,
    /// Rows of "needs you" that came since the user last pressed a key.
    pub(super) n_new: usize,
}

impl Listed {
    /// The rows that fit the search, with their places.
    pub(super) fn shown(&self) -> Vec<&Row> {
        if let Some(found) = &self.found {
            return found.iter().collect();
        }
        let wanted = self.search.to_lowercase();
        self.rows.iter().filter(|row| wanted.is_empty() || row.words().contains(&wanted)).collect()
    }

    /// The row that the user is at, and its place among those shown.
    pub(super) fn selected(&self) -> Option<(usize, &Row)> {
        let id = self.selected.as_ref()?;
        self.shown().into_iter().enumerate().find(|(_, row)| row.id == *id)
    }

    /// Shows all rows again.
    fn end_search(&mut self) {
        self.search.clear();
        self.found = None;
    }

    /// Goes to the row at that place, because the user wants it.
    fn go(&mut self, place: usize) {
        let last = self.shown().len().saturating_sub(1);
        self.set(place.min(last));
        self.moved = None;
    }

    fn set(&mut self, place: usize) {
        let id = self.shown().get(place).map(|row| row.id.clone());
        if id != self.selected {
            (self.detail_first, self.seen) = (0, 0);
        }
        (self.selected, self.place) = (id, place);
        self.about = self.is_about();
    }

    fn is_about(&self) -> Option<(String, Vec<Action>)> {
        self.selected().map(|(_, row)| (row.text.clone(), row.actions.clone()))
    }

    /// Other rows are there now. The user stays at the same row; if it went, at the one in its place.
    fn settle(&mut self, now: Timestamp) {
        match self.selected() {
            Some((place, _)) => {
                self.place = place;
                let about = self.is_about();
                if about != self.about {
                    (self.detail_first, self.seen) = (0, 0);
                    (self.about, self.moved) = (about, Some(now));
                }
            }
            None => {
                let had_one = self.selected.is_some();
                let last = self.shown().len().saturating_sub(1);
                self.set(self.place.min(last));
                self.moved = had_one.then_some(now);
            }
        }
    }
}

impl Model {
    pub(super) fn new(area: Rect, now: Timestamp, tz_offset_s: i32) -> Self {
        Self {
            view: View::Needs,
            lists: Default::default(),
            area,
            mode: Mode::Look,
            link: Link::Opening,
            notice: None,
            n_unread: 0,
            now,
            tz_offset_s,
            n_new: 0,
        }
    }

    pub(super) const fn list(&self) -> &Listed {
        &self.lists[self.view.at()]
    }

    const fn list_mut(&mut self) -> &mut Listed {
        &mut self.lists[self.view.at()]
    }

    /// The row that the user is at.
    pub(super) fn row(&self) -> Option<&Row> {
        self.list().selected().map(|(_, row)| row)
    }

    /// The lines of its detail.
    pub(super) fn detail(&self) -> Vec<detail::Line> {
        let width = Areas::of(self.area).detail.width;
        self.row()
            .map(|row| detail::lines(row, width, self.now, self.tz_offset_s))
            .unwrap_or_default()
    }

    /// Takes an event in.
    pub(super) fn update(&mut self, event: Event, now: Timestamp) -> Option<Todo> {
        self.now = now;
        let todo = match event {
            Event::Key(key) => {
                self.n_new = 0;
                self.key(key)
            }
            Event::Resized(area) => {
                self.area = area;
                Some(Todo::Repaint)
            }
            Event::Fed(all) => {
                self.link = Link::Live;
                for (view, answered) in all {
                    self.lists[view.at()].trouble = answered.as_ref().err().cloned();
                    if let Ok(json) = answered {
                        self.feed(view, &json);
                    }
                }
                None
            }
            Event::Away(why) => {
                let since = match self.link {
                    Link::Away { since, .. } => since,
                    Link::Opening | Link::Live => now,
                };
                self.link = Link::Away { why, since };
                None
            }
            Event::Done(result) => {
                let is_error = result.is_err();
                let (Ok(text) | Err(text)) = result;
                self.notice = Some(Notice { text: visible_line(&text), is_error });
                None
            }
            Event::Found { view, words, answer } => {
                self.found(view, &words, answer);
                None
            }
        };
        self.fit();
        todo
    }

    /// Shows what was found, if the user still wants it.
    fn found(&mut self, view: View, words: &str, answer: Result<Value, String>) {
        let list = &mut self.lists[view.at()];
        if list.search != words {
            return;
        }
        match answer {
            Ok(json) => {
                let found = rows::found(view, &json);
                let text = format!("{} found. Esc shows all again.", found.len());
                list.found = Some(found);
                list.go(0);
                self.notice = Some(Notice { text, is_error: false });
            }
            Err(why) => self.say(visible_line(&why)),
        }
    }

    fn feed(&mut self, view: View, json: &Value) {
        let now = self.now;
        if view == View::Mail {
            self.n_unread = json["n_unread"].as_i64().unwrap_or(0);
        }
        let mut rows = rows::of(view, json);
        let list = &mut self.lists[view.at()];
        if view == View::Journal {
            if rows.is_empty() {
                return;
            }
            // New entries come before those that are there. A user at the newest one stays there.
            let is_at_newest = list.place == 0;
            rows.append(&mut list.rows);
            rows.truncate(MAX_ENTRIES);
            list.rows = rows;
            if is_at_newest {
                list.set(0);
            }
        } else {
            if view == View::Needs && list.selected.is_some() {
                let is_new = |row: &&Row| list.rows.iter().all(|known| known.id != row.id);
                self.n_new += rows.iter().filter(is_new).count();
            }
            list.rows = rows;
        }
        list.settle(now);
    }

    /// Keeps the row on the screen, and remembers how much of its detail the user has seen.
    fn fit(&mut self) {
        let areas = Areas::of(self.area);
        let n_lines = self.detail().len();
        let list = self.list_mut();
        let (rows, lines) = (usize::from(areas.list.height), usize::from(areas.detail.height));
        let place = list.selected().map_or(0, |(place, _)| place);
        list.first = list.first.min(place).max((place + 1).saturating_sub(rows));
        list.detail_first = list.detail_first.min(n_lines.saturating_sub(lines));
        list.seen = list.seen.max(list.detail_first + lines);
    }

    fn key(&mut self, key: Key) -> Option<Todo> {
        self.notice = None;
        if key == Key::Ctrl('c') {
            return Some(Todo::Quit);
        }
        if key == Key::Ctrl('l') {
            return Some(Todo::Repaint);
        }
        match &self.mode {
            Mode::Look => self.look(&key),
            Mode::Help => {
                self.mode = Mode::Look;
                None
            }
            Mode::Search => self.search(key),
            Mode::Choose { .. } => self.choose(&key),
            Mode::Write { .. } => self.write(key),
        }
    }

    fn look(&mut self, key: &Key) -> Option<Todo> {
        let page = usize::from(Areas::of(self.area).list.height).max(2) - 1;
        let lines = usize::from(Areas::of(self.area).detail.height).max(2) - 1;
        let place = self.list().selected().map_or(0, |(place, _)| place);
        let list = self.list_mut();
        match key {
            Key::Char('q') => return Some(Todo::Quit),
            Key::Char('j') | Key::Down => list.go(place + 1),
            Key::Char('k') | Key::Up => list.go(place.saturating_sub(1)),
            Key::Char('d') => list.go(place + page),
            Key::Char('u') => list.go(place.saturating_sub(page)),
            Key::Char('g') | Key::Home => list.go(0),
            Key::Char('G') | Key::End => list.go(usize::MAX),
            Key::PageDown | Key::Char(' ') => list.detail_first += lines,
            Key::PageUp => list.detail_first = list.detail_first.saturating_sub(lines),
            Key::Tab | Key::Right => self.turn(1),
            Key::BackTab | Key::Left => self.turn(View::ALL.len() - 1),
            Key::Char(digit @ '1'..='6') => {
                self.view = View::ALL[usize::from(*digit as u8 - b'1')];
            }
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('/') => {
                list.end_search();
                self.mode = Mode::Search;
            }
            Key::Escape => {
                list.end_search();
                list.settle(Timestamp(0));
            }
            Key::Char('y') => return self.decide("allow"),
            Key::Char('n') => return self.decide("deny"),
            Key::Char('N') => self.deny_with_reason(),
            Key::Char('a') => self.offer(),
            Key::Char('r') => self.reply(),
            Key::Enter => return self.jump(),
            _ => {}
        }
        None
    }

    fn turn(&mut self, by: usize) {
        self.view = View::ALL[(self.view.at() + by) % View::ALL.len()];
    }

    fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true });
    }

    /// Whether the row is the one that the user looked at. Otherwise says why nothing happens.
    fn is_steady(&mut self) -> bool {
        let is_fresh = self.list().moved.is_some_and(|at| self.now.since(at) < MOVED_MS);
        if is_fresh {
            self.say("That row just went, and another took its place. Look again, then answer.");
        } else {
            self.list_mut().moved = None;
        }
        !is_fresh
    }

    fn decide(&mut self, decision: &'static str) -> Option<Todo> {
        let row = self.row()?;
        let Some(action) = row.decides(decision).cloned() else {
            let words = match row.actions.is_empty() {
                _ if self.view != View::Needs => {
                    "`y` and `n` answer rows of \"Needs you\"; `1` goes there."
                }
                true if row.pane.is_some() => "It can't be answered here. Enter goes to its pane.",
                true => "It can't be answered here, only in its terminal.",
                false => "`a` shows what can be done about it.",
            };
            self.say(words);
            return None;
        };
        if !self.is_steady() {
            return None;
        }
        let n_lines = self.detail().len();
        if decision == "allow" && self.list().seen < n_lines {
            self.say("You have not seen all of it. PgDn shows the rest, then `y` allows it.");
            return None;
        }
        Some(act(action))
    }

    fn deny_with_reason(&mut self) {
        let Some(action) = self.row().and_then(|row| row.decides("deny")).cloned() else {
            return self.say("Only a call that asks for permission can be denied.");
        };
        if self.is_steady() {
            let Action { verb, body, .. } = action;
            self.mode = writing("Deny, because", verb, body, "reason");
        }
    }

    fn offer(&mut self) {
        let actions = self.row().map(|row| row.actions.clone()).unwrap_or_default();
        if actions.is_empty() {
            self.say("Nothing can be done about it here.");
        } else if self.is_steady() {
            self.mode = Mode::Choose { actions, at: 0 };
        }
    }

    fn reply(&mut self) {
        let Some(row) = self.row() else { return };
        let verb = |word: &str| vec![word.to_owned()];
        self.mode = match (row.message, &row.to) {
            (Some(id), _) => {
                writing(&format!("Reply to #{id}"), verb("reply"), json!({"id": id}), "body")
            }
            (None, Some(to)) => {
                let title = format!("To {}", visible_line(to));
                writing(&title, verb("send"), json!({"to": [to]}), "body")
            }
            (None, None) => return self.say("It is not known whom to write to."),
        };
    }

    fn jump(&mut self) -> Option<Todo> {
        let row = self.row()?;
        match row.pane.clone() {
            Some(pane) => Some(Todo::Jump { pane, who: row.to.clone().unwrap_or_default() }),
            None => {
                self.say("It is not known in which tmux pane it runs.");
                None
            }
        }
    }

    /// Rows that don't have what is typed go at once. With Enter, the daemon is asked where there may be more.
    fn search(&mut self, key: Key) -> Option<Todo> {
        let view = self.view;
        let mut todo = None;
        match key {
            Key::Enter => {
                self.mode = Mode::Look;
                let words = self.list().search.trim().to_owned();
                self.list_mut().search.clone_from(&words);
                let asks = !words.is_empty() && view.finds(&words).is_some();
                todo = asks.then_some(Todo::Find { view, words });
            }
            Key::Escape => {
                self.list_mut().end_search();
                self.mode = Mode::Look;
            }
            key => edit(&mut self.list_mut().search, key),
        }
        self.list_mut().settle(Timestamp(0));
        todo
    }

    fn choose(&mut self, key: &Key) -> Option<Todo> {
        let Mode::Choose { actions, at } = &mut self.mode else { return None };
        let last = actions.len() - 1;
        let chosen = match key {
            Key::Down | Key::Char('j') => {
                *at = (*at + 1).min(last);
                return None;
            }
            Key::Up | Key::Char('k') => {
                *at = at.saturating_sub(1);
                return None;
            }
            Key::Char(digit @ '1'..='9') => actions.get(usize::from(*digit as u8 - b'1')).cloned(),
            Key::Enter => actions.get(*at).cloned(),
            _ => None,
        };
        self.mode = Mode::Look;
        let action = chosen?;
        if action.body["decision"] == "allow" {
            // The same as `y`: only what was seen.
            return self.decide("allow");
        }
        Some(act(action))
    }

    fn write(&mut self, key: Key) -> Option<Todo> {
        match key {
            Key::Escape => self.mode = Mode::Look,
            Key::Enter => {
                let Mode::Write { verb, mut body, field, text, .. } =
                    std::mem::replace(&mut self.mode, Mode::Look)
                else {
                    return None;
                };
                if text.trim().is_empty() {
                    self.say("Nothing was written, so nothing was sent.");
                    return None;
                }
                if verb == ["send"] {
                    body["subject"] = json!(one_line(&text, MAX_SUBJECT));
                }
                body[field] = json!(text);
                return Some(act(Action { label: String::new(), verb, body, recommended: false }));
            }
            key => {
                if let Mode::Write { text, .. } = &mut self.mode {
                    edit(text, key);
                }
            }
        }
        None
    }
}

/// The command of an action. An answer says where it was given.
fn act(action: Action) -> Todo {
    let Action { verb, mut body, .. } = action;
    if verb == ["answer"] {
        body["from"] = json!("substrate top");
    }
    Todo::Act { verb, body }
}

fn writing(title: &str, verb: Vec<String>, body: Value, field: &'static str) -> Mode {
    Mode::Write { title: title.to_owned(), verb, body, field, text: String::new() }
}

/// A key in a line that is typed.
fn edit(line: &mut String, key: Key) {
    match key {
        Key::Char(c) => line.push(c),
        Key::Paste(text) => line.push_str(&one_line(&text, 8_000)),
        Key::Backspace => {
            line.pop();
        }
        Key::Ctrl('u') => line.clear(),
        Key::Ctrl('w') => {
            let kept = line.trim_end().rfind(' ').map_or(0, |at| at + 1);
            line.truncate(kept);
        }
        _ => {}
    }
}
