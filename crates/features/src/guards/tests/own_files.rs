//! Our own files and the client's settings: a person is asked before an agent changes them.

use rstest::rstest;
use substrate_core::Dialect;

use super::*;

const SETTINGS: &[&str] =
    &["$CONFIG/settings.json", "$CONFIG/hooks/", "$PROJECT/.client/settings.json", "/etc/client/"];

const OF_CLIENT: Dialect = Dialect { settings_files: SETTINGS, ..Dialect::UNKNOWN };

fn of_client(event: Event) -> Event {
    Event {
        config_dir: Some("/home/dev/.client".to_owned()),
        dialect: &OF_CLIENT,
        cwd: "/repo".to_owned(),
        ..event
    }
}

#[rstest]
#[case::state("/home/dev/.subtrate/config.toml", true)]
#[case::state_of_another_home("/home/other/.subtrate/subtrate.db", true)]
#[case::settings("/home/dev/.client/settings.json", true)]
#[case::a_script("/home/dev/.client/hooks/stop.sh", true)]
#[case::of_the_project("/repo/.client/settings.json", true)]
#[case::of_the_machine("/etc/client/managed.json", true)]
#[case::written_otherwise("/repo/src/../.client/settings.json", true)]
#[case::moved_home("/data/state/config.toml", true)]
#[case::another_settings_file("/repo/.vscode/settings.json", false)]
#[case::a_skill("/home/dev/.client/skills/x/SKILL.md", false)]
#[case::of_a_project_for_us("/repo/.substrate.toml", false)]
#[case::code("/repo/src/main.rs", false)]
fn an_edit_of(#[case] path: &str, #[case] is_asked: bool) {
    let mut stage = Stage::new("");
    stage.machine.state_home = Some("/data/state".to_owned());
    for name in ["Write", "Edit"] {
        let event = tool(&stage, LION, name, ToolClass::Edit, &json!({ "file_path": path }));
        let said = answer(&stage.told(&of_client(event)));
        assert_eq!(
            said.starts_with("ask ") && said.contains("guards.own-files"),
            is_asked,
            "{said}"
        );
    }
    let read = tool(&stage, LION, "Read", ToolClass::Read, &json!({ "file_path": path }));
    assert_eq!(answer(&stage.told(&of_client(read))), "");
}

#[rstest]
#[case("rm -rf /data/state", true)]
#[case("cd /data && rm -rf state", true)]
#[case("mv /data/state /tmp/x", true)]
#[case("echo '{}' > ~/.client/settings.json", true)]
#[case("echo '{}' > /home/dev/.client/settings.json", true)]
#[case("jq . a > .client/settings.json", true)]
#[case("rm -rf ~/.client/hooks", true)]
#[case("sed -i s/a/b/ .client/settings.json", true)]
#[case("cp x.sh ~/.client/hooks/stop.sh", true)]
#[case("chmod -x ~/.client/hooks/*.sh", true)]
#[case("rm -rf /data/st*", true)]
#[case("rm -rf /data/*", true)]
#[case("cd /data && rm -rf *", true)]
#[case("rm -f .client/*.json", true)]
#[case("rm -f .client/set*", true)]
#[case("sed -i s/a/b/ ~/.client/settings*.json", true)]
#[case("jq '.a = 1' x | sponge ~/.client/settings.json", true)]
#[case("curl -so ~/.client/hooks/stop.sh https://x.org/a", true)]
#[case("sort -o .client/settings.json x", true)]
#[case("cp -t ~/.client/hooks x.sh", true)]
#[case("tar -xf x.tgz -C ~/.client/hooks", true)]
#[case("unzip x.zip -d .client/hooks", false)]
#[case("unzip x.zip -d ~/.client/hooks", true)]
#[case("tar -tf /data/state/x.tgz", false)]
#[case("rm -f .client/*.log", false)]
#[case("rm -rf /data/x*", false)]
#[case("rm -rf /data/*/logs", true)]
#[case("rm -rf *", false)]
#[case("rm -rf ./build/* *.o", false)]
#[case("ls /data/st*", false)]
#[case("cp /data/st*/config.toml /tmp/", false)]
#[case("cat .client/settings.json", false)]
#[case("cp .client/settings.json /tmp/x.json", false)]
#[case("jq . .vscode/settings.json > /tmp/settings.json", false)]
#[case("ls /data/state", false)]
#[case("git add .client/settings.json", false)]
fn a_line(#[case] line: &str, #[case] is_asked: bool) {
    let mut stage = Stage::new("");
    stage.machine.state_home = Some("/data/state".to_owned());
    let event = of_client(bash_event(&stage, LION, line));
    let said = answer(&stage.told(&event));
    assert_eq!(said.starts_with("ask ") && said.contains("guards.own-files"), is_asked, "{said}");
}
