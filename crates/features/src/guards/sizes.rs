//! How much there is of an event, for the count of what a condition takes.

use serde_json::Value as Json;

use super::cel::scene::Scene;

/// How much there is of what comes with an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) commands: u64,
    /// Of all commands together, as everything below.
    pub(super) words: u64,
    pub(super) text: u64,
    pub(super) stdin: u64,
    /// Each of the other texts.
    pub(super) other: u64,
    pub(super) files: u64,
    pub(super) input: u64,
    pub(super) input_text: u64,
}

impl Sizes {
    /// What every condition must be able to take. A longer line is counted when it comes (`budget`).
    pub(super) const MOST: Self = Self {
        commands: 256,
        words: 1_000,
        text: 64 << 10,
        stdin: 64 << 10,
        other: 64 << 10,
        files: 256,
        input: 256,
        input_text: 64 << 10,
    };

    pub(super) const PLAIN: Self = Self {
        commands: 4,
        words: 16,
        text: 256,
        stdin: 0,
        other: 256,
        files: 1,
        input: 4,
        input_text: 256,
    };

    pub(super) fn of(scene: &Scene) -> Self {
        let all = &scene.line.commands;
        let words = || all.iter().flat_map(|made| made.words.iter().chain(&made.writes));
        let text = count(words().map(|word| word.text.len()).sum());
        let (input, input_text) = json(&scene.input);
        let other = [&scene.command, &scene.prompt, &scene.cwd, &scene.project];
        let files = count(scene.files.iter().map(String::len).sum());
        Self {
            commands: count(all.len()),
            words: count(words().count()),
            text,
            stdin: text + count(all.iter().map(|made| made.stdin.len()).sum()),
            other: other.iter().map(|text| count(text.len())).fold(files, u64::max),
            files: count(scene.files.len()),
            input,
            input_text,
        }
    }
}

pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// How many values there are in it, and how long its texts are together.
fn json(value: &Json) -> (u64, u64) {
    let sum = |(n, text): (u64, u64), (more, longer): (u64, u64)| (n + more, text + longer);
    match value {
        Json::String(text) => (1, count(text.len())),
        Json::Array(items) => items.iter().map(json).fold((1, 0), sum),
        Json::Object(map) => {
            map.iter().map(|(name, one)| sum(json(one), (0, count(name.len())))).fold((1, 0), sum)
        }
        _ => (1, 8),
    }
}
