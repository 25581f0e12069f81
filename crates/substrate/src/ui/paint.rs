//! Colours for a text that was made without them. Only escape codes are added: without them it is the same text.
//!
//! The daemon renders what verbs print, and it does not know the terminal. So what a line says decides its colours: the
//! heading of a table, words that mean a state, commands in backticks, numbers of messages and items, and times.

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const YELLOW: &str = "\u{1b}[33m";
const CYAN: &str = "\u{1b}[36m";
const RESET: &str = "\u{1b}[0m";

/// Words that mean a state, if they are a whole cell of a table or the beginning of a line.
const STATES: &[(&str, &[&str])] = &[
    (
        RED,
        &[
            "deny",
            "denied",
            "block",
            "refused",
            "fail",
            "failed",
            "error",
            "damaged",
            "attention",
            "blocked",
        ],
    ),
    (YELLOW, &["ask", "warn", "warning", "waiting", "stale", "urgent", "compacting"]),
    (
        GREEN,
        &["ok", "allow", "allowed", "working", "running", "active", "busy", "done", "on", "online"],
    ),
    (CYAN, &["hint", "note", "context", "notice", "mail", "claimed", "checked"]),
    (DIM, &["gone", "offline", "idle", "ended", "off", "queued", "finished", "caused by"]),
];

/// The text with colours.
pub(super) fn text(text: &str) -> String {
    // What has colours of its own keeps them.
    if text.contains('\u{1b}') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let is_table = is_heading(text);
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if n == 0 && is_table {
            add(&mut out, BOLD, line);
        } else {
            cells(&mut out, line);
        }
        out.push_str(end);
    }
    out
}

/// The text in bold.
pub(super) fn bold(text: &str) -> String {
    let mut out = String::new();
    add(&mut out, BOLD, text);
    out
}

/// How many columns a painted line takes.
pub(super) fn width(line: &str) -> usize {
    let mut n = 0;
    let mut is_code = false;
    for c in line.chars() {
        match c {
            '\u{1b}' => is_code = true,
            'm' if is_code => is_code = false,
            _ if is_code => {}
            _ => n += 1,
        }
    }
    n
}

/// Whether a text begins with the heading of a table: at least three lower-case cells, and rows below.
fn is_heading(text: &str) -> bool {
    let mut lines = text.lines();
    let Some(first) = lines.next() else { return false };
    let is_name = |cell: &str| cell.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    let cells: Vec<&str> = first.split("  ").filter(|cell| !cell.trim().is_empty()).collect();
    cells.len() >= 3 && cells.iter().all(|cell| is_name(cell)) && lines.next().is_some()
}

/// Paints the cells of a line, which two spaces or more keep apart.
fn cells(out: &mut String, line: &str) {
    let mut rest = line;
    let mut is_first = true;
    while !rest.is_empty() {
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        out.push_str(&rest[..gap]);
        rest = &rest[gap..];
        let end = rest.find("  ").unwrap_or(rest.len());
        cell(out, &rest[..end], is_first);
        rest = &rest[end..];
        is_first = false;
    }
}

fn cell(out: &mut String, text: &str, is_first: bool) {
    if let Some(colour) = state(text) {
        return add(out, colour, text);
    }
    // `error: …`, `hint: …`, `fail: …`
    if is_first
        && let Some((word, rest)) = text.split_once(':')
        && let Some(colour) = state(word)
    {
        add(out, colour, &text[..=word.len()]);
        return inline(out, rest);
    }
    inline(out, text);
}

fn state(word: &str) -> Option<&'static str> {
    STATES.iter().find(|(_, words)| words.contains(&word)).map(|(colour, _)| *colour)
}

