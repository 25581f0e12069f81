//! The real client: a subagent that skips its scratchpad, a session that delegated, and one that did not.

use serde_json::json;
use substrate_testkit::{Client, ModelServer, Running, Script, TestEnv, Turn};

use crate::house::{SOON, named_scratchpad as named, write_scratchpad as write};

fn installed() -> TestEnv {
    let env = TestEnv::new();
    env.substrate(["hooks", "install", "--profile", "scratchpad"]).success();
    env.substrate(["daemon", "start"]).success();
    env
}

#[test]
fn who_skips_the_scratchpad_is_held_until_it_is_written_and_who_delegates_nothing_is_not() {
    let env = installed();
    let model = ModelServer::start(
        Script::new([
            Turn::agent("look into it"),
            Turn::text("all done"),
            write("we looked into it\\n"),
            Turn::text("done and logged"),
        ])
        .subagent(
            "look into it",
            [
                Turn::text("done, I wrote nothing"),
                write("## What I did\\nlooked\\n\\n## Cross-agent observations\\nnone\\n\\n## Unresolved\\nnone\\n"),
                Turn::text("done, and written down"),
            ],
        ),
    );
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "done and logged");

    let sub = model.subagent_requests();
    assert_eq!(sub.len(), 3, "held once");
    let path = named(&sub[1]);
    assert!(path.starts_with(".claude/scratchpad/general-purpose/20"), "{path}");
    assert!(sub[0].news().contains(&format!("Your scratchpad is {path}. ")), "{}", sub[0].news());
    assert!(sub[1].news().contains("The file does not exist yet"), "{}", sub[1].news());
    let written = std::fs::read_to_string(env.project().join(&path)).unwrap();
    assert!(written.starts_with("## What I did\nlooked\n"), "{written}");

    let main = model.main_requests();
    assert_eq!(main.len(), 4, "held once");
    assert!(main[1].news().contains("done, and written down"), "{}", main[1].news());
    assert!(main[2].news().contains("Multi-agent delegation detected"), "{}", main[2].news());
    let path = named(&main[2]);
    assert_eq!(std::fs::read_to_string(env.project().join(path)).unwrap(), "we looked into it\n");

    // Another session in the same project, on the same day, with all those files around it.
    std::fs::remove_dir_all(env.project().join(".claude/scratchpad/coordinator")).unwrap();
    let model = ModelServer::start(Script::new([Turn::text("nothing to delegate")]));
    let run = Client::new(&env, &model).print("hello", &[]);
    assert_eq!(run.result(), "nothing to delegate");
    assert_eq!(model.main_requests().len(), 1);
}

#[test]
fn a_subagent_with_a_working_tree_of_its_own_is_told_the_projects_and_may_write_its_own() {
    let env = installed();
    let git = "git init -q -b main && git -c user.name=dev -c user.email=dev@example.org commit -q --allow-empty -m first";
    let mut command = env.command("/bin/sh");
    command.args(["-c", git]);
    Running::start(command, Vec::new()).finish(SOON).success();
    let input = json!({"description": "apart", "prompt": "look apart", "subagent_type": "general-purpose", "run_in_background": false, "isolation": "worktree"});
    let model = ModelServer::start(
        Script::new([
            Turn::tool("Agent", input),
            Turn::text("all done"),
            write("logged\\n"),
            Turn::text("done and logged"),
        ])
        .subagent(
            "look apart",
            [
                Turn::from_request(|request| {
                    let news = request.news();
                    let path = news.split_once("Your scratchpad is ").unwrap().1;
                    let path = path.split_once(".md").unwrap().0.rsplit_once(".claude/").unwrap().1;
                    let path = format!(".claude/{path}.md");
                    let command = format!("pwd && mkdir -p \"$(dirname {path})\" && printf '## What I did\\n## Cross-agent observations\\n## Unresolved\\n' > {path}");
                    Turn::tool("Bash", json!({"command": command, "description": "write it here"}))
                }),
                Turn::text("written here"),
            ],
        ),
    );
    let run = Client::new(&env, &model).print("begin", &[]);
    assert_eq!(run.result(), "done and logged");
    let sub = model.subagent_requests();
    let told = format!(
        "Your scratchpad is {}/.claude/scratchpad/general-purpose/",
        env.project().display()
    );
    assert!(sub[0].news().contains(&told), "{}", sub[0].news());
    assert_eq!(sub.len(), 2, "not held: what it wrote in its own tree counts");
    let cwd = sub[1].tool_results()[0].text.clone();
    assert!(cwd.contains("worktrees"), "{cwd}");
    assert!(model.main_requests()[2].news().contains("Multi-agent delegation detected"));
}
