//! The shell library for people's own hooks, and the scripts built on it: real files, so they can be read, checked and
//! edited as such.

use std::path::Path;

/// The library that the other scripts source.
pub(super) const LIBRARY: &str = "lib/hook-utils.sh";

/// A file below the client's folder.
pub(super) struct File {
    pub(super) path: &'static str,
    /// `@SUBSTRATE@` stands for the program.
    pub(super) text: &'static str,
    pub(super) mode: u32,
}

macro_rules! file {
    ($name:literal, $mode:literal) => {
        File {
            path: concat!("hooks/scripts/", $name),
            text: include_str!(concat!("scripts/", $name)),
            mode: $mode,
        }
    };
}

pub(super) const FILES: &[File] = &[
    file!("setup-project.sh", 0o755),
    file!("inject-context.sh", 0o755),
    file!("remind-reflect.sh", 0o755),
    file!("remind-validate.sh", 0o755),
    file!("remind-reflexion.sh", 0o755),
    file!("checkpoint-session.sh", 0o755),
    file!("lib/hook-utils.sh", 0o644),
];

/// The `substrate` beside the hook, quoted as one shell word.
pub(super) fn program(hook: &str) -> String {
    quoted(&Path::new(hook).with_file_name("substrate").display().to_string())
}

/// Quotes one shell word.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;
    use crate::proc;

    fn installed(file: &File, hook: &str) -> String {
        file.text.replace("@SUBSTRATE@", &program(hook))
    }

    #[test]
    fn the_library_names_the_program_as_one_word() {
        let library = FILES.iter().find(|file| file.path.ends_with(LIBRARY)).unwrap();
        let library = installed(library, "/opt/it's here/substrate-hook");
        assert!(library.contains("\n_substrate='/opt/it'\\''s here/substrate'\n"), "{library}");
    }

    #[test]
    fn shells_understand_every_file() {
        for file in FILES {
            for shell in ["sh", "bash", "dash"] {
                let Ok(out) = proc::command(shell, &Env::of_this_process())
                    .args(["-n", "-c", &installed(file, "/x/substrate-hook")])
                    .output()
                else {
                    continue;
                };
                assert!(out.status.success(), "{shell} {}: {out:?}", file.path);
            }
        }
    }
}
