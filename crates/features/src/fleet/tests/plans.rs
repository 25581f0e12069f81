//! What an event costs: one row by its key, and no write while an agent simply works.

use super::*;
use crate::fleet::ops;
use rstest::rstest;
use substrate_core::Param;

#[rstest]
#[case::one(
    ops::ONE,
    "fleet_status USING INDEX sqlite_autoindex_fleet_status_1 (session=? AND actor=?)"
)]
#[case::in_pane(ops::IN_PANE, "fleet_status USING INDEX fleet_status_pane (pane=? AND socket=?)")]
#[case::in_attention(
    ops::IN_ATTENTION,
    "fleet_status USING INDEX sqlite_autoindex_fleet_status_1 (session=?)"
)]
#[case::waiting(ops::WAITING, "fleet_status USING INDEX fleet_status_waits (since_ms>?)")]
fn a_statement_uses_its_index(#[case] sql: &str, #[case] index: &str) {
    let mut stage = two();
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); sql.matches('$').count()];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}

#[test]
fn an_agent_that_keeps_working_is_not_written_again() {
    let mut stage = two();
    happens(&mut stage, "lion", EventKind::UserPromptSubmit, prompt("go"));
    // Any write would now fail, and with it the feature.
    let refuse = "create trigger refused before update on fleet_status begin select raise(abort, 'written'); end";
    stage.with(|cx| cx.db.execute(refuse, &[]).unwrap());
    for _ in 0..3 {
        stage.pass(20 * SECOND);
        happens(&mut stage, "lion", EventKind::PreToolUse, before("ls"));
        happens(&mut stage, "lion", EventKind::PostToolUse, after("ls"));
    }
    let event = of(&stage, "lion", EventKind::Stop, stop("ok"));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.happen(&event)));
    assert!(outcome.is_err(), "a change is written");
}
