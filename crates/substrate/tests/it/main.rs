//! End-to-end tests: real binaries, a real daemon, a real database; and the real client.

#[cfg(test)]
mod activity;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod bypass;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod custom_hooks;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod dashboard;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod efforts;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod guards;
#[cfg(test)]
mod hanging;
#[cfg(test)]
mod hook_reference;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod hostile_settings;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod house;
#[cfg(test)]
mod import;
#[cfg(test)]
mod input;
#[cfg(test)]
mod install;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod notify;
#[cfg(test)]
mod once;
#[cfg(test)]
mod pane;
#[cfg(test)]
mod plugin_js;
#[cfg(test)]
mod real_client;
#[cfg(test)]
mod real_client_activity;
#[cfg(test)]
mod real_client_answers;
#[cfg(test)]
mod real_client_callers;
#[cfg(test)]
mod real_client_codex;
#[cfg(test)]
mod real_client_cost;
#[cfg(test)]
mod real_client_efforts;
#[cfg(test)]
mod real_client_install;
#[cfg(test)]
mod real_client_locks;
#[cfg(test)]
mod real_client_mail;
#[cfg(test)]
mod real_client_mcp;
#[cfg(test)]
mod real_client_others;
#[cfg(test)]
mod real_client_overflow;
#[cfg(test)]
mod real_client_profiles;
#[cfg(test)]
mod real_client_reminders;
#[cfg(test)]
mod real_client_run;
#[cfg(test)]
mod real_client_scratchpad;
#[cfg(test)]
mod reminders;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod run;
#[cfg(test)]
mod same_file;
#[cfg(test)]
mod scratchpad;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod seed_commands;
#[cfg(test)]
mod session_logs;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod start;
#[cfg(test)]
mod team;
#[cfg(test)]
mod tmux;
#[cfg(test)]
mod top;
#[cfg(test)]
mod unusable;
#[cfg(test)]
mod up;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod work;
