//! The client's two to-do lists: the input of the tool that replaces a whole list, and the files of its tasks, one each.
//! Whatever is odd is skipped.

use serde_json::Value;
use substrate_core::TodoItem;

/// The list that a call writes; its entries have no ids but their place. `None` where the input is no list.
pub(super) fn in_input(input: &str) -> Option<Vec<TodoItem>> {
    let input: Value = serde_json::from_str(input).ok()?;
    let entries = input.get("todos")?.as_array()?.iter().enumerate();
    let read = |(at, entry): (usize, &Value)| item(entry, (at + 1).to_string(), "content");
    Some(entries.filter_map(read).collect())
}

/// The task that a file is about, if it is not done.
pub(super) fn in_file(text: &str) -> Option<TodoItem> {
    let entry: Value = serde_json::from_str(text).ok()?;
    let id = match entry.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    item(&entry, id, "subject")
}

/// `None` for whatever needs no more work: completed, deleted, and every status that we don't know.
fn item(entry: &Value, id: String, subject: &str) -> Option<TodoItem> {
    let is_begun = match entry.get("status")?.as_str()? {
        "pending" => false,
        "in_progress" => true,
        _ => return None,
    };
    let subject = entry.get(subject).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(TodoItem { id, is_begun, subject })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn todo(id: &str, is_begun: bool, subject: &str) -> TodoItem {
        TodoItem { id: id.to_owned(), is_begun, subject: subject.to_owned() }
    }

    #[test]
    fn a_list_has_what_is_not_done_by_its_place() {
        let input = r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"status":"pending"},{"content":"d","status":"new word"},7]}"#;
        assert_eq!(in_input(input), Some(vec![todo("2", true, "b"), todo("3", false, "")]));
        assert_eq!(in_input(r#"{"todos":[]}"#), Some(Vec::new()));
        for odd in ["", "[]", r#"{"todos":{}}"#, r#"{"list":[]}"#] {
            assert_eq!(in_input(odd), None, "{odd}");
        }
    }

    #[rstest]
    #[case(r#"{"id":"1","subject":"a","status":"in_progress"}"#, Some(todo("1", true, "a")))]
    #[case(r#"{"id":5,"subject":"a","status":"pending"}"#, Some(todo("5", false, "a")))]
    #[case(r#"{"subject":3,"status":"pending"}"#, Some(todo("", false, "")))]
    #[case(r#"{"id":"1","subject":"a","status":"completed"}"#, None)]
    #[case("{", None)]
    fn a_file_is_one_task(#[case] text: &str, #[case] expected: Option<TodoItem>) {
        assert_eq!(in_file(text), expected);
    }
}
