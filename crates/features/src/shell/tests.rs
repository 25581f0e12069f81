//! Lines as shells read them.

use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn told(line: &str) -> Vec<String> {
    let text = |made: &Simple| {
        let words: Vec<&str> = made.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    };
    read(line).commands.iter().map(text).filter(|text| !text.is_empty()).collect()
}

#[rstest]
#[case("a b; c", &["a b", "c"])]
#[case("a && b || c | d & e", &["a", "b", "c", "d", "e"])]
#[case("(a; b) && { c; }", &["a", "b", "c"])]
#[case("x=$(a b) c", &["a b", "c"])]
#[case("a 'b; c' \"d && e\" f\\;g", &["a b; c d && e f;g"])]
#[case("a > out 2>&1 &>> log < in; b", &["a", "b"])]
#[case("a # b; c\nd", &["a", "d"])]
#[case("a#b", &["a#b"])]
#[case("cat <<EOF\na; b\nEOF\nc", &["cat", "c"])]
#[case("cat <<-'E' && d\na\n\tE\nf", &["cat", "d", "f"])]
#[case("cat <<EOF\nnever ended", &["cat"])]
#[case("cat <<EOF\n$(a b)\nEOF", &["cat", "a b"])]
#[case("cat <<'EOF'\n$(a b)\nEOF", &["cat"])]
#[case("a 'b", &[])]
#[case("a \"b", &[])]
#[case("a b\nc 'd", &["a b"])]
#[case("", &[])]
#[case("echo \"x $(a b) y\"", &["a b", "echo x $(…) y"])]
#[case("echo \"`a b`\"", &["a b", "echo $(…)"])]
#[case("echo '$(a b)'", &["echo $(a b)"])]
#[case("echo $((1 + 2)) ${x:-y}", &["echo $((…)) ${…}"])]
#[case("diff <(a b) <(c)", &["a b", "c", "diff <(…) <(…)"])]
#[case("sudo -u me env -u X A=1 nice -n 5 timeout 5 a b", &["a b"])]
#[case("command -v rm", &["command -v rm"])]
#[case("time a; nohup b &", &["a", "b"])]
#[case("if a; then b; else c; fi", &["a", "b", "c", "fi"])]
#[case("for x in a b; do c $x; done", &["for x in a b", "c a b", "done"])]
#[case("case $x in a) b;; esac", &["case $x in a", "b", "esac"])]
#[case("X=1; a $X ${X}", &["a 1 1"])]
#[case("X=1 a", &["a"])]
#[case("x=(a b) ; c", &["c"])]
#[case("f() { a; }; f", &["a", "f"])]
#[case("echo \"${X:-don't}\"; a", &["echo ${…}", "a"])]
#[case("echo ${X:-'a}b'} ${Y:-\"}\"}; a", &["echo ${…} ${…}", "a"])]
#[case("x=$(( $(b) << 1 ))\na", &["b", "a"])]
#[case("(( x << 1 ))\na", &["a"])]
#[case("if (( x > 1 )); then a; fi", &["a", "fi"])]
#[case("{ f() { a; }; f; }", &["a", "f"])]
#[case("x=$((a); b)", &["a", "b"])]
#[case("a {b,c{d,e}}/f {g} \"{h,i}\" {}", &["a b/f cd/f ce/f {g} {h,i} {}"])]
#[case("a \"$(pwd)\" `pwd` ${HOME:?}/ ${X?no}", &["pwd", "pwd", "a $PWD $PWD $HOME/ $X"])]
#[case("sudo -iu root -- a b; sudo -uroot a; nice --adjustment 5 a; xargs -I{} a", &["a b", "a", "a", "a"])]
#[case("flock f a b; flock f -c 'a b'", &["a b", "flock f -c a b", "a b"])]
#[case("substrate run --effort 3 -- a b", &["a b"])]
#[case("bash -c -- 'a b'", &["bash -c -- a b", "a b"])]
#[case(". <(echo a b)", &["echo a b", ". <(…)", "a b"])]
#[case("git submodule foreach --recursive git a", &["git submodule foreach --recursive git a", "git a"])]
#[case("docker exec -i db psql -c 'a b'", &["docker exec -i db psql -c a b", "psql -c a b"])]
#[case("bash -c 'a; b'", &["bash -c a; b", "a", "b"])]
#[case("sh -lc \"a 'b c'\"", &["sh -lc a 'b c'", "a b c"])]
#[case("bash -c \"bash -c 'a'\"", &["bash -c bash -c 'a'", "bash -c a", "a"])]
#[case("function f { a b; }; f", &["a b", "f"])]
#[case("env -i -S 'a b'", &["env -i -S a b", "a b"])]
#[case("eval 'a b' c", &["eval a b c", "a b c"])]
#[case("find . -name x -exec a -f {} \\; -exec b {} +", &["find . -name x -exec a -f {} ; -exec b {} +", "a -f", "b"])]
#[case("ls | xargs -n 1 a b", &["ls", "a b *"])]
#[case("ls x | xargs -n 1 a b", &["ls x", "a b"])]
#[case("echo a b | xargs -I% c %/d", &["echo a b", "c a/d b/d"])]
#[case("xargs a <<< 'b c'", &["a b c"])]
#[case("a $(echo b c) \"$(echo d e)\" f$(echo g)", &["echo b c", "echo d e", "echo g", "a b c d e fg"])]
#[case("a $(cat <<'E'\nb c\nE\n)", &["cat", "a b c"])]
#[case("D=$(realpath x); a $D $(dirname y) $(cd /z && pwd)", &["realpath x", "dirname y", "cd /z", "pwd", "a x y/.. /z"])]
#[case("case $x in a|b) c;; (d) e;; esac; f", &["case $x in a", "c", "e", "esac", "f"])]
#[case("x=$(case y in a) b;; esac) c", &["case y in a", "b", "esac", "c"])]
#[case("[[ a && ( b || c ) ]] && d", &["[[ a b c ]]", "d"])]
#[case("alias x='a b'; x c", &["alias x=a b", "x c", "a b c"])]
#[case("alias a='a b'; a c", &["alias a=a b", "a c", "a b c"])]
#[case("parallel a {} b ::: c d", &["parallel a {} b ::: c d", "a c b", "a d b"])]
#[case("tmux send-keys -t x 'a b' Enter", &["tmux send-keys -t x a b Enter", "a b"])]
#[case("tmux new -d -s x a b", &["tmux new -d -s x a b", "a b"])]
#[case("screen -dmS x a b", &["a b"])]
#[case("nsenter -t 1 -m a; chrt -f 5 a; gosu me a; poetry run a b", &["a", "a", "a", "a b"])]
#[case("ssh -p 2 h a b", &["ssh -p 2 h a b", "a b"])]
#[case("kubectl -n x exec -it p -c q -- a b", &["kubectl -n x exec -it p -c q -- a b", "a b"])]
#[case("a \"b{c,d}\" {'e,f',g}", &["a b{c,d} e,f g"])]
#[case("a {b,{c,d}}{e,f} {g,h", &["a be bf ce cf de df {g,h"])]
#[case("a $\"b c\"", &["a b c"])]
#[case("bash <<EOF\na b\nEOF", &["bash", "a b"])]
#[case("cat <<EOF | sh\na b\nEOF", &["cat", "sh", "a b"])]
#[case("echo 'a b' | bash", &["echo a b", "bash", "a b"])]
#[case("bash <<< 'a b'", &["bash", "a b"])]
#[case("git -c alias.x='!a b' x c", &["git -c alias.x=!a b x c", "a b c"])]
#[case("a \\\n b", &["a b"])]
#[case("a $'b\\nc'", &["a b\nc"])]
#[case("$'\\x72\\155' $'\\u002f' $'\\''", &["rm / '"])]
fn a_line_is_read_as_commands(#[case] line: &str, #[case] expected: &[&str]) {
    assert_eq!(told(line), expected);
}

