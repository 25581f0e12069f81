//! What a path of a command means, by its words alone: a whole system, a home, a whole project, or something plain.

use std::borrow::Cow;

use crate::shell::{Simple, TOP, Word, joined};

/// Folders whose loss takes the system or all of a user's work with it.
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
    "/usr/include",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/lib",
    "/var",
    "/var/lib",
    "/var/lib/docker",
    "/var/lib/dpkg",
    "/var/lib/mysql",
    "/var/lib/postgresql",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/log",
    "/var/mail",
    "/var/spool",
    "/boot/efi",
    "/boot/grub",
    "/etc/pam.d",
    "/etc/ssh",
    "/etc/ssl",
    "/etc/systemd",
    "/lib/modules",
    "/lib/systemd",
    "/nix",
    "/nix/store",
    "/private",
    "/private/etc",
    "/private/var",
    "/snap",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/mnt",
    "/media",
];

/// Folders of a home that hold the user's own work or keys. They must not be lost as a whole.
const KEPT: &[&str] = &[
    "~/.aws",
    "~/.azure",
    "~/.config",
    "~/.config/gcloud",
    "~/.gnupg",
    "~/.kube",
    "~/.local",
    "~/.local/share",
    "~/.mozilla",
    "~/.password-store",
    "~/.ssh",
    "~/.thunderbird",
    "~/Desktop",
    "~/Documents",
    "~/Downloads",
    "~/Dropbox",
    "~/Library",
    "~/Movies",
    "~/Music",
    "~/Pictures",
    "~/Projects",
    "~/Videos",
    "~/code",
    "~/dev",
    "~/git",
    "~/projects",
    "~/repos",
    "~/src",
    "~/work",
    "~/workspace",
];

/// Files that exist only once, by the start of their path.
const KEYS: &[&str] = &[
    "~/.ssh/id_",
    "~/.ssh/authorized_keys",
    "~/.ssh/config",
    "~/.aws/credentials",
    "~/.kube/config",
    "~/.gnupg/",
    "~/.netrc",
    "~/.password-store/",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/sudoers",
    "/etc/fstab",
];

/// Where the homes of people are.
const HOMES: &[&str] = &["/home/", "/Users/"];

/// The path that a word means, absolute or below `~`, with `/*` for everything in a folder. `None` if unknown.
pub(in crate::guards) fn target(word: &Word, folder: &str, cwd: &str) -> Option<String> {
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
    let path = if word.has_glob {
        path
    } else {
        path.replace('*', "\\*").replace('?', "\\?").replace('[', "\\[")
    };
    let path = path.strip_prefix("$HOME").map_or(path.clone(), |rest| format!("~{rest}"));
    Some(normal(&path))
}

/// Every path that a command names.
pub(in crate::guards) fn targets(made: &Simple, cwd: &str) -> Vec<String> {
    let folder = made.git.as_ref().map_or(&made.folder, |git| &git.folder);
    if made.name() == "find" {
        // Where `find` starts; after that come its tests.
        let is_place = |word: &&Word| !word.is_flag() && !matches!(word.text.as_str(), "(" | "!");
        let places = made.after().iter().skip_while(|word| !is_place(word)).take_while(is_place);
        let is_before = |word: &Word| matches!(word.text.as_str(), "-H" | "-L" | "-P");
        let begins =
            made.after().iter().find(|word| !is_before(word)).is_some_and(|word| is_place(&word));
        if !begins {
            return target(&Word::plain("."), folder, cwd).into_iter().collect();
        }
        return places.filter_map(|word| target(word, folder, cwd)).collect();
    }
    made.args().filter_map(|word| target(word, folder, cwd)).collect()
}

