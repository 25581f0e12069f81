//! Spellings of sweeping and harmless commands. A sweep that passes loses another agent's work; a harmless line that is
//! refused stops an agent for nothing.

use super::sweep_let::{LET, LET_ELSEWHERE, REFUSED_ELSEWHERE};
use super::*;

/// NobleLion holds `a.rs` and `lib/held.rs` in `/repo`. CalmOtter runs these there.
const REFUSED: &[&str] = &[
    // The whole tree.
    "git stash",
    "git stash -u",
    "git stash>/dev/null",
    "git stash 2>&1 | tail -1",
    "git stash push",
    "git stash push -m 'my work'",
    "git stash push -mwork",
    "git stash --keep-index",
    "git stash save work",
    "git stash -p",
    "git reset --hard",
    "git reset --hard HEAD~1",
    "git reset --hard>/dev/null",
    "git reset --har",
    "git reset --merge",
    "git reset -q --hard origin/main",
    "git checkout -f",
    "git checkout -f main",
    "git checkout -qf main",
    "git checkout --forc main",
    "git checkout -b x -f",
    "git switch -f main",
    "git switch --discard-changes main",
    "git switch --discard main",
    "git restore .",
    "git restore :/",
    "git restore -s HEAD~1 .",
    "git restore --source=HEAD~1 -SW .",
    "git restore --pathspec-from-file=list",
    "git checkout .",
    "git checkout -- .",
    "git checkout HEAD -- .",
    "git checkout ':(top)'",
    "git checkout-index -f -a",
    "git checkout-index -fa",
    "git checkout-index --force a.rs",
    "git read-tree -u --reset HEAD",
    "git read-tree --reset -u HEAD",
    "git pull --rebase --autostash",
    "git pull --autost",
    "git -c rebase.autoStash=true pull --rebase",
    "git rebase --autostash main",
    "git merge --autostash x",
    "git merge --abort",
    "git rebase --abort",
    "git rebase --skip",
    "git cherry-pick --abort",
    "git revert --abort",
    "git am --abort",
    "git clean -fd",
    "git clean -fdx",
    "git clean -ffdx .",
    "git clean -fd -enode_modules",
    "git clean --forc",
    "git -c clean.requireForce=false clean -d",
    "git worktree remove --force /repo",
    "git worktree remove -f ../repo",
    // Named files.
    "git checkout a.rs",
    "git checkout -- a.rs",
    "git checkout HEAD a.rs",
    "git checkout HEAD~1 -- b.rs a.rs",
    "git checkout --theirs a.rs",
    "git checkout -p a.rs",
    "git checkout -- ./lib/../a.rs",
    "git checkout -- /repo/a.rs",
    "git checkout -- lib",
    "git restore a.rs",
    "git restore -W -S a.rs",
    "git stash push -- a.rs",
    "git stash push -m \"x\" -- a.rs",
    "git stash -- lib/",
    "git clean -f a.rs",
    "git rm -f a.rs",
    "git rm a.rs",
    "git rm -rf .",
    "git rm -r lib",
    "git mv a.rs b.rs",
    "git mv -f b.rs a.rs",
    "rm a.rs",
    "rm -f a.rs",
    "rm -f b.rs a.rs",
    "rm -- a.rs",
    "rm -rf .",
    "rm -rf lib",
    "rm -rf lib/",
    "rm -r ../repo",
    "rm -rf /repo/lib",
    "rm -rf *",
    "rm *.rs",
    "rm lib/*",
    "rm -f {a,b}.rs",
    "\\rm -f a.rs",
    "sudo rm -f a.rs",
    "mv a.rs b.rs",
    "mv b.rs a.rs",
    "mv lib lib2",
    "mv new/a.rs .",
    "mv -t lib x/held.rs",
    "cd lib && rm held.rs",
    "(cd lib && rm held.rs)",
    // Unknown paths.
    "git checkout -- '*.rs'",
    "git checkout -- *.rs",
    "git checkout -- [ab].rs",
    "git checkout -- {a,b}.rs",
    "git checkout -- {1..3}.rs",
    "git checkout -- \"$f\"",
    "git checkout HEAD $f",
    "git checkout $BASE -- $f",
    "git checkout -- $(git diff --name-only)",
    "git checkout $(git diff --name-only)",
    "git checkout $(git status --porcelain | awk '{print $2}')",
    "git checkout -- `git diff --name-only`",
    "F=a.rs; git restore $F",
    "git restore $F",
    "git restore \"$@\"",
    "git stash push -- $mine",
    "git rm -f $x",
    "for f in a.rs b.rs; do git checkout -- \"$f\"; done",
    "git ls-files -m | xargs git checkout --",
    "git ls-files -m | xargs git checkout",
    "git ls-files -m | xargs -I% git checkout -- %",
    "find . -name '*.rs' -exec git checkout -- {} +",
    "find . -name '*.rs' -exec git checkout {} \\;",
    // In any wrapper.
    "git \\\n  stash",
    "git stash \\\n  push",
    "OUT=\"$(git stash 2>&1)\"; echo $OUT",
    "echo $((1<<2))\ngit stash",
    "echo $'it\\'s'; git stash",
    "bash <<EOF\ngit stash\nEOF",
    "bash -c \"git stash\"",
    "bash -lc \"cd . && git stash\"",
    "eval 'git stash'",
    "watch -n1 git stash",
    "watch -n 1 git stash",
    "sudo git stash -u",
    "env X=1 git stash",
    "timeout 5 git stash",
    "/usr/bin/git stash",
    "git --no-pager stash",
    "GIT_WORK_TREE=. git stash",
    "git --git-dir .git --work-tree . reset --hard",
    "git -c alias.x=\"!git stash\" x",
    "git config alias.z 'reset --hard' && git z",
    "f() { git stash; }; f",
    "function f { git stash; }; f",
    "false || git stash",
    "if ! cargo test; then git stash; fi",
    // Conditions are not evaluated.
    "if false; then git stash; fi # no",
    "git commit -m x; git stash",
    // From any folder.
    "cd src && git checkout ../a.rs",
    "git -C src checkout -- ../a.rs",
    "pushd src; popd; git checkout -- a.rs",
    "pushd lib && git checkout -- held.rs",
    "cd src; cd -; git checkout -- a.rs",
    "cd src; cd ..; git checkout -- a.rs",
    "(cd src && ls); git checkout -- a.rs",
    "(cd /tmp && ls); git stash",
    "x=$(cd /tmp && ls); git stash",
    "x=`cd /tmp; ls`; git stash",
    "bash -c 'cd /tmp'; git stash",
    "cd /tmp; cd; cd /repo; git stash",
    "cd $D; git -C /repo stash",
    "cd $D && git checkout -- /repo/a.rs",
    "D=$(mktemp -d); cd $D; rm -f /repo/a.rs",
    "cd \"$PWD\" && git stash",
    "cd \"$(git rev-parse --show-toplevel)\" && git stash",
    "cd src; cd $(git rev-parse --show-toplevel); git checkout -- a.rs",
    "cd src && git -C `git rev-parse --show-toplevel` checkout -- lib",
    "cd src && git -C \"$(git rev-parse --show-toplevel)\" restore .",
    "f() { git stash; }; g() { f; }; g",
    "R=/repo; cd $R && git stash",
    "env -C /repo git stash",
    "git worktree add ../repo; cd ../repo; git stash",
];

