//! From characters to simple commands: quotes, substitutions, redirections, here-documents, comments, groups.
//!
//! Every byte is read once. Looking ahead or reading a text again is paid for (`State::pay`), so the time depends on
//! the length of the line alone.

use super::words::Marks;
use super::{MAX_COMMANDS, MAX_WORDS, State, Word, args, braces, piped, wrap};

/// How deep groups and substitutions may nest. Deeper ones are not read.
pub(super) const MAX_NESTED: u8 = 24;

/// A function name longer than this is not kept with each of its commands.
pub(super) const MAX_NAME: usize = 256;

/// A longer here-document is not taken for the arguments of a command.
const MAX_GIVEN: usize = 4_096;

/// A simple command while it is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) words: Vec<Word>,
    pub(super) writes: Vec<Word>,
    pub(super) stdin: String,
    pub(super) from: Option<usize>,
    pub(super) has_hidden_args: bool,
    pub(super) outer: Option<usize>,
    /// How many of its first words set variables, or seem to.
    pub(super) n_assignments: usize,
}

impl Draft {
    /// Nothing but variables that are set, as far as it was read.
    pub(super) fn is_assignments(&self) -> bool {
        self.n_assignments == self.words.len()
    }

    /// Nothing but keywords, so that a command may begin here.
    pub(super) fn is_empty_so_far(&self) -> bool {
        self.head().is_empty()
    }

    fn push(&mut self, word: Word) {
        let is_one =
            matches!(word.text.as_str(), "export" | "local" | "declare" | "readonly" | "typeset")
                || word.text.contains('=');
        self.n_assignments += usize::from(is_one && self.is_assignments());
        self.words.push(word);
    }

    /// The word that says what it is: the first that is not a keyword.
    fn head(&self) -> &str {
        let head = self.words.iter().find(|word| !wrap::is_keyword(&word.text));
        head.map_or("", |word| &word.text)
    }
}

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Bracket,
}

/// A quote or a bracket does not end, or the line is too long to read.
#[derive(Debug)]
pub(super) struct Broken;

/// A here-document whose text begins at the next line.
struct Here {
    end: String,
    is_quoted: bool,
    has_tabs: bool,
    owner: Option<usize>,
}

/// How deep in `case … esac` the reader is.
#[derive(Clone, Copy, Debug, Default)]
struct Cases {
    n_open: usize,
    /// A pattern comes next, not a command.
    is_pattern: bool,
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
    /// The first of them whose command is not complete.
    n_owned: usize,
    cases: Cases,
    /// This many commands are complete, whatever follows.
    n_sure: usize,
}

