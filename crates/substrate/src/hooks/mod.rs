//! Registers our hooks with a client, and removes them again, without harming anything that is not ours.
//!
//! Every change is planned first (`plan`), shown (`--dry-run`), then applied under a lock. Each file is read again just
//! before it is written, copied to `backups/`, and named in a manifest before it changes. So an uninstall always knows
//! the state before us.

mod apply;
mod chosen;
mod library;
mod manifest;
pub(crate) mod options;
mod own;
mod plan;
mod profiles;
mod remove;
mod retired;
mod scope;
mod skill;
mod status;
mod trust;

pub(crate) use apply::apply;
pub(crate) use manifest::Manifest;
pub(crate) use own::own_files_there;
pub(crate) use plan::{Change, Plan, Request, plan, program, refused};
pub(crate) use profiles::Profiles;
pub(crate) use remove::{Removed, recognised, remove};
pub(crate) use scope::{Scope, client_home, is_client_here, refuse_link};
pub(crate) use skill::TEXT as SKILL;
pub(crate) use status::{State, status};
pub(crate) use trust::untrusted;