/// Commands in backticks, `#42` and `5m ago`.
fn inline(out: &mut String, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let taken = [code(rest), number(rest), ago(rest)].into_iter().flatten().next();
        let (n, colour) = taken.unwrap_or((0, ""));
        if n > 0 {
            add(out, colour, &rest[..n]);
            rest = &rest[n..];
        }
        // On to the next place where something may begin: a backtick, or a word.
        let skip = rest
            .char_indices()
            .skip(usize::from(n == 0))
            .find(|(at, c)| *c == '`' || (*at > 0 && rest[..*at].ends_with([' ', '('])));
        let skip = skip.map_or(rest.len(), |(at, _)| at);
        out.push_str(&rest[..skip]);
        rest = &rest[skip..];
    }
}

fn code(text: &str) -> Option<(usize, &'static str)> {
    let inner = text.strip_prefix('`')?;
    Some((inner.find('`')? + 2, CYAN))
}

fn number(text: &str) -> Option<(usize, &'static str)> {
    let n = text.strip_prefix('#')?.bytes().take_while(u8::is_ascii_digit).count();
    (n > 0).then_some((n + 1, BOLD))
}

fn ago(text: &str) -> Option<(usize, &'static str)> {
    let n = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(n..)?;
    (n > 0 && rest.starts_with(['s', 'm', 'h', 'd']) && rest[1..].starts_with(" ago"))
        .then_some((n + 5, DIM))
}

fn add(out: &mut String, colour: &str, text: &str) {
    out.push_str(colour);
    out.push_str(text);
    out.push_str(RESET);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// `[1mword[0m` is `<1>word<0>`, to be read.
    fn marked(plain: &str) -> String {
        let mut out = String::new();
        for part in text(plain).split_inclusive('\u{1b}') {
            out.push_str(&part.replace('\u{1b}', ""));
            if part.ends_with('\u{1b}') {
                out.push('^');
            }
        }
        for (code, name) in [
            (BOLD, "b"),
            (DIM, "d"),
            (RED, "r"),
            (GREEN, "g"),
            (YELLOW, "y"),
            (CYAN, "c"),
            (RESET, "/"),
        ] {
            out = out.replace(&code.replace('\u{1b}', "^"), &format!("<{name}>"));
        }
        out
    }

    #[rstest]
    #[case::error("error: no file `a b`\n", "<r>error:</> no file <c>`a b`</>\n")]
    #[case::hint("hint: run `x`", "<c>hint:</> run <c>`x`</>")]
    #[case::table(
        "agent  status  heard\nA  idle  3s ago\n",
        "<b>agent  status  heard</>\nA  <d>idle</>  <d>3s ago</>\n"
    )]
    #[case::one_line_is_no_table("agent  status  heard", "agent  status  heard")]
    #[case::number("Sent #42 to A, #x", "Sent <b>#42</> to A, #x")]
    #[case::not_in_a_word("a working day", "a working day")]
    #[case::cell("  working    A  12m  src", "  <g>working</>    A  12m  src")]
    #[case::open_backtick("it's ` open", "it's ` open")]
    #[case::other_letters("é `ü` 5m ago…", "é <c>`ü`</> <d>5m ago</>…")]
    fn a_line_gets_colours(#[case] plain: &str, #[case] expected: &str) {
        assert_eq!(marked(plain), expected);
    }

    #[rstest]
    #[case("a  b  c\n\n  x: `y` #1 5s ago\n")]
    #[case("``#``  `#1 ago`  ok  (5m ago)\t\n  ")]
    #[case("\n\n")]
    #[case("error:hint: 1s ago 10d ago 7x ago # # `")]
    #[case("ü`ü`  é  ok: ß")]
    fn without_the_codes_it_is_the_same_text(#[case] plain: &str) {
        let painted = text(plain);
        let mut out = String::new();
        let mut is_code = false;
        for c in painted.chars() {
            match c {
                '\u{1b}' => is_code = true,
                'm' if is_code => is_code = false,
                _ if is_code => {}
                c => out.push(c),
            }
        }
        assert_eq!(out, plain);
        assert_eq!(text(&painted), painted, "what has colours keeps them");
    }
}
