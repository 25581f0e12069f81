//! Our reader against another one, `brush-parser`: the words of each command, what is written to, and what is a command at
//! all. The lines are the guards' tables and some thousands from a small grammar.
//!
//! The two have different tasks. What ours adds on purpose is taken off both sides before they are compared:
//! * ours takes off assignments, keywords and wrappers (`sudo`, `env`, …), and adds what is inside of `sh -c`, `eval`, `ssh`:
//!   the grammar has none of these, and of the tables only the programs' names are compared;
//! * ours puts in what is known of variables, braces and `$(echo …)`: the grammar has only unknown ones;
//! * ours keeps `for`, `case`, `[[`, `done`, … as commands, which the other one makes nodes of: they are left out;
//! * ours emits a substitution before the command that it is in: commands are compared as a set, sorted.

use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item};
use brush_parser::word::{WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, parse_tokens, tokenize_str, word};

use super::*;

/// Lines on which both differ, with the reason. The first part of a line is enough.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "X=$('gam ma' \\\n `alpha b`$v <<'E'",
        "a quoted here-document inside of `$(…)` is data to bash and to us; the other reader runs it",
    ),
    (
        ">> `alpha b` <<'E'\n$(not run) 'x\nE\n)\"",
        "the same inside of a quoted `$(…)`, whose end the other reader misses",
    ),
    (
        "((\"eps\" \"$v and ${v}\"$v;'gam ma'",
        "`((` begins two groups here, and the other reader takes the end of a here-document in them for a command",
    ),
    (
        "!(",
        "before a command it is a group to bash, unless `extglob` is on; the other reader always takes it for a pattern",
    ),
];

/// What a reader found.
#[derive(Debug, Default, PartialEq, Eq)]
struct ParsedLine {
    commands: Vec<String>,
    writes: Vec<String>,
}

impl ParsedLine {
    fn sorted(mut self) -> Self {
        self.commands.sort();
        self.writes.sort();
        self
    }
}

/// What ours keeps as a command, and is a part of one.
const PARTS: &[&str] = &["for", "select", "case", "esac", "done", "fi", "[[", "}"];

fn ours(line: &str) -> Option<ParsedLine> {
    let line = read(line);
    if line.is_broken || line.is_cut {
        return None;
    }
    let mut out = ParsedLine::default();
    for made in &line.commands {
        let words: Vec<&str> = made.words.iter().map(|word| word.text.as_str()).collect();
        if !words.is_empty() && !PARTS.contains(&words[0]) {
            out.commands.push(words.join("\u{1}"));
        }
        out.writes.extend(made.writes.iter().map(|word| word.text.clone()));
    }
    Some(out.sorted())
}

fn theirs(line: &str) -> Option<ParsedLine> {
    let mut out = ParsedLine::default();
    program(line, &mut out)?;
    Some(out.sorted())
}

fn program(line: &str, out: &mut ParsedLine) -> Option<()> {
    let tokens = tokenize_str(line).ok()?;
    let program = parse_tokens(&tokens, &ParserOptions::default()).ok()?;
    program.complete_commands.iter().try_for_each(|list| of_list(list, out))
}

fn of_list(list: &ast::CompoundList, out: &mut ParsedLine) -> Option<()> {
    for ast::CompoundListItem(all, _) in &list.0 {
        let more = all.additional.iter().map(|one| match one {
            ast::AndOr::And(pipe) | ast::AndOr::Or(pipe) => pipe,
        });
        for pipe in std::iter::once(&all.first).chain(more) {
            pipe.seq.iter().try_for_each(|command| of_command(command, out))?;
        }
    }
    Some(())
}

fn of_command(command: &ast::Command, out: &mut ParsedLine) -> Option<()> {
    match command {
        ast::Command::Simple(simple) => of_simple(simple, out),
        ast::Command::Compound(compound, redirects) => {
            of_compound(compound, out)?;
            of_redirects(redirects.as_ref(), out)
        }
        ast::Command::Function(function) => {
            of_compound(&function.body.0, out)?;
            of_redirects(function.body.1.as_ref(), out)
        }
        ast::Command::ExtendedTest(test, redirects) => {
            of_test(&test.expr, out)?;
            of_redirects(redirects.as_ref(), out)
        }
    }
}

