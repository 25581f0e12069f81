//! What holds for a database file. The contract of every implementation is in `contract.rs`.

mod contract;
mod copies;
mod faults;
mod in_memory;
mod log;

use std::path::PathBuf;
use std::time::Duration;

use crate::{Database, Durability, Prepared, Schema, Setup, StoreError, Writer};
use substrate_core::{Db, DbError, Migration, Timestamp};

const ONE: &[Migration] = &[Migration {
    about: "notes",
    sql: "create table note (id integer primary key, text text not null);",
}];
const TWO: &[Migration] = &[
    Migration {
        about: "notes",
        sql: "create table note (id integer primary key, text text not null);",
    },
    Migration {
        about: "stars",
        sql: "alter table note add column starred bigint not null default 0; create table star (id bigint);",
    },
];
const CHANGED: &[Migration] =
    &[Migration { about: "notes", sql: "create table note (id integer primary key);" }];

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("subtrate.db")
    }

    fn database(&self) -> Database {
        Database::at(&self.db())
    }

    fn open(
        &self,
        schema: &[(&str, &[Migration])],
    ) -> Result<(Writer, Option<PathBuf>), StoreError> {
        let backups = self.folder.path().join("backups");
        let patience = Duration::from_secs(5);
        let setup = Setup { schema, now: Timestamp(1_000), backups: &backups, patience };
        Database::at(&self.db()).prepare(&setup).map(|Prepared { writer, backup }| (writer, backup))
    }
}

fn add(writer: &mut Writer, text: &str) {
    let mut tx = writer.begin(Durability::Normal).unwrap();
    tx.execute("insert into note (text) values ($1)", &[text.into()]).unwrap();
    tx.commit().unwrap();
}

fn texts(db: &mut dyn Db) -> Result<Vec<String>, DbError> {
    db.rows("select text from note order by id", &[], |row| row.text(0))
}

#[test]
fn what_is_committed_is_read_and_what_is_dropped_never_happened() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "kept");
    let mut tx = writer.begin(Durability::Full).unwrap();
    tx.execute("insert into note (text) values ($1)", &["dropped".into()]).unwrap();
    drop(tx);
    assert_eq!(place.database().read(texts).unwrap(), ["kept"]);
}

#[test]
fn a_new_step_is_applied_once_with_a_copy_of_what_was_there() {
    let place = Place::new();
    let (mut writer, backup) = place.open(&[("notes", ONE)]).unwrap();
    assert_eq!(backup, None, "an empty database needs no copy");
    add(&mut writer, "old");
    drop(writer);
    let (_, backup) = place.open(&[("notes", TWO)]).unwrap();
    assert_eq!(Database::at(&backup.unwrap()).read(texts).unwrap(), ["old"]);
    let (_, backup) = place.open(&[("notes", TWO)]).unwrap();
    assert_eq!(backup, None);
    assert_eq!(place.database().read(texts).unwrap(), ["old"]);
}

#[test]
fn a_newer_or_a_changed_schema_is_refused_and_nothing_is_touched() {
    let place = Place::new();
    drop(place.open(&[("notes", TWO)]).unwrap());
    assert!(matches!(place.open(&[("notes", ONE)]), Err(StoreError::Newer { number: 2, .. })));
    assert!(matches!(place.open(&[]), Err(StoreError::Newer { .. })));
    assert!(matches!(
        place.open(&[("notes", CHANGED)]),
        Err(StoreError::Changed { number: 1, .. })
    ));
    assert!(place.open(&[("notes", TWO)]).is_ok());
}

#[test]
fn what_a_schema_lacks_is_counted_without_touching_it() {
    let place = Place::new();
    drop(place.open(&[("notes", ONE)]).unwrap());
    let missing = |schema: Schema<'_>| place.database().missing_steps(schema);
    assert_eq!(missing(&[("notes", TWO)]).unwrap(), 1);
    assert_eq!(missing(&[("notes", ONE)]).unwrap(), 0);
    assert!(matches!(missing(&[]), Err(StoreError::Newer { .. })));
    assert!(matches!(missing(&[("notes", CHANGED)]), Err(StoreError::Changed { .. })));
}

#[test]
fn many_that_start_at_once_create_one_database() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let place = &place;
            scope.spawn(move || {
                let (mut writer, _) = place.open(&[("notes", TWO)]).unwrap();
                add(&mut writer, &n.to_string());
            });
        }
    });
    assert_eq!(place.database().read(texts).unwrap().len(), 16);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the file is garbage on purpose")]
fn a_damaged_file_is_named_and_left_alone() {
    let place = Place::new();
    let garbage = vec![0x5a; 9_000];
    std::fs::write(place.db(), &garbage).unwrap();
    assert!(matches!(
        place.open(&[("notes", ONE)]),
        Err(StoreError::Open { source: DbError::Corrupt { .. }, .. })
    ));
    assert!(place.database().check().is_err());
    assert_eq!(std::fs::read(place.db()).unwrap(), garbage);
}

#[test]
fn a_new_database_appears_whole_and_leaves_nothing_else() {
    let place = Place::new();
    drop(place.open(&[("notes", ONE)]).unwrap());
    let mut names: Vec<String> = std::fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.retain(|name| !name.ends_with("-wal") && !name.ends_with("-shm"));
    assert_eq!(names, ["subtrate.db"], "no half-written file, no lock file");
}

#[test]
fn a_schema_that_cannot_be_built_leaves_no_database() {
    const BROKEN: &[Migration] = &[Migration { about: "broken", sql: "create table (;" }];
    let place = Place::new();
    assert!(matches!(
        place.open(&[("notes", ONE), ("other", BROKEN)]),
        Err(StoreError::Migrate { number: 1, .. })
    ));
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what a crash might leave")]
fn a_file_of_zero_bytes_is_damage_and_never_new() {
    let place = Place::new();
    std::fs::write(place.db(), b"").unwrap();
    let refused = place.open(&[("notes", ONE)]);
    let Err(StoreError::Open { source: DbError::Corrupt { detail }, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(detail, "the file has 0 bytes");
    assert!(place.database().check().is_err());
    assert_eq!(std::fs::metadata(place.db()).unwrap().len(), 0);
}

#[test]
fn the_log_of_a_database_that_is_gone_is_not_read_into_a_new_one() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "of the old one");
    drop(writer);
    std::fs::remove_file(place.db()).unwrap();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "of the new one");
    assert_eq!(place.database().read(texts).unwrap(), ["of the new one"]);
    assert!(place.folder.path().join("subtrate.db-wal.lost-1000").exists());
}

#[test]
fn the_files_belong_to_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "a");
    for name in ["subtrate.db", "subtrate.db-wal", "subtrate.db-shm"] {
        let mode = std::fs::metadata(place.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
