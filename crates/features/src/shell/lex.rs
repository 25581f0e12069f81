//! From characters to simple commands: quotes, substitutions, redirections, here-documents, comments, groups.

use super::{State, Word, wrap};

/// Groups and substitutions in each other; what is deeper is not read.
const MAX_NESTED: u8 = 24;

/// A simple command while it is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) words: Vec<Word>,
    pub(super) writes: Vec<Word>,
    pub(super) stdin: String,
    pub(super) from: Option<usize>,
    pub(super) has_hidden_args: bool,
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Bracket,
}

/// The quoting or a bracket does not end.
struct Broken;

/// A here-document whose text begins at the next line.
struct Here {
    end: String,
    is_quoted: bool,
    has_tabs: bool,
    owner: Option<usize>,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
    n_nested: u8,
    state: &'a mut State,
    draft: Draft,
    last: Option<usize>,
    pipe: Option<usize>,
    heres: Vec<Here>,
    /// So many commands are complete, whatever comes after.
    n_sure: usize,
}

/// Adds the commands of a text. `depth`: how many shells it is inside of.
pub(super) fn read(state: &mut State, text: &str, depth: u8) {
    let n_sure = state.line.commands.len();
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        n_nested: 0,
        state,
        draft: Draft::default(),
        last: None,
        pipe: None,
        heres: Vec::new(),
        n_sure,
    };
    if reader.list(End::Text).is_err() {
        let n_sure = reader.n_sure;
        state.line.commands.truncate(n_sure);
        state.line.is_broken = true;
    }
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn list(&mut self, end: End) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                self.finish(false);
                return if end == End::Text { Ok(()) } else { Err(Broken) };
            };
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                '\n' => self.line_break(end)?,
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                ';' => self.separator(1, false),
                '&' if rest.starts_with("&>") => self.redirection(1)?,
                '&' => self.separator(if rest.starts_with("&&") { 2 } else { 1 }, false),
                '|' if rest.starts_with("||") => self.separator(2, false),
                '|' => self.separator(if rest.starts_with("|&") { 2 } else { 1 }, true),
                ')' => {
                    self.separator(1, false);
                    if end == End::Bracket {
                        return Ok(());
                    }
                }
                '(' => self.bracket()?,
                '<' | '>' if !is_substitution(rest) => self.redirection(0)?,
                _ => self.word_or_number()?,
            }
        }
    }

    /// A word; or the number before a redirection, as in `2>&1`.
    fn word_or_number(&mut self) -> Result<(), Broken> {
        let rest = self.rest();
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if n_digits > 0 && rest[n_digits..].starts_with(['<', '>']) {
            return self.redirection(n_digits);
        }
        let word = self.word()?;
        self.draft.words.push(word);
        Ok(())
    }

    fn separator(&mut self, n: usize, is_pipe: bool) {
        self.finish(is_pipe);
        self.at += n;
    }

    /// The command that was read is complete.
    fn finish(&mut self, is_pipe: bool) {
        let mut draft = std::mem::take(&mut self.draft);
        if !draft.words.is_empty() || !draft.writes.is_empty() {
            draft.from = self.pipe.take();
            self.last = wrap::emit(self.state, draft, self.depth);
            for here in self.heres.iter_mut().filter(|here| here.owner.is_none()) {
                here.owner = self.last;
            }
        }
        self.pipe = self.last.filter(|_| is_pipe);
    }

    fn bracket(&mut self) -> Result<(), Broken> {
        let rest = self.rest();
        if let ([name], Some(after)) =
            (self.draft.words.as_slice(), rest[1..].trim_start().strip_prefix(')'))
        {
            self.state.line.functions.push(name.text.clone());
            self.draft.words.clear();
            self.at = self.text.len() - after.len();
            return Ok(());
        }
        if let Some(inner) = rest.strip_prefix("((").filter(|_| self.draft.words.is_empty()) {
            self.at += 4 + inner.find("))").ok_or(Broken)?;
            return Ok(());
        }
        self.at += 1;
        let folder = self.state.folder.clone();
        self.nested(Self::group)?;
        self.state.folder = folder;
        Ok(())
    }

    fn group(&mut self) -> Result<(), Broken> {
        self.list(End::Bracket)
    }

    fn nested<T>(&mut self, body: fn(&mut Self) -> Result<T, Broken>) -> Result<T, Broken> {
        if self.n_nested >= MAX_NESTED {
            return Err(Broken);
        }
        self.n_nested += 1;
        let out = body(self);
        self.n_nested -= 1;
        out
    }

    /// The commands of `$(…)` or `<(…)`, whose opening was read; the last of them.
    fn substitution(&mut self) -> Result<Option<usize>, Broken> {
        let draft = std::mem::take(&mut self.draft);
        let (last, pipe) = (self.last.take(), self.pipe.take());
        let folder = self.state.folder.clone();
        self.nested(Self::group)?;
        let inner = self.last;
        (self.draft, self.last, self.pipe) = (draft, last, pipe);
        self.state.folder = folder;
        Ok(inner)
    }

    fn redirection(&mut self, n_before: usize) -> Result<(), Broken> {
        self.at += n_before;
        let rest = self.rest();
        let op = ["<<<", "<<-", "<<", "<>", "<&", ">&", ">>", ">|", "<", ">"]
            .into_iter()
            .find(|op| rest.starts_with(op))
            .unwrap_or("<");
        self.at += op.len();
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let from = self.at;
        let word = self.word()?;
        match op {
            "<<" | "<<-" => {
                let is_quoted = self.text[from..self.at].contains(['\'', '"', '\\']);
                let here = Here { end: word.text, is_quoted, has_tabs: op == "<<-", owner: None };
                self.heres.push(here);
            }
            "<<<" => self.draft.stdin = word.text,
            ">" | ">>" | ">|" | "<>" => self.draft.writes.push(word),
            ">&" if !word.text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                self.draft.writes.push(word);
            }
            _ => {}
        }
        Ok(())
    }

    /// The line break, and the here-documents after it.
    fn line_break(&mut self, end: End) -> Result<(), Broken> {
        self.separator(1, false);
        for here in std::mem::take(&mut self.heres) {
            let rest = self.rest();
            let (mut body, mut taken) = (String::new(), 0);
            for line in rest.split_inclusive('\n') {
                taken += line.len();
                let line = if here.has_tabs { line.trim_start_matches('\t') } else { line };
                if line.trim_end_matches(['\n', '\r']) == here.end {
                    break;
                }
                body.push_str(line);
            }
            self.at += taken;
            if !here.is_quoted {
                self.substitutions_of(&body)?;
            }
            if let Some(owner) = here.owner.and_then(|at| self.state.line.commands.get_mut(at)) {
                owner.stdin = body;
            }
        }
        if end == End::Text && self.n_nested == 0 {
            self.n_sure = self.state.line.commands.len();
        }
        Ok(())
    }

    /// What a here-document whose end is not quoted runs: it is read as if in double quotes.
    fn substitutions_of(&mut self, body: &str) -> Result<(), Broken> {
        if !body.contains("$(") && !body.contains('`') {
            return Ok(());
        }
        let mut inner = Reader {
            text: body,
            at: 0,
            depth: self.depth,
            n_nested: self.n_nested.saturating_add(1),
            state: self.state,
            draft: Draft::default(),
            last: None,
            pipe: None,
            heres: Vec::new(),
            n_sure: 0,
        };
        inner.quoted(&mut Word::default(), false)
    }

    fn word(&mut self) -> Result<Word, Broken> {
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
                '$' | '`' => self.dollar(&mut out)?,
                _ => {
                    out.has_tilde |= c == '~' && self.at == start;
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
    fn quoted(&mut self, out: &mut Word, must_end: bool) -> Result<(), Broken> {
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
                '$' | '`' => self.dollar(out)?,
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
    fn dollar(&mut self, out: &mut Word) -> Result<(), Broken> {
        let rest = self.rest();
        if let Some(inner) = rest.strip_prefix('`') {
            return self.backticks(out, inner);
        }
        if let Some(inner) = rest.strip_prefix("$((")
            && let Some(n) = inner.find("))")
            && !inner[..n].contains("$(")
        {
            self.at += n + 5;
            out.has_unknown = true;
            out.text.push_str("$((…))");
            return Ok(());
        }
        if rest.starts_with("$(") {
            self.at += 2;
            let inner = self.substitution()?;
            out.runs.extend(inner);
            out.has_unknown = true;
            out.text.push_str("$(…)");
            return Ok(());
        }
        if rest.starts_with("${") {
            return self.braces(out);
        }
        let n = rest[1..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        self.at += 1 + n;
        self.variable(out, &rest[1..=n]);
        Ok(())
    }

    fn variable(&mut self, out: &mut Word, name: &str) {
        if let Some(known) = self.state.vars.get(name) {
            out.text.push_str(known);
            return;
        }
        out.has_unknown |= !name.is_empty();
        out.text.push('$');
        out.text.push_str(name);
    }

    /// `${…}`, with the substitutions in it.
    fn braces(&mut self, out: &mut Word) -> Result<(), Broken> {
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
                        Err(Broken)
                    } else {
                        self.dollar(&mut inner)
                    };
                    self.n_nested -= 1;
                    read?;
                    out.runs.extend(inner.runs);
                }
                '\\' => self.at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                '\'' => self.at += 2 + rest[1..].find('\'').ok_or(Broken)?,
                _ => self.at += c.len_utf8(),
            }
        }
        let name = &self.text[from + 2..self.at];
        self.at += 1;
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.variable(out, name);
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
                    out.has_unknown = true;
                    out.text.push_str("$(…)");
                    if self.depth < super::MAX_DEPTH {
                        read(self.state, &body, self.depth + 1);
                        out.runs.extend(self.state.line.commands.len().checked_sub(1));
                    }
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

/// `<(…)` and `>(…)`.
fn is_substitution(rest: &str) -> bool {
    rest.starts_with("<(") || rest.starts_with(">(")
}
