//! The command line: one table of commands, the program's own and the features' verbs.

mod audience;
mod call;
mod claim;
mod clients;
pub(crate) mod commit_hook;
pub(crate) mod complete;
mod config;
mod daemon;
mod dashboard;
mod db;
mod demo;
mod dispatch;
mod doctor;
mod examples;
mod help;
mod hook;
mod hooks;
mod hub;
mod import;
mod layout;
mod let_go;
mod lines;
mod local;
mod manual;
mod mcp;
mod notify;
mod overview;
mod plugin;
mod print;
mod reference;
mod run;
mod scratchpad;
#[cfg(test)]
mod seeds;
mod setup;
mod table;
mod team;
mod tmux;
mod verbs;

use substrate_core::{Caller, Format};

use crate::config::{Env, Home};

pub(crate) use self::call::{Line, control};
pub(crate) use self::dispatch::{main, request};
#[cfg(test)]
pub(crate) use self::help::command;
pub(crate) use self::print::pretty;

/// What every command knows.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) home: Home,
    pub(crate) caller: Caller,
    pub(crate) format: Format,
    pub(crate) verbose: bool,
}
