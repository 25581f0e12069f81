//! Slow facts, gathered before a transaction is open.
//!
//! A feature names what it needs; the host looks it up on a thread pool with a deadline. So no agent waits for
//! another's file system.

use std::collections::HashMap;

/// Something that must be looked up outside the database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// The first `max` bytes of a file, as text.
    File { path: String, max: usize },
    /// The names of a folder's entries, sorted, at most `max`.
    Folder { path: String, max: usize },
}

/// What was found. A need that failed or came too late is simply absent.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    found: HashMap<Need, Found>,
}

/// The answer to one need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Text(String),
    Names(Vec<String>),
}

impl Facts {
    pub fn insert(&mut self, need: Need, found: Found) {
        self.found.insert(need, found);
    }

    pub fn file(&self, path: &str, max: usize) -> Option<&str> {
        match self.found.get(&Need::File { path: path.to_owned(), max })? {
            Found::Text(text) => Some(text),
            Found::Names(_) => None,
        }
    }

    pub fn folder(&self, path: &str, max: usize) -> Option<&[String]> {
        match self.found.get(&Need::Folder { path: path.to_owned(), max })? {
            Found::Names(names) => Some(names),
            Found::Text(_) => None,
        }
    }
}