/// Adds the commands of a text. `depth` counts the shells around it.
pub(super) fn read(state: &mut State, text: &str, depth: u8) {
    if state.pay(text.len()).is_err() {
        return;
    }
    let n_sure = state.line.commands.len();
    let mut reader = Reader::new(state, text, depth);
    reader.n_sure = n_sure;
    if reader.list(End::Text).is_err() {
        let n_sure = reader.n_sure;
        // The rest would run too, so what was read counts.
        if !state.line.is_cut {
            state.line.forget_after(n_sure);
        }
        state.line.is_broken = true;
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(state: &'a mut State, text: &'a str, depth: u8) -> Self {
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
            n_owned: 0,
            cases: Cases::default(),
            n_sure: 0,
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn list(&mut self, end: End) -> Result<(), Broken> {
        loop {
            let Some(byte) = self.byte() else {
                self.finish(false)?;
                return if end == End::Text { Ok(()) } else { Err(Broken) };
            };
            let rest = self.rest();
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if rest.starts_with("\\\n") => self.at += 2,
                b'\n' => self.line_break(end)?,
                b'#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                b';' => {
                    self.separator(1, false)?;
                    if rest.starts_with(";;") || rest.starts_with(";&") {
                        self.cases.is_pattern = self.cases.n_open > 0;
                    }
                }
                b'&' if rest.starts_with("&>") => self.redirection(1)?,
                b'&' => self.separator(if rest.starts_with("&&") { 2 } else { 1 }, false)?,
                b'|' | b'(' if self.cases.is_pattern => self.at += 1,
                b'|' if rest.starts_with("||") => self.separator(2, false)?,
                b'|' => self.separator(if rest.starts_with("|&") { 2 } else { 1 }, true)?,
                b')' if self.cases.is_pattern => self.end_of_pattern(),
                b')' => {
                    if self.cases.n_open > 0 && !matches!(self.draft.head(), "case" | "esac") {
                        self.end_of_pattern();
                        continue;
                    }
                    self.separator(1, false)?;
                    self.cases.is_pattern = false;
                    if end == End::Bracket && self.cases.n_open == 0 {
                        return Ok(());
                    }
                }
                b'(' => self.bracket()?,
                b'<' | b'>' if !is_substitution(rest) => self.redirection(0)?,
                _ => self.word_or_number()?,
            }
        }
    }

    /// `a)` of a `case`: what was read as words is compared, not run.
    fn end_of_pattern(&mut self) {
        self.draft = Draft::default();
        self.cases.is_pattern = false;
        self.at += 1;
    }

    /// A word; or the number before a redirection, as in `2>&1`.
    fn word_or_number(&mut self) -> Result<(), Broken> {
        let rest = self.rest();
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if n_digits > 0 && rest[n_digits..].starts_with(['<', '>']) {
            return self.redirection(n_digits);
        }
        if self.draft.words.len() > MAX_WORDS {
            return Err(self.state.cut());
        }
        let from = self.at;
        let mut marks = Marks::new();
        let word = self.word_marked(&mut marks)?;
        if let Some(words) = self.said_words(&word, from) {
            words.into_iter().for_each(|word| self.draft.push(word));
            return Ok(());
        }
        if !word.has_braces || !word.runs.is_empty() || self.n_nested >= MAX_NESTED {
            self.keep(word, from);
            return self.test_or_pattern();
        }
        for one in braces::expanded(self.state, self.text, from..self.at, &marks)? {
            let mut inner = Reader::new(self.state, &one, self.depth);
            inner.n_nested = self.n_nested + 1;
            let word = inner.word()?;
            self.draft.push(word);
        }
        Ok(())
    }

    fn keep(&mut self, mut word: Word, from: usize) {
        word.is_quoted = self.text[from..self.at].starts_with(['\'', '"', '\\']);
        self.draft.push(word);
    }

    /// `[[ … ]]` has operators of its own; and `esac` where a pattern could be.
    fn test_or_pattern(&mut self) -> Result<(), Broken> {
        let Some(word) = self.draft.words.last() else { return Ok(()) };
        match word.text.as_str() {
            "[[" if self.draft.head() == "[[" && !word.is_quoted => self.test(),
            "esac" => {
                self.cases.is_pattern = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn test(&mut self) -> Result<(), Broken> {
        loop {
            self.skip_blanks();
            let rest = self.rest();
            let is_end = rest.strip_prefix("]]").is_some_and(|rest| {
                rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '&', '|', ')', '<', '>'])
            });
            match self.byte() {
                None => return Err(Broken),
                Some(b'&' | b'|' | b'(' | b')' | b';') => self.at += 1,
                Some(b'<' | b'>') if !is_substitution(rest) => self.at += 1,
                Some(_) => {
                    if self.draft.words.len() > MAX_WORDS {
                        return Err(self.state.cut());
                    }
                    let (before, word) = (self.at, self.nested(Self::word)?);
                    if self.at == before {
                        return Err(Broken);
                    }
                    self.draft.push(word);
                    if is_end {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn separator(&mut self, n: usize, is_pipe: bool) -> Result<(), Broken> {
        self.finish(is_pipe)?;
        self.at += n;
        Ok(())
    }

    /// The command that was read is complete.
    fn finish(&mut self, is_pipe: bool) -> Result<(), Broken> {
        if self.draft.words.is_empty() && self.draft.writes.is_empty() {
            self.draft.stdin.clear();
        } else {
            let mut draft = std::mem::take(&mut self.draft);
            match draft.head() {
                "case" => {
                    self.cases.n_open += 1;
                    self.cases.is_pattern =
                        draft.words.last().is_some_and(|word| word.text == "in");
                }
                "esac" => self.cases.n_open = self.cases.n_open.saturating_sub(1),
                _ => {}
            }
            draft.from = self.pipe.take();
            self.last = wrap::emit(self.state, draft, self.depth);
            for here in &mut self.heres[self.n_owned..] {
                here.owner = self.last;
            }
            self.n_owned = self.heres.len();
        }
        self.pipe = self.last.filter(|_| is_pipe);
        if self.state.line.is_cut { Err(Broken) } else { Ok(()) }
    }

    fn bracket(&mut self) -> Result<(), Broken> {
        let rest = self.rest();
        let after = rest[1..].trim_start_matches([' ', '\t']);
        let is_name = |(name, before): (&Word, &[Word])| {
            !wrap::is_keyword(&name.text) && before.iter().all(|word| wrap::is_keyword(&word.text))
        };
        if let Some(after) = after.strip_prefix(')')
            && self.draft.words.split_last().is_some_and(is_name)
            && let Some(name) = self.draft.words.pop()
        {
            if self.state.line.functions.len() >= MAX_COMMANDS || name.text.len() > MAX_NAME {
                return Err(self.state.cut());
            }
            // Keywords before it count: `{` begins a group.
            self.finish(false)?;
            self.state.line.functions.push(name.text.clone());
            self.state.function = Some(name.text);
            self.at = self.text.len() - after.len();
            return Ok(());
        }
        let is_sum = self.draft.is_empty_so_far() || self.draft.head() == "for";
        if let Some(inner) = rest.strip_prefix("((").filter(|_| is_sum)
            && let Some(n) = self.end_of_sum(inner)?
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
        let cases = std::mem::take(&mut self.cases);
        self.list(End::Bracket)?;
        self.cases = cases;
        Ok(())
    }

    pub(super) fn nested<T>(
        &mut self,
        body: fn(&mut Self) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        if self.n_nested >= MAX_NESTED {
            return Err(self.state.cut());
        }
        self.n_nested += 1;
        let out = body(self);
        self.n_nested -= 1;
        out
    }

    /// The commands of `$(…)` or `<(…)`, whose opening was read; the last of them.
    pub(super) fn substitution(&mut self) -> Result<Option<usize>, Broken> {
        self.state.one_more_part()?;
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
        self.state.one_more_part()?;
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
        self.separator(1, false)?;
        self.n_owned = 0;
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
                // `xargs rm <<EOF`
                if owner.has_hidden_args && owner.from.is_none() && body.len() <= MAX_GIVEN {
                    let given = args::split(&Word::plain(&body));
                    self.state.n_words += given.len();
                    owner.words.extend(given);
                }
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
        self.state.pay(body.len())?;
        let n_nested = self.n_nested.saturating_add(1);
        if n_nested > MAX_NESTED {
            return Err(self.state.cut());
        }
        let mut inner = Reader::new(self.state, body, self.depth);
        inner.n_nested = n_nested;
        inner.quoted(&mut Word::default(), false)
    }

    /// Where the `))` of `((…))` is, if it is arithmetic and not nested groups.
    pub(super) fn end_of_sum(&mut self, inner: &str) -> Result<Option<usize>, Broken> {
        let mut n_open = 0_usize;
        for (i, byte) in inner.bytes().enumerate() {
            match byte {
                b'(' => n_open += 1,
                b')' if n_open > 0 => n_open -= 1,
                b')' => {
                    self.state.pay(i)?;
                    return Ok(inner[i..].starts_with("))").then_some(i));
                }
                _ => {}
            }
        }
        self.state.pay(inner.len())?;
        Ok(None)
    }

    /// The words that `$(echo a b)` stands for, where it is a whole word that the shell splits.
    fn said_words(&mut self, word: &Word, from: usize) -> Option<Vec<Word>> {
        let [at] = word.runs.as_slice() else { return None };
        if !self.text[from..].starts_with(['$', '`']) {
            return None;
        }
        let made = self.state.line.commands.get(*at)?;
        let words = piped::echoed(made).filter(|words| words.len() > 1)?;
        let is_whole = piped::output(made).is_some_and(|said| said.text == word.text);
        let words = is_whole.then(|| words.to_vec())?;
        self.state.pay(word.text.len()).ok()?;
        Some(words)
    }

    pub(super) fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }
}

/// `<(…)` and `>(…)`.
pub(super) fn is_substitution(rest: &str) -> bool {
    rest.starts_with("<(") || rest.starts_with(">(")
}
