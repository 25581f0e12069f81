//! Which programs run another one, and where its name stands.

const SUDO: &[&str] = &[
    "-u",
    "-g",
    "-h",
    "-p",
    "-C",
    "-D",
    "-R",
    "-T",
    "-U",
    "-r",
    "-t",
    "--user",
    "--group",
    "--host",
    "--prompt",
    "--close-from",
    "--chdir",
    "--chroot",
    "--command-timeout",
    "--other-user",
    "--role",
    "--type",
];

const XARGS: &[&str] = &[
    "-n",
    "-P",
    "-I",
    "-L",
    "-d",
    "-a",
    "-s",
    "-E",
    "-J",
    "-R",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--arg-file",
    "--max-chars",
];

/// For a program that runs another: its flags that take a value, and how many words come before the other's name.
pub(super) type Wrapper = (&'static [&'static str], usize);

pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "env" => (&["-u", "-C", "--unset", "--chdir"], 0),
        "sudo" => (SUDO, 0),
        "doas" => (&["-u", "-C"], 0),
        "command" | "builtin" | "nohup" | "setsid" | "unbuffer" | "busybox" | "unshare"
        | "fakeroot" | "linux32" | "linux64" | "catchsegv" | "dbus-run-session" | "firejail"
        | "torsocks" | "proxychains" | "proxychains4" | "rlwrap" | "valgrind" | "dotenv"
        | "toybox" | "pkexec" | "prlimit" | "cgexec" | "eatmydata" | "chronic"
        | "flatpak-spawn" | "systemd-inhibit" => (&[], 0),
        "exec" => (&["-a"], 0),
        "nice" => (&["-n", "--adjustment"], 0),
        "ionice" => (&["-c", "-n", "--class", "--classdata"], 0),
        "time" => (&["-f", "-o", "--format", "--output"], 0),
        "timeout" => (&["-k", "-s", "--signal", "--kill-after"], 1),
        "stdbuf" => (&["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "taskset" | "chroot" | "gosu" | "su-exec" | "faketime" => (&[], 1),
        "chrt" => (&["-T", "-P", "-D"], 1),
        "cpulimit" => (&["-l", "-p", "-P", "-e"], 0),
        "nsenter" => (&["-t", "--target", "-S", "-G", "--setuid", "--setgid"], 0),
        "setpriv" => (&["--reuid", "--regid", "--groups", "--inh-caps", "--bounding-set"], 0),
        "numactl" => (&["-N", "-m", "-C", "-i", "-p"], 0),
        "runuser" => (&["-u", "-g", "-G", "--user", "--group"], 0),
        "screen" => (&["-S", "-c", "-e", "-h", "-p", "-s", "-t", "-T"], 0),
        "xvfb-run" => (&["-s", "-n", "-e", "-f", "-w", "--server-args"], 0),
        "caffeinate" => (&["-t", "-w"], 0),
        "flock" => (&["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
        "strace" | "ltrace" => {
            (&["-e", "-o", "-p", "-s", "-u", "-E", "-a", "-b", "-I", "-O", "-S", "-X", "-P"], 0)
        }
        "systemd-run" => {
            (&["-p", "-u", "-E", "-M", "-H", "--property", "--unit", "--slice", "--setenv"], 0)
        }
        "dtach" => (&["-a", "-A", "-c", "-n", "-N", "-e", "-r"], 0),
        "entr" | "npx" | "bunx" => (&["-p", "--package"], 0),
        "xargs" => (XARGS, 0),
        _ => return None,
    })
}

/// The same for a program that does so after a word of its own, as in `poetry run rm`.
pub(super) fn runner(name: &str, word: &str) -> Option<Wrapper> {
    Some(match (name, word) {
        ("poetry" | "uv" | "pipenv" | "hatch" | "pdm" | "rye" | "op" | "doppler", "run")
        | ("bundle" | "npm" | "pnpm" | "yarn" | "mise" | "rbenv" | "pyenv" | "lerna", "exec")
        | ("perf", "stat" | "record" | "trace")
        | ("mise", "x")
        | ("rr", "record") => (&["-n", "-p", "--package", "-e", "-o", "--env-file", "--with"], 0),
        ("direnv" | "aws-vault", "exec") => (&[], 1),
        ("podman" | "buildah", "unshare") | ("toolbox" | "zellij", "run") => (&["-c", "-n"], 0),
        ("apptainer" | "singularity", "exec") => (&["-B", "-H", "--bind", "--home"], 1),
        ("distrobox", "enter") => (&["-n", "--name"], 1),
        ("ip", "netns") => (&[], 2),
        ("conda" | "mamba" | "micromamba", "run") => (&["-n", "-p", "--name", "--prefix"], 0),
        ("bisect", "run") => (&[], 0),
        _ => return None,
    })
}

/// Whether another program stands in the place of one of that name.
#[cfg(test)]
pub(super) fn sees_through(name: &str) -> bool {
    let words = ["run", "exec", "stat", "x", "unshare", "enter", "netns"];
    wrapper(name).is_some()
        || words.iter().any(|word| runner(name, word).is_some())
        || name == "substrate"
}