fn of_test(test: &ast::ExtendedTestExpr, out: &mut ParsedLine) -> Option<()> {
    use ast::ExtendedTestExpr as Test;
    match test {
        Test::And(a, b) | Test::Or(a, b) => {
            of_test(a, out)?;
            of_test(b, out)
        }
        Test::Not(inner) | Test::Parenthesized(inner) => of_test(inner, out),
        Test::UnaryTest(_, word) => text(&word.value, out).map(drop),
        Test::BinaryTest(_, a, b) => {
            text(&a.value, out)?;
            text(&b.value, out).map(drop)
        }
    }
}

fn of_compound(compound: &ast::CompoundCommand, out: &mut ParsedLine) -> Option<()> {
    use ast::CompoundCommand as Compound;
    match compound {
        Compound::Arithmetic(sum) => of_sum(&sum.expr.value, out),
        Compound::ArithmeticForClause(each) => of_list(&each.body.list, out),
        Compound::BraceGroup(group) => of_list(&group.list, out),
        Compound::Subshell(group) => of_list(&group.list, out),
        Compound::ForClause(each) => {
            for value in each.values.iter().flatten() {
                text(&value.value, out)?;
            }
            of_list(&each.body.list, out)
        }
        Compound::CaseClause(case) => {
            text(&case.value.value, out)?;
            case.cases
                .iter()
                .filter_map(|item| item.cmd.as_ref())
                .try_for_each(|list| of_list(list, out))
        }
        Compound::IfClause(choice) => {
            of_list(&choice.condition, out)?;
            of_list(&choice.then, out)?;
            for other in choice.elses.iter().flatten() {
                other.condition.iter().try_for_each(|list| of_list(list, out))?;
                of_list(&other.body, out)?;
            }
            Some(())
        }
        Compound::WhileClause(each) | Compound::UntilClause(each) => {
            of_list(&each.0, out)?;
            of_list(&each.1.list, out)
        }
        Compound::Coprocess(inner) => of_command(&inner.body, out),
    }
}

fn of_simple(simple: &ast::SimpleCommand, out: &mut ParsedLine) -> Option<()> {
    let mut words = Vec::new();
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        of_item(item, &mut Vec::new(), out)?;
    }
    if let Some(name) = &simple.word_or_name {
        words.push(text(&name.value, out)?);
    }
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        of_item(item, &mut words, out)?;
    }
    if simple.word_or_name.is_some() {
        out.commands.push(words.join("\u{1}"));
    }
    Some(())
}

fn of_item(item: &Item, words: &mut Vec<String>, out: &mut ParsedLine) -> Option<()> {
    match item {
        Item::IoRedirect(redirect) => of_redirect(redirect, out),
        Item::Word(word) | Item::AssignmentWord(_, word) => {
            words.push(text(&word.value, out)?);
            Some(())
        }
        Item::ProcessSubstitution(_, inner) => {
            of_list(&inner.list, out)?;
            words.push("<(…)".to_owned());
            Some(())
        }
    }
}

fn of_redirects(all: Option<&ast::RedirectList>, out: &mut ParsedLine) -> Option<()> {
    all.iter().flat_map(|all| &all.0).try_for_each(|one| of_redirect(one, out))
}

fn of_redirect(redirect: &ast::IoRedirect, out: &mut ParsedLine) -> Option<()> {
    use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as To, IoRedirect as Redirect};
    match redirect {
        Redirect::File(_, kind, To::Filename(word)) => {
            let file = text(&word.value, out)?;
            if !matches!(kind, Kind::Read | Kind::DuplicateInput) {
                out.writes.push(file);
            }
        }
        Redirect::File(_, kind, To::Duplicate(word)) => {
            let file = text(&word.value, out)?;
            let is_number = file.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if matches!(kind, Kind::DuplicateOutput) && !is_number {
                out.writes.push(file);
            }
        }
        Redirect::File(_, _, To::Fd(_)) => {}
        Redirect::File(_, _, To::ProcessSubstitution(_, inner)) => of_list(&inner.list, out)?,
        Redirect::HereDocument(_, here) => {
            if here.requires_expansion {
                let pieces =
                    word::parse_heredoc(&here.doc.value, &ParserOptions::default()).ok()?;
                said(&pieces, &here.doc.value, out)?;
            }
        }
        Redirect::HereString(_, word) => drop(text(&word.value, out)?),
        Redirect::OutputAndError(word, _) => {
            let file = text(&word.value, out)?;
            out.writes.push(file);
        }
    }
    Some(())
}

