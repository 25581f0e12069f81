//! What the statements of an event touch: one row by its key, however many leases there are.

use super::*;
use crate::identity::book;
use crate::locks::{ops, ops_globs};
use rstest::rstest;
use substrate_core::Param;

#[rstest]
#[case::one(ops::ONE, "leases USING INDEX sqlite_autoindex_leases_1 (path=?)")]
#[case::below(ops::BELOW, "leases USING INDEX sqlite_autoindex_leases_1 (path>? AND path<?)")]
#[case::in_root(ops::IN_ROOT, "leases USING INDEX leases_root (root=?)")]
#[case::in_project(ops::IN_PROJECT, "leases USING INDEX leases_project (project=?)")]
#[case::expired(ops::EXPIRED, "leases USING INDEX leases_expires (expires_ms<?)")]
#[case::globs(ops_globs::IN_ROOT, "lease_globs USING INDEX lease_globs_root (root=?)")]
#[case::pulse(book::PULSE, "s USING INDEX sqlite_autoindex_agent_sessions_1 (session=?)")]
#[case::process(
    book::PROCESS,
    "agent_sessions USING INDEX sqlite_autoindex_agent_sessions_1 (session=?)"
)]
#[case::release(
    "delete from leases where session = $1 and actor = $2",
    "leases USING INDEX leases_owner (session=? AND actor=?)"
)]
fn a_statement_uses_its_index_and_sorts_nothing(#[case] sql: &str, #[case] index: &str) {
    let mut stage = two();
    let n = (1..=9).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); n];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}

#[test]
fn ten_thousand_leases_change_nothing() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    stage.with(|cx| {
        for i in 0..10_000_i64 {
            cx.db
                .execute(
                    "insert into leases select 'x' || $1, root, 'x' || $1, project, session, actor, agent, sub, pid,
                       began, reason, acquired_ms, confirmed_ms, modified_ms, expires_ms, ttl_ms
                     from leases where path = '/repo/a.rs'",
                    &[i.into()],
                )
                .unwrap();
        }
    });
    assert!(!edits(&mut stage, OTTER, "a.rs"));
    assert!(edits(&mut stage, OTTER, "b.rs"));
    assert!(denial(&bash(&mut stage, OTTER, "git stash")).is_some());
    really_stop(&mut stage, LION);
    assert_eq!(held(&mut stage), ["b.rs CalmOtter held"]);
}
