//! Slow facts, gathered before a transaction is open.
//!
//! A feature names what it needs. The host looks it up on a thread pool, with a deadline, so no agent waits for
//! another's file system.

use std::collections::HashMap;

/// Something that must be looked up outside the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The first `max` bytes of a file, as text.
    File { path: String, max: usize },
    /// The same for a file of a project, from its root. Nothing if a step below the root is a link: a project must not
    /// lead to other files.
    ProjectFile { root: String, path: String, max: usize },
    /// The same, but nothing if a step of the path is a link. Links were resolved when the path was noted and may lead
    /// anywhere by now.
    RealFile { path: String, max: usize },
    /// When that file or folder was last changed.
    Changed { path: String },
    /// Whether text can probably be appended to an artifact of a task (`Effect::Artifact`).
    Artifact { root: String, dir: String, name: String },
    /// The last `max` bytes of a file, as text, from the start of a line. The cost does not depend on the file's
    /// length.
    Tail { path: String, max: usize },
    /// The lines of a file from a byte on that have `with` in them. At most `max` bytes of the file are read. An unfinished
    /// last line is left for later.
    Lines { path: String, from: u64, with: &'static str, max: usize },
    /// The names of a folder's entries, sorted, at most `max`.
    Folder { path: String, max: usize },
    /// The first `max_files` files of a folder with this suffix, by name, each with its first `max_bytes` bytes.
    Files { folder: String, ends: &'static str, max_files: usize, max_bytes: usize },
    /// The files of the folder `below` that are named by a day (`2026-02-08.md`): the latest `n`. `below` begins at
    /// `dir`, or (`of_tree`) at the root of the working tree that `dir` is in. Days after `until` are left out.
    Daily { dir: String, of_tree: bool, below: String, until: String, n: usize, max_bytes: usize },
    /// Whether there is a folder `below`, or one could be made. It begins as above. With `ours`, only as we write into
    /// projects ourselves: through no link, and only where work is going on.
    Room { dir: String, of_tree: bool, below: String, ours: bool },
    /// Which file a path means, whether it is there or not. `cwd` is where a relative path begins; `~` and `~/…` are home.
    Place { path: String, cwd: String },
    /// What is in a folder, `depth` levels deep, without what git ignores: at most `max` entries.
    Tree { root: String, depth: usize, max: usize },
    /// What git says about a folder.
    Git { dir: String, what: GitQuestion },
    /// The skills of these projects, in the folder `below` of each, and of the user's own folder: each a folder with a
    /// `SKILL.md`. The first of a name counts. Links are followed in the user's own folder only.
    Skills { projects: Vec<String>, below: &'static str, own: Option<String> },
    /// The folder of one skill, or the one file of a command, by its name: of the working tree that `dir` is in, or else of
    /// the user's own folder. Nothing in a working tree is read through a link.
    SkillFolder { name: String, dir: String, own: Option<String> },
    /// The files with directions for anyone who works on a file: `AGENTS.md`, the clients' own and `.directives/*.md` in its
    /// folder and in those above, up to its working tree or `project`. Their paths, the uppermost first.
    Directives { file: String, cwd: String, project: Option<String> },
}

/// Lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub lines: Vec<String>,
    /// Where to go on.
    pub next: u64,
    /// There is more to read right now.
    pub is_more: bool,
}

/// The questions that git is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitQuestion {
    /// The branch and what is changed, one file a line.
    Status,
    /// The latest `n` commits, one a line.
    Log { n: usize },
}

/// A folder's entries, below each folder what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Relative to the root; a folder ends in `/`.
    pub entries: Vec<String>,
    /// How many more there are, as far as they were counted.
    pub n_more: usize,
}

/// A skill as it presents itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Its `SKILL.md`.
    pub path: String,
}

/// What a skill, or a command, consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillFolder {
    /// The working tree that was looked in; the folder itself where there is none.
    pub root: String,
    /// Where it is, links resolved; empty for a command, which has no folder of its own.
    pub folder: String,
    /// Neither a skill nor a command of that name was found.
    pub is_missing: bool,
    /// Its files by their paths below the folder. A command is `SKILL.md` alone.
    pub files: Vec<(String, String)>,
}

/// Files that are named by a day. None if the folder is absent. A folder that can't be read gives no answer at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Daily {
    /// The folder, from the root of the file system.
    pub folder: String,
    /// Oldest first.
    pub files: Vec<DayFile>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayFile {
    /// `2026-02-08`
    pub day: String,
    /// Its last lines, as many as fit; `None` when it could not be read.
    pub text: Option<String>,
    /// It is a folder, not a file.
    pub is_folder: bool,
    /// When it was last changed, in milliseconds since 1970.
    pub changed_ms: Option<i64>,
}

/// When a file's content or place last changed, in milliseconds since 1970. `touch -d` can't forge it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// `None` when it is not there.
    pub itself: Option<i64>,
    /// If it is absent: when its nearest existing folder changed.
    pub folder: Option<i64>,
}

/// Whether something can be written into a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It is there, and may be written.
    There,
    /// It is not there yet, but the nearest folder above it may be written.
    CanBeMade,
    /// Something else is in its place, or it can't be written.
    Nowhere,
}

