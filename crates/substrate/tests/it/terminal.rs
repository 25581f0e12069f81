//! What a person at a terminal sees, and what a pipe gets.

use substrate_testkit::TestEnv;

use crate::pane::Pane;

/// Runs a line on an empty screen and waits for its end.
fn run(pane: &Pane<'_>, line: &str, end: &str) {
    pane.line(&format!("clear; {line}; echo {end}"));
    pane.wait(end);
}

#[test]
fn long_lists_go_through_a_pager_on_a_terminal_only() {
    let env = TestEnv::new();
    let pane = Pane::start(&env);
    pane.line("export PAGER='sed s/^/paged:/'");
    run(&pane, "substrate config list", "end-1");
    assert!(pane.screen().contains("paged:"), "{}", pane.screen());
    run(&pane, "substrate config list | tail -1", "end-2");
    assert!(!pane.screen().contains("paged:"), "{}", pane.screen());
    run(&pane, "substrate db path", "end-3");
    assert!(!pane.screen().contains("paged:"), "it fits: {}", pane.screen());
    run(&pane, "PAGER=no-such-pager substrate config list 2>/dev/null", "end-4");
    assert!(pane.screen().contains("# default"), "it is printed then: {}", pane.screen());
}

#[test]
fn colours_are_for_terminals_and_not_with_no_color() {
    let env = TestEnv::new();
    let pane = Pane::start(&env);
    for (n, (line, coloured)) in [
        ("substrate read x", true),
        ("NO_COLOR=1 substrate read x", false),
        ("TERM=dumb substrate read x", false),
        ("substrate read x 2>&1 | cat", false),
        ("substrate --help", true),
        ("NO_COLOR=1 substrate --help", false),
        ("substrate --help | cat", false),
    ]
    .into_iter()
    .enumerate()
    {
        run(&pane, line, &format!("end-{n}"));
        assert_eq!(pane.colours().contains("\u{1b}["), coloured, "{line}: {}", pane.colours());
    }
}
