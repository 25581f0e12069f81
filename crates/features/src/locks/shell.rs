//! A command line as simple commands, each as its words. Whatever can't be read is left out.

/// The simple commands of a line, in order: what stands between `;`, `&&`, `||`, `|`, `&`, line breaks and brackets.
/// Nothing where the quoting is broken.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let Some(parts) = Splitter::new(line).parts() else { return Vec::new() };
    parts
        .iter()
        .filter_map(|part| shlex::split(part))
        .map(without_redirections)
        .filter(|words| !words.is_empty())
        .collect()
}

struct Splitter<'a> {
    line: &'a str,
    at: usize,
    part: String,
    parts: Vec<String>,
    /// The ends of the here-documents whose text begins at the next line.
    ends: Vec<String>,
}

impl<'a> Splitter<'a> {
    fn new(line: &'a str) -> Self {
        Self { line, at: 0, part: String::new(), parts: Vec::new(), ends: Vec::new() }
    }

    fn parts(mut self) -> Option<Vec<String>> {
        while let Some(c) = self.line[self.at..].chars().next() {
            let rest = &self.line[self.at..];
            let taken = match c {
                '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
                '\'' => 2 + rest[1..].find('\'')?,
                '"' => double_quoted(rest)?,
                '#' if self.is_word_start() => rest.find('\n').unwrap_or(rest.len()),
                '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => self.here(rest),
                '\n' => self.line_break(rest),
                '&' if self.is_redirection(rest) => 1,
                ';' | '|' | '&' | '(' | ')' | '`' => 1,
                _ => c.len_utf8(),
            };
            let ends_part = match c {
                '\n' | ';' | '|' | '(' | ')' | '`' => true,
                '&' => !self.is_redirection(rest),
                _ => false,
            };
            if ends_part {
                self.parts.push(std::mem::take(&mut self.part));
            } else if !(c == '#' && self.is_word_start()) {
                self.part.push_str(&rest[..taken]);
            }
            self.at += taken;
        }
        self.parts.push(self.part);
        Some(self.parts)
    }

    fn is_word_start(&self) -> bool {
        self.part.is_empty() || self.part.ends_with(char::is_whitespace)
    }

    /// `2>&1`, `&>file`.
    fn is_redirection(&self, rest: &str) -> bool {
        self.part.ends_with(['>', '<']) || rest.starts_with("&>")
    }

    /// Notes the word that ends a here-document; how much of the line that is.
    fn here(&mut self, rest: &str) -> usize {
        let after = rest[2..].trim_start_matches('-').trim_start_matches(' ');
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | ')'));
        let word = &after[..end.unwrap_or(after.len())];
        let plain = word.replace(['\'', '"', '\\'], "");
        if !plain.is_empty() {
            self.ends.push(plain);
        }
        rest.len() - after.len() + word.len()
    }

    /// The line break, and the here-documents after it.
    fn line_break(&mut self, rest: &str) -> usize {
        let mut taken = 1;
        for end in std::mem::take(&mut self.ends) {
            for line in rest[taken..].split_inclusive('\n') {
                taken += line.len();
                if line.trim() == end {
                    break;
                }
            }
        }
        taken
    }
}

/// The length of a text in double quotes, quotes included.
fn double_quoted(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(i + 1),
            _ => {}
        }
    }
    None
}

fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut skips = false;
    for word in words {
        let plain = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if std::mem::take(&mut skips) {
            continue;
        }
        if plain.starts_with(['<', '>']) {
            skips = plain.ends_with(['<', '>']);
            continue;
        }
        out.push(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a b; c", &["a b", "c"])]
    #[case("a && b || c | d & e", &["a", "b", "c", "d", "e"])]
    #[case("(a; b) && { c; }", &["a", "b", "{ c", "}"])]
    #[case("x=$(a b) c", &["x=$", "a b", "c"])]
    #[case("a 'b; c' \"d && e\" f\\;g", &["a b; c d && e f;g"])]
    #[case("a > out 2>&1 &>> log < in; b", &["a", "b"])]
    #[case("a # b; c\nd", &["a", "d"])]
    #[case("a#b", &["a#b"])]
    #[case("cat <<EOF\na; b\nEOF\nc", &["cat", "c"])]
    #[case("cat <<-'E' && d\na\nE\nf", &["cat", "d", "f"])]
    #[case("cat <<EOF\nnever ended", &["cat"])]
    #[case("a 'b", &[])]
    #[case("a \"b", &[])]
    #[case("", &[])]
    fn a_line_is_read_as_commands(#[case] line: &str, #[case] expected: &[&str]) {
        let found: Vec<String> = commands(line).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, expected);
    }
}
