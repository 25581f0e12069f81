//! The model as cells.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use substrate_core::need::Action;
use substrate_core::text::visible_line;
use substrate_core::time::Ago;

use super::area::Areas;
use super::detail::{self, width};
use super::model::{Link, Mode, Model};
use super::rows::{Cell, Row, Tone};
use super::views::{Column, View};

/// How things look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) has_colour: bool,
}

impl Theme {
    fn colour(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Waits => self.colour(Color::Yellow).add_modifier(Modifier::BOLD),
            Tone::Wrong => self.colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Works => self.colour(Color::Green),
            Tone::Done => self.colour(Color::Cyan),
            Tone::Quiet => self.faint(),
        }
    }

    fn faint(self) -> Style {
        if self.has_colour { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }
}

const TITLE: Style = Style::new().add_modifier(Modifier::BOLD);

const HERE: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws all of it. Returns where the cursor stands, if the user types.
pub(super) fn draw(model: &Model, theme: Theme, buffer: &mut Buffer) -> Option<Position> {
    let areas = Areas::of(model.area);
    let mut pen = Pen { buffer, theme };
    pen.tabs(model, areas.tabs);
    pen.head(model.view, areas.head);
    pen.list(model, areas.list);
    pen.detail(model, areas);
    match &model.mode {
        Mode::Help => pen.help(areas),
        Mode::Choose { actions, at } => pen.choices(areas, actions, *at),
        Mode::Look | Mode::Search | Mode::Write { .. } => {}
    }
    pen.foot(model, areas.foot)
}

struct Pen<'a> {
    buffer: &'a mut Buffer,
    theme: Theme,
}

