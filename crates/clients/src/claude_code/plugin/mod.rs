//! The plugin: hooks in exec form with absolute paths, so that an update that deletes the folder of a running session breaks
//! nothing; a skill, two commands, the tool server, and our program for the shell.
//!
//! A plugin whose folder is gone is left out silently, so it never replaces `hooks install`. `--plugin` names this carrier:
//! an event that the settings bring too acts once.

use serde_json::{Map, Value, json};

use super::install::{self, hook_value};
use crate::install::{Form, What};
use crate::plugin::{AS_SET, Parts, Plugin, PluginFile, PluginOption, Published};

pub(crate) const PLUGIN: Plugin = Plugin {
    client: super::NAME,
    files,
    marketplace,
    published,
    settings: "settings.json",
    options,
    install: |folder| {
        format!(
            "claude plugin marketplace add '{folder}'\nclaude plugin install substrate@substrate"
        )
    },
    registry: "plugins/installed_plugins.json",
    installed,
    hooks: "hooks/hooks.json",
};

const ABOUT: &str = "Mail, file leases, guards, shared work and a journal for coding agents, through the local Substrate daemon";

/// The oldest client whose hooks we measured.
const ENGINE: &str = ">=2.1.0";

fn files(parts: &Parts<'_>) -> Vec<PluginFile> {
    let manifest = json!({
        "name": "substrate",
        "displayName": "Substrate",
        "version": parts.version,
        "description": ABOUT,
        "author": {"name": "The Substrate authors"},
        "license": "MIT OR Apache-2.0",
        "keywords": ["coordination", "agents", "mail", "locks", "guards"],
        "engines": {"claude-code": ENGINE},
        "userConfig": user_config(parts.options),
    });
    let server = json!({"command": parts.substrate, "args": ["mcp"]});
    let quoted = crate::install::quoted(parts.substrate);
    vec![
        text(".claude-plugin/plugin.json", pretty(&manifest)),
        PluginFile {
            path: ".claude-plugin/icon.png",
            content: include_bytes!("icon.png").to_vec(),
            is_program: false,
        },
        text("hooks/hooks.json", pretty(&hooks(parts.hook))),
        text(".mcp.json", pretty(&json!({"mcpServers": {"substrate": server}}))),
        text("skills/substrate/SKILL.md", parts.skill.to_owned()),
        text("commands/setup.md", include_str!("setup.md").to_owned()),
        text("commands/why.md", include_str!("why.md").to_owned()),
        PluginFile {
            path: "bin/substrate",
            content: format!("#!/bin/sh\nexec {quoted} \"$@\"\n").into_bytes(),
            is_program: true,
        },
        text("README.md", include_str!("readme.md").to_owned()),
        text("LICENSE", include_str!("license.txt").to_owned()),
    ]
}

/// The client wants a default among the choices: one that changes nothing.
fn user_config(options: &[PluginOption]) -> Value {
    let mut out = Map::new();
    for option in options {
        let values: Vec<&str> = std::iter::once(&AS_SET).chain(option.values).copied().collect();
        let field = json!({
            "type": "string",
            "title": option.title,
            "description": option.about,
            "options": values,
            "default": AS_SET,
        });
        out.insert(option.name.to_owned(), field);
    }
    Value::Object(out)
}

