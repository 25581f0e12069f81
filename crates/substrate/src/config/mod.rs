//! Input from outside: the environment, the state home, the settings files.

mod env;
mod files;
mod home;
mod local;
mod project;

pub(crate) use env::Env;
pub(crate) use files::{Around, SettingsFiles, settings_at};
pub(crate) use home::Home;
pub(crate) use project::{common_dir, is_worked_in, marks, project_of, root_of};
