//! Mouse and keyboard, as the browser gets them from its window.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tab::Tab;

/// How long an element may take to come.
const COMES: Duration = Duration::from_secs(60);

/// A key: its name, its code, its number, and what it writes.
const KEYS: &[(&str, &str, u32, &str)] = &[
    ("Tab", "Tab", 9, ""),
    ("Enter", "Enter", 13, "\r"),
    (" ", "Space", 32, " "),
    ("Escape", "Escape", 27, ""),
    ("End", "End", 35, ""),
    ("Home", "Home", 36, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
];

impl Tab {
    /// Clicks the first element of that selector whose text has these words.
    ///
    /// # Panics
    /// If there is none within a minute.
    #[track_caller]
    pub fn click(&self, selector: &str, words: &str) {
        let find = format!(
            "(() => {{ if (document.readyState !== 'complete') return null; const fits = (e) => e.getClientRects().length && e.textContent.includes({words});
               const found = [...document.querySelectorAll({selector})].find(fits);
               if (!found) return null;
               found.scrollIntoView({{ block: 'center' }});
               const at = found.getClientRects()[0];
               return [at.x + at.width / 2, at.y + at.height / 2]; }})()",
            words = json!(words),
            selector = json!(selector),
        );
        let begun = Instant::now();
        let place = loop {
            match self.try_js(&find, None) {
                Ok(Value::Array(place)) => break place,
                _ if begun.elapsed() < COMES => std::thread::sleep(Duration::from_millis(15)),
                other => panic!("no {selector} says {words:?} ({other:?}):\n{}", self.text()),
            }
        };
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                &json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Presses a key by its name (`Tab`, `Enter`, ` `), or with Shift (`Shift+Tab`).
    ///
    /// # Panics
    /// If the table has no such key.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let (key, shift) = key.strip_prefix("Shift+").map_or((key, 0), |key| (key, 8));
        let known = KEYS.iter().find(|(name, ..)| *name == key);
        let (key, code, number, text) = known.unwrap_or_else(|| panic!("no key {key:?}"));
        let event = |kind: &str, text: &str| {
            json!({"type": kind, "key": key, "code": code, "text": text, "modifiers": shift,
                   "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number})
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        self.call("Input.dispatchKeyEvent", &event(down, text));
        self.call("Input.dispatchKeyEvent", &event("keyUp", ""));
    }

    /// Types text into what has the focus.
    pub fn type_text(&self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// What has the focus: its element, id and text.
    pub fn focused(&self) -> String {
        let found = self.js(
            "(() => { const at = document.activeElement;
               return at.tagName.toLowerCase() + (at.id ? '#' + at.id : '') + ' ' + at.textContent.trim(); })()",
        );
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Presses Tab until something that says these words has the focus, as a person without a mouse does.
    ///
    /// # Panics
    /// If it is not reached within 200 presses.
    #[track_caller]
    pub fn tab_to(&self, words: &str) {
        let mut passed = Vec::new();
        for _ in 0..200 {
            self.press("Tab");
            let at = self.focused();
            if at.contains(words) {
                return;
            }
            passed.push(at);
        }
        panic!("Tab never came to {words:?}, but to {passed:#?}");
    }
}
