//! What a wrong command is told: its text and its exit code.

use super::story::Story;

/// Types each line, after a session of Lion and one of Otter have begun.
fn refused(name: &str, settings: &str, lines: &[&str]) {
    let mut story = Story::new(settings);
    story.quietly(|story| {
        story.types("substrate daemon start");
        story.begins("Lion");
        story.begins("Otter");
        story.runs("Otter", "substrate send User 'A question.'");
    });
    for line in lines {
        match line.split_once(" $ ") {
            Some((agent, line)) => story.runs(agent, line),
            None => story.types(line),
        }
    }
    story.ends(name);
}

#[test]
fn of_the_command_line() {
    refused(
        "errors_command_line",
        "",
        &[
            "substrate nothing",
            "substrate jurnal",
            "substrate hooks instal",
            "substrate hooks",
            "substrate send --too Lion",
            "substrate journal list --format xml",
            "substrate journal list --limit many",
            "substrate journal show",
            "substrate journal show x",
            "substrate journal show 999999",
            "substrate journal list --since soon",
            "substrate journal list --event Stpo",
            "substrate journal list --tool Bsh",
            "substrate journal list --verdict denied",
            "substrate journal list --session nothing",
            "substrate journal list --agent Loin",
            "substrate inbox --agent Loin",
            "substrate inbox --session-id nothing",
            "substrate locks --project-dir /nonexistent",
            "substrate completions csh",
            "substrate statusline < /dev/null",
        ],
    );
}

#[test]
fn of_settings_and_setup() {
    refused(
        "errors_setup",
        "",
        &[
            "substrate config get nothing",
            "substrate config get locks.tll",
            "substrate config set locks.ttl soon",
            "substrate config set locks.mode maybe",
            "substrate config set locks.ttl 5m --project",
            "substrate config set nothing 1",
            "substrate hooks install --profile lock",
            "substrate hooks install --client nothing",
            "substrate hooks install --user --project",
            "substrate hook Nothing --explain",
            "substrate db restore /nonexistent",
            "substrate db backup /nonexistent/folder/file",
            "substrate run",
            "Lion $ substrate down",
            "Lion $ substrate uninstall",
            "Lion $ substrate hooks uninstall",
            "Lion $ substrate config set guards.on false",
            "Lion $ substrate db restore backup.db",
        ],
    );
}

#[test]
fn of_mail_and_agents() {
    refused(
        "errors_mail",
        "",
        &[
            "substrate send",
            "substrate send Lion",
            "substrate send Loin hello",
            "substrate send 'no name' hello",
            "substrate send Lion hello --priority soon",
            "substrate send Lion hello --deadline soon",
            "substrate send Lion hello --thread 99",
            "substrate send Lion hello --body hello",
            "substrate send Lion --body-file /nonexistent",
            "substrate read 99",
            "substrate read x",
            "substrate reply 99 yes",
            "substrate mail thread 99",
            "substrate mail ack 99",
            "substrate mail star 99",
            "substrate mail snooze 1 --until soon",
            "substrate mail snooze 1",
            "substrate mail archive 99",
            "substrate mail trash 99",
            "substrate mail status 99",
            "substrate mail search",
            "substrate mail publish nothing --subject hello",
            "substrate mail subscribe nothing",
            "substrate mail unsubscribe nothing",
            "substrate mail topic create 'no name'",
            "substrate mail poll --wait soon",
            "Lion $ substrate read 1",
            "substrate agent show Loin",
            "substrate agent delete Loin",
            "substrate agent delete Lion",
            "substrate agent rename Otter --agent Lion",
            "substrate agent rename 'no name' --agent Lion",
        ],
    );
}

#[test]
fn of_work_locks_and_guards() {
    refused(
        "errors_work",
        "",
        &[
            "substrate work add",
            "substrate work show 99",
            "substrate work claim",
            "Lion $ substrate work claim",
            "substrate work done 99",
            "substrate work release 99",
            "substrate work claim --wait soon",
            "substrate locks show",
            "substrate locks acquire",
            "substrate locks acquire src/lib.rs --ttl soon",
            "substrate locks acquire ../elsewhere",
            "substrate locks acquire 'src/[' ",
            "Lion $ substrate locks acquire src/lib.rs",
            "substrate locks acquire src/lib.rs",
            "substrate locks check src/lib.rs",
            "substrate locks wait src/lib.rs --timeout soon",
            "substrate locks release src/lib.rs",
            "substrate locks release nothing.rs",
            "substrate guard test /nonexistent",
            "substrate guard explain",
            "substrate guard backtest --since soon",
            "substrate fleet check Loin",
        ],
    );
}

#[test]
fn of_memory() {
    refused(
        "errors_memory",
        "profile = \"engine\"\n",
        &[
            "substrate effort start brainstorm",
            "Lion $ substrate effort show",
            "Lion $ substrate effort start",
            "Lion $ substrate effort start ../x",
            "Lion $ substrate effort start brainstorm --task ../elsewhere",
            "Lion $ substrate effort log more",
            "Lion $ substrate effort phase",
            "Lion $ substrate effort finish",
            "Lion $ substrate effort dehydrate",
            "Lion $ substrate effort resume 99",
            "Lion $ substrate effort preload /nonexistent",
            "Lion $ substrate effort start brainstorm",
            "Lion $ substrate effort start brainstorm",
            "Lion $ substrate effort phase nothing",
            "Otter $ substrate effort resume 1",
            "substrate effort show 99",
            "substrate effort task show nothing",
            "substrate effort task set nothing --title x",
            "substrate effort session show nothing",
            "substrate scratchpad check nothing",
            "substrate reminders show nothing",
        ],
    );
}

#[test]
fn without_a_daemon_a_home_or_good_settings() {
    let mut story = Story::new("[daemon]\nautostart = false\n");
    story.types("substrate daemon status");
    story.types("substrate daemon stop");
    story.types("SUBSTRATE_HOME=relative substrate journal");
    story.types("SUBSTRATE_HOME=/dev/null/home substrate journal");
    story.types("env -u HOME -u SUBSTRATE_HOME substrate journal");
    let mut broken = |text: &str| {
        crate::house::configure(story.env(), text);
        story.types("substrate journal");
        story.types("substrate config check");
    };
    broken("[locks]\nttl = \"soon\"\n");
    broken("[lokcs]\nttl = \"1m\"\n");
    broken("[locks\n");
    broken("profile = \"nothing\"\n");
    broken("[[guards.rules]]\nname = \"bad\"\nwhen = 'comand'\naction = \"ask\"\nreason = \"x\"\n");
    story.types("substrate guard check");
    story.ends("errors_settings");
}

#[test]
fn without_a_usable_database() {
    let mut story = Story::new("[daemon]\nautostart = false\n");
    std::fs::create_dir(story.env().state().join("subtrate.db")).unwrap();
    for line in ["journal", "inbox", "db check", "db backup", "locks", "daemon start"] {
        story.types(&format!("substrate {line}"));
    }
    story.ends("errors_database");
}
