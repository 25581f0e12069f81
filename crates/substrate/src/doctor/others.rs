//! The clients beside the default one, as far as they are on this machine: their versions, their hooks, and whether they run
//! them.

use std::path::Path;

use substrate_clients::{ALL, DEFAULT};

use super::client::{self, Client};
use super::finding::{Area, Finding};
use super::registered::{judge_completeness, judge_file};
use super::settings::{self, Content, Scopes};
use crate::config::Env;
use crate::hooks;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    pub(super) client: Client,
    pub(super) scopes: Scopes,
    /// The hooks of ours that it skips, because its user does not trust them.
    pub(super) n_untrusted: usize,
}

pub(super) fn look(env: &Env, dir: &Path, hook: &Path) -> Vec<Other> {
    let others = ALL.iter().copied().filter(|client| client.name != DEFAULT.name);
    let found = others.filter_map(|kind| {
        let scopes = settings::look(kind, env, dir, hook);
        let is_used = hooks::is_client_here(kind, env) || scopes.has_hooks();
        is_used.then(|| {
            let files = scopes.all.iter().filter(|scope| !scope.hooks().is_empty());
            let untrusted = files.map(|scope| hooks::untrusted(kind, env, &scope.file).len());
            let n_untrusted = untrusted.sum();
            Other { client: client::look(kind, env), scopes, n_untrusted }
        })
    });
    found.collect()
}

pub(super) fn judge(others: &[Other], out: &mut Vec<Finding>) {
    for Other { client, scopes, n_untrusted } in others {
        let kind = client.kind;
        let (name, title) = (kind.name, kind.title);
        client::judge(client, out);
        if !scopes.has_hooks() {
            let message = format!("the hooks are not registered with {title}");
            let next = format!("`substrate hooks install --client {name}`");
            out.push(Area::Client.info("hooks-not-installed-there", message).next(next));
            continue;
        }
        for scope in &scopes.all {
            if let Content::Read(read) = &scope.content {
                judge_file(kind, scope, read, out);
            }
        }
        judge_completeness(scopes, out);
        if let (1.., Some(trust)) = (*n_untrusted, kind.install.trust) {
            let message = format!(
                "{title} skips {n_untrusted} of our hooks, because you don't trust them yet"
            );
            let next =
                format!("{}, or `substrate hooks install --client {name} --trust`", trust.how);
            out.push(Area::Client.warning("hooks-untrusted", message).next(next));
        }
    }
}
