//! What we register with clients that run every hook through a shell.
//!
//! Each command looks for its program first and exits 0 where it is gone: a hook that is missing must stop no call. Then
//! the shell becomes the program. `$PPID` is the client itself, which names its process to hooks in no other way.

use crate::install::{Entry, Form, What, quoted};

/// The variable in which our commands name the client's process.
pub(crate) const CLIENT_PID: &str = "SUBSTRATE_CLIENT_PID";

/// The hooks of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShellPlan {
    /// The client's name, as our program is told it.
    pub(crate) client: &'static str,
    /// Its own names of the events that we want to hear of, each with a timeout in seconds.
    pub(crate) events: &'static [(&'static str, u32)],
    /// What our program is told instead of such a name: ours, so that even a call that can't be read is known as one.
    pub(crate) ours: fn(&'static str) -> &'static str,
}

impl ShellPlan {
    pub(crate) fn entries(&self, form: Form<'_>) -> Vec<Entry> {
        let entry = |(event, timeout_s): &(&'static str, u32)| Entry {
            event,
            what: What::Shell { command: self.command(form, event), wakes: false },
            timeout_s: *timeout_s,
        };
        self.events.iter().map(entry).collect()
    }

    fn command(&self, form: Form<'_>, event: &'static str) -> String {
        let (client, event) = (self.client, (self.ours)(event));
        match form {
            Form::User { program } | Form::Persistent { program, .. } => {
                let program = word(program);
                format!(
                    "[ -x {program} ] || exit 0; {CLIENT_PID}=$PPID exec {program} {client} {event}"
                )
            }
            // There are no scripts for these clients.
            Form::Project | Form::Scripts { .. } => format!(
                "command -v substrate-hook >/dev/null 2>&1 || exit 0; {CLIENT_PID}=$PPID exec substrate-hook {client} {event} --shared"
            ),
        }
    }
}

/// One word for a shell, quoted only where it must be.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ShellPlan =
        ShellPlan { client: "oak", events: &[("AfterAll", 9)], ours: |_| "Stop" };

    fn command(form: Form<'_>) -> String {
        let What::Shell { command, .. } = PLAN.entries(form).remove(0).what else { panic!() };
        command
    }

    #[test]
    fn a_command_finds_its_program_and_names_the_client() {
        let program = "/opt/bin/substrate-hook";
        assert_eq!(
            command(Form::User { program }),
            "[ -x /opt/bin/substrate-hook ] || exit 0; SUBSTRATE_CLIENT_PID=$PPID exec /opt/bin/substrate-hook oak Stop"
        );
        let odd = command(Form::User { program: "/it's here/substrate-hook" });
        assert!(odd.contains(r"exec '/it'\''s here/substrate-hook' oak Stop"), "{odd}");
        assert!(command(Form::Project).ends_with(" exec substrate-hook oak Stop --shared"));
    }
}
