//! Ids from outside are hostile until they are one of these.

use std::fmt;

use crate::redact::is_clean;
use sha2::{Digest as _, Sha256};

/// The longest id that is kept as it came.
const MAX_LEN: usize = 128;

/// An id that is safe in a path, a query and a message: `[A-Za-z0-9._-]`, no leading dot, 1 to 128 characters. Anything
/// else becomes its hash, so that two hostile ids stay different. So does what looks like a secret, because ids are
/// stored.
///
/// ```
/// use substrate_core::SafeId;
///
/// assert_eq!(SafeId::new("s-1").unwrap().as_str(), "s-1");
/// assert!(SafeId::new("../etc/passwd").unwrap().as_str().starts_with("x-"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeId(String);

impl SafeId {
    /// `None` for the empty id.
    pub fn new(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if text.len() <= MAX_LEN
            && !text.starts_with('.')
            && text.bytes().all(plain)
            && is_clean(text)
        {
            return Some(Self(text.to_owned()));
        }
        Some(Self(format!("x-{}", &hex(&Sha256::digest(text.as_bytes()))[..32])))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a request. It stays the same when the request is sent again, so that it is processed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub [u8; 16]);

impl RequestId {
    /// The id of a request that is known by a text.
    pub fn of(text: &str) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
        Self(id)
    }
}

impl RequestId {
    /// Reads what `hex` wrote.
    pub fn of_hex(text: &str) -> Option<Self> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        let mut id = [0; 16];
        if pairs.len() != id.len() {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(pairs) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }

    /// As it is shown and stored.
    pub fn hex(self) -> Hex {
        let mut out = [0; 32];
        for (two, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *two = digits(byte);
        }
        Hex(out)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().as_str())
    }
}

/// The digits of an id.
#[derive(Clone, Copy, Debug)]
pub struct Hex([u8; 32]);

impl Hex {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The checksum of a text, as migrations and manifests keep it.
pub fn checksum(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| digits(*byte)).map(char::from).collect()
}

fn digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let id = RequestId::of("anything");
        assert_eq!(RequestId::of_hex(id.hex().as_str()), Some(id));
        for other in ["", "00", &"0".repeat(33), &"g".repeat(32), &"é".repeat(16)] {
            assert_eq!(RequestId::of_hex(other), None);
        }
    }

    #[test]
    fn a_plain_id_stays_itself() {
        let id = "7ac89518-7bff-44f2-b7cc-ae24d9a0dca2";
        assert_eq!(SafeId::new(id).unwrap().as_str(), id);
        assert_eq!(SafeId::new(""), None);
    }

    proptest! {
        #[test]
        fn any_id_is_safe_in_a_path(text in ".{1,300}") {
            let id = SafeId::new(&text).unwrap();
            prop_assert!(id.as_str().len() <= MAX_LEN);
            prop_assert!(!id.as_str().starts_with('.'));
            prop_assert!(id.as_str().bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)));
        }

        #[test]
        fn different_hostile_ids_stay_different(a in "[/ ]{1,40}", b in "[/ ]{1,40}") {
            prop_assume!(a != b);
            prop_assert_ne!(SafeId::new(&a), SafeId::new(&b));
        }
    }
}
