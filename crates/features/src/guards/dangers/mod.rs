//! What makes a command dangerous: the paths it reaches, the SQL it runs, the files of our own it changes.

pub(super) mod own_files;
pub(super) mod paths;
pub(super) mod sql;
