//! Texts that were looked at lately and have nothing to hide. Sessions, folders and files come back with event after event, and
//! comparing a text is much cheaper than reading it.

use std::cell::RefCell;

/// How many texts are kept. One whose slot is taken takes it over.
const N_SLOTS: usize = 256;

/// Longer texts are rare, and are read again.
const MAX_LEN: usize = 256;

thread_local! {
    static CLEAN: RefCell<Vec<Box<str>>> = RefCell::new(vec![Box::default(); N_SLOTS]);
}

/// Whether a text is clean, as `look` says for one that is not known.
pub(super) fn is_clean(text: &str, look: impl FnOnce(&str) -> bool) -> bool {
    if text.len() > MAX_LEN {
        return look(text);
    }
    CLEAN.with_borrow_mut(|kept| {
        let Some(slot) = kept.get_mut(slot_of(text)) else { return look(text) };
        if **slot == *text {
            return true;
        }
        let is_clean = look(text);
        if is_clean {
            *slot = text.into();
        }
        is_clean
    })
}

/// The bytes at both ends tell most texts apart.
fn slot_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let first = bytes.first_chunk::<8>().map_or(0, |it| u64::from_le_bytes(*it));
    let last = bytes.last_chunk::<16>().map_or(first, |it| {
        let [low, high] = [it.first_chunk::<8>(), it.last_chunk::<8>()]
            .map(|half| half.map_or(0, |half| u64::from_le_bytes(*half)));
        low.rotate_left(23) ^ high
    });
    let sum = first.rotate_left(7) ^ last ^ text.len() as u64;
    usize::try_from(sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).unwrap_or(0) % N_SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_at_once_and_only_a_clean_one_is_known() {
        let look = |text: &str| text != "dirty";
        assert!(is_clean("a", look) && is_clean("a", |_| false), "known");
        assert!(!is_clean("dirty", look) && is_clean("dirty", |_| true), "not known");
        let long = "x".repeat(MAX_LEN + 1);
        assert!(is_clean(&long, look) && !is_clean(&long, |_| false), "too long to keep");
    }

    #[test]
    fn texts_that_share_a_slot_are_told_apart() {
        let texts: Vec<String> = (0..4 * N_SLOTS).map(|n| format!("text {n}")).collect();
        for text in &texts {
            assert!(is_clean(text, |_| true));
            assert!(!is_clean(&format!("{text}!"), |_| false));
        }
    }
}