#[rstest]
#[case("git reset --hard", "reset [--hard]")]
#[case("git -C x -c a=b --no-pager reset --hard", "reset [--hard] @x")]
#[case("git --git-dir=/x/.git --work-tree /y clean -f", "clean [-f] @/y")]
#[case("git -c alias.nuke='reset --hard' nuke HEAD~1", "reset [--hard HEAD~1]")]
#[case("git config --global alias.z 'clean -fd' && git z", "clean [-fd]")]
#[case("cd a && (cd b && git status)", "status [] @a/b")]
#[case("(cd b); git status", "status []")]
#[case("cd && git status", "status [] @~")]
#[case("cd a; cd -; git status", "status []")]
#[case("cd - && git status", "status [] @$?")]
#[case("pushd a; pushd b; popd; git status", "status [] @a")]
#[case("pushd a; popd; popd; git status", "status [] @$?")]
#[case("pushd a; pushd; git status", "status []")]
#[case("x=`cd b`; git status", "status []")]
#[case("bash -c 'cd b'; git status", "status []")]
#[case("cd \"$HOME/x\" && git status", "status [] @~/x")]
#[case("D=~/x; cd $D && git status", "status [] @~/x")]
#[case("D='~/x'; cd $D && git status", "status [] @./~/x")]
#[case("cd a; cd \"$PWD/b\"; git status", "status [] @a/./b")]
#[case("cd $X/y && git -C z status", "status [] @$X/y/z")]
#[case("cd a$X && git status", "status [] @$?a$X")]
#[case("cd $X && cd /y && git status", "status [] @/y")]
#[case("cd a* && git status", "status [] @$?a*")]
#[case("env -C a git status", "status [] @a")]
#[case("env -C a true; git status", "status []")]
#[case("cd a; cd \"$(git rev-parse --show-toplevel)/b\"; git status", "status [] @a/:top/b")]
#[case("cd a; cd $(git rev-parse --show-toplevel); git status", "status [] @a/:top")]
#[case("git submodule foreach 'git status'", "status [] @$sm_path")]
fn a_call_of_git_is_understood(#[case] line: &str, #[case] expected: &str) {
    let line = read(line);
    let git = line.commands.iter().filter_map(|made| made.git.as_ref()).next_back().unwrap();
    let args: Vec<&str> = git.args.iter().map(|word| word.text.as_str()).collect();
    let folder = if git.folder.is_empty() { String::new() } else { format!(" @{}", git.folder) };
    assert_eq!(format!("{} [{}]{folder}", git.sub, args.join(" ")), expected);
}

