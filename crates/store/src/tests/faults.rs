//! Disks that really fail: full, read-only, damaged, limited.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{ONE, Place, add, copies::damage, texts};
use crate::{Database, Durability, Prepared, Setup, StoreError, Writer};
use substrate_core::{Db, DbError, Timestamp};

/// Set in the child of `a_file_that_may_not_grow`: where its database is.
const CHILD: &str = "SUBSTRATE_STORE_TEST_LIMITED";

#[expect(clippy::disallowed_methods, reason = "tests of the store have no environment to clear")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// A file system of that many KB.
struct Small(PathBuf);

impl Small {
    /// `None` if nothing can be mounted here. The test says so, because nothing was tested.
    fn mount(at: &Path, kb: usize) -> Option<Self> {
        let size = format!("size={kb}k,mode=0700");
        let mounted = program("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("NOT RUN: no tmpfs can be mounted here (needs root)");
            return None;
        }
        Some(Self(at.to_owned()))
    }

    fn remount(&self, how: &str) -> bool {
        let how = format!("remount,{how}");
        program("mount").args(["-o", &how]).arg(&self.0).status().is_ok_and(|done| done.success())
    }

    /// Takes all the space that is left.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.filler()).unwrap();
        for size in [64 << 10, 4 << 10, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _maybe_busy = program("umount").arg("-l").arg(&self.0).status();
    }
}

fn open(folder: &Path) -> Result<Writer, StoreError> {
    let backups = folder.join("backups");
    let patience = Duration::from_secs(1);
    let setup =
        Setup { schema: &[("notes", ONE)], now: Timestamp(1_000), backups: &backups, patience };
    Database::at(&folder.join("subtrate.db")).prepare(&setup).map(|Prepared { writer, .. }| writer)
}

/// Writes until it fails.
fn write_until_it_fails(writer: &mut Writer) -> DbError {
    let text = "x".repeat(20 << 10);
    for _ in 0..10_000 {
        let written = writer.begin(Durability::Normal).and_then(|mut tx| {
            tx.execute("insert into note (text) values ($1)", &[text.as_str().into()])?;
            tx.commit()
        });
        if let Err(error) = written {
            return error;
        }
    }
    panic!("it never failed");
}

#[test]
fn a_full_disk_is_named_and_the_probe_knows_when_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path(), 2_048) else { return };
    let mut writer = open(folder.path()).unwrap();
    add(&mut writer, "before");
    writer.probe().unwrap();
    small.fill();
    let failed = write_until_it_fails(&mut writer);
    assert!(failed.is_storage(), "{failed:?}");
    let probed = writer.probe().unwrap_err();
    assert!(probed.is_storage(), "{probed:?}");
    std::fs::remove_file(small.filler()).unwrap();
    writer.probe().unwrap();
    add(&mut writer, "after");
    let db = folder.path().join("subtrate.db");
    let all = Database::at(&db).read(texts).unwrap();
    assert!(all.first().unwrap() == "before" && all.last().unwrap() == "after");
    assert!(Database::at(&db).check().unwrap().is_empty());
}

#[test]
fn on_a_full_disk_no_database_is_made_and_none_is_left_half_made() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path(), 64) else { return };
    small.fill();
    let refused = open(folder.path()).unwrap_err();
    assert!(matches!(refused.storage(), Some(DbError::Full)), "{refused:?}");
    std::fs::remove_file(small.filler()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_becomes_read_only_is_named_and_can_still_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path(), 4_096) else { return };
    let mut writer = open(folder.path()).unwrap();
    add(&mut writer, "before");
    writer.empty_log().unwrap();
    drop(writer);
    for name in ["subtrate.db-wal", "subtrate.db-shm"] {
        let _maybe_absent = std::fs::remove_file(folder.path().join(name));
    }
    if !small.remount("ro") {
        return eprintln!("NOT RUN: it can't be remounted");
    }
    let refused = open(folder.path()).unwrap_err();
    assert!(matches!(refused.storage(), Some(DbError::ReadOnly)), "{refused:?}");
    assert!(Database::at(&folder.path().join("subtrate.db")).check().unwrap().is_empty());
    let mut memory = Writer::in_memory(&[("notes", ONE)], Timestamp(0)).unwrap();
    let seeded = memory.take_over(&folder.path().join("subtrate.db"), &["note"]).unwrap();
    assert_eq!(seeded.tables[0].n_rows, 1, "{seeded:?}");
}

