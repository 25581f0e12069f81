//! Every page: accessible, never wider than the window, and never what an agent made of it.

use serde_json::Value;
use substrate_browser::{Browser, Look, Tab};

use super::Dashboard;
use super::fleet::{self, Fleet};

const LOOKS: [Look; 4] = [
    Look { width: 1280, height: 800, is_dark: false },
    Look { width: 1280, height: 800, is_dark: true },
    Look { width: 390, height: 844, is_dark: false },
    Look { width: 390, height: 844, is_dark: true },
];

/// What is wider than the window, if anything is.
pub(super) fn overflow(tab: &Tab) -> Option<String> {
    let found = tab.js(
        "(() => { const page = document.documentElement, wide = page.clientWidth;
           if (page.scrollWidth <= wide) return null;
           const out = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > wide + 0.5);
           return page.scrollWidth + ' > ' + wide + ': ' + out.slice(-3).map((e) => e.outerHTML.slice(0, 120)).join(' … '); })()",
    );
    found.as_str().map(str::to_owned)
}

/// Whether the header shows where one is, however narrow the window is.
pub(super) fn out_of_sight(tab: &Tab) -> Option<String> {
    let found = tab.js(
        "(() => { const here = document.querySelector('#views [aria-current]');
           if (!here) return null;
           const { left, right } = here.getBoundingClientRect();
           const at = document.elementFromPoint((left + right) / 2, here.getBoundingClientRect().top + 8);
           if (left >= 0 && right <= document.documentElement.clientWidth && (at === here || here.contains(at))) return null;
           return 'the current view is out of sight: ' + left + ' to ' + right; })()",
    );
    found.as_str().map(str::to_owned)
}

