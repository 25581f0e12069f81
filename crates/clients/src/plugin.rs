//! How our hooks, commands and tools become a plugin of a client. Pure: files as texts.

use crate::claude_code;

/// What a plugin is made from.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The absolute paths of our programs.
    pub substrate: &'a str,
    pub hook: &'a str,
    pub version: &'a str,
    /// What agents learn about us, as a skill of the client.
    pub skill: &'a str,
    /// What the user can choose in the client's own settings.
    pub options: &'a [PluginOption],
}

/// A setting of ours that the client's settings offer too.
#[derive(Clone, Copy, Debug)]
pub struct PluginOption {
    /// Its name in the client.
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    /// The setting that it changes, and what that takes.
    pub setting: &'static str,
    pub values: &'static [&'static str],
}

/// The value of an option that changes nothing.
pub const AS_SET: &str = "as set";

/// Where a published plugin can be had.
#[derive(Clone, Copy, Debug)]
pub struct Published<'a> {
    pub archive: &'a str,
    pub sha256: &'a str,
    pub npm: &'a str,
    pub version: &'a str,
}

/// One file of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    pub path: &'static str,
    pub content: Vec<u8>,
    pub is_program: bool,
}

/// How a client takes plugins.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// The client's name.
    pub client: &'static str,
    pub files: fn(&Parts<'_>) -> Vec<PluginFile>,
    /// A catalogue with this one plugin, which asks our program for its folder.
    pub marketplace: fn(&Parts<'_>) -> Vec<PluginFile>,
    /// A catalogue for machines where only the client is there.
    pub published: fn(&Published<'_>) -> Vec<PluginFile>,
    /// Where the client keeps the user's settings, below its own folder.
    pub settings: &'static str,
    /// The options that these settings choose: name and value.
    pub options: fn(&str) -> Vec<(String, String)>,
    /// What a user types to install it, given the folder of the catalogue.
    pub install: fn(&str) -> String,
    /// Where the client lists what is installed, below its own folder.
    pub registry: &'static str,
    /// The folder of our plugin, if that list has it.
    pub installed: fn(&str) -> Option<String>,
    /// The file with its hooks, below that folder.
    pub hooks: &'static str,
}

/// The clients that take plugins.
pub const ALL: &[Plugin] = &[claude_code::PLUGIN];
