//! The cost of an event: its statements use an index, however many leases there are.

use super::*;
use crate::identity::holder;
use crate::locks::{leases, reservations, waiting};
use rstest::rstest;
use substrate_core::{Cx, Db, DbError, Param, Row, Who};

#[rstest]
#[case::one(leases::ONE, "leases USING INDEX sqlite_autoindex_leases_1 (path=?)")]
#[case::same_path(leases::SAME, "leases USING INDEX sqlite_autoindex_leases_1 (path=?)")]
#[case::same_file(leases::SAME, "leases USING INDEX leases_file (file=?)")]
#[case::below(
    leases::OTHERS_BELOW,
    "leases USING INDEX sqlite_autoindex_leases_1 (path>? AND path<?)"
)]
#[case::others(leases::OTHERS_IN_ROOT, "leases USING INDEX leases_root (root=?)")]
#[case::any_own(leases::HOLDS, "leases USING COVERING INDEX leases_owner (session=? AND actor=?)")]
#[case::any_other(leases::OTHERS_HOLD, "leases USING COVERING INDEX leases_owner (session<?)")]
#[case::any_other_reservation(
    reservations::OTHERS_RESERVE,
    "lease_globs USING COVERING INDEX lease_globs_owner (session<?)"
)]
#[case::in_root(leases::IN_ROOT, "leases USING INDEX leases_root (root=?)")]
#[case::in_project(leases::IN_PROJECT, "leases USING INDEX leases_project (project=?)")]
#[case::expired(leases::EXPIRED, "leases USING INDEX leases_expires (expires_ms<?)")]
#[case::globs(reservations::IN_ROOT, "lease_globs USING INDEX lease_globs_root (root=?)")]
#[case::notes(
    waiting::OF,
    "lease_notes USING INDEX sqlite_autoindex_lease_notes_1 (session=? AND actor=?)"
)]
#[case::pulse(holder::PULSE, "s USING INDEX sqlite_autoindex_agent_sessions_1 (session=?)")]
#[case::process(
    holder::PROCESS,
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
                    "insert into leases (path, root, relative, project, session, actor, agent, sub, pid, began,
                       reason, acquired_ms, confirmed_ms, modified_ms, expires_ms, ttl_ms, file)
                     select 'x' || $1, root, 'x' || $1, project, session, actor, agent, sub, pid,
                       began, reason, acquired_ms, confirmed_ms, modified_ms, expires_ms, ttl_ms, 'f' || $1
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

/// Counts statements.
struct Counting<'a> {
    db: &'a mut dyn Db,
    n: usize,
}

impl Db for Counting<'_> {
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<usize, DbError> {
        self.n += 1;
        self.db.execute(sql, params)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        self.n += 1;
        self.db.query(sql, params, each)
    }

    fn size_bytes(&mut self) -> Result<i64, DbError> {
        self.db.size_bytes()
    }
}

/// While no one else holds anything, an event costs almost nothing.
#[rstest]
#[case::free("new.rs", "", false, 2)]
#[case::own("mine.rs", "", false, 2)]
#[case::command("", "cargo build", false, 0)]
#[case::sweep("", "git stash", false, 1)]
#[case::after_a_command("", "cargo build", true, 2)]
fn an_event_costs(
    #[case] file: &str,
    #[case] command: &str,
    #[case] is_after: bool,
    #[case] n: usize,
) {
    let mut stage = two();
    edits(&mut stage, OTTER, "mine.rs");
    let call = if file.is_empty() { bash_call(command) } else { edit_call(file) };
    let (kind, detail) = match is_after {
        true => {
            let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
            (EventKind::PostToolUse, detail)
        }
        false => (EventKind::PreToolUse, Detail::ToolBefore { call }),
    };
    let event = event(&stage, OTTER, kind, detail);
    // Looks up the facts; what it writes is rolled back.
    stage.happen_reading(&event);
    let asked = stage.with(|cx| {
        let mut db = Counting { db: &mut *cx.db, n: 0 };
        let session = event.session.clone();
        let (name, sub) = ("CalmOtter".to_owned(), String::new());
        let who = Some(Who { agent: 4, name, sub, session, has_stopped: false, is_shared: false });
        let (facts, world) = (cx.facts, cx.world);
        let mut counted = Cx { facts, world, who, ..Cx::new(cx.now, &mut db, cx.settings) };
        crate::locks::policy::consider(&mut counted, &event).unwrap();
        db.n
    });
    assert_eq!(asked, n);
}