/// `ulimit -f`. The limit holds for a whole process, so a child does it; a shell ignores the signal for it.
#[test]
fn a_file_that_may_not_grow_is_a_failure_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$0\" --exact tests::faults::the_limited_child --nocapture";
    let output = program("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that starts itself has no other way")]
fn the_limited_child() {
    // The child of the test above; by itself there is nothing to test.
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let mut writer = open(&folder).unwrap();
    let failed = write_until_it_fails(&mut writer);
    assert!(matches!(failed, DbError::Full | DbError::Io { .. }), "{failed:?}");
    assert!(writer.probe().unwrap_err().is_storage());
}

#[test]
fn nothing_is_written_by_accident_after_a_transaction_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path(), 2_048) else { return };
    let mut writer = open(folder.path()).unwrap();
    writer.conn().execute_batch("pragma cache_size = 10").unwrap();
    small.fill();
    let mut tx = writer.begin(Durability::Normal).unwrap();
    tx.execute("insert into note (text) values ('first')", &[]).unwrap();
    let long = "x".repeat(200 << 10);
    let failed = (0..100)
        .find_map(|_| {
            tx.execute("insert into note (text) values ($1)", &[long.as_str().into()]).err()
        })
        .expect("the pages don't fit into the cache, so the disk is asked before the commit");
    assert!(failed.is_storage(), "{failed:?}");
    std::fs::remove_file(small.filler()).unwrap();
    // As a feature's failure is contained, and the next feature goes on.
    let db: &mut dyn Db = &mut tx;
    let inner: Result<(), DbError> =
        db.savepoint(|db| db.execute("insert into note (text) values ('later')", &[]).map(drop));
    assert!(inner.is_err() && db.execute("insert into note (text) values ('last')", &[]).is_err());
    assert!(texts(db).is_err(), "not even a look, which would see half of it");
    assert!(tx.failure().is_some_and(DbError::is_storage));
    assert!(tx.commit().is_err_and(|error| error.is_storage()));
    assert_eq!(Database::at(&folder.path().join("subtrate.db")).read(texts).unwrap(), [""; 0]);
    add(&mut writer, "a new transaction works");
}

#[test]
fn damaged_pages_are_named_whenever_they_are_met() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    for n in 0..50 {
        add(&mut writer, &format!("{n} {}", "x".repeat(2_000)));
    }
    writer.empty_log().unwrap();
    drop(writer);
    damage(&place.db());
    assert!(!place.database().check().unwrap_or_else(|_| vec!["unreadable".to_owned()]).is_empty());
    let failed = match place.open(&[("notes", ONE)]) {
        Err(error) => error.storage(),
        Ok((mut writer, _)) => {
            let mut tx = writer.begin(Durability::Normal).unwrap();
            texts(&mut tx).unwrap_err();
            tx.failure().cloned()
        }
    };
    assert!(matches!(failed, Some(DbError::Corrupt { .. })), "{failed:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "damage is done on purpose")]
fn a_file_that_was_cut_off_is_damaged() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    for n in 0..50 {
        add(&mut writer, &format!("{n} {}", "x".repeat(2_000)));
    }
    writer.empty_log().unwrap();
    drop(writer);
    let whole = std::fs::read(place.db()).unwrap();
    for len in [1, 100, 4_096, whole.len() / 2] {
        std::fs::write(place.db(), &whole[..len]).unwrap();
        let damage = place.database().check();
        let is_named = match &damage {
            Ok(lines) => !lines.is_empty(),
            Err(error) => matches!(error.storage(), Some(DbError::Corrupt { .. })),
        };
        assert!(is_named, "{len} bytes: {damage:?}");
    }
}
