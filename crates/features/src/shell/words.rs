//! One word: quotes, escapes, variables, and the commands that are substituted in it.

use super::lex::{self, Broken, MAX_NESTED, Reader, is_substitution};
use super::{MAX_DEPTH, Word};

impl Reader<'_> {
    pub(super) fn word(&mut self) -> Result<Word, Broken> {
        let mut out = Word::default();
        let start = self.at;
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else { return Ok(out) };
            match c {
                '<' | '>' if is_substitution(rest) && self.at == start => {
                    self.at += 2;
                    let inner = self.substitution()?;
                    out.runs.extend(inner);
                    out.has_unknown = true;
                    out.text.push_str("<(…)");
                }
                '(' if out.text.ends_with(['=', '@', '!', '+', '?', '*']) => {
                    // An array, or a pattern: its words are no commands.
                    self.at += 1;
                    while !self.rest().starts_with(')') {
                        self.skip_blanks();
                        if self.rest().is_empty() {
                            return Err(Broken);
                        }
                        let before = self.at;
                        self.nested(Self::word)?;
                        if self.at == before && !self.rest().starts_with(')') {
                            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                        }
                        self.skip_blanks();
                    }
                    self.at += 1;
                    out.has_unknown = true;
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                    return Ok(out);
                }
                '\\' => {
                    let escaped = rest[1..].chars().next();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                    out.text.extend(escaped.filter(|c| *c != '\n'));
                }
                '\'' => {
                    let n = rest[1..].find('\'').ok_or(Broken)?;
                    out.text.push_str(&rest[1..=n]);
                    self.at += n + 2;
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut out, true)?;
                }
                '$' if rest.starts_with("$'") => self.ansi(&mut out)?,
                '$' | '`' => self.dollar(&mut out, false)?,
                _ => {
                    let is_value = out.text.ends_with('=') && self.draft.is_assignments();
                    out.has_tilde |= c == '~' && (self.at == start || is_value);
                    out.has_braces |= c == '{' && is_expanded(rest);
                    if c == '{' && self.brace.is_none() {
                        self.brace = Some(self.at);
                    }
                    out.has_glob |= matches!(c, '*' | '?' | '[');
                    out.text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// What is in double quotes, whose opening was read.
    pub(super) fn quoted(&mut self, out: &mut Word, must_end: bool) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                return if must_end { Err(Broken) } else { Ok(()) };
            };
            match c {
                '"' if must_end => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    let escaped = rest[1..].chars().next();
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                    match escaped {
                        Some('\n') => {}
                        Some(c @ ('"' | '\\' | '$' | '`')) => out.text.push(c),
                        Some(c) => out.text.extend(['\\', c]),
                        None => return Err(Broken),
                    }
                }
                '$' | '`' => self.dollar(out, true)?,
                _ => {
                    out.text.push(c);
                    self.at += c.len_utf8();
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
                '\\' => {
                    let c = self.rest().chars().next().ok_or(Broken)?;
                    self.at += c.len_utf8();
                    out.text.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        c => c,
                    });
                }
                c => out.text.push(c),
            }
        }
    }

    /// What begins with `$` or a backtick.
    fn dollar(&mut self, out: &mut Word, is_quoted: bool) -> Result<(), Broken> {
        let rest = self.rest();
        if let Some(inner) = rest.strip_prefix('`') {
            return self.backticks(out, inner);
        }
        if let Some(inner) = rest.strip_prefix("$((")
            && let Some(n) = lex::end_of_sum(inner)
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
            self.said(out, inner);
            return Ok(());
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
        self.variable(out, &rest[1..=n]);
        Ok(())
    }

    /// The output of that command.
    fn said(&self, out: &mut Word, inner: Option<usize>) {
        let made = inner.and_then(|at| self.state.line.commands.get(at));
        let is_here = made.is_some_and(|made| made.name() == "pwd" && made.folder.is_empty());
        out.text.push_str(if is_here { "$PWD" } else { "$(…)" });
        out.runs.extend(inner);
        out.has_unknown = true;
    }

    fn variable(&mut self, out: &mut Word, name: &str) {
        if let Some(known) = self.state.vars.get(name) {
            out.has_unknown |= known.starts_with("$HOME");
            out.text.push_str(known);
            return;
        }
        out.has_unknown |= !name.is_empty();
        out.text.push('$');
        out.text.push_str(name);
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
                        self.state.line.is_cut = true;
                        Err(Broken)
                    } else {
                        self.dollar(&mut inner, is_quoted)
                    };
                    self.n_nested -= 1;
                    read?;
                    out.runs.extend(inner.runs);
                }
                '\\' => self.at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                // Inside of double quotes an apostrophe is nothing but that.
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
        if rest.is_empty() || (n > 0 && (is_itself || (has_other && is_known))) {
            self.variable(out, plain);
        } else {
            out.has_unknown = true;
            out.text.push_str("${…}");
        }
        Ok(())
    }

    /// What is between backticks is a text of its own.
    fn backticks(&mut self, out: &mut Word, inner: &str) -> Result<(), Broken> {
        let (mut body, mut is_escaped) = (String::new(), false);
        for (i, c) in inner.char_indices() {
            match c {
                '`' if !is_escaped => {
                    self.at += i + 2;
                    let mut last = None;
                    if self.depth < MAX_DEPTH {
                        let at = self.state.at.clone();
                        lex::read(self.state, &body, self.depth + 1);
                        self.state.at = at;
                        last = self.state.line.commands.len().checked_sub(1);
                    } else {
                        self.state.line.is_cut = true;
                    }
                    self.said(out, last);
                    return Ok(());
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

/// Whether these braces are several words: `{a,b}` and `{1..3}` are, `{}` and `@{1}` are not.
fn is_expanded(rest: &str) -> bool {
    let inner = rest.split(['}', ' ', '\t', '\n']).next().unwrap_or_default();
    rest[inner.len()..].starts_with('}') && (inner.contains(',') || inner.contains(".."))
}