/// The paths that `mv` takes away.
pub(in crate::guards) fn moved(made: &Simple, cwd: &str) -> Vec<String> {
    const INTO: [&str; 2] = ["-t", "--target-directory"];
    let mut words = made.plain(&INTO.map(str::to_owned));
    if !INTO.iter().any(|flag| made.has_flag(flag)) {
        words.pop();
    }
    words.into_iter().filter_map(|word| target(word, &made.folder, cwd)).collect()
}

/// Whether a container may change the whole disk of this machine, or is there to delete in a folder that is vital or kept.
pub(in crate::guards) fn mounts_vital(made: &Simple, cwd: &str) -> bool {
    let words = made.after();
    let deletes = |word: &Word| {
        matches!(word.text.as_str(), "rm" | "shred" | "-delete") || word.text.contains("rm -")
    };
    let deletes = words.iter().any(deletes);
    let is_bad = |path: String| path == "/" || (deletes && (is_vital(&path) || is_kept(&path)));
    words.iter().any(|word| matches!(word.text.as_str(), "run" | "create"))
        && words.iter().enumerate().any(|(n, word)| {
            let (flag, value) = match word.text.split_once('=') {
                Some((flag, value)) => {
                    (flag, Some(Word { text: value.to_owned(), ..word.clone() }))
                }
                None => (word.text.as_str(), words.get(n + 1).cloned()),
            };
            let mounted = value.and_then(|value| mounted(flag, &value));
            mounted.and_then(|word| target(&word, &made.folder, cwd)).is_some_and(is_bad)
        })
}

/// The folder of this machine that a flag of a container engine gives to a container to be changed.
fn mounted(flag: &str, value: &Word) -> Option<Word> {
    let text = match flag {
        "-v" | "--volume" => {
            let mut parts = value.text.split(':');
            let (host, _inside) = (parts.next()?, parts.next()?);
            (!parts.any(|part| part.split(',').any(|word| word == "ro"))).then_some(host)?
        }
        "--mount" => {
            let mut parts = value.text.split(',');
            let is_read_only = |part: &str| matches!(part, "readonly" | "ro");
            let source =
                |part| ["source=", "src="].iter().find_map(|key| str::strip_prefix(part, key));
            if value.text.split(',').any(is_read_only) {
                return None;
            }
            parts.find_map(source)?
        }
        _ => return None,
    };
    Some(Word { text: text.to_owned(), ..value.clone() })
}

/// Tests of `find` that some files pass and some don't.
const TESTS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-empty",
    "-size",
    "-perm",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-user",
    "-group",
    "-inum",
    "-samefile",
    "-xtype",
];

/// Whether `find` looks for something. What only leaves some out (`! -name keep`) is nearly everything.
pub(in crate::guards) fn is_narrowed(made: &Simple) -> bool {
    let words: Vec<&str> = made.after().iter().map(|word| word.text.as_str()).collect();
    let is_or = |pair: &[&str]| matches!(pair, ["-o" | "-or", "-delete" | "-exec" | "-execdir"]);
    let is_test = |pair: &[&str]| matches!(pair, [before, test] if TESTS.contains(test) && !matches!(*before, "!" | "-not"));
    let starts = words.first().is_some_and(|word| TESTS.contains(word));
    (starts || words.windows(2).any(is_test)) && !words.windows(2).any(is_or)
}

/// The path of `host:path`, on another machine: there it begins at a home.
pub(in crate::guards) fn far(word: &Word) -> Option<String> {
    let (host, path) = word.text.split_once(':')?;
    let is_host = !host.is_empty() && !host.contains('/') && !path.starts_with(':');
    is_host.then(|| match path.starts_with(['/', '~']) {
        true => normal(path),
        false => normal(&format!("~/{path}")),
    })
}

