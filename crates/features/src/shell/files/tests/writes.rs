//! What lines plainly write. A write that is missed overwrites another agent's work; a read that counts as a write stops
//! an agent for nothing.

use proptest::prelude::*;

use crate::shell;
use crate::shell::files::Extent;
use crate::shell::files::writes::{Manner, Written, may_write, writes};

/// What a line writes: `a` is a file, `a?` perhaps one, `-a` is removed, `a/` is a whole folder, `a:*.rs` what matches in it.
fn written(line: &str) -> String {
    let told = |one: &Written| {
        let path = &one.scope.path;
        let (before, after) = match one.manner {
            Manner::Writes => ("", ""),
            Manner::Perhaps => ("", "?"),
            Manner::Removes => ("-", ""),
        };
        match &one.scope.extent {
            Extent::File => format!("{before}{path}{after}"),
            Extent::Below => format!("{before}{path}/"),
            Extent::Glob { glob, .. } => format!("{before}{path}:{glob}"),
        }
    };
    // A line that the quick check skips must write nothing.
    let found: Vec<String> = writes(&shell::read(line)).iter().map(told).collect();
    assert!(found.is_empty() || may_write(line), "not even looked at: {line}");
    found.join(" ")
}

const TABLE: &[(&str, &str)] = &[
    // Redirections.
    ("echo x > a", "a"),
    ("echo x >a", "a"),
    ("echo x>a", "a"),
    ("echo x >> a", "a"),
    ("echo x >| a", "a"),
    ("echo x 1> a", "a"),
    ("make 2> err.log", "err.log"),
    ("make 2>>err.log", "err.log"),
    ("make &> all.log", "all.log"),
    ("make &>> all.log", "all.log"),
    ("make >& all.log", "all.log"),
    ("make > out 2> err", "out err"),
    ("make > out 2>&1", "out"),
    ("> a", "a"),
    (": > a", "a"),
    ("exec > a", "a"),
    ("exec 3<> a", "a"),
    ("cat b > a", "a"),
    ("> a cat b", "a"),
    ("echo x > 'my file'", "my file"),
    ("echo x > \"my file\"", "my file"),
    ("echo x > my\\ file", "my file"),
    ("echo x > a; echo y > b", "a b"),
    ("echo x > a && echo y >> a", "a"),
    ("echo x > ./a", "./a"),
    ("echo x > ../a", "../a"),
    ("echo x > /repo/a", "/repo/a"),
    ("echo x > ~/a", "~/a"),
    ("echo x > '~/a'", "./~/a"),
    ("echo x > \"$HOME/a\"", "~/a"),
    ("echo x > $PWD/a", "./a"),
    ("{ echo x; echo y; } > a", "a"),
    ("(echo x) > a", "a"),
    ("for i in 1 2; do echo $i; done > a", "a"),
    ("while read l; do echo $l; done < b > a", "a"),
    ("if true; then echo x; fi > a", "a"),
    ("if [ -e b ]; then echo x > a; fi", "a"),
    ("false || echo x > a", "a"),
    ("git show HEAD:a > a", "a"),
    ("git diff > x.patch", "x.patch"),
    ("jq . a > b && mv b c", "b"),
    ("F=a; echo x > $F", "a"),
    ("F=a; echo x > \"${F}.rs\"", "a.rs"),
    ("echo x > a &", "a"),
    ("nohup make > a 2>&1 &", "a"),
    ("time make > a", "a"),
    ("sort a | uniq > b", "b"),
    ("echo x > a # b", "a"),
    ("f() { echo x > a; }; f", "a"),
    // No file is written.
    ("make 2>&1", ""),
    ("make >&2", ""),
    ("echo x >&-", ""),
    ("make > /dev/null", ""),
    ("make >/dev/null 2>&1", ""),
    ("make &>/dev/null", ""),
    ("make 2>/dev/stderr", ""),
    ("echo x > /dev/tty", ""),
    ("echo 1 > /proc/self/comm", ""),
    ("cat < a", ""),
    ("cat <<< a", ""),
    ("cat <<EOF\nx > a\nEOF", ""),
    ("echo 'x > a'", ""),
    ("echo \"x > a\"", ""),
    ("echo x \\> a", ""),
    ("# echo x > a", ""),
    ("[[ b > a ]]", ""),
    ("[ b \\> a ]", ""),
    ("(( b > a ))", ""),
    ("echo $(( b > a ))", ""),
    ("git log --format='%an <%ae>' a", ""),
    ("grep -n '=>' a", ""),
    ("awk '$1 > 3' a", ""),
    ("f() { echo x > a; }", ""),
    ("ssh host 'echo x > a'", ""),
    ("docker exec c sh -c 'echo x > a'", ""),
    ("git commit -m 'cp a b > c'", ""),
    // Unknown names.
    ("echo x > $F", ""),
    ("echo x > \"$D/a\"", ""),
    ("echo x > $(mktemp)", ""),
    ("echo x > `date`.log", ""),
    ("echo x > ${F%.rs}.txt", ""),
    ("cd $D && echo x > a", ""),
    ("cd $D && echo x > /repo/a", "/repo/a"),
    ("echo x > ~you/a", ""),
    ("read F; echo x > $F", ""),
    ("for f in $FILES; do sed -i s/a/b/ $f; done", ""),
    ("git ls-files | xargs sed -i s/a/b/", ""),
    ("make fmt", ""),
    ("python3 fix.py a", ""),
    ("python3 -c \"open('a', 'w')\"", ""),
    // Folders.
    ("cd src && echo x > a", "src/a"),
    ("cd src; cd ..; echo x > a", "src/../a"),
    ("(cd src && echo x > a); echo y > b", "src/a b"),
    ("pushd src; echo x > a; popd; echo y > b", "src/a b"),
    ("cd /repo/src && sed -i s/a/b/ c", "/repo/src/c"),
    ("cd src > /dev/null && tee a", "src/a"),
    ("cd \"$(git rev-parse --show-toplevel)\" && echo x > a", ":top/a"),
    // Here-documents.
    ("cat > a <<EOF\nx\nEOF", "a"),
    ("cat <<'EOF' > a\nx > b\nEOF", "a"),
    ("cat <<EOF >> a\nx\nEOF\necho y > b", "a b"),
    ("tee a <<EOF\nx\nEOF", "a"),
    ("cat > a <<-EOF\n\tx\n\tEOF", "a"),
    ("bash <<EOF\necho x > a\nEOF", "a"),
    // Shells in shells.
    ("sh -c 'echo x > a'", "a"),
    ("bash -lc \"cd src && echo x > a\"", "src/a"),
    ("eval 'echo x > a'", "a"),
    ("echo 'echo x > a' | sh", "a"),
    ("x=$(echo y > a)", "a"),
    ("x=`echo y > a`", "a"),
    ("env -i sh -c 'tee a'", "a"),
    ("sudo sh -c 'echo x > a'", "a"),
    // Process substitution.
    ("make > >(tee a)", "a"),
    ("make | tee >(grep x > b) a", "b a"),
    ("diff <(sort a) <(sort b)", ""),
    ("diff <(sort a) <(sort b) > c", "c"),
    // tee and sponge.
    ("echo x | tee a", "a"),
    ("echo x | tee a b", "a b"),
    ("echo x | tee -a a", "a"),
    ("echo x | tee --append a", "a"),
    ("echo x | sudo tee -a a > /dev/null", "a"),
    ("echo x | tee", ""),
    ("echo x | tee -- -a", "-a"),
    ("make 2>&1 | tee build.log | tail -3", "build.log"),
    ("sort a | sponge a", "a"),
    ("tee --help", ""),
    // sed, perl, ruby, awk.
    ("sed -i s/a/b/ c", "c"),
    ("sed -i 's/a/b/' c d", "c d"),
    ("sed -i.bak s/a/b/ c", "c c.bak"),
    ("sed -i '' s/a/b/ c", "c"),
    ("sed -i -e s/a/b/ -e s/c/d/ c", "c"),
    ("sed -i -f script c", "c"),
    ("sed -ni /x/p c", "c"),
    ("sed -Ei 's/(a)/b/' c", "c"),
    ("sed --in-place s/a/b/ c", "c"),
    ("sed --in-place=.orig s/a/b/ c", "c c.orig"),
    ("sed --expression=s/a/b/ -i c", "c"),
    ("sed s/a/b/ -i c", "c"),
    ("sed s/a/b/ c -i", "c"),
    ("gsed -i s/a/b/ c", "c"),
    ("sed -i s/a/b/ *.rs", ".:*.rs"),
    ("sed -i s/a/b/ src/*.rs", "src/:*.rs"),
    ("sed -i s/a/b/ {a,b}.rs", "a.rs b.rs"),
    ("sed -i s/a/b/ $f c", "c"),
    ("for f in a b; do sed -i s/x/y/ $f; done", "a b"),
    ("sed -n 1,10p c", ""),
    ("sed s/a/b/ c", ""),
    ("sed -n 's/i/x/p' c", ""),
    ("sed -e '/-i/d' c", ""),
    ("sed s/a/b/ c > d", "d"),
    ("sed --help", ""),
    ("perl -i -pe s/a/b/ c", "c"),
    ("perl -pi -e s/a/b/ c d", "c d"),
    ("perl -pi.bak -e s/a/b/ c", "c c.bak"),
    ("perl -0777 -i -pe s/a/b/ c", "c"),
    ("perl -Mstrict -pi -e s/a/b/ c", "c"),
    ("perl -ne print c", ""),
    ("perl -Mintegrity -ne print c", ""),
    ("perl script.pl c", ""),
    ("ruby -i -pe '$_.upcase!' c", "c"),
    ("awk -i inplace '{print}' c", "c"),
    ("gawk -i inplace -f x.awk c", "c"),
    ("awk '{print}' c", ""),
    // Copies.
    ("cp a b", "b b/a?"),
    ("cp src/a b", "b b/a?"),
    ("cp a b/", "b/a"),
    ("cp a .", "./a"),
    ("cp src/a src/b dir", "dir/a dir/b"),
    ("cp a b dir/", "dir/a dir/b"),
    ("cp -t dir a b", "dir/a dir/b"),
    ("cp --target-directory=dir a", "dir/a"),
    ("cp -T a b", "b"),
    ("cp -f a b", "b b/a?"),
    ("cp -a a b", "b b/a?"),
    ("cp -r new/. lib", "lib"),
    ("cp $x b", "b"),
    ("cp $x dir/", ""),
    ("cp a $y", ""),
    ("cp new/*.rs lib/", ""),
    ("cp -n a b", ""),
    ("cp --no-clobber a b", ""),
    ("cp -u a b", "b b/a?"),
    ("cp --help", ""),
    ("cp a", ""),
    ("ls | xargs cp -t dir", ""),
    ("ls | xargs cp a", ""),
    ("cd src && cp ../a b", "src/b src/b/a?"),
    ("sudo cp a /etc/b", "/etc/b /etc/b/a?"),
    ("install a b", "b b/a?"),
    ("install -m 644 a b", "b b/a?"),
    ("install -Dm755 -t bin a", "bin/a"),
    ("install -d dir", ""),
    ("npm install a", ""),
    ("pip install -r a", ""),
    ("cargo install --path .", ""),
    ("rsync a b", "b b/a?"),
    ("rsync -av --exclude .git new/a .", "./a"),
    ("rsync -a new/ lib/", ""),
    ("rsync -n a b", ""),
    ("rsync a host:b", ""),
    ("rsync host:a b", "b b/host:a?"),
    ("ln -sf x a", "-a a/x?"),
    ("ln -sfn x a", "-a"),
    ("ln -f x a", "-a a/x?"),
    ("ln -sf ../x/a", "-./a"),
    ("ln -s x a", ""),
    ("ln -sft dir x", "-dir/x"),
    // Other programs.
    ("dd if=/dev/zero of=a bs=1 count=1", "a"),
    ("dd if=a of=/dev/null", ""),
    ("dd if=a", ""),
    ("dd of=$x", ""),
    ("truncate -s 0 a", "a"),
    ("truncate --size=0 a b", "a b"),
    ("truncate -s0 a", "a"),
    ("shred a", "a"),
    ("shred -u -n 3 a", "a"),
    ("unlink a", "-a"),
    ("find . -delete", "-./"),
    ("find src -type f -delete", "-src/"),
    ("find . -name '*.rs' -delete", "-.:**/*.rs"),
    ("find . -maxdepth 1 -name a -delete", "-.:a"),
    ("find . -name '*.rs' -exec sed -i s/a/b/ {} +", ".:**/*.rs"),
    ("find src -name a -exec rm {} \\;", "-src:**/a"),
    ("find . -mtime +7 -delete", ""),
    ("find . -name a -o -name b -delete", ""),
    ("find $D -delete", ""),
    ("find . -name '*.rs' -exec grep x {} +", ""),
    ("find . -name '*.rs'", ""),
    ("find . -fprint a", "a"),
    ("sort -o a b", "a"),
    ("sort b -oa", "a"),
    ("sort a", ""),
    ("curl -sSLo a https://example.org", "a"),
    ("curl -o - https://example.org", ""),
    ("curl https://example.org", ""),
    ("wget -qO a https://example.org", "a"),
    ("gofmt -w a.go", "a.go"),
    ("gofmt -l a.go", ""),
    ("rustfmt src/a.rs", "src/a.rs"),
    ("rustfmt --check src/a.rs", ""),
    ("rustfmt --edition 2024 a.rs", "a.rs"),
    ("npx prettier a.ts", ""),
    ("prettier --write a.ts", "a.ts"),
    ("prettier --check a.ts", ""),
    ("clang-format -i a.c", "a.c"),
    ("clang-format -style=file a.c", ""),
    ("black a.py", "a.py"),
    ("touch a", ""),
    // Patches.
    ("patch -p1 < x.patch", ""),
    ("patch -p1 -i x.patch", ""),
    ("patch a x.patch", "a"),
    ("patch a < x.patch", "a"),
    ("patch -d src a < x.patch", "src/a"),
    ("patch -o b a < x.patch", "b"),
    ("patch --dry-run a < x.patch", ""),
    ("patch -p1 <<'EOF'\n--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1 +1 @@\n-a\n+b\nEOF", "src/x.rs"),
    ("patch <<'EOF'\n--- a/src/x.rs\t2026\n+++ /dev/null\nEOF", "x.rs"),
    ("git apply x.patch", ""),
    ("git apply < x.patch", ""),
    ("git diff | git apply -R", ""),
    ("git apply <<'EOF'\n--- a/src/x.rs\n+++ b/src/x.rs\nEOF", "src/x.rs"),
    ("git apply --check <<'EOF'\n--- a/src/x.rs\n+++ b/src/x.rs\nEOF", ""),
    ("git -C sub apply - <<'EOF'\n--- a/x.rs\n+++ b/x.rs\nEOF", "sub/x.rs"),
    // Harmless.
    ("", ""),
    ("ls", ""),
    ("cat a", ""),
    ("cd src", ""),
    ("grep -rn 'sed -i' .", ""),
    ("echo cp a b", ""),
    ("which sed tee cp", ""),
    ("man tee", ""),
    ("git status && git diff a", ""),
    ("cargo test 2>&1 | tail -20", ""),
    ("head -5 a | tee /dev/stderr", ""),
    ("echo 'unfinished > a", ""),
];

#[test]
fn every_line_writes_what_it_says() {
    assert!(TABLE.len() >= 120);
    let mut wrong = Vec::new();
    for (line, expected) in TABLE {
        let found = written(line);
        if found != *expected {
            wrong.push(format!("{line}\n     writes {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), TABLE.len(), wrong.join("\n"));
}

#[test]
fn usual_lines_are_not_even_parsed() {
    for line in [
        "cargo test -p core 2>&1 | tail -20",
        "ls -la src >/dev/null 2>&1",
        "grep -rn needle . 2> /dev/null | head",
        "git status --short && git log -3",
        "cat a.rs; echo done >&2",
    ] {
        assert!(!may_write(line), "{line}");
    }
}

#[test]
fn many_files_are_bounded() {
    let line: String = (0..500).map(|i| format!("echo x > f{i}; ")).collect();
    assert_eq!(writes(&shell::read(&line)).len(), 64);
}

proptest! {
    #[test]
    fn any_line_can_be_read(line in "(sed -i |cp |tee |> |find |-delete |patch |[ -~]|\\n|é){0,60}") {
        let found = writes(&shell::read(&line));
        prop_assert!(found.is_empty() || may_write(&line), "{line}");
    }
}
