//! Whether a command printed what a page shows.

/// Whether the lines say the same. Times, durations, sizes and ids differ from run to run and count for nothing, and neither
/// do blank lines and the width of columns. `…` on a page stands for any text, and alone on its line for any lines.
pub(super) fn is_shown(shown: &[&str], printed: &str) -> bool {
    let shown: Vec<String> = shown.iter().map(|line| steady(line)).collect();
    let printed: Vec<String> = printed.lines().map(steady).collect();
    let is_said = |line: &&String| !line.is_empty();
    lines_fit(
        &shown.iter().filter(is_said).collect::<Vec<_>>(),
        &printed.iter().filter(is_said).collect::<Vec<_>>(),
    )
}

fn lines_fit(shown: &[&String], printed: &[&String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if *first == "…" => {
            (0..=printed.len()).any(|n| lines_fit(rest, &printed[n..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_fits(first, line) && lines_fit(rest, others)),
    }
}

fn line_fits(shown: &str, printed: &str) -> bool {
    let Some((before, after)) = shown.split_once('…') else { return shown == printed };
    let Some(rest) = printed.strip_prefix(before) else { return false };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.into_iter().any(|at| line_fits(after, &rest[at..]))
}

/// A line without what differs from run to run.
fn steady(line: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        // A process id may be as short as any count.
        let is_pid = out.last().is_some_and(|before| before == "pid");
        let word =
            if is_pid { word.replace(|c: char| c.is_ascii_digit(), "") } else { steady_word(word) };
        out.push(word);
    }
    out.join(" ")
}

fn steady_word(word: &str) -> String {
    let word = &without_dates(word);
    let is_inside = |c: char| c.is_alphanumeric();
    let (Some(begin), Some(last)) = (word.find(is_inside), word.rfind(is_inside)) else {
        return word.to_owned();
    };
    let end = last + word[last..].chars().next().map_or(0, char::len_utf8);
    let core = &word[begin..end];
    match is_clock(core) || is_amount(core) || is_id(core) {
        true => format!("{}·{}", &word[..begin], &word[end..]),
        false => word.to_owned(),
    }
}

/// Dates are also in the names of files: `reviewer/2026-11-17.md`.
fn without_dates(word: &str) -> String {
    let is_date = |text: &str| {
        let fits = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        text.len() == 10 && text.bytes().enumerate().all(fits)
    };
    let starts = word.char_indices().map(|(at, _)| at);
    let date = starts.into_iter().find(|at| word.get(*at..at + 10).is_some_and(is_date));
    date.map_or_else(|| word.to_owned(), |at| format!("{}·{}", &word[..at], &word[at + 10..]))
}

/// `11-17`, `06:53:10`.
fn is_clock(core: &str) -> bool {
    core.contains([':', '-']) && core.chars().all(|c| c.is_ascii_digit() || ":-.".contains(c))
}

/// `9m30s`, `1.2ms`, `0s`, `64KB`, and bare numbers that stand before a unit.
fn is_amount(core: &str) -> bool {
    let is_number = core.chars().all(|c| c.is_ascii_digit() || c == '.');
    if is_number {
        return core.contains('.') || core.len() > 3;
    }
    core.starts_with(|c: char| c.is_ascii_digit())
        && core.chars().all(|c| c.is_ascii_digit() || ".nµumshdKMGB".contains(c))
}

/// A session's, a request's or a process's.
fn is_id(core: &str) -> bool {
    core.len() >= 8
        && core.contains(|c: char| c.is_ascii_digit())
        && core.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[test]
fn what_differs_from_run_to_run_counts_for_nothing() {
    let same = [
        ("taken 0s ago, until 06:53:10", "taken 12m30s ago, until 23:00:00"),
        ("pid 2819, 1.5 MB", "pid 31337, 2.0 MB"),
        ("pid 2819, version 1", "pid 56, version 1"),
        ("a  b", "a b"),
        ("…\nend", "x\ny\nend"),
        ("send --body … now", "send --body \"x\" now"),
        ("session 0198f3a2-11", "session 0198aaaa-22"),
        ("`tasks/2026-11-17-fix/1.md`", "`tasks/2027-01-02-fix/1.md`"),
    ];
    for (shown, printed) in same {
        assert!(is_shown(&shown.lines().collect::<Vec<_>>(), printed), "{shown} / {printed}");
    }
    let different = [
        ("Sent #1 to Ann", "Sent #2 to Ann"),
        ("2 unread", "3 unread"),
        ("", "something"),
        ("one", ""),
        ("one\ntwo", "one"),
        ("a … c", "a b d"),
    ];
    for (shown, printed) in different {
        assert!(!is_shown(&shown.lines().collect::<Vec<_>>(), printed), "{shown} / {printed}");
    }
}