/// Without `.`, `..`, empty parts and the marks of "everything in it" behind each other.
pub(in crate::guards) fn normal(path: &str) -> String {
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
            // However often.
            part if is_any(part) && parts.last() == Some(&"*") => {}
            part if is_any(part) => parts.push("*"),
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

/// Whether a pattern fits nearly every name, as `*`, `.*`, `.[!.]*` and `[a-z]*` do: it says no letter.
fn is_any(part: &str) -> bool {
    let is_wide = |set: &str| set.starts_with(['!', '^']) || set.contains('-');
    let mut rest = part;
    loop {
        rest = rest.trim_start_matches(['*', '?', '.']);
        match rest.strip_prefix('[').and_then(|set| set.split_once(']')) {
            Some((set, after)) if is_wide(set) => rest = after,
            _ => return rest.is_empty() && part.contains('*'),
        }
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

/// A folder of the system, or a home.
pub(in crate::guards) fn is_vital(path: &str) -> bool {
    let base = base(path);
    let is_home = |homes: &&str| {
        base.strip_prefix(*homes).is_some_and(|name| !name.is_empty() && !name.contains('/'))
    };
    let is_other_home = base.starts_with('~') && !base.contains('/');
    VITAL.contains(&base) || is_other_home || HOMES.iter().any(is_home) || is_like_any(base, VITAL)
}

/// What a user has only once: documents, keys, the accounts of the system.
pub(in crate::guards) fn is_kept(path: &str) -> bool {
    let path = at_home(path);
    let base = base(&path);
    KEPT.contains(&base)
        || KEYS.iter().any(|key| path.starts_with(key))
        || is_like_any(base, KEPT)
        || is_like_any(base, KEYS)
}

/// Whether it is a pattern of the shell that fits one of these paths.
fn is_like_any(pattern: &str, paths: &[&str]) -> bool {
    pattern.contains(['*', '?', '[']) && paths.iter().any(|path| is_like(pattern, path))
}

/// The same path, below `~` where it is in a home.
pub(in crate::guards) fn at_home(path: &str) -> Cow<'_, str> {
    let below = HOMES.iter().find_map(|homes| path.strip_prefix(homes));
    let below = below.map(|rest| rest.find('/').map_or("", |at| &rest[at..]));
    match below.or_else(|| path.strip_prefix("/root").filter(|rest| rest.starts_with('/'))) {
        Some(rest) => Cow::Owned(format!("~{rest}")),
        None => Cow::Borrowed(path),
    }
}

/// Whether a pattern of the shell fits the path, part by part. A hidden name needs a dot of its own.
fn is_like(pattern: &str, path: &str) -> bool {
    pattern.split('/').count() == path.split('/').count() && may_be_within(pattern, path)
}

/// Whether a pattern of the shell may mean that path, or something below it. A hidden name needs a dot of its own.
pub(in crate::guards) fn may_be_within(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('/');
    path.split('/').all(|name| {
        parts.next().is_some_and(|part| {
            (part.starts_with('.') || !name.starts_with('.'))
                && fits(part.as_bytes(), name.as_bytes())
        })
    })
}

/// `*`, `?` and `[…]`, which is taken for any character. In no more than the product of both lengths.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let (is_same, width) = match pattern.get(p..).unwrap_or_default() {
            [b'*', ..] => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            [b'?', ..] => (true, 1),
            [b'[', rest @ ..] => {
                (true, rest.iter().position(|c| *c == b']').map_or(1, |end| end + 2))
            }
            [b'\\', c, ..] => (*c == name[n], 2),
            [c, ..] => (*c == name[n], 1),
            [] => (false, 0),
        };
        if is_same {
            (p, n) = (p + width, n + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, n) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// The whole of one of these trees, what is around it, or its `.git` folder.
pub(in crate::guards) fn is_whole(path: &str, roots: &[String]) -> bool {
    let base = base(path);
    let is_around = |root: &String| {
        let root = normal(root);
        base == "/"
            || root == base
            || root.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
    };
    // The top of the tree that it is in.
    if base.rsplit('/').next() == Some(TOP) {
        return true;
    }
    let is_history = |root: &String| base.strip_suffix("/.git") == Some(normal(root).as_str());
    roots.iter().any(is_history) || roots.iter().any(is_around)
}

/// Whether git takes the word for all files: `.`, `..`, `:/`, `:(top)`, `*`, or all but some.
pub(in crate::guards) fn is_everything(spec: &str) -> bool {
    let (magic, path) = match spec.strip_prefix(':') {
        Some(rest) => match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some(found) => found,
            None if rest.starts_with(['!', '^']) => ("exclude", rest),
            None => ("top", rest),
        },
        None => ("", spec),
    };
    let is_any = |part: &str| matches!(part, "" | "." | ".." | "*" | "**");
    magic.split(',').any(|word| word == "exclude")
        || (path.split('/').all(is_any) && !(magic.is_empty() && path.is_empty()))
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
    #[case("rm ~/?*", "~/*")]
    #[case("rm ~/.??* ~/[!.]* ~/.[^.]*", "~/* ~/* ~/*")]
    #[case("rm ~/a* ~/[ab] ~/\\*", "~/a* ~/[ab] ~/\\*")]
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
    #[case("/e*", true)]
    #[case("/[a-z]*", true)]
    #[case("/?*", true)]
    #[case("~/.[s]*", false)]
    #[case("~/[a]", false)]
    #[case("/u?r/lib", true)]
    #[case("/tmp/[a-z]*", false)]
    #[case("/\\*", false)]
    #[case("/*x*y*z*", false)]
    #[case(&format!("/{}", "*".repeat(60_000)), true)]
    #[case(&format!("/{}x", "*a".repeat(30_000)), false)]
    #[case("/[", false)]
    #[case("/e\\", false)]
    #[case("/home/me/app", false)]
    #[case("/tmp", false)]
    #[case("/tmp/*", false)]
    #[case("~/x", false)]
    #[case("/repo", false)]
    fn vital_folders(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_vital(path), expected);
    }

    #[rstest]
    #[case("~/.ssh", true)]
    #[case("~/.ss?", true)]
    #[case("~/.ssh/id*", true)]
    #[case("~/Doc*", true)]
    #[case("/home/me/[DP]*", true)]
    #[case("/home/*/.ssh", true)]
    #[case("/etc/pass*", true)]
    #[case("~/.ssh/*.pub", false)]
    #[case("~/*.log", false)]
    #[case("~/*sh", false)]
    #[case("~/Doc*/old", false)]
    #[case("~/.cache*", false)]
    fn kept_folders_and_files(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_kept(path), expected);
    }

    #[rstest]
    #[case(".", true)]
    #[case("../..", true)]
    #[case("./", true)]
    #[case("*", true)]
    #[case("**/*", true)]
    #[case(":", true)]
    #[case(":/", true)]
    #[case(":(top)", true)]
    #[case(":(top,glob)**", true)]
    #[case(":(top)*", true)]
    #[case(":!keep", true)]
    #[case(":(exclude)keep", true)]
    #[case("main", false)]
    #[case("src/*", false)]
    #[case("*.rs", false)]
    #[case(":/src", false)]
    #[case(":(top)src", false)]
    #[case(":(icase)readme", false)]
    #[case("", false)]
    fn what_git_takes_for_everything(#[case] spec: &str, #[case] expected: bool) {
        assert_eq!(is_everything(spec), expected);
    }

    #[rstest]
    #[case("/home/me/repo", true)]
    #[case("/home/me/repo/*", true)]
    #[case("/home/me", true)]
    #[case("/home/me/rep", false)]
    #[case("/home/me/repo/.git", true)]
    #[case("/home/me/repo/vendor/x/.git", false)]
    #[case("/tmp/clone/.git", false)]
    #[case("/home/me/repo/.git/index.lock", false)]
    #[case("/home/me/repo/target", false)]
    #[case("/home/me/repo/*.o", false)]
    fn whole_trees(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_whole(path, &["/home/me/repo/".to_owned()]), expected);
    }
}