/// `{"pluginConfigs":{"substrate@…":{"options":{"locks":"warn"}}}}`. The client reads them from the user's own settings only,
/// and so do we: a project's settings can't choose them.
fn options(settings: &str) -> Vec<(String, String)> {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let all = settings["pluginConfigs"].as_object().into_iter().flatten();
    let ours = all.filter(|(name, _)| is_ours(name));
    let chosen = ours.filter_map(|(_, config)| config["options"].as_object()).flatten();
    chosen.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Whether a plugin is ours, from whichever catalogue and source.
fn is_ours(name: &str) -> bool {
    let plugin = name.split('@').next().unwrap_or_default();
    SOURCES.iter().any(|(known, _)| *known == plugin)
}

/// Under which name a catalogue has each source, and what it says about it.
const SOURCES: [(&str, &str); 3] = [
    ("substrate", "from the Substrate that is installed here"),
    ("substrate-archive", "as an archive"),
    ("substrate-npm", "as an npm package"),
];

/// Every event of an installation, in exec form.
fn hooks(program: &str) -> Value {
    let mut events = Map::new();
    for mut entry in (install::INSTALLER.entries)(Form::User { program }) {
        if let What::Exec { args, .. } = &mut entry.what {
            args.push("--plugin".to_owned());
        }
        let group = events.entry(entry.event).or_insert_with(|| json!([{"hooks": []}]));
        if let Some(all) = group[0]["hooks"].as_array_mut() {
            all.push(hook_value(&entry));
        }
    }
    json!({"description": "Substrate hears every event of a session", "hooks": events})
}

fn marketplace(parts: &Parts<'_>) -> Vec<PluginFile> {
    let command = format!("{} plugin dir", crate::install::quoted(parts.substrate));
    let source = json!({"source": "command", "command": command, "mode": "link"});
    let plugin = json!({"name": "substrate", "description": ABOUT, "source": source});
    let catalogue = json!({
        "name": "substrate",
        "description": "Substrate as it is installed on this machine",
        "owner": {"name": "The Substrate authors"},
        "plugins": [plugin],
    });
    vec![text(".claude-plugin/marketplace.json", pretty(&catalogue))]
}

/// All sources, for a machine where `substrate` is on the PATH. Its hooks name our programs by their bare names.
fn published(of: &Published<'_>) -> Vec<PluginFile> {
    let sources = [
        json!({"source": "command", "command": "substrate plugin dir", "mode": "link"}),
        json!({"source": "archive", "url": of.archive, "sha256": of.sha256}),
        json!({"source": "npm", "package": of.npm, "version": of.version}),
    ];
    let entry = |((name, how), source): ((&str, &str), Value)| json!({"name": name, "description": format!("{ABOUT}; {how}"), "source": source});
    let plugins: Vec<Value> = SOURCES.into_iter().zip(sources).map(entry).collect();
    let catalogue = json!({
        "name": "substrate",
        "description": "Substrate for machines where its programs are on the PATH",
        "owner": {"name": "The Substrate authors"},
        "plugins": plugins,
    });
    vec![text(".claude-plugin/marketplace.json", pretty(&catalogue))]
}

/// `{"plugins":{"substrate@…":[{"installPath":…,"sourceProducerPath":…}]}}`. The second path is the folder of our own that
/// the first one links to.
fn installed(registry: &str) -> Option<String> {
    let registry: Value = serde_json::from_str(registry).ok()?;
    let all = registry["plugins"].as_object()?.iter();
    let ours = all.filter(|(name, _)| is_ours(name));
    let entry = ours.flat_map(|(_, entries)| entries.as_array().into_iter().flatten()).next()?;
    let path = entry["sourceProducerPath"].as_str().or_else(|| entry["installPath"].as_str())?;
    Some(path.to_owned())
}

fn text(path: &'static str, text: String) -> PluginFile {
    PluginFile { path, content: text.into_bytes(), is_program: false }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: Parts<'_> = Parts {
        substrate: "/opt/it's/substrate",
        hook: "/opt/it's/substrate-hook",
        version: "1.2.3",
        skill: "---\nname: substrate\n---\n",
        options: &[PluginOption {
            name: "locks",
            title: "Leases",
            about: "What happens",
            setting: "locks.mode",
            values: &["enforce", "warn"],
        }],
    };

    #[test]
    fn an_option_is_offered_and_read_from_the_users_settings() {
        let manifest: Value = serde_json::from_str(&file(".claude-plugin/plugin.json")).unwrap();
        let field = &manifest["userConfig"]["locks"];
        assert_eq!(field["options"], json!(["as set", "enforce", "warn"]));
        assert_eq!(field["default"], "as set");
        let chosen = r#"{"pluginConfigs":{
            "substrate@substrate":{"options":{"locks":"warn","n":3}},
            "other@substrate":{"options":{"locks":"off"}}}}"#;
        assert_eq!(options(chosen), [("locks".to_owned(), "warn".to_owned())]);
        for other in ["", "[]", r#"{"pluginConfigs":{"substrate@x":[]}}"#] {
            assert_eq!(options(other), []);
        }
    }

    #[test]
    fn a_published_catalogue_has_every_source() {
        let of = Published { archive: "https://x/p.zip", sha256: "ab", npm: "@x/p", version: "1" };
        let catalogue = String::from_utf8(published(&of).remove(0).content).unwrap();
        let catalogue: Value = serde_json::from_str(&catalogue).unwrap();
        let plugins = catalogue["plugins"].as_array().unwrap().iter();
        let sources: Vec<&str> =
            plugins.map(|it| it["source"]["source"].as_str().unwrap()).collect();
        assert_eq!(sources, ["command", "archive", "npm"]);
    }

    fn file(path: &str) -> String {
        let found = files(&PARTS).into_iter().find(|file| file.path == path).unwrap();
        String::from_utf8(found.content).unwrap()
    }

    #[test]
    fn its_hooks_are_those_of_an_installation_and_name_their_carrier() {
        let hooks: Value = serde_json::from_str(&file("hooks/hooks.json")).unwrap();
        let wanted = (install::INSTALLER.entries)(Form::User { program: PARTS.hook });
        let mut n = 0;
        for (event, groups) in hooks["hooks"].as_object().unwrap() {
            for hook in groups[0]["hooks"].as_array().unwrap() {
                n += 1;
                assert_eq!(hook["command"], PARTS.hook);
                let args = hook["args"].as_array().unwrap();
                assert_eq!(args[1], event.as_str());
                assert_eq!(args.last().unwrap(), "--plugin");
            }
        }
        assert_eq!(n, wanted.len());
    }

    #[test]
    fn paths_are_one_word_for_a_shell() {
        assert_eq!(file("bin/substrate"), "#!/bin/sh\nexec '/opt/it'\\''s/substrate' \"$@\"\n");
        let catalogue = String::from_utf8(marketplace(&PARTS).remove(0).content).unwrap();
        let catalogue: Value = serde_json::from_str(&catalogue).unwrap();
        let command = &catalogue["plugins"][0]["source"]["command"];
        assert_eq!(command, "'/opt/it'\\''s/substrate' plugin dir");
    }

    #[test]
    fn the_list_of_what_is_installed_says_where_ours_is() {
        let entry = r#"[{"installPath":"/cache/1","sourceProducerPath":"/state/plugin"}]"#;
        let list =
            format!(r#"{{"version":2,"plugins":{{"a@b":[],"substrate@substrate":{entry}}}}}"#);
        assert_eq!(installed(&list).as_deref(), Some("/state/plugin"));
        assert_eq!(
            installed(r#"{"plugins":{"substrate@x":[{"installPath":"/c"}]}}"#).as_deref(),
            Some("/c")
        );
        for other in ["", "[]", r#"{"plugins":{"substrates@x":[{"installPath":"/c"}]}}"#] {
            assert_eq!(installed(other), None);
        }
    }
}