#[rstest]
#[case("f() { git x; }; git y", "f -")]
#[case("f() (git x); git y", "f -")]
#[case("function f { git x; }\ngit y", "f -")]
#[case("function f() {\n git x\n}\n git y", "f -")]
#[case("f()\n{ { git x; }; git y; }", "f f")]
#[case("{ git x; }; git y", "- -")]
#[case("bash -c 'f() { git x'; git y", "f -")]
fn a_command_is_part_of_a_function(#[case] line: &str, #[case] expected: &str) {
    let line = read(line);
    let calls = line.commands.iter().filter(|made| made.git.is_some());
    let told: Vec<&str> = calls.map(|made| made.function.as_deref().unwrap_or("-")).collect();
    assert_eq!(told.join(" "), expected);
}

#[rstest]
#[case("a {b,c}", false, false)]
#[case("a {1..3}", true, false)]
#[case("a stash@{0} {} {x}", false, false)]
#[case("a '{b,c}'", false, false)]
#[case("a \"$@\"", false, true)]
#[case("a $1 $?", false, true)]
#[case("a $ 5$", false, false)]
fn what_is_known_of_a_word(#[case] line: &str, #[case] braces: bool, #[case] unknown: bool) {
    let line = read(line);
    let words = &line.commands[0].words;
    assert_eq!(words.iter().any(|word| word.has_braces), braces);
    assert_eq!(words.iter().any(|word| word.has_unknown), unknown);
}

