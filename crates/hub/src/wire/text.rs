//! Text and ids that may enter the hub. What is none of these is refused when it is decoded, so no zero byte and no
//! control character reaches a database or a terminal.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest label, in bytes.
const MAX_LABEL: usize = 256;

macro_rules! checked {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(format!(concat!(stringify!($name), " of {} bytes is not valid"), text.len())) }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = String;

            fn try_from(text: &str) -> Result<Self, String> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked!(
    /// A name or a short text for people: one line without control characters.
    Label,
    |text| text.len() <= MAX_LABEL && !text.chars().any(char::is_control)
);

checked!(
    /// The id of a machine, an agent or a claim's holder.
    Uid,
    |text| (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
);

checked!(
    /// The id of a message: a UUIDv7 that its sender made.
    MailId,
    |text| text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
);

impl MailId {
    /// An id for a moment, from bytes that no other id shares.
    pub fn v7(unix_ms: i64, mut random: [u8; 16]) -> Self {
        random[..6].copy_from_slice(&unix_ms.to_be_bytes()[2..]);
        random[6] = 0x70 | (random[6] & 0x0f);
        random[8] = 0x80 | (random[8] & 0x3f);
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Self(parts.join("-"))
    }
}

/// Bytes, as base64 on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&to_base64(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        from_base64(&text).map(Self).ok_or_else(|| serde::de::Error::custom("not base64"))
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 for URLs, without padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let wide = chunk.iter().fold(0_u32, |wide, byte| (wide << 8) | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let six = (wide >> (18 - 6 * place)) & 63;
            out.push(char::from(ALPHABET[six as usize]));
        }
    }
    out
}

pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut wide = 0_u32;
        for byte in chunk {
            let six = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            wide = (wide << 6) | u32::from(six);
        }
        let n_bytes = chunk.len() * 6 / 8;
        let wide = (wide << (6 * (4 - chunk.len()))).to_be_bytes();
        if n_bytes == 0 || wide[1 + n_bytes..].iter().any(|rest| *rest != 0) {
            return None;
        }
        out.extend_from_slice(&wide[1..=n_bytes]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn base64_survives_both_ways() {
        for n in 0..70_u8 {
            let bytes: Vec<u8> = (0..n).map(|i| i.wrapping_mul(37) ^ n).collect();
            assert_eq!(from_base64(&to_base64(&bytes)), Some(bytes));
        }
        assert_eq!(to_base64(b"\xff\xfe\xfd"), "__79");
        for bad in ["A", "AB*D", "AAAAA", "AB"] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
    }

    #[rstest]
    #[case("CalmOtter", true)]
    #[case("two words", true)]
    #[case("zero\0byte", false)]
    #[case("line\nbreak", false)]
    fn a_label(#[case] text: &str, #[case] good: bool) {
        assert_eq!(Label::try_from(text).is_ok(), good);
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<Label>(&json).is_ok(), good);
    }

    #[rstest]
    #[case("", false)]
    #[case("m-1.a_b", true)]
    #[case("../x", false)]
    #[case("a b", false)]
    fn an_id(#[case] text: &str, #[case] good: bool) {
        assert_eq!(Uid::try_from(text).is_ok(), good);
    }

    #[test]
    fn ids_sort_by_time() {
        let early = MailId::v7(1_700_000_000_000, [0xff; 16]);
        let late = MailId::v7(1_700_000_000_001, [0; 16]);
        assert!(early < late);
        assert_eq!(early.as_str(), "018bcfe5-6800-7fff-bfff-ffffffffffff");
        assert!(MailId::try_from(early.as_str()).is_ok());
    }
}
