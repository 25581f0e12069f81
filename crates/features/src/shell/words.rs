//! One word: quotes, escapes, variables, and the commands that are substituted in it.

use super::lex::{self, Broken, MAX_NESTED, Reader, is_substitution};
use super::{MAX_DEPTH, Word, piped};

/// Where a word has braces and the commas in them, none of them quoted.
pub(super) type Marks = Vec<(usize, u8)>;

/// The text of a substitution whose output is unknown.
pub(super) const SAID: &str = "$(…)";

/// Bytes that mean nothing but themselves in a word, where no brace is open.
const PLAIN: [bool; 256] = {
    let mut out = [true; 256];
    let special = b" \t\r\n;&|<>()\\'\"$`~{}*?[,";
    let mut i = 0;
    while i < special.len() {
        out[special[i] as usize] = false;
        i += 1;
    }
    out
};

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Result<Word, Broken> {
        self.word_marked(&mut Marks::new())
    }

    pub(super) fn word_marked(&mut self, marks: &mut Marks) -> Result<Word, Broken> {
        let mut out = Word::default();
        let start = self.at;
        // The braces that are open, each with whether something in it makes it several words.
        let mut open: Vec<bool> = Vec::new();
        loop {
            let Some(byte) = self.byte() else { return Ok(out) };
            let rest = self.rest();
            if PLAIN[usize::from(byte)] && open.is_empty() {
                let n = rest.bytes().take_while(|byte| PLAIN[usize::from(*byte)]).count();
                out.text.push_str(&rest[..n]);
                self.at += n;
                continue;
            }
            match byte {
                b'<' | b'>' if is_substitution(rest) && self.at == start => {
                    self.at += 2;
                    let inner = self.substitution()?;
                    out.runs.extend(inner);
                    out.has_unknown = true;
                    out.text.push_str("<(…)");
                }
                // `!(a)` before a command is a group, whose result is turned round.
                b'(' if out.text == "!" && self.draft.is_empty_so_far() => return Ok(out),
                // Everything but some names.
                b'(' if out.text.ends_with('!') => {
                    self.array()?;
                    out.text.pop();
                    out.text.push('*');
                    out.has_glob = true;
                }
                b'(' if out.text.ends_with(['=', '@', '+', '?', '*']) => {
                    let words = self.array()?;
                    if let Some(name) = out.text.strip_suffix('=').filter(|_| out.is_assignment()) {
                        self.state.note_list(name, words);
                    }
                    out.has_unknown = true;
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    return Ok(out);
                }
                b'\\' => {
                    let escaped = rest[1..].chars().next();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                    out.text.extend(escaped.filter(|c| *c != '\n'));
                }
                b'\'' => {
                    let n = rest[1..].find('\'').ok_or(Broken)?;
                    out.text.push_str(&rest[1..=n]);
                    self.at += n + 2;
                }
                b'"' => {
                    self.at += 1;
                    self.quoted(&mut out, true)?;
                }
                b'$' if rest.starts_with("$'") => self.ansi(&mut out)?,
                // A text to be translated.
                b'$' if rest.starts_with("$\"") => self.at += 1,
                b'$' | b'`' => self.dollar(&mut out, false)?,
                byte => {
                    out.has_tilde |= byte == b'~'
                        && (self.at == start
                            || (out.text.ends_with('=') && self.draft.is_assignments()));
                    match byte {
                        b'{' => open.push(false),
                        b',' => open.iter_mut().next_back().into_iter().for_each(|is| *is = true),
                        b'.' if rest.starts_with("..") => {
                            open.iter_mut().next_back().into_iter().for_each(|is| *is = true);
                        }
                        b'}' => out.has_braces |= open.pop().unwrap_or_default(),
                        _ => {}
                    }
                    if matches!(byte, b'{' | b'}') || (byte == b',' && !open.is_empty()) {
                        marks.push((self.at, byte));
                    }
                    out.has_glob |= matches!(byte, b'*' | b'?' | b'[');
                    let n = rest.chars().next().map_or(1, char::len_utf8);
                    out.text.push_str(&rest[..n]);
                    self.at += n;
                }
            }
        }
    }

    /// The words of an array or a pattern, from its bracket on. They are not commands.
    fn array(&mut self) -> Result<Vec<Word>, Broken> {
        self.at += 1;
        let mut out = Vec::new();
        while !self.rest().starts_with(')') {
            self.skip_blanks();
            let rest = self.rest();
            if rest.is_empty() {
                return Err(Broken);
            }
            if rest.starts_with('#') && self.text[..self.at].ends_with([' ', '\t', '\n']) {
                self.at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            self.state.one_more_part()?;
            let before = self.at;
            out.push(self.nested(Self::word)?);
            if self.at == before && !self.rest().starts_with(')') {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            }
            self.skip_blanks();
        }
        self.at += 1;
        Ok(out)
    }

    /// What is in double quotes, whose opening was read.
    pub(super) fn quoted(&mut self, out: &mut Word, must_end: bool) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'$' | b'`');
            let n = rest.bytes().position(|byte| is_special(&byte)).unwrap_or(rest.len());
            out.text.push_str(&rest[..n]);
            self.at += n;
            let Some(byte) = self.byte() else {
                return if must_end { Err(Broken) } else { Ok(()) };
            };
            let rest = &rest[n..];
            match byte {
                b'"' if must_end => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    let escaped = rest[1..].chars().next();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                    match escaped {
                        Some('\n') => {}
                        Some(c @ ('"' | '\\' | '$' | '`')) => out.text.push(c),
                        Some(c) => out.text.extend(['\\', c]),
                        None if must_end => return Err(Broken),
                        None => out.text.push('\\'),
                    }
                }
                b'$' | b'`' => self.dollar(out, true)?,
                _ => {
                    out.text.push(char::from(byte));
                    self.at += 1;
                }
            }
        }
    }

    /// `$'…'`
    fn ansi(&mut self, out: &mut Word) -> Result<(), Broken> {
        self.at += 2;
        loop {
            let c = self.rest().chars().next().ok_or(Broken)?;
            self.at += c.len_utf8();
            match c {
                '\'' => return Ok(()),
                '\\' => self.ansi_escape(out)?,
                c => out.text.push(c),
            }
        }
    }

    /// `\n`, `\x72`, `\162`, `\u0072`, …, whose backslash was read.
    fn ansi_escape(&mut self, out: &mut Word) -> Result<(), Broken> {
        let c = self.rest().chars().next().ok_or(Broken)?;
        self.at += c.len_utf8();
        let (radix, most) = match c {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => {
                self.at -= 1;
                (8, 3)
            }
            c => {
                out.text.push(match c {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' | 'E' => '\u{1b}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    c => c,
                });
                return Ok(());
            }
        };
        let digits = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let code = u32::from_str_radix(&self.rest()[..digits], radix).ok();
        self.at += digits;
        out.text.extend(code.and_then(char::from_u32));
        Ok(())
    }

    /// What begins with `$` or a backtick.
    fn dollar(&mut self, out: &mut Word, is_quoted: bool) -> Result<(), Broken> {
        let rest = self.rest();
        if let Some(inner) = rest.strip_prefix('`') {
            return self.backticks(out, inner);
        }
        if let Some(inner) = rest.strip_prefix("$((")
            && let Some(n) = self.end_of_sum(inner)?
        {
            self.at += n + 5;
            self.substitutions_of(&inner[..n])?;
            out.has_unknown = true;
            out.text.push_str("$((…))");
            return Ok(());
        }
        if rest.starts_with("$(") {
            self.at += 2;
            let inner = self.substitution()?;
            return self.said(out, inner);
        }
        if rest.starts_with("${") {
            return self.braces(out, is_quoted);
        }
        let n = rest[1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if let Some(c) = rest[1..].chars().next().filter(|c| n == 0 && "@*#?$!-".contains(*c)) {
            self.at += 2;
            out.has_unknown = true;
            out.text.extend(['$', c]);
            return Ok(());
        }
        self.at += 1 + n;
        self.variable(out, &rest[1..=n])
    }

    /// The output of that command, where it is known.
    fn said(&mut self, out: &mut Word, inner: Option<usize>) -> Result<(), Broken> {
        out.runs.extend(inner);
        let made = inner.and_then(|at| self.state.line.commands.get(at));
        let Some(said) = made.and_then(piped::output) else {
            out.has_unknown = true;
            out.text.push_str(SAID);
            return Ok(());
        };
        self.state.pay(said.text.len())?;
        out.has_tilde |= said.has_tilde && (out.text.is_empty() || out.text.ends_with('='));
        out.has_unknown |= said.has_unknown;
        out.has_glob |= said.has_glob;
        out.text.push_str(&said.text);
        Ok(())
    }

    fn variable(&mut self, out: &mut Word, name: &str) -> Result<(), Broken> {
        if let Some(known) = self.state.vars.get(name).cloned() {
            self.state.pay(known.len())?;
            out.has_unknown |= known.starts_with("$HOME");
            out.text.push_str(&known);
            return Ok(());
        }
        out.has_unknown |= !name.is_empty();
        out.text.push('$');
        out.text.push_str(name);
        Ok(())
    }

    /// `${…}`, with the substitutions in it.
    fn braces(&mut self, out: &mut Word, is_quoted: bool) -> Result<(), Broken> {
        let from = self.at;
        self.at += 2;
        loop {
            let rest = self.rest();
            let c = rest.chars().next().ok_or(Broken)?;
            match c {
                '}' => break,
                '$' | '`' => {
                    let mut inner = Word::default();
                    self.n_nested += 1;
                    let read = if self.n_nested > MAX_NESTED {
                        Err(self.state.cut())
                    } else {
                        self.dollar(&mut inner, is_quoted)
                    };
                    self.n_nested -= 1;
                    read?;
                    out.runs.extend(inner.runs);
                }
                '\\' => self.at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                // Inside double quotes an apostrophe is a plain character.
                '\'' if !is_quoted => self.at += 2 + rest[1..].find('\'').ok_or(Broken)?,
                '"' => {
                    self.at += 1;
                    let mut inner = Word::default();
                    self.quoted(&mut inner, true)?;
                    out.runs.extend(inner.runs);
                }
                _ => self.at += c.len_utf8(),
            }
        }
        let name = &self.text[from + 2..self.at];
        self.at += 1;
        let n = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (plain, rest) = name.split_at(n);
        let is_known = matches!(plain, "HOME" | "PWD") || self.state.vars.contains_key(plain);
        // `${X:?}` is `$X` or nothing at all; `${HOME:-x}` is the home wherever there is one.
        let is_itself = rest.starts_with(":?") || rest.starts_with('?');
        let has_other = rest.starts_with(":-") || rest.starts_with('-') || rest.starts_with(":=");
        let is_list = matches!(rest, "[@]" | "[*]") && self.state.lists.contains_key(plain);
        if rest.is_empty() || is_list || (n > 0 && (is_itself || (has_other && is_known))) {
            return self.variable(out, plain);
        }
        out.has_unknown = true;
        out.text.push_str("${…}");
        Ok(())
    }

    /// What is between backticks is a text of its own.
    fn backticks(&mut self, out: &mut Word, inner: &str) -> Result<(), Broken> {
        let (mut body, mut is_escaped) = (String::new(), false);
        for (i, c) in inner.char_indices() {
            match c {
                '`' if !is_escaped => {
                    self.at += i + 2;
                    let last;
                    if self.depth < MAX_DEPTH {
                        let at = self.state.at.clone();
                        let n_before = self.state.line.commands.len();
                        lex::read(self.state, &body, self.depth + 1);
                        self.state.at = at;
                        let n_after = self.state.line.commands.len();
                        last = n_after.checked_sub(1).filter(|_| n_after > n_before);
                        if self.state.line.is_cut {
                            return Err(Broken);
                        }
                    } else {
                        return Err(self.state.cut());
                    }
                    return self.said(out, last);
                }
                '\\' if !is_escaped => is_escaped = true,
                c => {
                    if is_escaped && !matches!(c, '`' | '\\' | '$') {
                        body.push('\\');
                    }
                    is_escaped = false;
                    body.push(c);
                }
            }
        }
        Err(Broken)
    }
}