#[rstest]
#[case("curl x | sh", true)]
#[case("curl x | gunzip | sudo bash -s -- a", true)]
#[case("sh -c \"$(curl x)\"", true)]
#[case("bash <(curl x)", true)]
#[case("eval \"$(curl x)\"", true)]
#[case(". <(curl x)", true)]
#[case("curl x | python3 -", true)]
#[case("curl x | python3 -m json.tool", false)]
#[case("curl x | jq .", false)]
#[case("bash run.sh \"$(curl x)\"", false)]
#[case("curl x > f; bash f", false)]
#[case("echo a | bash", false)]
fn what_a_shell_is_fed(#[case] text: &str, #[case] expected: bool) {
    let line = read(text);
    let is_fed = |made: &Simple| made.executes.iter().any(|at| line.commands[*at].name() == "curl");
    assert_eq!(line.commands.iter().any(is_fed), expected);
}

#[rstest]
#[case("rm -rf x", "-r", true)]
#[case("rm -rf x", "-f", true)]
#[case("rm --recursive x", "--recursive", true)]
#[case("rm --recurs x", "--recursive", true)]
#[case("git push --force-with-lease", "--force", false)]
#[case("git push --force=x", "--force", true)]
#[case("rm -- -rf", "-r", false)]
#[case("find . -delete", "-delete", true)]
fn a_flag_is_found(#[case] line: &str, #[case] flag: &str, #[case] expected: bool) {
    assert_eq!(read(line).commands[0].has_flag(flag), expected);
}

#[test]
fn a_line_without_end_is_cut() {
    let many = "a;".repeat(2_000);
    let line = read(&many);
    assert!(line.is_cut && line.commands.len() <= MAX_COMMANDS);
    let long = format!("a {}", "b".repeat(MAX_BYTES));
    assert!(read(&long).is_cut);
    let words = "a ".repeat(9_000);
    assert!(read(&words).is_cut);
    let deep = format!("{}a{}", "$(".repeat(500), ")".repeat(500));
    assert!(read(&deep).is_broken && read(&deep).is_cut);
    assert!(read(&format!("a {}", ">b ".repeat(9_000))).is_cut);
    assert!(read(&format!("a {}", "{b,c}".repeat(8_000))).is_cut);
    assert!(
        read(&format!("for x in {}; do {} done", "a ".repeat(900), "b $x $x;".repeat(5_000)))
            .is_cut
    );
    let fed = "bash <<A\n".repeat(300);
    let _ends = read(&fed);
}

/// A text that is fed to shells which are fed the rest of it.
#[test]
fn a_text_is_not_read_again_and_again() {
    let fed = "sh<<E\n".repeat(10_000);
    let (line, n_read) = read_counted(&fed);
    assert!(line.is_cut);
    assert!(n_read <= fed.len() * 6 + MIN_READ, "{n_read} bytes for {}", fed.len());
}

#[rstest]
#[case(&format!("echo {}; rm -rf /", "a ".repeat(4_100)), true)]
#[case(&format!("{}rm -rf /", "true;".repeat(1_100)), true)]
#[case(&format!("echo {}; rm -rf /", "a".repeat(1_100_000)), true)]
#[case(&format!("echo 'a' \"{}; rm -rf /", "a".repeat(2_000)), true)]
#[case(&format!("git add {}", "a ".repeat(2_000)), false)]
#[case(&format!("git add {}", "a ".repeat(9_000)), true)]
#[case(&format!("echo {}", "{".repeat(32 << 10)), false)]
#[case(&format!("echo {}b{}", "{a,".repeat(16 << 10), "}".repeat(16 << 10)), true)]
#[case(&format!("cat > f <<'EOF'\n{}EOF", "some text\n".repeat(90_000)), false)]
#[case(&format!("cat > f <<'EOF'\n{}EOF", "some text\n".repeat(9_000)), false)]
#[case("rm -rf 'a", false)]
fn what_was_not_read_may_matter(#[case] line: &str, #[case] expected: bool) {
    assert_eq!(read(line).is_unread, expected);
}

proptest! {
    #[test]
    fn any_line_can_be_read(line in "(git |rm |bash -c |eval |find |xargs |-exec |<<E|E\\n|[ -~]|\\n|é|\\$\\(|\\$\\{){0,60}") {
        let _never_panics = read(&line);
    }
}
