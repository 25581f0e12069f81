//! Beads: one issue per line of `.beads/issues.jsonl`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Found;

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

#[derive(Deserialize)]
struct Issue {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    design: String,
    #[serde(default)]
    acceptance_criteria: String,
    #[serde(default)]
    notes: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    priority: i64,
    #[serde(default)]
    issue_type: String,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    #[serde(default)]
    depends_on_id: String,
    #[serde(default, rename = "type")]
    kind: String,
}

pub(super) fn read(path: &Path) -> Result<Found, String> {
    let file = file(path);
    let text =
        super::text(&file, MAX_FILE).map_err(|error| format!("`{}`: {error}", file.display()))?;
    Ok(issues(&text))
}

/// The file itself, or where it is in a project or in its folder.
fn file(path: &Path) -> PathBuf {
    let names = [".beads/issues.jsonl", "issues.jsonl", ".beads/beads.jsonl", "beads.jsonl"];
    let inside = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    inside.unwrap_or_else(|| path.to_owned())
}

/// Open issues as work, the most important first. The queue has no priorities: its order is theirs.
fn issues(text: &str) -> Found {
    let mut found = Found::default();
    let mut open: Vec<Issue> = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Issue>(line) {
            Err(error) => {
                found.leave_out(format!("line {}", n + 1), format!("not an issue: {error}"));
            }
            Ok(issue) if issue.title.trim().is_empty() => {
                found.leave_out(issue.id, "it has no title");
            }
            Ok(issue) if matches!(issue.status.as_str(), "closed" | "tombstone") => {
                found.leave_out(issue.id, format!("it is {}", issue.status));
            }
            Ok(issue) => open.push(issue),
        }
    }
    open.sort_by_key(|issue| issue.priority);
    for issue in &open {
        found.work(&issue.id, &issue.title, body(issue));
    }
    found
}

/// Everything that a work item has no field for is said in its body.
fn body(issue: &Issue) -> String {
    let mut parts = Vec::new();
    for (heading, text) in [
        ("", &issue.description),
        ("Design:\n", &issue.design),
        ("Accepted when:\n", &issue.acceptance_criteria),
        ("Notes:\n", &issue.notes),
    ] {
        if !text.trim().is_empty() {
            parts.push(format!("{heading}{}", text.trim()));
        }
    }
    let mut facts = vec![format!("From beads {}", issue.id)];
    if !issue.issue_type.is_empty() {
        facts.push(issue.issue_type.clone());
    }
    facts.push(format!("priority {}", issue.priority));
    if issue.status != "open" && !issue.status.is_empty() {
        facts.push(format!("was {}", issue.status));
    }
    facts.extend(
        issue
            .assignee
            .iter()
            .filter(|name| !name.is_empty())
            .map(|name| format!("assigned to {name}")),
    );
    if !issue.labels.is_empty() {
        facts.push(format!("labels {}", issue.labels.join(" ")));
    }
    parts.push(facts.join(", ") + ".");
    for Dependency { depends_on_id, kind } in
        issue.dependencies.iter().filter(|one| !one.depends_on_id.is_empty())
    {
        parts.push(format!(
            "{} {depends_on_id}.",
            if kind == "blocks" { "Blocked by" } else { "Related to" }
        ));
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::{LeftOut, What};
    use super::*;

    const ISSUES: &str = r#"
{"id":"bd-2","title":"Later","status":"open","priority":3,"issue_type":"task","created_at":"2026-01-01T00:00:00Z"}
{"id":"bd-1","title":"Fix login","description":"It fails.","status":"in_progress","priority":0,"issue_type":"bug","assignee":"ana","labels":["auth"],"dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"}]}
{"id":"bd-3","title":"Done","status":"closed","priority":1}
{"id":"bd-4","title":" ","status":"open"}
{"torn
"#;

    #[test]
    fn open_issues_become_work_and_the_rest_is_listed() {
        let found = issues(ISSUES);
        let keys: Vec<&str> = found.things.iter().map(|thing| thing.key.as_str()).collect();
        assert_eq!(keys, ["bd-1", "bd-2"], "the most important first");
        let What::Work { title, body } = &found.things[0].what else { panic!("work") };
        assert_eq!(title, "Fix login");
        assert_eq!(
            body,
            "It fails.\n\nFrom beads bd-1, bug, priority 0, was in_progress, assigned to ana, labels auth.\n\nBlocked by bd-2."
        );
        let left: Vec<&str> =
            found.left_out.iter().map(|LeftOut { key, .. }| key.as_str()).collect();
        assert_eq!(left, ["bd-3", "bd-4", "line 6"]);
    }
}
