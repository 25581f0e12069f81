//! A PostgreSQL server of its own for a test: socket only, in a temp folder, gone with its value.
//!
//! The server refuses to run as root, so as root it runs as the user `postgres`. A missing server is a failure, not a skip.
use std::path::PathBuf;
use std::time::Duration;

use crate::process::{Running, attempt, command};

const DEADLINE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
#[must_use = "dropping it stops the server"]
pub struct Postgres {
    folder: tempfile::TempDir,
    bin: PathBuf,
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    /// If there is none on this machine, or it does not start.
    pub fn start() -> Self {
        Self::start_with("-c listen_addresses=", None)
    }

    /// A server on a port of loopback that shows this certificate (PEM) and refuses plain text there.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn start_tls(port: u16, certificate: &str, key: &str) -> Self {
        let options = format!("-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on");
        Self::start_with(&options, Some((certificate, key)))
    }

    fn start_with(more: &str, certificate: Option<(&str, &str)>) -> Self {
        let folder =
            tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a temp folder");
        let it = Self { bin: programs(), folder };
        if is_root() {
            let mut chown = command("chown");
            chown.arg("postgres:").arg(it.folder.path());
            Running::start(chown, Vec::new()).finish(DEADLINE).success();
        }
        it.run("initdb", &["-U", "hub", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]);
        if let Some((certificate, key)) = certificate {
            it.put("server.crt", certificate);
            it.put("server.key", key);
            it.put("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n");
        }
        let options = format!(
            "{more} -c unix_socket_directories={} -c fsync=off -c max_connections=50",
            it.folder.path().display()
        );
        let log = it.folder.path().join("log").display().to_string();
        it.run("pg_ctl", &["-l", &log, "-w", "-t", "55", "-o", &options, "start"]);
        it
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=hub", self.folder.path().display())
    }

    /// Writes a file of the server's folder, as its user.
    fn put(&self, name: &str, text: &str) {
        let script = "umask 077; cat > \"$PGDATA/$0\"";
        let put = self.as_user(PathBuf::from("/bin/sh"), &["-c", script, name]);
        Running::start(put, text.as_bytes().to_vec()).finish(DEADLINE).success();
    }

    fn command(&self, program: &str, args: &[&str]) -> std::process::Command {
        self.as_user(self.bin.join(program), args)
    }

    fn as_user(&self, program: PathBuf, args: &[&str]) -> std::process::Command {
        let mut out = if is_root() {
            let mut out = command("setpriv");
            out.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            out
        } else {
            command(program)
        };
        out.args(args).env("PGDATA", self.folder.path().join("data"));
        out.env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").current_dir("/");
        out
    }

    fn run(&self, program: &str, args: &[&str]) {
        Running::start(self.command(program, args), Vec::new()).finish(DEADLINE).success();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let stop = self.command("pg_ctl", &["-m", "immediate", "stop"]);
        attempt(stop, DEADLINE);
    }
}

fn is_root() -> bool {
    let mut id = command("id");
    id.arg("-u");
    Running::start(id, Vec::new()).finish(DEADLINE).success().trim() == "0"
}

/// The newest server of the usual places.
fn programs() -> PathBuf {
    let versions = (15..=25).rev().map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let others = ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"].map(str::to_owned);
    let mut places = versions.chain(others).map(PathBuf::from);
    places
        .find(|place| place.join("initdb").is_file() && place.join("pg_ctl").is_file())
        .expect("a PostgreSQL server is installed: `scripts/test-tools` does that")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_and_its_folder_goes_with_it() {
        let server = Postgres::start();
        let folder = server.folder.path().to_owned();
        assert!(folder.join(".s.PGSQL.5432").exists());
        drop(server);
        assert!(!folder.exists());
    }
}
