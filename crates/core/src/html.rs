//! Text that others wrote, as HTML. It is shown and never acts: markup is escaped, and control characters and those
//! that hide or reorder text are made visible.

use std::fmt::{self, Write};

use crate::text::is_hidden;

/// Writes text for any place of a page, attributes included. A character that can't be seen becomes `[U+202E]`.
pub fn escape(out: &mut dyn Write, text: &str) -> fmt::Result {
    each(out, text, |out, code| write!(out, "[U+{code:04X}]"))
}

/// The same for the text between tags, where such a character gets a frame of its own.
///
/// ```
/// use substrate_core::html::shown;
///
/// assert_eq!(shown("a < b"), "a &lt; b");
/// assert_eq!(shown("gpj.\u{202e}exe"), "gpj.<span class=\"ctl\">U+202E</span>exe");
/// ```
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let framed = |out: &mut dyn Write, code| write!(out, "<span class=\"ctl\">U+{code:04X}</span>");
    let _infallible = each(&mut out, text, framed);
    out
}

fn each(
    out: &mut dyn Write,
    text: &str,
    unseen: impl Fn(&mut dyn Write, u32) -> fmt::Result,
) -> fmt::Result {
    for c in text.chars() {
        match c {
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '&' => out.write_str("&amp;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#39;")?,
            '\n' | '\t' => out.write_char(c)?,
            '\r' => {}
            c if c.is_control() || is_hidden(c) => unseen(out, u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::markup("<b a='1'>&\"", "&lt;b a=&#39;1&#39;&gt;&amp;&quot;")]
    #[case::lines_stay("a\n\tb\r\n", "a\n\tb\n")]
    #[case::bidi("\u{202e}x\u{2066}", "[U+202E]x[U+2066]")]
    #[case::escape_codes("\u{1b}[31m\u{7}\0", "[U+001B][31m[U+0007][U+0000]")]
    #[case::zero_width("a\u{200b}b\u{feff}", "a[U+200B]b[U+FEFF]")]
    #[case::letters("مرحبا 漢字 ü", "مرحبا 漢字 ü")]
    fn nothing_acts_and_nothing_hides(#[case] text: &str, #[case] expected: &str) {
        let mut out = String::new();
        escape(&mut out, text).unwrap();
        assert_eq!(out, expected);
        let framed = shown(text);
        assert_eq!(framed.replace("<span class=\"ctl\">", "[").replace("</span>", "]"), expected);
    }
}