/// A sum is read as if in double quotes, so quotes in it mean nothing.
fn of_sum(raw: &str, out: &mut ParsedLine) -> Option<()> {
    let pieces = word::parse_heredoc(raw, &ParserOptions::default()).ok()?;
    said(&pieces, raw, out).map(drop)
}

/// A word as ours says it.
fn text(raw: &str, out: &mut ParsedLine) -> Option<String> {
    let pieces = word::parse(raw, &ParserOptions::default()).ok()?;
    said(&pieces, raw, out)
}

fn said(pieces: &[WordPieceWithSource], raw: &str, out: &mut ParsedLine) -> Option<String> {
    let mut all = String::new();
    for one in pieces {
        match &one.piece {
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => all.push_str(text),
            WordPiece::AnsiCQuotedText(text) => {
                all.push_str(&text.replace("\\n", "\n").replace("\\t", "\t"));
            }
            WordPiece::DoubleQuotedSequence(inner)
            | WordPiece::GettextDoubleQuotedSequence(inner) => {
                all.push_str(&said(inner, raw, out)?);
            }
            WordPiece::TildeExpansion(_) | WordPiece::ParameterExpansion(_) => {
                let source = raw.get(one.start_index..one.end_index)?;
                let name = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
                match name {
                    Some(name) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                        all.push('$');
                        all.push_str(name);
                    }
                    Some(_) => all.push_str("${…}"),
                    None => all.push_str(source),
                }
            }
            WordPiece::CommandSubstitution(text)
            | WordPiece::BackquotedCommandSubstitution(text) => {
                program(text, out)?;
                all.push_str("$(…)");
            }
            WordPiece::EscapeSequence(text) => {
                let inner = text.strip_prefix('\\').unwrap_or(text);
                all.push_str(if inner == "\n" { "" } else { inner });
            }
            WordPiece::ArithmeticExpression(sum) => {
                of_sum(&sum.value, out)?;
                all.push_str("$((…))");
            }
        }
    }
    Some(all)
}

/// Lines from a small grammar, always the same for a seed.
struct Grammar(u64);

impl Grammar {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }

    fn line(&mut self, depth: usize) -> String {
        let mut out = self.pipeline(depth);
        for _ in 0..self.below(3) {
            let mark = self.pick(&["; ", " && ", " || ", "\n", " & ", ";"]);
            out = format!("{out}{mark}{}", self.pipeline(depth));
        }
        out
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut out = self.command(depth);
        for _ in 0..self.below(3).saturating_sub(1) {
            let mark = self.pick(&[" | ", "|", " |& "]);
            out = format!("{out}{mark}{}", self.command(depth));
        }
        out
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple(0);
        }
        let inner = depth - 1;
        match self.below(14) {
            0 => format!("({})", self.line(inner)),
            1 => format!("{{ {}; }}", self.line(inner)),
            2 => format!(
                "if {}; then {}; else {}; fi",
                self.simple(inner),
                self.line(inner),
                self.simple(inner)
            ),
            3 => format!(
                "for each in {} {}; do {}; done",
                self.word(inner),
                self.word(inner),
                self.line(inner)
            ),
            4 => format!(
                "while {}; do {}; done > {}",
                self.simple(inner),
                self.line(inner),
                self.word(0)
            ),
            5 => format!(
                "case {} in {}|b) {};; *) {};; esac",
                self.word(0),
                self.pick(&["a", "'a b'", "a*"]),
                self.line(inner),
                self.simple(inner)
            ),
            6 => format!("f() {{ {}; }}", self.line(inner)),
            7 => format!("[[ {} == {} && -n {} ]]", self.word(0), self.word(0), self.word(inner)),
            8 => format!("! {}", self.simple(inner)),
            9 => format!("(( x {} 1 ))", self.pick(&["+", "<<", "==", "> 2 ||"])),
            _ => self.simple(inner),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut out = String::new();
        if self.below(8) == 0 {
            out = format!("X={} ", self.word(depth));
        }
        out.push_str(self.pick(&[
            "alpha",
            "beta",
            "'gam ma'",
            "del\\ta",
            "\"eps\"",
            "/bin/zeta",
            "x-y",
        ]));
        for _ in 0..self.below(4) {
            let (blank, word) = (self.pick(&[" ", "  ", " \\\n "]), self.word(depth));
            out = format!("{out}{blank}{word}");
        }
        if self.below(4) == 0 {
            let (mark, word) = (
                self.pick(&[" > ", " >> ", " 2> ", " >| ", " &> ", " < ", " <<< ", " <> "]),
                self.word(0),
            );
            out = format!("{out}{mark}{word}");
        }
        if self.below(8) == 0 {
            out.push_str(self.pick(&[" 2>&1", " >&2", " <&0", " 2>&-"]));
        }
        match self.below(24) {
            0 => out.push_str(" <<E\nsome $x text\nE\n"),
            1 => out.push_str(" <<'E'\n$(not run) 'x\nE\n"),
            2 => out.push_str(" <<-E\n\ttab $(alpha b)\n\tE\n"),
            3 => out.push_str(" # a comment; 'with\n"),
            _ => {}
        }
        out
    }

    fn word(&mut self, depth: usize) -> String {
        let n = 1 + self.below(2);
        (0..n).map(|_| self.piece(depth)).collect()
    }

    fn piece(&mut self, depth: usize) -> String {
        let inner = depth.saturating_sub(1);
        match self.below(20) {
            0 => "'q; $(x) \"'".to_owned(),
            1 => "\"d 'q' \\\" \\$ \\\\ \\n\"".to_owned(),
            2 => "\"$v and ${v}\"".to_owned(),
            3 => "$v".to_owned(),
            4 => "${v:-w}".to_owned(),
            5 if depth > 0 => format!("$({})", self.line(inner)),
            6 if depth > 0 => format!("\"$({})\"", self.simple(inner)),
            7 => "`alpha b`".to_owned(),
            8 => "$((1 + 2))".to_owned(),
            9 => "\\;".to_owned(),
            10 => "a\\ b".to_owned(),
            11 => "*.rs".to_owned(),
            12 => "k=v".to_owned(),
            13 => "{}".to_owned(),
            14 => "#no".to_owned().replace('#', "x#"),
            15 => "$'t\\n'".to_owned(),
            16 => "é日".to_owned(),
            17 => "-f".to_owned(),
            18 => "--long=1".to_owned(),
            _ => self.pick(&["a", "b/c", "12", "x.y", "@", "%"]).to_owned(),
        }
    }
}

