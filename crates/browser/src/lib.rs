//! A real Chromium for tests: headless, in a profile of its own, driven over its debugging pipe.
//!
//! No port is opened and no other program stands in between: we write Chromium's own protocol to a pipe. A tool that is
//! missing fails the test and names the command that installs it. Nothing is ever skipped.
//!
//! Invariant: the browser reads nothing of the person who runs the tests. It has an empty environment, an empty profile
//! and fixed fonts. Only the process that was started here is ended.
//!
//! ```no_run
//! let browser = substrate_browser::Browser::start();
//! let tab = browser.tab();
//! tab.goto("http://127.0.0.1:8080/");
//! tab.click("button", "Allow");
//! tab.wait_for("it says so", "document.title === 'Done'");
//! assert_eq!(tab.axe(), Vec::<String>::new());
//! ```
mod chromium;
mod input;
mod tab;
mod wire;

pub use chromium::Browser;
pub use tab::{Look, Tab, Weight};

#[cfg(test)]
mod tests {
    use super::Browser;

    /// What never finds anything proves nothing.
    #[test]
    fn it_finds_what_is_wrong() {
        let browser = Browser::start();
        let tab = browser.tab();
        tab.goto("data:text/html,<!doctype html><html lang=en><title>t</title><main><h1>h</h1><img src=x><p style='color:%23aaa'>pale</p></main><script>alert('boo')</script>");
        let found = tab.axe();
        for rule in ["image-alt", "color-contrast"] {
            assert!(found.iter().any(|line| line.starts_with(rule)), "{rule}: {found:#?}");
        }
        let problems = tab.problems();
        assert!(problems.iter().any(|line| line.contains("boo")), "{problems:?}");
        assert_eq!(tab.problems(), Vec::<String>::new());
        let png = tab.picture(true, None);
        assert!(png.starts_with(b"\x89PNG"), "{} bytes", png.len());
        assert!(tab.weight().n_nodes > 5, "{:?}", tab.weight());
        let before = tab.focused();
        tab.press("Tab");
        assert_eq!(tab.focused(), before, "there is nothing to focus");
    }

    #[test]
    fn nothing_is_left_of_it() {
        let browser = Browser::start();
        let folder = browser.folder().to_owned();
        assert!(browser.memory_kb() > 10_000);
        drop(browser);
        assert!(!folder.exists());
    }
}
