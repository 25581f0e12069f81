//! From characters to simple commands: quotes, substitutions, redirections, here-documents, comments, groups.

use super::{MAX_COMMANDS, MAX_READ, MAX_WORDS, State, Word, wrap};

/// Groups and substitutions in each other; what is deeper is not read.
pub(super) const MAX_NESTED: u8 = 24;

/// A simple command while it is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) words: Vec<Word>,
    pub(super) writes: Vec<Word>,
    pub(super) stdin: String,
    pub(super) from: Option<usize>,
    pub(super) has_hidden_args: bool,
}

impl Draft {
    /// Nothing but variables that are set, as far as it was read.
    pub(super) fn is_assignments(&self) -> bool {
        self.words.iter().all(|word| {
            matches!(word.text.as_str(), "export" | "local" | "declare" | "readonly" | "typeset")
                || word.text.contains('=')
        })
    }
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Bracket,
}

/// The quoting or a bracket does not end.
pub(super) struct Broken;

/// A here-document whose text begins at the next line.
struct Here {
    end: String,
    is_quoted: bool,
    has_tabs: bool,
    owner: Option<usize>,
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) depth: u8,
    pub(super) n_nested: u8,
    pub(super) state: &'a mut State,
    pub(super) draft: Draft,
    last: Option<usize>,
    pipe: Option<usize>,
    heres: Vec<Here>,
    /// Where the word has its first brace that is not quoted.
    pub(super) brace: Option<usize>,
    /// So many commands are complete, whatever comes after.
    n_sure: usize,
}

/// Adds the commands of a text. `depth`: how many shells it is inside of.
pub(super) fn read(state: &mut State, text: &str, depth: u8) {
    state.n_bytes = state.n_bytes.saturating_add(text.len());
    if state.n_bytes > MAX_READ {
        state.line.is_cut = true;
        return;
    }
    let n_sure = state.line.commands.len();
    let mut reader = Reader::new(state, text, depth);
    reader.n_sure = n_sure;
    if reader.list(End::Text).is_err() {
        let n_sure = reader.n_sure;
        state.line.commands.truncate(n_sure);
        state.line.is_broken = true;
    }
}

impl<'a> Reader<'a> {
    fn new(state: &'a mut State, text: &'a str, depth: u8) -> Self {
        Self {
            text,
            at: 0,
            depth,
            n_nested: 0,
            state,
            draft: Draft::default(),
            last: None,
            pipe: None,
            heres: Vec::new(),
            brace: None,
            n_sure: 0,
        }
    }

    pub(super) fn rest(&self) -> &'a str {
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
        let from = self.at;
        self.brace = None;
        let word = self.word()?;
        let raw = &self.text[from..self.at];
        let all = self.brace.and_then(|brace| alternatives(raw, brace - from)).unwrap_or_default();
        if all.is_empty() || self.n_nested >= MAX_NESTED || !word.runs.is_empty() {
            self.draft.words.push(word);
            return Ok(());
        }
        for one in all {
            self.state.n_bytes = self.state.n_bytes.saturating_add(one.len());
            if self.state.n_bytes > MAX_READ {
                self.state.line.is_cut = true;
                break;
            }
            let mut inner = Reader::new(self.state, &one, self.depth);
            inner.n_nested = self.n_nested + 1;
            while inner.at < one.len() && inner.word_or_number().is_ok() {}
            let words = std::mem::take(&mut inner.draft.words);
            self.draft.words.extend(words);
            if self.draft.words.len() > MAX_WORDS {
                break;
            }
        }
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
            if self.state.line.functions.len() < MAX_COMMANDS {
                self.state.line.functions.push(name.text.clone());
            }
            self.state.function = Some(name.text.clone());
            self.draft.words.clear();
            self.at = self.text.len() - after.len();
            return Ok(());
        }
        if let Some(inner) = rest.strip_prefix("((").filter(|_| self.draft.words.is_empty())
            && let Some(n) = end_of_sum(inner)
        {
            self.at += 4 + n;
            return self.substitutions_of(&inner[..n]);
        }
        self.at += 1;
        let at = self.state.at.clone();
        let function = self.state.function.take();
        self.state.groups.push(function);
        let n_groups = self.state.groups.len();
        self.nested(Self::group)?;
        self.state.groups.truncate(n_groups - 1);
        self.state.at = at;
        Ok(())
    }

    fn group(&mut self) -> Result<(), Broken> {
        self.list(End::Bracket)
    }

    pub(super) fn nested<T>(
        &mut self,
        body: fn(&mut Self) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        if self.n_nested >= MAX_NESTED {
            self.state.line.is_cut = true;
            return Err(Broken);
        }
        self.n_nested += 1;
        let out = body(self);
        self.n_nested -= 1;
        out
    }

    /// The commands of `$(…)` or `<(…)`, whose opening was read; the last of them.
    pub(super) fn substitution(&mut self) -> Result<Option<usize>, Broken> {
        let draft = std::mem::take(&mut self.draft);
        let (last, pipe) = (self.last.take(), self.pipe.take());
        let at = self.state.at.clone();
        self.nested(Self::group)?;
        let inner = self.last;
        (self.draft, self.last, self.pipe) = (draft, last, pipe);
        self.state.at = at;
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
    pub(super) fn substitutions_of(&mut self, body: &str) -> Result<(), Broken> {
        if !body.contains("$(") && !body.contains('`') {
            return Ok(());
        }
        let n_nested = self.n_nested.saturating_add(1);
        if n_nested > MAX_NESTED {
            self.state.line.is_cut = true;
            return Err(Broken);
        }
        let mut inner = Reader::new(self.state, body, self.depth);
        inner.n_nested = n_nested;
        inner.quoted(&mut Word::default(), false)
    }
}

/// `<(…)` and `>(…)`.
pub(super) fn is_substitution(rest: &str) -> bool {
    rest.starts_with("<(") || rest.starts_with(">(")
}

/// Where the `))` of `((…))` is, if it is a sum and no group of groups.
pub(super) fn end_of_sum(inner: &str) -> Option<usize> {
    let mut n_open = 0_usize;
    for (i, c) in inner.char_indices() {
        match c {
            '(' => n_open += 1,
            ')' if n_open > 0 => n_open -= 1,
            ')' => return inner[i..].starts_with("))").then_some(i),
            _ => {}
        }
    }
    None
}

/// The words that `a{b,c}` stands for.
fn alternatives(raw: &str, brace: usize) -> Option<Vec<String>> {
    let inner = raw.get(brace + 1..)?;
    let (mut n_open, mut from, mut all) = (0_usize, 0, Vec::new());
    for (i, c) in inner.char_indices() {
        match c {
            '\'' | '"' | '\\' | '`' => return None,
            '{' => n_open += 1,
            '}' if n_open > 0 => n_open -= 1,
            ',' if n_open == 0 => {
                all.push(&inner[from..i]);
                from = i + 1;
            }
            '}' => {
                all.push(&inner[from..i]);
                let (before, after) = (&raw[..brace], &inner[i + 1..]);
                let is_list = all.len() > 1 && !before.ends_with('$');
                return is_list
                    .then(|| all.iter().map(|one| format!("{before}{one}{after}")).collect());
            }
            _ => {}
        }
    }
    None
}
