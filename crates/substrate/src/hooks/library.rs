//! The shell library for people's own hooks, and the scripts that are built on it: real files, so that they can be read,
//! checked and edited as such.

use std::path::Path;

/// One file below the client's folder.
pub(super) struct File {
    pub(super) path: &'static str,
    text: &'static str,
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

impl File {
    /// As it is installed; `hook` is the hook client, beside which `substrate` is.
    pub(super) fn text(&self, hook: &str) -> String {
        let program = Path::new(hook).with_file_name("substrate").display().to_string();
        self.text.replace("@SUBSTRATE@", &format!("'{}'", program.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Env;
    use crate::hooks::plan::is_ours;
    use crate::proc;

    #[test]
    fn every_file_is_known_as_ours_and_names_the_program_as_one_word() {
        for file in FILES {
            let text = file.text("/opt/it's here/substrate-hook");
            assert!(is_ours(&text), "{}", file.path);
            assert!(!text.contains("@SUBSTRATE@"), "{}", file.path);
        }
        let library = FILES.last().unwrap().text("/opt/it's here/substrate-hook");
        assert!(library.contains("\n_substrate='/opt/it'\\''s here/substrate'\n"), "{library}");
    }

    #[test]
    fn shells_understand_every_file() {
        for file in FILES {
            for shell in ["sh", "bash", "dash"] {
                let Ok(out) = proc::command(shell, &Env::of_this_process())
                    .args(["-n", "-c", &file.text("/x/substrate-hook")])
                    .output()
                else {
                    continue;
                };
                assert!(out.status.success(), "{shell} {}: {out:?}", file.path);
            }
        }
    }
}
