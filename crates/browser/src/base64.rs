//! Base64, as the browser sends its pictures.

/// Decodes the standard alphabet. What is no letter of it ends the text.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut n_bits) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for value in text.bytes().map_while(value) {
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits & 0xff) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn it_is_what_others_decode() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("aGVsbG8h"), b"hello!");
        assert_eq!(decoded("/+8="), [0xff, 0xef]);
        assert_eq!(decoded(""), b"");
    }
}