#[test]
fn every_page_is_accessible_in_both_themes_narrow_and_wide() {
    let fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    let mut addresses = dashboard.addresses(&tab);
    addresses.extend(["/nowhere".to_owned(), "/search?q=nothing-like-it".to_owned()]);
    let mut wrong = Vec::new();
    for address in &addresses {
        tab.goto(&dashboard.url(address));
        for look in LOOKS {
            tab.look(look);
            let name =
                format!("{address} {}{}", look.width, if look.is_dark { " dark" } else { "" });
            wrong.extend(tab.axe().into_iter().map(|line| format!("{name}: {line}")));
            wrong.extend(overflow(&tab).map(|line| format!("{name}: {line}")));
            wrong.extend(out_of_sight(&tab).map(|line| format!("{name}: {line}")));
        }
        // What a window of 1280 pixels shows at 400 %.
        tab.look(Look { width: 320, height: 640, is_dark: false });
        wrong.extend(overflow(&tab).map(|line| format!("{address} 320: {line}")));
        wrong.extend(out_of_sight(&tab).map(|line| format!("{address} 320: {line}")));
        wrong.extend(complaints(&tab, address));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What the browser complained about. Pages that say why there is nothing are pages too.
fn complaints(tab: &Tab, address: &str) -> Vec<String> {
    let is_expected = |line: &String| {
        (line.contains("status of 404") && address == "/nowhere")
            || (line.contains("status of 422") && address.contains("%3Cimg"))
    };
    let all = tab.problems().into_iter().filter(|line| !is_expected(line));
    all.map(|line| format!("{address}: {line}")).collect()
}

#[test]
fn a_fleet_that_is_empty_is_accessible_and_says_what_to_do() {
    let fleet = Fleet::empty();
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    assert!(tab.text().contains("substrate up"), "{}", tab.text());
    let pages = substrate_features::ALL.iter().flat_map(|feature| feature.pages);
    let mut wrong = Vec::new();
    for page in pages.filter(|page| page.nav.is_some()) {
        tab.goto(&dashboard.url(page.path));
        for look in [LOOKS[0], LOOKS[3]] {
            tab.look(look);
            wrong.extend(tab.axe().into_iter().map(|line| format!("{}: {line}", page.path)));
            wrong.extend(overflow(&tab).map(|line| format!("{}: {line}", page.path)));
        }
        wrong.extend(complaints(&tab, page.path));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn hostile_text_in_every_field_runs_nothing_and_breaks_no_page() {
    let fleet = Fleet::played(fleet::hostile_too);
    let word = "w".repeat(100 << 10);
    fleet.asked("MintLynx", &word);
    let mail = fleet.env.root().join("mail");
    substrate_testkit::write_file(&mail, &word);
    let path = mail.display().to_string();
    fleet.env.substrate(["send", "User", "--subject", "long", "--body-file", &path]).success();
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    let mut addresses = dashboard.addresses(&tab);
    addresses.push("/search?q=%3Cscript%3Epwned%3D5%3C%2Fscript%3E%22%27%3E".to_owned());
    addresses.push("/agent?who=%3Cimg%20src%3Dx%20onerror%3Dpwned%3D6%3E%E2%80%AE".to_owned());
    let mut wrong = Vec::new();
    for address in &addresses {
        tab.goto(&dashboard.url(address));
        for look in [LOOKS[0], LOOKS[2]] {
            tab.look(look);
            let name = format!("{address} {}", look.width);
            wrong.extend(overflow(&tab).map(|line| format!("{name}: {line}")));
        }
        if tab.js("typeof pwned") != "undefined" {
            wrong.push(format!("{address}: it ran {}", tab.js("pwned")));
        }
        let added = tab.js(
            "[...document.querySelectorAll('script:not([src=\"/substrate.js\"]), img, iframe, object, embed, style, [onerror], [onload], [style], main a[href^=\"javascript\"]')].map((e) => e.outerHTML.slice(0, 80))",
        );
        if added != Value::Array(Vec::new()) {
            wrong.push(format!("{address}: it has {added}"));
        }
        let hidden = tab.js("(/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0000-\\u0008\\u001b]/u.exec(document.body.textContent) || [null])[0]");
        if !hidden.is_null() {
            wrong.push(format!("{address}: {hidden:?} is hidden in it"));
        }
        wrong.extend(complaints(&tab, address));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_page_works_without_javascript() {
    let mut fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    tab.without_scripts();
    for page in substrate_features::ALL.iter().flat_map(|feature| feature.pages) {
        if page.nav.is_some() {
            tab.click("#views a", page.title);
            let there =
                format!("location.pathname === '{}' && document.querySelector('h1')", page.path);
            tab.wait_for(page.title, &there);
        }
    }
    tab.goto(&dashboard.url("/"));
    assert!(tab.text().contains("load the page again to see more"), "no script ran");
    tab.click("button", "Allow once");
    assert!(fleet.answered().contains("\"behavior\":\"allow\""));
    tab.wait_for(
        "the row to be gone",
        "!(document.querySelector('#needs-list')?.innerText ?? '').includes('git push origin parser')",
    );
    tab.click("label", "SHA-256");
    tab.click("button", "Answer");
    assert!(fleet.answered().contains("SHA-256"));

    tab.goto(&dashboard.url("/mail"));
    tab.click("#to", "");
    tab.type_text("TealGopher");
    tab.click("#text", "");
    tab.type_text("Written without a script.");
    tab.click("button", "Send");
    tab.wait_for(
        "the form to be empty",
        "document.readyState === 'complete' && document.querySelector('#text').value === ''",
    );
    tab.goto(&dashboard.url("/mail?box=sent"));
    tab.wait_for_text("TealGopher");
    tab.goto(&dashboard.url("/work"));
    tab.click("#title", "");
    tab.type_text("Given without a script");
    tab.click("button", "Add to the queue");
    tab.wait_for_text("Given without a script");
    tab.click("#q", "");
    tab.type_text("checksum");
    tab.press("Enter");
    tab.wait_for("the search", "location.pathname === '/search' && document.querySelector('main').innerText.includes('checksum')");
    assert_eq!(tab.problems(), Vec::<String>::new());
}