impl Pen<'_> {
    /// Writes as much of a text as fits, and returns the column after it.
    fn put(&mut self, area: Rect, x: u16, text: &str, style: Style) -> u16 {
        if area.is_empty() || x >= area.right() {
            return x;
        }
        let room = usize::from(area.right() - x);
        let (end, _) = match width(text) <= room {
            true => self.buffer.set_stringn(x, area.y, text, room, style),
            false => {
                let (end, y) = self.buffer.set_stringn(x, area.y, text, room - 1, style);
                self.buffer.set_stringn(end, y, "…", 1, style)
            }
        };
        end
    }

    fn tabs(&mut self, model: &Model, area: Rect) {
        let mut x = area.x;
        for view in View::ALL {
            let n = match view {
                View::Needs | View::Fleet | View::Locks => model.lists[view.at()].rows.len(),
                View::Mail => usize::try_from(model.n_unread).unwrap_or(0),
                View::Work => open_items(&model.lists[view.at()].rows),
                View::Journal => 0,
            };
            let count = if n > 0 { format!(" {n}") } else { String::new() };
            let text = format!(" {} {}{count} ", view.at() + 1, view.title());
            let style = match view {
                view if view == model.view => HERE.patch(TITLE),
                View::Needs if n > 0 => self.theme.tone(Tone::Waits),
                _ => Style::new(),
            };
            x = self.put(area, x, &text, style);
        }
        if let Link::Away { since, .. } = &model.link {
            let text = format!("no daemon for {}", Ago(model.now.since(*since)));
            let at = area.right().saturating_sub(u16::try_from(width(&text)).unwrap_or(0) + 1);
            self.put(area, at.max(x), &text, self.theme.tone(Tone::Wrong));
        }
    }

    fn head(&mut self, view: View, area: Rect) {
        let mut x = area.x + 2;
        for (column, wide) in columns(view, area.width) {
            let cell = Rect { x, width: wide.min(area.right().saturating_sub(x)), ..area };
            self.put(cell, x, column.title, self.theme.faint());
            x += wide + 2;
        }
    }

    fn list(&mut self, model: &Model, area: Rect) {
        let list = model.list();
        let shown = list.shown();
        if shown.is_empty() {
            let words = match (&model.link, list.search.is_empty()) {
                (_, false) => format!("Nothing here has \"{}\". Esc shows all.", list.search),
                (Link::Opening, _) => "Asking the daemon …".to_owned(),
                (Link::Away { why, .. }, _) => why.clone(),
                (Link::Live, _) => {
                    list.trouble.clone().unwrap_or_else(|| model.view.empty().to_owned())
                }
            };
            let row = Rect { height: area.height.min(1), ..area };
            self.put(row, area.x + 2, &words, Style::new());
            return;
        }
        let here = list.selected().map(|(place, _)| place);
        let height = usize::from(area.height);
        for (place, row) in shown.iter().enumerate().skip(list.first).take(height) {
            let line = u16::try_from(place - list.first).unwrap_or(0);
            let at = Rect { y: area.y + line, height: 1, ..area };
            self.row(model, row, at);
            if here == Some(place) {
                self.put(at, at.x, ">", TITLE);
                self.buffer.set_style(at, HERE);
            }
        }
    }

    fn row(&mut self, model: &Model, row: &Row, area: Rect) {
        let mut x = area.x + 2;
        let all = model.view.columns();
        for (column, wide) in columns(model.view, area.width) {
            let at = all.iter().position(|other| other.title == column.title).unwrap_or(0);
            let Some(cell) = row.cells.get(at) else { continue };
            let words = detail::words(cell, model.now, model.tz_offset_s);
            let style = match cell {
                Cell::State(tone, _) => self.theme.tone(*tone),
                Cell::Since(_) | Cell::Until(_) | Cell::Clock(_) => self.theme.faint(),
                Cell::Text(_) => Style::new(),
            };
            let place = Rect { x, width: wide.min(area.right().saturating_sub(x)), ..area };
            self.put(place, x, &words, style);
            x += wide + 2;
        }
    }

    fn detail(&mut self, model: &Model, areas: Areas) {
        let Areas { rule, detail: area, .. } = areas;
        let lines = model.detail();
        let first = model.list().detail_first;
        let height = usize::from(area.height);
        let mut title = String::new();
        if let Some(row) = model.row() {
            let n_more = lines.len().saturating_sub(first + height);
            let what =
                row.cells.first().map(|cell| detail::words(cell, model.now, 0)).unwrap_or_default();
            let more = match n_more {
                0 => String::new(),
                n => format!(" · {n} more line{}: PgDn", if n == 1 { "" } else { "s" }),
            };
            title = format!(" {what}{more} ");
        }
        if !rule.is_empty() {
            let dashes = "─".repeat(usize::from(rule.width));
            self.put(rule, rule.x, &dashes, self.theme.faint());
            self.put(rule, rule.x + 1, &title, TITLE);
        }
        for (n, line) in lines.iter().skip(first).take(height).enumerate() {
            let at = Rect { y: area.y + u16::try_from(n).unwrap_or(0), height: 1, ..area };
            let style = if line.is_fact { self.theme.faint() } else { Style::new() };
            self.put(at, at.x, &line.text, style);
        }
    }

    /// The last line: what is typed, what was said, or the keys.
    fn foot(&mut self, model: &Model, area: Rect) -> Option<Position> {
        let typed = match &model.mode {
            Mode::Search => Some(("/".to_owned(), model.list().search.as_str())),
            Mode::Write { title, text, .. } => Some((format!("{title}: "), text.as_str())),
            Mode::Look | Mode::Help | Mode::Choose { .. } => None,
        };
        if let Some((title, text)) = typed {
            let x = self.put(area, area.x, &title, TITLE);
            // Of a long text its end is shown, where the cursor is.
            let room = usize::from(area.right().saturating_sub(x + 1));
            let mut shown = visible_line(text);
            if text.ends_with(' ') {
                shown.push(' ');
            }
            while width(&shown) > room {
                shown.remove(0);
            }
            let x = self.put(area, x, &shown, Style::new());
            return Some(Position { x: x.min(area.right().saturating_sub(1)), y: area.y });
        }
        if let Some(notice) = &model.notice {
            let style = if notice.is_error { self.theme.tone(Tone::Waits) } else { Style::new() };
            self.put(area, area.x + 1, &notice.text, style);
            return None;
        }
        if let (Link::Away { why, .. }, false) = (&model.link, model.list().shown().is_empty()) {
            self.put(area, area.x + 1, why, self.theme.tone(Tone::Wrong));
            return None;
        }
        let keys = keys(model);
        self.put(area, area.x + 1, &keys, self.theme.faint());
        None
    }

    fn help(&mut self, areas: Areas) {
        let lines: Vec<String> =
            HELP.iter().map(|(keys, what)| format!(" {keys:<12} {what}")).collect();
        self.window(areas, "Keys", &lines);
    }

    fn choices(&mut self, areas: Areas, actions: &[Action], at: usize) {
        let lines = actions.iter().enumerate().map(|(n, action)| {
            let label = visible_line(&action.label);
            let advice = if action.recommended { "  (recommended)" } else { "" };
            format!("{} {} {label}{advice}", if n == at { '>' } else { ' ' }, n + 1)
        });
        self.window(areas, "What to do", &lines.collect::<Vec<_>>());
    }

    /// A frame in the middle with these lines.
    fn window(&mut self, areas: Areas, title: &str, lines: &[String]) {
        let all = areas.tabs.union(areas.foot);
        let wide =
            lines.iter().map(|line| width(line)).max().unwrap_or(0).max(width(title) + 4) + 3;
        let wide = u16::try_from(wide).unwrap_or(all.width).min(all.width);
        let high = u16::try_from(lines.len() + 2).unwrap_or(all.height).min(all.height);
        let frame = Rect {
            x: all.x + (all.width - wide) / 2,
            y: all.y + (all.height - high) / 2,
            width: wide,
            height: high,
        };
        let inner = usize::from(wide.saturating_sub(2));
        for n in 0..high {
            let row = Rect { y: frame.y + n, height: 1, ..frame };
            let (left, middle, right) = match n {
                0 => ("┌", "─".repeat(inner), "┐"),
                n if n + 1 == high => ("└", "─".repeat(inner), "┘"),
                n => {
                    let text = lines.get(usize::from(n) - 1).map_or("", String::as_str);
                    let gap = " ".repeat(inner.saturating_sub(width(text)));
                    ("│", format!("{text}{gap}"), "│")
                }
            };
            let x = self.put(row, row.x, left, Style::reset());
            self.put(Rect { width: row.width - 1, ..row }, x, &middle, Style::reset());
            self.put(row, row.right() - 1, right, Style::reset());
        }
        self.put(frame, frame.x + 2, &format!(" {title} "), TITLE);
    }
}

