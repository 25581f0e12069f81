//! Which commands sweep a working tree.

use crate::shell::files::sweeps::{SweepScope, sweeps};
use crate::shell::files::{Extent, PathScope};
use proptest::prelude::*;
use rstest::rstest;

/// What a line sweeps: `git stash`, `git restore a b`, `git stash @folder`; `rm =a` is a file, not a folder.
fn swept(command: &str) -> Vec<String> {
    let taken = |one: &PathScope| match &one.extent {
        Extent::File => format!(" ={}", one.path),
        Extent::Below => format!(" {}", one.path),
        Extent::Glob { glob, .. } => format!(" {}:{glob}", one.path),
    };
    sweeps(command)
        .iter()
        .map(|one| match &one.scope {
            SweepScope::Tree if one.folder.is_empty() => one.what.to_owned(),
            SweepScope::Tree => format!("{} @{}", one.what, one.folder),
            SweepScope::Paths(these) => {
                format!("{}{}", one.what, these.iter().map(taken).collect::<String>())
            }
        })
        .collect()
}

#[rstest]
#[case("git stash")]
#[case("git stash push")]
#[case("git stash -u")]
#[case("git stash --keep-index")]
#[case("git stash push -m 'my work'")]
#[case("git stash save my work")]
#[case("git stash push --pathspec-from-file=list")]
#[case("git stash > /dev/null 2>&1")]
#[case("/usr/bin/git stash")]
#[case("git -c core.pager=cat --no-pager stash")]
#[case("GIT_TRACE=1 git stash")]
#[case("env -u X A=b git stash")]
#[case("sudo -u me git stash")]
#[case("command git stash")]
#[case("timeout 10 git stash")]
#[case("timeout -k 5 10 nice git stash")]
#[case("cargo build && git stash && cargo test")]
#[case("cargo build; git stash")]
#[case("false || git stash")]
#[case("(git stash)")]
#[case("{ git stash; }")]
#[case("x=$(git stash)")]
#[case("if ! git stash; then echo no; fi")]
#[case("echo hi\ngit stash\n")]
#[case("bash -c 'git stash'")]
#[case("sh -lc \"cargo test; git stash\"")]
#[case("eval 'git stash'")]
#[case("git \"stash\"")]
#[case("echo '# not a comment' && git stash # a comment")]
#[case("cat <<EOF\nit's\nEOF\ngit stash")]
fn a_stash_takes_everything(#[case] command: &str) {
    assert_eq!(swept(command), ["git stash"], "{command}");
}

#[rstest]
#[case("git stash push -- a b", "git stash a b")]
#[case("git stash push -m x a", "git stash a")]
#[case("git stash -- a", "git stash a")]
#[case("git -C sub stash", "git stash @sub")]
#[case("cd sub && git -C deep stash", "git stash @sub/deep")]
#[case("cd /abs && git stash", "git stash @/abs")]
#[case("git --work-tree=/w --git-dir /w/.git stash", "git stash @/w")]
#[case("git checkout -- a", "git checkout a")]
#[case("git checkout .", "git checkout .")]
#[case("git checkout HEAD~1 -- a b", "git checkout a b")]
#[case("git checkout HEAD a", "git checkout HEAD a")]
#[case("git checkout main", "git checkout main")]
#[case("git checkout -f main", "git checkout")]
#[case("git checkout --force", "git checkout")]
#[case("git checkout -- '*.rs'", "git checkout .:*.rs")]
#[case("git checkout -- src/*.rs", "git checkout src/:*.rs")]
#[case("git checkout -- 'app/[id]/x'", "git checkout app/:[id]/x app/[id]/x")]
#[case("git checkout -- $x", "git checkout")]
#[case("git checkout :/", "git checkout")]
#[case("git checkout --theirs a", "git checkout a")]
#[case("git ls-files | xargs git checkout --", "git checkout")]
#[case("git restore a", "git restore a")]
#[case("git restore --source HEAD~2 a", "git restore a")]
#[case("git restore --staged --worktree a", "git restore a")]
#[case("git restore -SW a", "git restore a")]
#[case("git restore -- .", "git restore .")]
#[case("git reset --hard", "git reset")]
#[case("git reset --hard HEAD~1", "git reset")]
#[case("git reset --merge", "git reset")]
#[case("git clean -f", "git clean .")]
#[case("cd sub && git clean -f", "git clean sub/.")]
#[case("git clean -xdf build", "git clean build")]
#[case("git clean --force -d -e keep", "git clean .")]
#[case("git -c clean.requireForce=false clean -d", "git clean .")]
#[case("rm -f a b/", "rm =a =b/")]
#[case("rm -r a *.o $x", "rm a .:*.o")]
#[case("mv a b/c /d", "mv a b/c =/d/a =/d/c =/d")]
#[case("mv -t d a", "mv a =d/a =d")]
#[case("cd ~/x && rm a", "rm =~/x/a")]
#[case("cd '~' && rm a", "rm =./~/a")]
#[case("cd $x && rm a /b", "rm =/b")]
#[case("cd \"$HOME/x\"; git stash", "git stash @~/x")]
#[case("git switch -f main", "git switch")]
#[case("git switch --discard-changes main", "git switch")]
fn a_command_takes(#[case] command: &str, #[case] expected: &str) {
    assert_eq!(swept(command), [expected], "{command}");
}

#[rstest]
#[case("git stash list")]
#[case("git stash branch x")]
#[case("git reset --keep main")]
#[case("cd $x && git stash")]
#[case("cd ~you && git stash")]
#[case("git -C \"$x\" checkout -- a")]
#[case("git stash pop")]
#[case("git stash pop --index")]
#[case("git stash apply stash@{0}")]
#[case("git stash show -p")]
#[case("git stash drop")]
#[case("git stash clear")]
#[case("git checkout -b new")]
#[case("git checkout -B new main")]
#[case("git checkout --detach")]
#[case("git checkout")]
#[case("git switch main")]
#[case("git switch -c new")]
#[case("git restore --staged a")]
#[case("git restore -S .")]
#[case("git reset")]
#[case("git reset --soft HEAD~1")]
#[case("git reset HEAD a")]
#[case("git clean -n")]
#[case("git clean -nfd")]
#[case("git clean -d")]
#[case("git status")]
#[case("git commit -m 'git stash'")]
#[case("git log --grep 'git reset --hard'")]
#[case("echo git stash")]
#[case("grep -r 'git stash' .")]
#[case("cat <<'EOF'\ngit stash\nEOF")]
#[case("cat <<EOF > notes\ngit reset --hard\nEOF\nls")]
#[case("# git stash")]
#[case("ls # && git stash")]
#[case("git 'stash")]
#[case("git stash \"")]
#[case("git")]
#[case("git -C")]
#[case("legit stash")]
#[case("git-stash-like")]
#[case("stash git")]
#[case("")]
fn a_command_takes_nothing(#[case] command: &str) {
    assert_eq!(swept(command), [""; 0], "{command}");
}

#[test]
fn one_line_may_sweep_twice() {
    let line = "git restore mine && cd sub; git reset --hard";
    assert_eq!(swept(line), ["git restore mine", "git reset @sub"]);
}

proptest! {
    #[test]
    fn any_line_can_be_read(line in "(git |stash|[ -~]|\\n|é){0,60}") {
        let _never_panics = sweeps(&line);
    }
}
