//! What is around every page: header, search, foot.

use askama::Template;
use substrate_core::{Page, html};

use crate::site::Refusal;
use crate::snapshot;

/// One view in the header.
pub(crate) struct NavItem {
    pub(crate) page: &'static Page,
    pub(crate) is_here: bool,
    pub(crate) count: i64,
    pub(crate) counts: &'static str,
}

#[derive(Default, Template)]
#[template(path = "layout.html", escape = "none")]
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) nav: Vec<NavItem>,
    pub(crate) query: String,
    pub(crate) main: String,
    pub(crate) foot: String,
    /// Where the stream of this page begins: the newest entry of the journal, and the page itself.
    pub(crate) newest: i64,
    pub(crate) here: String,
    /// Which page this is, so that the stream does not repeat it.
    pub(crate) state: String,
    /// The pages that the header leads to, if there are any.
    pub(crate) has_search: bool,
    pub(crate) has_health: bool,
}

#[derive(Template)]
#[template(path = "problem.html", escape = "none")]
struct Problem {
    title: &'static str,
    message: String,
    hints: Vec<String>,
    back: String,
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let _infallible = html::escape(&mut out, text);
    out
}

impl Layout {
    /// The view of health, if something fails.
    fn failing(&self) -> Option<&NavItem> {
        self.nav.iter().find(|item| item.page.path == "/health" && item.count > 0)
    }

    /// The sign beside the state of everything, and its word. The script does the same when it changes.
    fn sign(&self) -> &'static str {
        if self.failing().is_some() { "error" } else { "done" }
    }

    fn well(&self) -> String {
        let words = |item: &NavItem| format!("{} {}", item.count, item.counts);
        self.failing().map_or_else(|| "Healthy".to_owned(), words)
    }

    /// The whole page. What comes from outside is escaped here, and `main` was by its template.
    pub(crate) fn page(mut self) -> Result<String, Refusal> {
        self.state = format!("{:016x}", snapshot::state(&self));
        for text in [&mut self.title, &mut self.query, &mut self.foot, &mut self.here] {
            *text = escaped(text);
        }
        self.render().map_err(|error| Refusal::new(500, error.to_string()))
    }
}

/// A page that says why there is none. Hints are commands of ours: what stands in backquotes is shown as code.
pub(crate) fn problem(refusal: &Refusal, back: &str) -> String {
    let title = match refusal.status {
        401 => "Sign in",
        403 => "Not allowed",
        404 => "Not found",
        409 => "Done already",
        421 => "Wrong address",
        500.. => "Not possible now",
        _ => "Not done",
    };
    let code = |text: &str| {
        let parts = text.split('`').enumerate();
        parts
            .map(|(n, part)| match n % 2 {
                1 => format!("<code>{}</code>", html::shown(part)),
                _ => html::shown(part),
            })
            .collect::<String>()
    };
    let problem = Problem {
        title,
        message: code(&refusal.message),
        hints: refusal
            .hints
            .iter()
            .filter(|hint| !hint.is_empty())
            .map(|hint| code(hint))
            .collect(),
        back: escaped(back),
    };
    problem.render().unwrap_or_default()
}
