//! From the bytes of a terminal to keys.

/// A key, or text that was pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Escape,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// It was typed by no finger, so none of its letters is a command.
    Paste(String),
}

/// The most that is kept of an unfinished sequence or paste.
const MAX_PENDING: usize = 64 << 10;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Reads keys as their bytes come.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    pending: Vec<u8>,
}

impl KeyReader {
    /// The keys that these bytes complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some((key, n)) = first(&self.pending) {
            out.extend(key);
            self.pending.drain(..n);
        }
        if self.pending.len() > MAX_PENDING {
            self.pending.clear();
        }
        out
    }

    /// A sequence has begun, and its end may follow. The Escape key is only its beginning.
    pub(super) const fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing followed.
    pub(super) fn give_up(&mut self) -> Option<Key> {
        let is_escape = self.pending == b"\x1b";
        if !self.pending.starts_with(PASTE_BEGINS) {
            self.pending.clear();
        }
        is_escape.then_some(Key::Escape)
    }
}

/// The first key, if it is complete, and how many bytes it has. Sequences that we don't know are no key.
fn first(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = |key| Some((Some(key), 1));
    match *bytes.first()? {
        b'\r' | b'\n' => key(Key::Enter),
        b'\t' => key(Key::Tab),
        0x7f | 0x08 => key(Key::Backspace),
        0x1b => sequence(bytes),
        byte @ 1..=26 => key(Key::Ctrl(char::from(byte - 1 + b'a'))),
        0..0x20 => Some((None, 1)),
        byte => {
            let n = match byte {
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0.. => 4,
                _ => 1,
            };
            let whole = bytes.get(..n)?;
            let c = std::str::from_utf8(whole).ok().and_then(|text| text.chars().next());
            Some(c.map_or((None, 1), |c| (Some(Key::Char(c)), n)))
        }
    }
}

/// What follows an escape character.
fn sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let text = &bytes[PASTE_BEGINS.len()..];
        let end = text.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS)?;
        let pasted = String::from_utf8_lossy(&text[..end]).into_owned();
        return Some((Some(Key::Paste(pasted)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
    }
    let kind = *bytes.get(1)?;
    if kind == 0x1b {
        return Some((Some(Key::Escape), 1));
    }
    if !matches!(kind, b'[' | b'O') {
        // A letter with Alt.
        return Some((None, 2));
    }
    let end = 2 + bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte))?;
    let key = match (&bytes[2..end], bytes[end]) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (_, b'Z') => Key::BackTab,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        _ => return Some((None, end + 1)),
    };
    Some((Some(key), end + 1))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::letters("yn", vec![Key::Char('y'), Key::Char('n')])]
    #[case::others("ü漢", vec![Key::Char('ü'), Key::Char('漢')])]
    #[case::controls("\u{3}\r\t\u{7f}", vec![Key::Ctrl('c'), Key::Enter, Key::Tab, Key::Backspace])]
    #[case::arrows("\u{1b}[A\u{1b}OB\u{1b}[1;5C", vec![Key::Up, Key::Down, Key::Right])]
    #[case::pages("\u{1b}[5~\u{1b}[6~\u{1b}[H\u{1b}[4~", vec![Key::PageUp, Key::PageDown, Key::Home, Key::End])]
    #[case::back_tab("\u{1b}[Z", vec![Key::BackTab])]
    #[case::unknown("\u{1b}[15~\u{1b}xq", vec![Key::Char('q')])]
    #[case::pasted("\u{1b}[200~y\nq\u{1b}[201~k", vec![Key::Paste("y\nq".to_owned()), Key::Char('k')])]
    fn bytes_are_keys(#[case] bytes: &str, #[case] expected: Vec<Key>) {
        let mut whole = KeyReader::default();
        assert_eq!(whole.read(bytes.as_bytes()), expected);
        assert!(!whole.is_waiting());
        // The same, one byte at a time.
        let mut parts = KeyReader::default();
        let keys: Vec<Key> = bytes.bytes().flat_map(|byte| parts.read(&[byte])).collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn escape_is_a_key_if_nothing_follows() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(b"\x1b"), Vec::new());
        assert!(reader.is_waiting());
        assert_eq!(reader.give_up(), Some(Key::Escape));
        assert_eq!(reader.read(b"\x1b\x1b"), [Key::Escape]);
        assert_eq!(reader.read(b"[A"), [Key::Up]);
        reader.read(b"\x1b[1");
        assert_eq!(reader.give_up(), None);
        assert_eq!(reader.read(b"q"), [Key::Char('q')]);
    }

    #[test]
    fn a_paste_may_come_slowly_and_bad_bytes_are_no_key() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(b"\x1b[200~on"), Vec::new());
        assert_eq!(reader.give_up(), None);
        assert_eq!(reader.read(b"e\x1b[201~"), [Key::Paste("one".to_owned())]);
        assert_eq!(
            reader.read(b"\xff\xfe\xffq   "),
            [Key::Char('q'), Key::Char(' '), Key::Char(' '), Key::Char(' ')]
        );
    }
}
