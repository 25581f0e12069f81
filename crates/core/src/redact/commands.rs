//! Passwords in the short flags of well-known programs: `curl -u name:x`, `mysql -px`, `docker login -p x`.

use super::bytes::{after_blanks, is_quote, says};
use super::values::{bare_end, quoted};

/// How a program takes its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `-px` only: a word after a blank is something else.
    Glued,
    /// `-p x` and `-px`.
    Either,
    /// `-u name:x`, `-uname:x`, `--user name:x`.
    AfterColon,
    /// `-U name%x`.
    AfterPercent,
    /// The word after this many others that are not flags.
    Word(usize),
}

/// A program, a word that has to follow, its flag.
struct Program {
    name: &'static str,
    verb: &'static str,
    flag: u8,
    way: Way,
}

const fn program(name: &'static str, verb: &'static str, flag: u8, way: Way) -> Program {
    Program { name, verb, flag, way }
}

pub(super) const N_PROGRAMS: usize = PROGRAMS.len();

const PROGRAMS: &[Program] = &[
    program("curl", "", b'u', Way::AfterColon),
    program("curl", "", b'U', Way::AfterColon),
    program("mysql", "", b'p', Way::Glued),
    program("mysqldump", "", b'p', Way::Glued),
    program("mysqladmin", "", b'p', Way::Glued),
    program("mariadb", "", b'p', Way::Glued),
    program("mariadb-dump", "", b'p', Way::Glued),
    program("7z", "", b'p', Way::Glued),
    program("7za", "", b'p', Way::Glued),
    program("sshpass", "", b'p', Way::Either),
    program("docker", "login", b'p', Way::Either),
    program("podman", "login", b'p', Way::Either),
    program("nerdctl", "login", b'p', Way::Either),
    program("buildah", "login", b'p', Way::Either),
    program("skopeo", "login", b'p', Way::Either),
    program("helm", "login", b'p', Way::Either),
    program("oras", "login", b'p', Way::Either),
    program("crane", "login", b'p', Way::Either),
    program("oc", "login", b'p', Way::Either),
    program("argocd", "login", b'p', Way::Either),
    program("cf", "login", b'p', Way::Either),
    program("az", "login", b'p', Way::Either),
    program("redis-cli", "", b'a', Way::Either),
    program("valkey-cli", "", b'a', Way::Either),
    program("mongo", "", b'p', Way::Either),
    program("mongosh", "", b'p', Way::Either),
    program("mongodump", "", b'p', Way::Either),
    program("mongorestore", "", b'p', Way::Either),
    program("mongoexport", "", b'p', Way::Either),
    program("ldapsearch", "", b'w', Way::Either),
    program("ldapadd", "", b'w', Way::Either),
    program("ldapmodify", "", b'w', Way::Either),
    program("ldapdelete", "", b'w', Way::Either),
    program("zip", "", b'P', Way::Either),
    program("unzip", "", b'P', Way::Either),
    program("sqlcmd", "", b'P', Way::Either),
    program("bcp", "", b'P', Way::Either),
    program("twine", "upload", b'p', Way::Either),
    program("smbclient", "", b'U', Way::AfterPercent),
    program("rpcclient", "", b'U', Way::AfterPercent),
    program("htpasswd", "-b", 0, Way::Word(3)),
    program("vault", "login", 0, Way::Word(1)),
    program("rabbitmqctl", "add_user", 0, Way::Word(2)),
    program("rabbitmqctl", "change_password", 0, Way::Word(2)),
];

/// The names, for the table of beginnings.
pub(super) const fn name(n: usize) -> &'static str {
    PROGRAMS[n].name
}

/// The end of a command is searched within this many bytes.
const LONGEST: usize = 2_048;

/// A command is read for at most this many programs.
const MOST_PROGRAMS: usize = 8;

/// What was read: a command once for each program, so that a list of names costs no more than a few looks.
pub(super) struct Read {
    /// How far for each program.
    to: [u32; N_PROGRAMS],
    /// The end of the command that is read, and for how many programs it was.
    end: usize,
    n_programs: usize,
}

impl Default for Read {
    fn default() -> Self {
        Self { to: [0; N_PROGRAMS], end: 0, n_programs: 0 }
    }
}

