//! The dashboard in a real browser, on a real daemon.

mod fleet;
mod keyboard;
mod pages;
mod pictures;
mod real_client;
mod stream;

use std::collections::BTreeSet;

use substrate_browser::{Browser, Tab};
use substrate_core::page;
use substrate_testkit::TestEnv;

use crate::dashboard::opened;

/// An open dashboard.
pub(super) struct Dashboard {
    pub(super) port: u16,
}

impl Dashboard {
    pub(super) fn of(env: &TestEnv) -> Self {
        let (port, _) = opened(env, &["ui", "--no-open", "--format", "json"]);
        Self { port }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A tab that has opened the printed address.
    pub(super) fn tab(&self, env: &TestEnv, browser: &Browser) -> Tab {
        let (port, key) = opened(env, &["ui", "--no-open", "--format", "json"]);
        assert_eq!(port, self.port);
        let tab = browser.tab();
        tab.goto(&self.url(&format!("/enter?key={key}")));
        assert_eq!(tab.path(), "/", "it leads away from the key");
        tab
    }

    /// One address for each kind of page that links lead to, and for each page that the program has. Pages that are
    /// built later are found by themselves.
    pub(super) fn addresses(&self, tab: &Tab) -> Vec<String> {
        let patterns = || substrate_features::ALL.iter().flat_map(|feature| feature.pages);
        let mut found: Vec<String> = vec!["/search?q=parse".to_owned()];
        found
            .extend(patterns().map(|page| page.path.to_owned()).filter(|path| !path.contains('{')));
        let mut kinds: BTreeSet<String> = found.iter().map(|address| kind(address)).collect();
        let mut at = 0;
        while let Some(address) = found.get(at).cloned() {
            tab.goto(&self.url(&address));
            // A page that needs a query says so.
            if tab.js("document.querySelector('header.top') === null") == true {
                found.remove(at);
                continue;
            }
            at += 1;
            let links = tab.js("[...document.querySelectorAll('main a[href^=\"/\"]')].map((a) => a.getAttribute('href'))");
            for link in links.as_array().unwrap() {
                let link = link.as_str().unwrap().split('#').next().unwrap().to_owned();
                if kinds.insert(kind(&link)) {
                    found.push(link);
                }
            }
        }
        for page in patterns() {
            let is_seen = found.iter().any(|address| {
                page::matched(page.path, address.split('?').next().unwrap()).is_some()
            });
            assert!(is_seen, "no link leads to {}: {found:?}", page.path);
        }
        drop(tab.problems());
        found
    }
}

/// The page that an address is of.
pub(super) fn pattern(address: &str) -> Option<&'static str> {
    let path = address.split('?').next().unwrap();
    let pages = substrate_features::ALL.iter().flat_map(|feature| feature.pages);
    pages.map(|page| page.path).find(|pattern| page::matched(pattern, path).is_some())
}

/// The page and the names of its query's fields.
fn kind(address: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let pattern = pattern(address);
    let names: BTreeSet<&str> =
        query.split('&').map(|pair| pair.split('=').next().unwrap()).collect();
    format!("{} {names:?}", pattern.unwrap_or(path))
}