/// The one file that a path means, however it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Absolute; links, `.` and `..` are resolved.
    pub path: String,
    /// The working tree that it is in; empty where there is none.
    pub root: String,
    /// The path below that tree; the whole path where there is none.
    pub relative: String,
    /// Git leaves it alone.
    pub is_ignored: bool,
    /// The list of ignored files that is too long to be used.
    pub unread_rules: Option<String>,
    /// It is a folder. Only commands ask for that.
    pub is_folder: bool,
    /// The project of that tree, as `Event::project`; empty where there is none.
    pub project: String,
    /// Which file it is, whatever its name. All hard links share it, and renaming a folder keeps it. `None` if the file
    /// is absent, or the file system can't tell it from a later one with the same inode.
    pub file: Option<String>,
    /// It has other names (hard links) as well.
    pub has_other_names: bool,
    /// Not even its folder is there.
    pub is_nowhere: bool,
    /// When it was last changed, in milliseconds since 1970; `None` where it is not there.
    pub changed_ms: Option<i64>,
}

/// What was found. A need that failed or came too late is simply absent.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    found: HashMap<Need, Found>,
}

/// The answer to one need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Text(String),
    Names(Vec<String>),
    Lines(Lines),
    /// Name and text of each file.
    Files(Vec<(String, String)>),
    Daily(Daily),
    Room(Room),
    Place(Place),
    Tree(Tree),
    Skills(Vec<Skill>),
    SkillFolder(SkillFolder),
    Changed(Changed),
    /// Whether it can be done.
    Possible(bool),
    /// It was looked for, and not found in time.
    Nothing,
}

impl Facts {
    /// What was found. `None` if it was not looked for.
    pub fn get(&self, need: &Need) -> Option<&Found> {
        self.found.get(need)
    }

    /// Marks needs as looked for. What has not been found by now stays absent.
    pub fn close(&mut self, needs: impl IntoIterator<Item = Need>) {
        for need in needs {
            self.found.entry(need).or_insert(Found::Nothing);
        }
    }

    pub fn insert(&mut self, need: Need, found: Found) {
        self.found.insert(need, found);
    }

    pub fn file(&self, path: &str, max: usize) -> Option<&str> {
        match self.found.get(&Need::File { path: path.to_owned(), max })? {
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The answer to a need for a file of a project.
    pub fn project_file(&self, root: &str, path: &str, max: usize) -> Option<&str> {
        let (root, path) = (root.to_owned(), path.to_owned());
        match self.found.get(&Need::ProjectFile { root, path, max })? {
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The end of a file.
    pub fn tail(&self, path: &str, max: usize) -> Option<&str> {
        match self.found.get(&Need::Tail { path: path.to_owned(), max })? {
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The answer to a need for lines.
    pub fn lines(&self, need: &Need) -> Option<&Lines> {
        match self.found.get(need)? {
            Found::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    /// The answer to a need for names.
    pub fn names(&self, need: &Need) -> Option<&[String]> {
        match self.found.get(need)? {
            Found::Names(names) => Some(names),
            _ => None,
        }
    }

    pub fn folder(&self, path: &str, max: usize) -> Option<&[String]> {
        match self.found.get(&Need::Folder { path: path.to_owned(), max })? {
            Found::Names(names) => Some(names),
            _ => None,
        }
    }
    /// The answer to a need for files.
    pub fn files(&self, need: &Need) -> Option<&[(String, String)]> {
        match self.found.get(need)? {
            Found::Files(files) => Some(files),
            _ => None,
        }
    }
    /// The answer to a need for files that are named by a day.
    pub fn daily(&self, need: &Need) -> Option<&Daily> {
        match self.found.get(need)? {
            Found::Daily(daily) => Some(daily),
            _ => None,
        }
    }

    /// The answer to a need for room.
    pub fn room(&self, need: &Need) -> Option<Room> {
        match self.found.get(need)? {
            Found::Room(room) => Some(*room),
            _ => None,
        }
    }

    /// What git said.
    pub fn git(&self, dir: &str, what: GitQuestion) -> Option<&str> {
        match self.found.get(&Need::Git { dir: dir.to_owned(), what })? {
            Found::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The answer to a need for a tree.
    pub fn tree(&self, need: &Need) -> Option<&Tree> {
        match self.found.get(need)? {
            Found::Tree(tree) => Some(tree),
            _ => None,
        }
    }

    /// The answer to a need for skills.
    pub fn skills(&self, need: &Need) -> Option<&[Skill]> {
        match self.found.get(need)? {
            Found::Skills(skills) => Some(skills),
            _ => None,
        }
    }

    /// The answer to a need for one skill.
    pub fn skill_folder(&self, need: &Need) -> Option<&SkillFolder> {
        match self.found.get(need)? {
            Found::SkillFolder(folder) => Some(folder),
            _ => None,
        }
    }

    /// Every answer about a path, with its question.
    pub fn places(&self) -> impl Iterator<Item = (&Need, &Found)> {
        self.found.iter().filter(|(_, found)| matches!(found, Found::Place(_)))
    }

    /// Adds what another look-up has found.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
    }

    /// The file that a path means.
    pub fn place(&self, path: &str, cwd: &str) -> Option<&Place> {
        match self.found.get(&Need::Place { path: path.to_owned(), cwd: cwd.to_owned() })? {
            Found::Place(place) => Some(place),
            _ => None,
        }
    }
}