/// Where the passwords stand in the command at `at`, if it is the program `n`.
pub(super) fn passwords(
    text: &[u8],
    at: usize,
    n: usize,
    read: &mut Read,
    mut found: impl FnMut(usize, usize),
) {
    let program = &PROGRAMS[n];
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let len = text[at..].iter().take(16).take_while(|b| is_name(b)).count();
    let is_it = program.name.len() == len && says(text, at, program.name);
    if !is_it || at < read.to[n] as usize {
        return;
    }
    if at >= read.end {
        read.n_programs = 0;
    } else if read.n_programs == MOST_PROGRAMS {
        return;
    }
    let end = command_end(text, at + len);
    read.to[n] = u32::try_from(end).unwrap_or(u32::MAX);
    read.n_programs += 1;
    read.end = if read.n_programs == 1 { end } else { read.end };
    let command = &text[..end];
    let mut from = at + len;
    if !program.verb.is_empty() {
        let Some(verb) = word_in(command, from, program.verb) else { return };
        from = verb + program.verb.len();
    }
    match program.way {
        Way::Word(n) => {
            let words = Words { text: command, at: from };
            let mut words = words.filter(|(start, _)| text[*start] != b'-');
            if let Some((start, _)) = words.nth(n - 1) {
                let (start, end) = word_at(command, start);
                found(start, end);
            }
        }
        way => flags(command, from, program.flag, way, &mut found),
    }
}

/// Every word that begins with the flag.
fn flags(command: &[u8], from: usize, flag: u8, way: Way, found: &mut impl FnMut(usize, usize)) {
    let mut words = Words { text: command, at: from };
    while let Some((start, _)) = words.next() {
        if command[start] != b'-' {
            continue;
        }
        let value = if command.get(start + 1) == Some(&b'-') {
            long_user(command, start, way)
        } else {
            let n = command[start + 1..].iter().take_while(|b| b.is_ascii_alphabetic()).count();
            let letters = &command[start + 1..start + 1 + n];
            let is_glued =
                n > 1 || command.get(start + 1 + n).is_some_and(|b| !b.is_ascii_whitespace());
            if letters.first() == Some(&flag) && is_glued {
                Some(start + 2)
            } else if letters.last() == Some(&flag) {
                Some(start + 1 + n)
            } else {
                None
            }
        };
        let Some(value) = value else { continue };
        let is_apart = command.get(value).is_some_and(u8::is_ascii_whitespace);
        if is_apart && way == Way::Glued {
            continue;
        }
        let value = after_blanks(command, value);
        let value = if command.get(value) == Some(&b'=') { value + 1 } else { value };
        let (start, end) = word_at(command, value);
        let after =
            |sign: u8| command[start..end].iter().position(|b| *b == sign).map(|n| start + n + 1);
        let start = match way {
            Way::AfterColon => after(b':'),
            Way::AfterPercent => after(b'%'),
            Way::Glued | Way::Either | Way::Word(_) => {
                Some(start).filter(|_| !is_apart || command.get(start) != Some(&b'-'))
            }
        };
        if let Some(start) =
            start.filter(|start| *start < end && !matches!(command[*start], b'$' | b'['))
        {
            found(start, end);
        }
        words.at = end.max(words.at);
    }
}

fn long_user(command: &[u8], start: usize, way: Way) -> Option<usize> {
    let names = ["--user", "--proxy-user"].iter().filter(|_| way == Way::AfterColon);
    let name = names.filter(|name| says(command, start, name)).max_by_key(|name| name.len())?;
    let end = start + name.len();
    command.get(end).filter(|b| b.is_ascii_whitespace() || **b == b'=').map(|_| end)
}

/// Words of a command, after blanks; a quoted piece belongs to its word.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| !b.is_ascii_whitespace()) {
            self.at += 1;
        }
        Some((start, self.at))
    }
}

/// The inside of the word at `at`, which may be quoted.
fn word_at(command: &[u8], at: usize) -> (usize, usize) {
    match quoted(command, at) {
        Some(value) => (value.start, value.end),
        None => (at, bare_end(command, at)),
    }
}

fn word_in(command: &[u8], from: usize, word: &str) -> Option<usize> {
    let mut words = Words { text: command, at: from };
    words.find(|(start, end)| &command[*start..*end] == word.as_bytes()).map(|(start, _)| start)
}

/// Where the command ends: at its line, or where a shell would begin another.
fn command_end(text: &[u8], at: usize) -> usize {
    let limit = text.len().min(at + LONGEST);
    let mut quote = 0;
    for n in at..limit {
        let byte = text[n];
        let is_break = byte == b'\n' || (byte == b'\\' && text.get(n + 1) == Some(&b'n'));
        if is_break || (quote == 0 && matches!(byte, b'|' | b';' | b'&')) {
            return n;
        }
        if is_quote(byte) {
            quote = if quote == byte {
                0
            } else if quote == 0 {
                byte
            } else {
                quote
            };
        }
    }
    let mut end = limit;
    while end < text.len() && text[end] >= 0x80 && text[end] < 0xc0 {
        end += 1;
    }
    end
}
