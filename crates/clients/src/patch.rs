//! The files that a patch changes.
//!
//! Invariant: a file that the client's own parser would change is found. It takes a header with blanks around it, except
//! within the lines of an update, where a line that begins with a blank is context.

const ADD: &str = "*** Add File:";
const UPDATE: &str = "*** Update File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";

/// Every file that is added, changed or deleted, and where one is moved to: each once, in the patch's order.
pub(crate) fn files(patch: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut in_update = false;
    for line in patch.lines() {
        let header = if in_update { line } else { line.trim_start() };
        let Some((kind, path)) = [ADD, UPDATE, DELETE, MOVE]
            .into_iter()
            .find_map(|kind| Some((kind, header.strip_prefix(kind)?.trim())))
        else {
            continue;
        };
        in_update = matches!(kind, UPDATE | MOVE);
        if !path.is_empty() && out.iter().all(|other| other != path) {
            out.push(path.to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::add("*** Begin Patch\n*** Add File: a b.txt\n+x\n*** End Patch", &["a b.txt"])]
    #[case::update("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n", &["a"])]
    #[case::delete("*** Begin Patch\n*** Delete File: /abs/a\n*** End Patch\n", &["/abs/a"])]
    #[case::moved("*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n", &["a", "b"])]
    #[case::several(
        "*** Begin Patch\n*** Add File: a\n+1\n*** Delete File: b\n*** Update File: c\n@@\n x\n*** Add File: d\n+2\n*** End Patch",
        &["a", "b", "c", "d"]
    )]
    #[case::twice("*** Update File: a\n@@\n-x\n*** Update File: a\n@@\n-y\n", &["a"])]
    #[case::content_is_not_a_header("*** Add File: a\n+*** Add File: b\n", &["a"])]
    #[case::context_is_not_a_header("*** Update File: a\n@@\n *** Update File: b\n", &["a"])]
    #[case::blanks_around_a_header("  *** Begin Patch\n  *** Add File:  a \n+x\n \t*** Delete File: b\r\n", &["a", "b"])]
    #[case::within_a_shell_line("apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE", &["a"])]
    #[case::no_path("*** Add File:\n*** Add File:   \n", &[])]
    #[case::nothing("", &[])]
    #[case::not_a_patch("hello", &[])]
    fn the_files_of(#[case] patch: &str, #[case] expected: &[&str]) {
        assert_eq!(files(patch), expected);
    }
}