/// The columns that fit, with their widths.
fn columns(view: View, width: u16) -> Vec<(&'static Column, u16)> {
    let shown = view.columns().iter().filter(|column| column.from <= width);
    let taken: u16 = 2 + shown.clone().map(|column| column.width + 2).sum::<u16>();
    let rest = (width + 2).saturating_sub(taken);
    shown.map(|column| (column, if column.width == 0 { rest } else { column.width })).collect()
}

fn open_items(rows: &[Row]) -> usize {
    let is_open = |row: &&Row| !matches!(row.cells.get(1), Some(Cell::State(Tone::Done, _)));
    rows.iter().filter(is_open).count()
}

/// The keys that do something for this row.
fn keys(model: &Model) -> String {
    let mut out = Vec::new();
    if let Some(row) = model.row() {
        if row.decides("allow").is_some() {
            out.push("y allow");
        }
        if row.decides("deny").is_some() {
            out.push("n deny");
        }
        if !row.actions.is_empty() {
            out.push("a actions");
        }
        if row.pane.is_some() {
            out.push("Enter pane");
        }
        if row.message.is_some() {
            out.push("r reply");
        } else if row.to.is_some() {
            out.push("r write");
        }
    }
    out.extend(["/ search", "? help", "q quit"]);
    out.join("  ")
}

const HELP: &[(&str, &str)] = &[
    ("1-6, Tab", "the views"),
    ("Up, Down", "the rows (also k, j; g and G: the first and last)"),
    ("PgUp, PgDn", "the rest of a long text"),
    ("y", "allow the call that asks for permission"),
    ("n, N", "deny it; N tells the agent why"),
    ("a", "what else can be done: answer a question, release, …"),
    ("Enter", "go to the agent's tmux pane"),
    ("r", "reply to the message, or write to the agent"),
    ("/", "narrow the view; Enter searches all of it, Esc shows all again"),
    ("Ctrl+L", "draw again"),
    ("q, Ctrl+C", "quit"),
];
