//! Databases of earlier versions.

use std::path::Path;
use std::time::Duration;

use substrate_core::{Db, DbError, Migration, Param, Row, Timestamp};
use substrate_store::{Database, Durability, Prepared, Setup, Writer};

use super::super::MIGRATIONS;

fn opened(folder: &Path, migrations: &'static [Migration]) -> Writer {
    let setup = Setup {
        schema: &[("identity", migrations)],
        now: Timestamp(0),
        backups: folder,
        patience: Duration::from_secs(5),
    };
    let Prepared { writer, .. } = Database::at(&folder.join("db")).prepare(&setup).unwrap();
    writer
}

#[test]
fn processes_of_sessions_that_have_ended_have_left_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = opened(folder.path(), &MIGRATIONS[..1]);
    let mut tx = before.begin(Durability::Full).unwrap();
    for (session, pid, ended) in
        [("ended", 10, Param::Int(7)), ("open", 11, Param::Null), ("moved", 10, Param::Null)]
    {
        tx.execute(
            "insert into agent_sessions
               (session, agent, client, project, cwd, client_pid, client_began, started_ms, last_ms, ended_ms)
             values ($1, 3, 'c', '/p', '/p', $2, 1, 1, 5, $3)",
            &[Param::Text(session), Param::Int(pid), ended],
        )
        .unwrap();
    }
    tx.commit().unwrap();
    drop(before);

    let mut now = opened(folder.path(), MIGRATIONS);
    let mut tx = now.begin_reading().unwrap();
    let read =
        |row: &dyn Row| -> Result<_, DbError> { Ok((row.text(0)?, row.int(1)?, row.opt_int(2)?)) };
    let db: &mut dyn Db = &mut tx;
    let rows = db
        .rows("select session, pid, left_ms from client_processes order by session", &[], read)
        .unwrap();
    let row = |session: &str, pid, left| (session.to_owned(), pid, left);
    assert_eq!(rows, [row("ended", 10, Some(5)), row("moved", 10, None), row("open", 11, None)]);
}