#[test]
fn every_spelling_is_decided_correctly() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    edits(&mut stage, LION, "lib/held.rs");
    let mut wrong = Vec::new();
    let mut n = 0;
    for (cwd, commands, is_denied) in [
        ("/repo", REFUSED, true),
        ("/repo", LET, false),
        ("/other", REFUSED_ELSEWHERE, true),
        ("/other", LET_ELSEWHERE, false),
    ] {
        for command in commands {
            let detail = Detail::ToolBefore { call: bash_call(command) };
            let event = Event {
                cwd: cwd.to_owned(),
                ..event(&stage, OTTER, EventKind::PreToolUse, detail)
            };
            if denial(&stage.told(&event)).is_some() != is_denied {
                wrong
                    .push(format!("{cwd} {} {command}", if is_denied { "let" } else { "refused" }));
            }
            n += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {n} were wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// An agent's own leases never stop it.
#[test]
fn the_holder_may_run_all_of_these() {
    let mut stage = two();
    edits(&mut stage, OTTER, "a.rs");
    edits(&mut stage, OTTER, "lib/held.rs");
    for command in REFUSED {
        assert_eq!(denial(&bash(&mut stage, OTTER, command)), None, "{command}");
    }
}

#[test]
fn a_child_may_remove_what_its_waiting_parent_lends() {
    let mut stage = two();
    edits(&mut stage, LION, "a.rs");
    let told = bash(&mut stage, CODER, "rm a.rs");
    assert_eq!(
        denial(&told).unwrap(),
        "`rm` would sweep away files that others are editing in this working tree: `a.rs` (NobleLion). \
         [locks.git] Leave these files alone until they are free: wait with `substrate locks wait a.rs`. \
         `substrate locks` shows who holds what."
    );
    stage.pass(SECOND);
    agent(&mut stage, LION);
    stage.pass(SECOND);
    // A subagent is known from its first event. This one began before its parent waited.
    assert!(denial(&bash(&mut stage, CODER, "rm a.rs")).is_some());
    assert_eq!(denial(&bash(&mut stage, TESTER, "rm a.rs")), None);
    assert!(denial(&bash(&mut stage, TESTER, "git stash")).is_some(), "more than it was lent");
    let clean = bash(&mut stage, OTTER, "git clean -f");
    assert!(denial(&clean).unwrap().starts_with("`git clean` could sweep away"));
}
