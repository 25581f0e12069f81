//! What a path of a command means, by its words alone: a whole system, a home, a whole project, or something plain.

use crate::shell::{Simple, Word, joined};

/// Folders whose loss takes the system or all of somebody's work with it.
const VITAL: &[&str] = &[
    "/",
    "~",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/mnt",
    "/media",
];

/// Where the homes of people are.
const HOMES: &[&str] = &["/home/", "/Users/"];

/// The path that a word means, absolute or below `~`, with `/*` where it is everything in a folder; `None` where that is
/// not known.
pub(super) fn target(word: &Word, folder: &str, cwd: &str) -> Option<String> {
    let (folder, has_tilde) = match folder {
        "" => (cwd.to_owned(), word.has_tilde),
        folder => (joined(cwd, folder), word.has_tilde),
    };
    let text = word.text.as_str();
    let at_home =
        text.strip_prefix("$HOME").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let here = text.strip_prefix("$PWD").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = if let Some(rest) = at_home.filter(|_| word.has_unknown) {
        format!("~{rest}")
    } else if let Some(rest) = here.filter(|_| word.has_unknown) {
        format!("{folder}{rest}")
    } else if word.has_unknown {
        return None;
    } else if text.starts_with('/') || has_tilde {
        text.to_owned()
    } else {
        format!("{folder}/{text}")
    };
    let path = if word.has_glob { path } else { path.replace('*', "\\*") };
    let path = path.strip_prefix("$HOME").map_or(path.clone(), |rest| format!("~{rest}"));
    Some(normal(&path))
}

/// Every path that a command names.
pub(super) fn targets(made: &Simple, cwd: &str) -> Vec<String> {
    let folder = made.git.as_ref().map_or(&made.folder, |git| &git.folder);
    made.args().filter_map(|word| target(word, folder, cwd)).collect()
}

/// Without `.`, `..`, empty parts and the marks of "everything in it" behind each other.
fn normal(path: &str) -> String {
    let (start, rest) = match path.strip_prefix('~') {
        Some(rest) => {
            let n = rest.find('/').unwrap_or(rest.len());
            (format!("~{}", &rest[..n]), &rest[n..])
        }
        None => (String::new(), path),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            // `.*` and `*` are everything, however often.
            "*" | ".*" | ".[!.]*" | "{*,.*}" if parts.last() == Some(&"*") => {}
            "*" | ".*" | ".[!.]*" => parts.push("*"),
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (start.is_empty(), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => start,
        (false, false) => format!("{start}/{joined}"),
    }
}

/// Without the `/*` at its end.
fn base(path: &str) -> &str {
    match path.strip_suffix("/*") {
        Some("") => "/",
        Some(base) => base,
        None => path,
    }
}

/// A system's folder, or a home.
pub(super) fn is_vital(path: &str) -> bool {
    let base = base(path);
    let is_home = |homes: &&str| {
        base.strip_prefix(*homes).is_some_and(|name| !name.is_empty() && !name.contains('/'))
    };
    let is_other_home = base.starts_with('~') && !base.contains('/');
    VITAL.contains(&base) || is_other_home || HOMES.iter().any(is_home)
}

/// The whole of one of these trees, what is around it, or the folder in which git keeps everything.
pub(super) fn is_whole(path: &str, roots: &[String]) -> bool {
    let base = base(path);
    let is_around = |root: &String| {
        let root = normal(root);
        base == "/"
            || root == base
            || root.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
    };
    base.ends_with("/.git") || roots.iter().any(is_around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;
    use rstest::rstest;

    #[rstest]
    #[case("rm a", "/repo/sub/a")]
    #[case("rm ../a/./b//c", "/repo/a/b/c")]
    #[case("rm /", "/")]
    #[case("rm /*", "/*")]
    #[case("rm '/*'", "/\\*")]
    #[case("rm ~", "~")]
    #[case("rm '~'", "/repo/sub/~")]
    #[case("rm ~/x/..", "~")]
    #[case("rm $HOME/", "~")]
    #[case("rm \"${HOME}\"/*", "~/*")]
    #[case("cd ~ && rm *", "~/*")]
    #[case("cd .. && rm * .*", "/repo/* /repo/*")]
    #[case("rm ../../..", "/")]
    #[case("rm $X/*", "")]
    #[case("X=/; rm $X", "/")]
    fn a_word_means_a_path(#[case] line: &str, #[case] expected: &str) {
        let line = shell::read(line);
        let made = line.commands.iter().find(|made| made.name() == "rm").unwrap();
        assert_eq!(targets(made, "/repo/sub").join(" "), expected);
    }

    #[rstest]
    #[case("/", true)]
    #[case("/*", true)]
    #[case("~/*", true)]
    #[case("~root", true)]
    #[case("/home/me", true)]
    #[case("/home/me/*", true)]
    #[case("/usr", true)]
    #[case("/home/me/app", false)]
    #[case("/tmp", false)]
    #[case("/tmp/*", false)]
    #[case("~/x", false)]
    #[case("/repo", false)]
    fn vital_folders(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_vital(path), expected);
    }

    #[rstest]
    #[case("/work/repo", true)]
    #[case("/work/repo/*", true)]
    #[case("/work", true)]
    #[case("/work/rep", false)]
    #[case("/work/repo/.git", true)]
    #[case("/work/repo/.git/index.lock", false)]
    #[case("/work/repo/target", false)]
    #[case("/work/repo/*.o", false)]
    fn whole_trees(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_whole(path, &["/work/repo/".to_owned()]), expected);
    }
}
