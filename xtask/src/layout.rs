//! Where functions stand in `substrate`: first what a daemon runs, then what common commands run, then the rest.
//!
//! The kernel maps a program in pieces of 64 KB. A daemon runs a sixth of the code. Left to the linker, that was spread over
//! three quarters of the pieces, and 11 of an idle daemon's 14 MB were code.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::dist::workspace;
use crate::proc;
use crate::sandbox::put_file;

/// Most names are without their hashes, which change with every version of the compiler. A name that no longer fits costs a little
/// memory, no more: write the file again with `cargo xtask gate --order`.
const FILE: &str = "xtask/daemon.order";

const SCRIPT: &str = include_str!("../layout.ld");
const PLACE: &str = "/* functions */";

/// Writes the linker's script into that folder. Another script has another name, so that the program is linked again.
pub(crate) fn script(folder: &Path) -> Result<PathBuf> {
    let order = std::fs::read_to_string(workspace().join(FILE))?;
    let names = order.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let functions: Vec<String> = names.map(|name| format!("*(.text.{name})")).collect();
    let text = SCRIPT.replace(PLACE, &functions.join("\n    "));
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = folder.join(format!("layout-{:016x}.ld", hasher.finish()));
    put_file(&path, text.as_bytes())?;
    Ok(path)
}

/// Writes down which functions of the program come first: groups of them, each with a line that says who runs them.
pub(crate) fn write_order(program: &Path, groups: &[(&str, BTreeSet<String>)]) -> Result<()> {
    let sizes = sizes(program)?;
    let mut left: HashMap<String, u64> = HashMap::new();
    for (name, size) in &sizes {
        *left.entry(pattern(name)).or_default() += size;
    }
    for name in groups.iter().flat_map(|(_, names)| names).collect::<BTreeSet<_>>() {
        let size = sizes.get(name).copied().unwrap_or(0);
        left.entry(pattern(name)).and_modify(|left| *left = left.saturating_sub(size));
    }
    let mut known = BTreeSet::new();
    let mut out = String::new();
    for (who, names) in groups {
        out.extend(["# ", who, "\n"]);
        for name in names.iter().filter(|name| sizes.contains_key(*name)) {
            let pattern = pattern(name);
            let fits_others = left.get(&pattern).is_some_and(|left| *left > MAX_OTHERS);
            let line = if fits_others { name.clone() } else { pattern };
            if known.insert(line.clone()) {
                out.extend([&line, "\n"]);
            }
        }
    }
    put_file(&workspace().join(FILE), out.as_bytes())
}

/// The bytes of other functions that a pattern may fit as well: one name stands for all types that a function is made for.
const MAX_OTHERS: u64 = 2_000;

/// The functions of a program and their sizes.
fn sizes(program: &Path) -> Result<HashMap<String, u64>> {
    let mut command = proc::command("nm");
    let listing = proc::output(command.args(["-S", "--defined-only"]).arg(program))?;
    let function = |line: &str| {
        let [_, size, kind, name] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let size = u64::from_str_radix(size, 16).ok()?;
        "tTwW".contains(kind).then(|| (name.to_owned(), size))
    };
    Ok(listing.lines().filter_map(function).collect())
}

/// A function's name as the linker's pattern, without what changes when it is compiled again.
fn pattern(name: &str) -> String {
    if let Some(at) = name.starts_with("_ZN").then(|| name.rfind("17h")).flatten() {
        return format!("{}*", &name[..at + 3]);
    }
    if !name.starts_with("_R") {
        return name.to_owned();
    }
    let mut out = String::new();
    let mut rest = name;
    // `Cs` and digits: the hash of a crate.
    while let Some((before, after)) = rest.split_once("Cs") {
        let n_digits = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let is_hash = after.as_bytes().get(n_digits) == Some(&b'_');
        out.push_str(before);
        out.push_str(if is_hash { "Cs*" } else { "Cs" });
        rest = if is_hash { &after[n_digits..] } else { after };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_becomes_a_pattern() {
        for (name, expected) in [
            ("_ZN4core3ptr4drop17h0123456789abcdefE", "_ZN4core3ptr4drop17h*"),
            ("_ZN4core3ptr4drop17h0123456789abcdefE.llvm.12", "_ZN4core3ptr4drop17h*"),
            ("_RNvMs_NtCsgEmfK2I1SDS_4core3str", "_RNvMs_NtCs*_4core3str"),
            ("_RNvCs3foo", "_RNvCs3foo"),
            ("sqlite3VdbeExec", "sqlite3VdbeExec"),
        ] {
            assert_eq!(super::pattern(name), expected);
        }
    }
}
