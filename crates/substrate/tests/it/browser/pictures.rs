//! Pictures of every page, in `target/screenshots`, and the three of the README.
//!
//! `UPDATE_DOCS=1 cargo nextest run -p substrate pictures` writes those of the README.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use substrate_browser::{Browser, Look, Tab};
use substrate_testkit::write_file;

use super::fleet::Fleet;
use super::pages::overflow;
use super::{Dashboard, pattern};
use crate::docs::is_update;

const WIDTHS: [u32; 3] = [390, 1280, 2560];

/// The README's pictures: their names, what they show, and how.
const README: [(&str, &str, bool); 3] =
    [("front", "/", false), ("lanes", "/lanes?span=1h", true), ("locks", "/locks", false)];

/// Small enough to be loaded with the page.
const MAX_BYTES: usize = 120 << 10;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file's name: `/agent?who=X&span=1h` is `agent-who-span`.
fn name(address: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let path = path.trim_matches('/').replace('/', "-");
    let mut out = if path.is_empty() { "front".to_owned() } else { path };
    for field in query.split('&').filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        let is_plain = value.len() <= 8 && value.chars().all(|c| c.is_ascii_alphanumeric());
        out += &format!("-{name}{}", if is_plain { format!("-{value}") } else { String::new() });
    }
    out
}

fn shown(tab: &Tab, dashboard: &Dashboard, address: &str) {
    tab.goto(&dashboard.url(address));
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
}

#[test]
fn every_page_has_pictures_at_three_widths_in_both_themes() {
    let fleet = Fleet::aged();
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    let folder = root().join("target/screenshots");
    let _none_yet = std::fs::remove_dir_all(&folder);
    let (mut wrong, mut pages) = (Vec::new(), BTreeSet::new());
    for address in dashboard.addresses(&tab) {
        // One of each page. The others differ by what is chosen.
        if !pages.insert(pattern(&address)) {
            continue;
        }
        shown(&tab, &dashboard, &address);
        for width in WIDTHS {
            for is_dark in [false, true] {
                tab.look(Look { width, height: if width == 390 { 844 } else { 800 }, is_dark });
                let theme = if is_dark { "dark" } else { "light" };
                let png = tab.picture(true, None);
                write_file(&folder.join(format!("{}-{width}-{theme}.png", name(&address))), png);
                wrong.extend(overflow(&tab).map(|line| format!("{address} {width}: {line}")));
            }
        }
    }
    for (name, address, is_dark) in README {
        tab.look(Look { width: 1280, height: 720, is_dark });
        shown(&tab, &dashboard, address);
        let webp = tab.picture(false, Some(82));
        assert!((5_000..MAX_BYTES).contains(&webp.len()), "{name}: {} bytes", webp.len());
        let file = format!("docs/pictures/{name}.webp");
        write_file(&folder.join(format!("readme-{name}.webp")), &webp);
        if is_update() {
            write_file(&root().join(&file), &webp);
        }
        let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
        if !readme.contains(&format!("]({file})")) || !root().join(&file).is_file() {
            wrong.push(format!("the README does not show {file}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
