//! axe-core, the usual judge of accessibility, run beside the page.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::tab::Tab;

impl Tab {
    /// What axe-core finds on the page: nothing, if all is well. One line per violation and element.
    ///
    /// # Panics
    /// If axe-core is not installed.
    #[track_caller]
    pub fn axe(&self) -> Vec<String> {
        // In a context of its own: the page's policy forbids it to anything else, and stays as it is.
        let world = self.world();
        let run = |expression: &str| {
            self.try_js(expression, Some(&world)).unwrap_or_else(|error| panic!("axe: {error}"))
        };
        run(&format!("{}; 0", source()));
        let found = run("axe.run(document, { resultTypes: ['violations'] }).then((all) => all.violations.flatMap(
               (one) => one.nodes.map((node) => [one.id, node.target.join(' '), node.failureSummary].join(' | '))))");
        let lines = found.as_array().unwrap_or_else(|| panic!("axe found {found}"));
        lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

fn source() -> &'static str {
    static SOURCE: OnceLock<String> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let path = root().join(".tools/axe/node_modules/axe-core/axe.min.js");
        std::fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!(
                "axe-core is not installed ({}: {error}): run `scripts/test-tools`",
                path.display()
            )
        })
    })
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate is two folders deep").to_path_buf()
}
