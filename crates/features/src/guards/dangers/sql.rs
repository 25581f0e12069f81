//! Statements for a database, as far as it must be known whether one of them deletes a table.

use crate::shell::{Line, Simple};

/// Flags that have the statement in the same word.
const ATTACHED: &[&str] = &["--command=", "--execute=", "-c", "-e"];

/// Words after `truncate` with which it is only a name.
const NO_TABLE: &[&str] = &["from", "on", "or", "as", "and", "is", "in", "end"];

/// Whether the command sends something that deletes a table or more. A database in memory has nothing to lose.
pub(in crate::guards) fn drops(line: &Line, made: &Simple) -> bool {
    if made.args().any(|word| word.text == ":memory:") {
        return false;
    }
    let of_word = |text: &str| {
        let inner = ATTACHED.iter().find_map(|flag| text.strip_prefix(flag)).unwrap_or(text);
        is_dropping(inner)
    };
    made.after().iter().any(|word| of_word(&word.text)) || is_dropping(&line.fed(made))
}

/// Whether a statement of the text is one of those.
fn is_dropping(text: &str) -> bool {
    let plain = without_texts(text);
    plain.split(';').any(|statement| is_dropping_one(without_commands(statement)))
}

/// One statement, which may go over several lines.
fn is_dropping_one(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_ascii_lowercase);
    let (Some(first), Some(what)) = (words.next(), words.next()) else { return false };
    match first.as_str() {
        "drop" => matches!(what.as_str(), "table" | "database" | "schema" | "keyspace" | "owned"),
        "truncate" => {
            what.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`'))
                && !NO_TABLE.contains(&what.as_str())
        }
        "delete" => what == "from" && !has_condition(words),
        "with" => {
            let mut rest = words.skip_while(|word| !word.ends_with("delete"));
            rest.next().is_some()
                && rest.next().is_some_and(|word| word == "from")
                && !has_condition(rest)
        }
        _ => false,
    }
}

/// `where`, `using`, `limit`: only some of the rows. What is true of every row is no condition.
fn has_condition(words: impl Iterator<Item = String>) -> bool {
    let words: Vec<String> = words.collect();
    let is_one = |word: &String| matches!(word.as_str(), "where" | "using" | "limit" | "join");
    let Some(at) = words.iter().position(is_one) else { return false };
    let rest = words[at + 1..].concat();
    let is_same = |(a, b): (&str, &str)| a == b && !a.is_empty();
    let is_always =
        matches!(rest.as_str(), "true" | "1") || rest.split_once('=').is_some_and(is_same);
    !(words[at] == "where" && is_always)
}

/// Without the lines before it that are commands of the program, which end with the line (`\\c db`, `.mode`, `use db`, `go`).
fn without_commands(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    while let Some((line, after)) = rest.split_once('\n') {
        let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let is_command =
            word.starts_with(['\\', '.']) || matches!(word.as_str(), "use" | "go" | "begin");
        if !is_command {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// Without comments, and with nothing in quoted texts.
fn without_texts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |n| n + 4)
        } else if c == '\'' {
            out.push_str("''");
            rest[1..].find('\'').map_or(rest.len(), |n| n + 2)
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[skipped..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("drop table t", true)]
    #[case("select 1; DROP  Database x", true)]
    #[case("/* all */ drop schema s", true)]
    #[case("-- now\ndrop table t", true)]
    #[case("truncate \"t\"", true)]
    #[case("truncate table t", true)]
    #[case("drop\n  table\n  t;", true)]
    #[case("\\c app\ndrop table t;", true)]
    #[case("use app\ndrop table t", true)]
    #[case("delete from t", true)]
    #[case("DELETE FROM t;", true)]
    #[case("with old as (select 1)\ndelete from t", true)]
    #[case("delete from t where true", true)]
    #[case("delete from t where 1 = 1", true)]
    #[case("delete from t where 'a'='a'", true)]
    #[case("delete from t where a = b", false)]
    #[case("delete from t\nwhere id = 1", false)]
    #[case("delete from t using u where t.id = u.id", false)]
    #[case("select 1;\nselect 'delete from t'", false)]
    #[case("create trigger x after delete on t begin select 1; end", false)]
    #[case("-- drop table t", false)]
    #[case("select 'x; drop table t'", false)]
    #[case("select a,\ntruncate from t", false)]
    #[case("create trigger x before truncate on t", false)]
    #[case("alter table t drop column c", false)]
    #[case("'", false)]
    #[case("/*", false)]
    fn a_statement_that_deletes(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_dropping(text), expected);
    }
}
