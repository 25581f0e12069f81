//! Long lists go through a pager: `$PAGER`, or `less -FRX`.

use std::io::Write as _;
use std::process::Stdio;

use tokio::signal::unix::{SignalKind, signal};

use crate::config::Env;
use crate::proc;

const DEFAULT: &str = "less -FRX";

/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// Whether a text needs more rows than the screen has. The last row is the prompt's.
pub(super) fn is_long(text: &str, (rows, columns): (u16, u16)) -> bool {
    let columns = usize::from(columns).max(1);
    let rows_of = |line: &str| super::paint::width(line).div_ceil(columns).max(1);
    text.lines().map(rows_of).sum::<usize>() >= usize::from(rows)
}

/// Shows the text in the pager until the person leaves it. `false`: there is none, so nothing was shown.
pub(super) fn show(text: &str, env: &Env) -> bool {
    let Some(pager) = chosen(env) else { return false };
    // Ctrl+C is for the pager. Without this it would end us, and leave the terminal to two programs.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _entered = runtime.as_ref().ok().map(tokio::runtime::Runtime::enter);
    let _ignored = runtime.is_ok().then(|| signal(SignalKind::interrupt()));
    let mut command = proc::as_asked("sh");
    command.args(["-c", &format!("exec {pager}")]).stdin(Stdio::piped());
    if env.get("LESS").is_none() {
        // What `-FRX` says, for a `PAGER=less` without flags.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        let _left_early = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// The pager's command line. `None` if the person wants none.
fn chosen(env: &Env) -> Option<&str> {
    if env.text("TERM") == Some("dumb") {
        return None;
    }
    match env.text("PAGER") {
        None => Some(DEFAULT),
        Some("cat") => None,
        Some(pager) => Some(pager),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::fits("a\nb\n", false)]
    #[case::one_row_too_many("a\nb\nc\n", true)]
    #[case::a_long_line_takes_several_rows(&"x".repeat(25), true)]
    #[case::colours_take_no_room("\u{1b}[1mabcdefghij\u{1b}[0m\n", false)]
    fn a_text_of_three_rows_is_long(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_long(text, (3, 10)), expected);
    }

    #[rstest]
    #[case::by_default(b"TERM=xterm\0", Some("less -FRX"))]
    #[case::own(b"PAGER=most -s\0", Some("most -s"))]
    #[case::cat(b"PAGER=cat\0", None)]
    #[case::dumb(b"TERM=dumb\0", None)]
    fn the_pager_is(#[case] block: &[u8], #[case] expected: Option<&str>) {
        assert_eq!(chosen(&Env::of_block(block)), expected);
    }
}
