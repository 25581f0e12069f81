//! The processes above a caller. They prove who is calling; a variable or a flag only claims it.
//!
//! The walk is pure. The system's process table comes in as an argument.

/// The most processes between a caller and init.
const MAX_DEPTH: usize = 64;

/// For this many processes above the caller, the command line is kept.
const MAX_LINES: usize = 12;

/// How often the walk starts over when a process exits during it.
const MAX_TRIES: usize = 4;

/// A process. Pids are reused, but never with the same start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: u32,
    /// When it started, in the system's own unit.
    pub began: i64,
}

/// A caller's process and those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// Nearest first: the caller itself, its parent, and so on.
    pub processes: Vec<Ancestor>,
    /// The client process that the caller's environment names. It counts only where no client is above the caller,
    /// because a detached process has another parent.
    pub named_client: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    pub id: ProcessId,
    /// Its command line. Empty for the caller itself, and where the system does not tell.
    pub line: String,
}

/// The system's table of processes.
pub trait Processes {
    /// The parent of a running process, and when the process itself started.
    fn stat(&self, pid: u32) -> Option<(u32, i64)>;

    fn line(&self, pid: u32) -> String;

    /// The client process that the environment of a process names.
    fn named_client(&self, pid: u32) -> Option<u32>;
}

/// The lineage of a process; `None` when it is gone.
pub fn walk(table: &impl Processes, pid: u32) -> Option<Lineage> {
    let ids = ancestors(table, pid)?;
    let caller = *ids.first()?;
    let line = |at: usize, id: ProcessId| {
        if (1..=MAX_LINES).contains(&at) { table.line(id.pid) } else { String::new() }
    };
    let processes = ids.into_iter().enumerate();
    let processes = processes.map(|(at, id)| Ancestor { id, line: line(at, id) }).collect();
    let named_client = table.named_client(pid);
    // Another process may have got its pid meanwhile, and all this may be about that one.
    let is_same = table.stat(pid).is_some_and(|(_, began)| began == caller.began);
    is_same.then_some(Lineage { processes, named_client })
}

/// The processes above one, nearest first; none when it is gone.
pub fn above(table: &impl Processes, pid: u32) -> Vec<ProcessId> {
    ancestors(table, pid).unwrap_or_default().into_iter().skip(1).collect()
}

/// If a parent exits during the walk, its child moves to another parent. The walk then starts over, or it would miss
/// the client above.
fn ancestors(table: &impl Processes, pid: u32) -> Option<Vec<ProcessId>> {
    let mut found = None;
    for _ in 0..MAX_TRIES {
        let (ids, is_whole) = climb(table, pid)?;
        found = Some(ids);
        if is_whole {
            break;
        }
    }
    found
}

