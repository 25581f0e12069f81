//! The programs that count.

use std::path::Path;

use anyhow::{Result, bail};

/// Each program and the Debian package that has it.
const TOOLS: [(&str, &str); 3] =
    [("valgrind", "valgrind"), ("strace", "strace"), ("objdump", "binutils")];

/// Fails with the names of the packages to install.
pub(super) fn require() -> Result<()> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, _)| {
            !["/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
        })
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("programs are missing; on Debian: `apt-get install {}`", missing.join(" "))
}
