//! The files that every page loads. They are part of the program.

use axum::body::Body;
use axum::http::Response;

use crate::respond::answer;

pub(crate) const STYLE: &str = include_str!("../assets/substrate.css");
pub(crate) const SCRIPT: &str = include_str!("../assets/substrate.js");

/// A file by its path. They need no key: a browser without one still gets a page that it can read.
pub(crate) fn find(path: &str) -> Option<Response<Body>> {
    match path {
        "/substrate.css" => Some(answer(200, "text/css; charset=utf-8", STYLE)),
        "/substrate.js" => Some(answer(200, "text/javascript; charset=utf-8", SCRIPT)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_script_stays_small() {
        assert!(SCRIPT.len() <= 10_240, "{} bytes", SCRIPT.len());
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for text in [STYLE, SCRIPT] {
            assert!(
                !text.contains("http://")
                    && !text.contains("https://")
                    && !text.contains("@import")
            );
        }
    }
}