/// The processes that were found, and whether those are all.
fn climb(table: &impl Processes, pid: u32) -> Option<(Vec<ProcessId>, bool)> {
    let (mut parent, began) = table.stat(pid)?;
    let mut out = vec![ProcessId { pid, began }];
    while parent > 0 && out.len() < MAX_DEPTH {
        let child = out.last().map_or(began, |child| child.began);
        match table.stat(parent) {
            // A parent is older than its child. A younger process only reuses the pid of one that exited.
            Some((above, began)) if began <= child => {
                out.push(ProcessId { pid: parent, began });
                parent = above;
            }
            // Init may be hidden.
            None if parent == 1 => break,
            Some(_) | None => return Some((out, false)),
        }
    }
    Some((out, true))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    /// By pid: the parent, the start time, the command line, and the client that the environment names.
    type Rows = HashMap<u32, (u32, i64, &'static str, Option<u32>)>;

    #[derive(Default)]
    struct Table {
        rows: RefCell<Rows>,
        /// Looking at this process switches to another table.
        then: RefCell<Option<(u32, Rows)>>,
    }

    impl Processes for Table {
        fn stat(&self, pid: u32) -> Option<(u32, i64)> {
            let changes = self.then.borrow().as_ref().is_some_and(|(at, _)| *at == pid);
            if changes && let Some((_, rows)) = self.then.take() {
                self.rows.replace(rows);
            }
            self.rows.borrow().get(&pid).map(|row| (row.0, row.1))
        }

        fn line(&self, pid: u32) -> String {
            self.rows.borrow().get(&pid).map_or("", |row| row.2).to_owned()
        }

        fn named_client(&self, pid: u32) -> Option<u32> {
            self.rows.borrow().get(&pid)?.3
        }
    }

    type Row = (u32, u32, i64, &'static str, Option<u32>);

    fn rows(rows: &[Row]) -> Rows {
        rows.iter()
            .map(|(pid, parent, began, line, named)| (*pid, (*parent, *began, *line, *named)))
            .collect()
    }

    fn table(all: &[Row]) -> Table {
        Table { rows: RefCell::new(rows(all)), then: RefCell::default() }
    }

    const SHELL: [Row; 4] = [
        (1, 0, 0, "init", None),
        (10, 1, 5, "client", None),
        (20, 10, 7, "bash -c x", Some(10)),
        (30, 20, 8, "substrate inbox", Some(10)),
    ];

    fn pids(lineage: &Lineage) -> Vec<u32> {
        lineage.processes.iter().map(|one| one.id.pid).collect()
    }

    #[test]
    fn all_processes_above_are_found_nearest_first() {
        let found = walk(&table(&SHELL), 30).unwrap();
        assert_eq!(pids(&found), [30, 20, 10, 1]);
        assert_eq!(
            found.processes[1],
            Ancestor { id: ProcessId { pid: 20, began: 7 }, line: "bash -c x".to_owned() }
        );
        assert_eq!(found.named_client, Some(10));
    }

    #[test]
    fn a_caller_that_is_gone_has_none() {
        assert_eq!(walk(&table(&SHELL), 31), None);
    }

    #[test]
    fn a_hidden_first_process_and_another_namespace_end_the_walk() {
        assert_eq!(pids(&walk(&table(&SHELL[1..]), 30).unwrap()), [30, 20, 10]);
        let top = [(10, 0, 5, "client", None), SHELL[2], SHELL[3]];
        assert_eq!(pids(&walk(&table(&top), 30).unwrap()), [30, 20, 10]);
    }

    #[test]
    fn a_parent_that_is_younger_than_its_child_is_another_process() {
        let mut reused = SHELL;
        reused[2] = (20, 1, 99, "bash -c y", None);
        assert_eq!(pids(&walk(&table(&reused), 30).unwrap()), [30]);
    }

    #[test]
    fn a_parent_that_ends_under_the_walk_does_not_hide_the_client() {
        // The shell exits just as it is looked at, so its child becomes the client's own.
        let after = [SHELL[0], SHELL[1], (30, 10, 8, "substrate inbox", Some(10))];
        let table = table(&SHELL);
        table.then.replace(Some((20, rows(&after))));
        assert_eq!(pids(&walk(&table, 30).unwrap()), [30, 10, 1]);
    }

    #[test]
    fn a_number_that_is_given_to_another_process_proves_nothing() {
        // The caller exits while its ancestors are looked at, and its pid is reused.
        let after = [SHELL[0], (30, 1, 50, "another", None)];
        let table = table(&SHELL);
        table.then.replace(Some((1, rows(&after))));
        assert_eq!(walk(&table, 30), None);
    }

    #[test]
    fn those_above_one_do_not_have_it_among_them() {
        let found = above(&table(&SHELL), 30);
        assert_eq!(found.iter().map(|id| id.pid).collect::<Vec<_>>(), [20, 10, 1]);
        assert_eq!(above(&table(&SHELL), 99), []);
    }

    #[test]
    fn a_circle_ends() {
        let circle = [(2, 3, 5, "a", None), (3, 2, 5, "b", None)];
        let found = walk(&table(&circle), 2).unwrap();
        assert_eq!(pids(&found).len(), MAX_DEPTH);
        assert_eq!(found.processes.iter().filter(|one| !one.line.is_empty()).count(), MAX_LINES);
    }
}
