//! MCP Agent Mail: `messages/YYYY/MM/*.md` below a project's folder, each with a head in JSON.

use std::path::Path;

use serde::Deserialize;

use super::{Found, Thing, What};

/// The most folders below the given one, and the most messages.
const MAX_DEPTH: usize = 8;
const MAX_MESSAGES: usize = 20_000;

/// The longest message that is read, in bytes.
const MAX_MESSAGE: u64 = 2 << 20;

#[derive(Deserialize)]
struct Head {
    /// A number or a text.
    id: serde_json::Value,
    #[serde(default)]
    thread_id: Option<String>,
    from: String,
    #[serde(default)]
    to: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default, alias = "created_ts")]
    created: String,
    #[serde(default)]
    importance: String,
    #[serde(default)]
    attachments: Vec<serde_json::Value>,
}

pub(super) fn read(path: &Path) -> Result<Found, String> {
    let mut files = Vec::new();
    walk(path, MAX_DEPTH, &mut files);
    files.sort();
    if files.is_empty() {
        return Err("there is no message in a `messages` folder".to_owned());
    }
    let mut found = Found::default();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match super::text(&file, MAX_MESSAGE) {
            Ok(text) => message(&name, &text, &mut found),
            Err(error) => found.leave_out(name, error.to_string()),
        }
    }
    Ok(found)
}

/// The canonical messages. Copies in agents' own folders say the same.
fn walk(folder: &Path, depth: usize, out: &mut Vec<std::path::PathBuf>) {
    if folder.is_file() {
        out.push(folder.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        let is_copy = matches!(entry.file_name().to_str(), Some("agents" | ".git"));
        if kind.is_dir() && depth > 0 && !is_copy {
            walk(&path, depth - 1, out);
        } else if kind.is_file()
            && out.len() < MAX_MESSAGES
            && path.extension().is_some_and(|end| end == "md")
            && path.components().any(|part| part.as_os_str() == "messages")
        {
            out.push(path);
        }
    }
}

fn message(name: &str, text: &str, found: &mut Found) {
    let parts = text.strip_prefix("---json").and_then(|rest| rest.split_once("\n---"));
    let Some((head, body)) = parts else {
        return found.leave_out(name, "it has no head in JSON");
    };
    let head: Head = match serde_json::from_str(head) {
        Ok(head) => head,
        Err(error) => return found.leave_out(name, format!("its head can't be read: {error}")),
    };
    let id = head.id.as_str().map_or_else(|| head.id.to_string(), str::to_owned);
    if head.to.is_empty() && head.cc.is_empty() {
        return found.leave_out(id, "it names no recipient");
    }
    let body = body.trim();
    let title = || body.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    let subject = head.subject.clone().unwrap_or_else(|| title().to_owned());
    let thread = head.thread_id.as_ref().map(|thread| format!(", thread {thread}"));
    let thread = thread.unwrap_or_default();
    let origin = format!("From {} in Agent Mail, {}{thread}", head.from, head.created);
    for recipient in head.to.iter().chain(&head.cc) {
        let what = What::Mail {
            to: vec![recipient.clone()],
            subject: subject.clone(),
            body: format!("{origin}:\n\n{body}"),
            is_urgent: head.importance == "urgent",
        };
        found.things.push(Thing { key: format!("{id} {recipient}"), what });
    }
    if !head.attachments.is_empty() {
        found
            .leave_out(id, format!("{} attachments; the text is imported", head.attachments.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "---json\n{\"id\": \"msg_1\", \"thread_id\": \"T-1\", \"from\": \"GreenCastle\", \"to\": [\"BlueLake\"], \"cc\": [\"RedCat\"], \"created\": \"2025-10-23T15:22:14Z\", \"importance\": \"high\", \"attachments\": [{}]}\n---\n\n# Build plan\n\nFirst this.\n";

    #[test]
    fn a_message_goes_to_each_recipient_and_says_where_it_is_from() {
        let mut found = Found::default();
        message("a.md", MESSAGE, &mut found);
        let keys: Vec<&str> = found.things.iter().map(|thing| thing.key.as_str()).collect();
        assert_eq!(keys, ["msg_1 BlueLake", "msg_1 RedCat"]);
        let What::Mail { subject, body, is_urgent, .. } = &found.things[0].what else {
            panic!("mail")
        };
        assert_eq!(subject, "Build plan");
        assert_eq!(
            body,
            "From GreenCastle in Agent Mail, 2025-10-23T15:22:14Z, thread T-1:\n\n# Build plan\n\nFirst this."
        );
        assert!(!is_urgent);
        assert_eq!(found.left_out[0].key, "msg_1", "its attachment is listed");
    }

    #[test]
    fn what_is_not_a_message_is_listed() {
        let mut found = Found::default();
        for text in ["", "# Hi", "---json\n{\n---\n", "---json\n{\"id\":1,\"from\":\"A\"}\n---\nx"]
        {
            message("a.md", text, &mut found);
        }
        assert_eq!((found.things.len(), found.left_out.len()), (0, 4));
    }
}
