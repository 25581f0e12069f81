//! The model and the frames, without a terminal.

mod fleet;
mod frames;
mod keys;

use ratatui::layout::Rect;
use serde_json::Value;
use substrate_core::Timestamp;

use super::keys::Key;
use super::model::{Event, Model, Todo};
use super::views::View;

/// When everything in these tests happens.
const NOW: Timestamp = Timestamp(1_795_000_000_000);

/// A model of that size with the fleet in it.
fn model(width: u16, height: u16) -> Model {
    let mut model = Model::new(Rect { x: 0, y: 0, width, height }, NOW, 0);
    feed(&mut model, fleet::all());
    model
}

fn feed(model: &mut Model, views: Vec<(View, Value)>) {
    let fed = views.into_iter().map(|(view, json)| (view, Ok(json))).collect();
    assert_eq!(model.update(Event::Fed(fed), NOW), None);
}

/// Types each character as a key. Returns what the last one asked for.
fn typed(model: &mut Model, keys: &str) -> Option<Todo> {
    keys.chars().fold(None, |_, c| model.update(Event::Key(key(c)), NOW))
}

fn key(c: char) -> Key {
    match c {
        '\n' => Key::Enter,
        '\t' => Key::Tab,
        c => Key::Char(c),
    }
}
