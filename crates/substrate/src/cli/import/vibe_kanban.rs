//! Vibe Kanban: the tasks of its SQLite database, which is only read.

use std::path::Path;

use substrate_core::DbError;
use substrate_store::Database;

use super::Found;

/// A task: id, project, title, description, status.
type Task = (String, String, String, String, String);

pub(super) fn read(path: &Path) -> Result<Found, String> {
    let file = if path.is_dir() { path.join("db.sqlite") } else { path.to_owned() };
    if !file.is_file() {
        return Err(format!("there is no database at `{}`", file.display()));
    }
    let tasks: Result<Vec<Task>, DbError> = Database::at(&file).read(|db| {
        db.rows(
            "select lower(hex(t.id)), coalesce(p.name, ''), t.title, coalesce(t.description, ''), t.status
             from tasks t left join projects p on p.id = t.project_id
             order by t.created_at, t.id limit 20000",
            &[],
            |row| Ok((row.text(0)?, row.text(1)?, row.text(2)?, row.text(3)?, row.text(4)?)),
        )
    });
    tasks.map(|tasks| found(&tasks)).map_err(|error| format!("its tasks can't be read: {error}"))
}

fn found(tasks: &[Task]) -> Found {
    let mut found = Found::default();
    for (id, project, title, description, status) in tasks {
        if matches!(status.as_str(), "done" | "cancelled") {
            found.leave_out(format!("{id} {title}"), format!("it is {status}"));
            continue;
        }
        let mut parts = vec![description.trim().to_owned()];
        parts.retain(|part| !part.is_empty());
        parts.push(format!("From Vibe Kanban, project {project}, was {status}."));
        found.work(id, title, parts.join("\n\n"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::What;
    use super::*;

    #[test]
    fn open_tasks_become_work() {
        let task = |id: &str, status: &str| -> Task {
            (id.into(), "web".into(), format!("Task {id}"), " Do it. ".into(), status.into())
        };
        let found = found(&[task("a1", "todo"), task("b2", "done"), task("c3", "inreview")]);
        assert_eq!((found.things.len(), found.left_out.len()), (2, 1));
        let What::Work { title, body } = &found.things[1].what else { panic!("work") };
        assert_eq!(title, "Task c3");
        assert_eq!(body, "Do it.\n\nFrom Vibe Kanban, project web, was inreview.");
    }

    #[test]
    fn what_is_not_its_database_is_an_error() {
        assert!(read(Path::new("/nonexistent")).is_err());
    }
}