fn is_listed(line: &str) -> bool {
    DIFFERENT.iter().any(|(part, _)| line.contains(part))
}

#[test]
fn both_read_generated_lines_the_same_way() {
    let mut grammar = Grammar(42);
    let (mut n, mut wrong) = (0, Vec::new());
    for _ in 0..12_000 {
        let line = grammar.line(2);
        let Some(theirs) = theirs(&line) else { continue };
        n += 1;
        let ours = ours(&line);
        if ours.as_ref() != Some(&theirs) && !is_listed(&line) {
            wrong.push(format!("{line:?}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    wrong.sort_by_key(String::len);
    assert!(
        wrong.is_empty(),
        "{} of {n}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
    assert!(n >= 3_000, "only {n} lines were compared");
}

/// On the tables, every program that the other reader finds is one to ours, unless ours sees through it.
#[test]
fn both_see_the_same_programs_in_the_tables() {
    let tables = [
        include_str!("../guards/tests/commands.toml"),
        include_str!("../guards/tests/dangerous.toml"),
        include_str!("../guards/tests/harmless.toml"),
    ];
    let (mut n, mut wrong) = (0, Vec::new());
    for table in tables {
        let table: toml::Table = table.parse().unwrap();
        let lists = table.values().flat_map(|part| part.as_table().unwrap().values());
        for line in lists.flat_map(|list| list.as_array().unwrap()).filter_map(|line| line.as_str())
        {
            let Some(theirs) = theirs(line) else { continue };
            n += 1;
            let read = read(line);
            let names: Vec<&str> = read.commands.iter().map(Simple::name).collect();
            let is_seen = |command: &&String| {
                let mut words = command.split('\u{1}');
                let name =
                    words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
                names.contains(&name) || name == words::SAID || wrappers::sees_through(name)
            };
            let missing: Vec<&String> =
                theirs.commands.iter().filter(|one| !is_seen(one)).collect();
            if (!missing.is_empty() || read.is_broken) && !read.is_cut && !is_listed(line) {
                wrong.push(format!("{line:?}: {missing:?}, broken: {}", read.is_broken));
            }
        }
    }
    assert!(n >= 1_000, "only {n} lines were compared");
    assert!(wrong.is_empty(), "{} of {n}:\n{}", wrong.len(), wrong.join("\n"));
}
