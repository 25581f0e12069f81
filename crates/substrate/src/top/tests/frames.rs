//! Every view as a picture, in two sizes, with colour and without.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use rstest::rstest;

use super::super::draw::{Theme, draw};
use super::super::model::{Event, Model};
use super::super::views::View;
use super::{NOW, feed, fleet, key, model, typed};

/// The screen as a terminal has it.
fn screen(model: &Model, has_colour: bool) -> Buffer {
    let mut terminal =
        Terminal::new(TestBackend::new(model.area.width, model.area.height)).unwrap();
    let drawn = terminal.draw(|frame| {
        let cursor = draw(model, Theme { has_colour }, frame.buffer_mut());
        cursor.into_iter().for_each(|at| frame.set_cursor_position(at));
    });
    drawn.unwrap();
    terminal.backend().buffer().clone()
}

/// Its lines.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content().chunks(width);
    let lines = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Its lines, and where which style is: `row: from-to style`.
fn picture(buffer: &Buffer) -> String {
    let mut out = text(buffer);
    out.push('\n');
    let width = usize::from(buffer.area.width);
    for (y, row) in buffer.content().chunks(width).enumerate() {
        let mut from = 0;
        while from < width {
            let style = row[from].style();
            let n = row[from..].iter().take_while(|cell| cell.style() == style).count();
            let words = words(style);
            if !words.is_empty() {
                let _infallible = writeln!(out, "{y}: {from}-{} {words}", from + n - 1);
            }
            from += n;
        }
    }
    out
}

fn words(style: Style) -> String {
    let colour = style.fg.filter(|colour| *colour != ratatui::style::Color::Reset);
    let colour = colour.map(|colour| colour.to_string());
    let more = (!style.add_modifier.is_empty()).then(|| format!("{:?}", style.add_modifier));
    colour.into_iter().chain(more).collect::<Vec<_>>().join(" ")
}

#[rstest]
fn a_view(
    #[values(View::Needs, View::Fleet, View::Mail, View::Locks, View::Work, View::Journal)]
    view: View,
    #[values((80, 24), (200, 60))] (width, height): (u16, u16),
    #[values(true, false)] has_colour: bool,
) {
    let mut model = model(width, height);
    typed(&mut model, &(view.at() + 1).to_string());
    let name = view.title().to_lowercase().replace(' ', "_");
    let colour = if has_colour { "colour" } else { "plain" };
    let buffer = screen(&model, has_colour);
    if !has_colour {
        let is_plain = |cell: &ratatui::buffer::Cell| {
            cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset
        };
        assert!(buffer.content().iter().all(is_plain));
    }
    insta::assert_snapshot!(format!("{name}_{width}x{height}_{colour}"), picture(&buffer));
}

#[rstest]
#[case::help("?", "help")]
#[case::search("/push", "search")]
#[case::actions("ja", "actions")]
#[case::reply("jjjrThank you", "reply")]
#[case::nothing_found("/nothing like it", "nothing_found")]
fn a_moment(#[case] keys: &str, #[case] name: &str) {
    let mut model = model(80, 24);
    typed(&mut model, keys);
    insta::assert_snapshot!(name, picture(&screen(&model, false)));
}

#[test]
fn without_a_daemon_it_says_so_and_keeps_what_it_had() {
    let why = "No daemon runs: the next hook starts one.".to_owned();
    let mut empty = Model::new(Rect::new(0, 0, 80, 24), NOW, 0);
    assert!(text(&screen(&empty, false)).contains("Asking the daemon …"));
    empty.update(Event::Away(why.clone()), NOW);
    let shown = text(&screen(&empty, false));
    assert!(shown.contains("no daemon for 0s") && shown.contains(&why), "{shown}");
    let mut model = model(80, 24);
    model.update(Event::Away(why.clone()), NOW);
    model.update(Event::Away(why), NOW.plus_ms(60_000));
    insta::assert_snapshot!("away", text(&screen(&model, false)));
    feed(&mut model, fleet::all());
    assert!(!text(&screen(&model, false)).contains("no daemon"), "it is back");
}

/// Every screen has as many rows as it should, and only characters that a terminal shows.
#[rstest]
fn hostile_text_neither_acts_nor_forges(
    #[values(1, 2, 3, 4, 5, 6)] view: u8,
    #[values((20, 5), (80, 24), (200, 60))] (width, height): (u16, u16),
) {
    let mut model = model(width, height);
    typed(&mut model, &view.to_string());
    let n_rows = model.list().rows.len();
    for _ in 0..n_rows {
        let buffer = screen(&model, true);
        for cell in buffer.content() {
            let is_fine = |c: char| !c.is_control() && !substrate_core::text::is_hidden(c);
            assert!(cell.symbol().chars().all(is_fine), "{:?}", cell.symbol());
        }
        let shown = text(&buffer);
        assert!(!shown.lines().any(|line| line.starts_with("> ! permission  Forged")), "{shown}");
        model.update(Event::Key(key('j')), NOW);
    }
}

#[test]
fn any_size_can_be_drawn() {
    let mut model = model(80, 24);
    for (width, height) in
        [(1, 1), (2, 2), (5, 3), (10, 4), (40, 10), (139, 30), (140, 30), (300, 100)]
    {
        model.update(Event::Resized(Rect::new(0, 0, width, height)), NOW);
        for keys in ["1", "?", "x", "a", "q", "/abc\n"] {
            typed(&mut model, keys);
            assert_eq!(screen(&model, true).area, Rect::new(0, 0, width, height));
        }
    }
}
