//! Texts of many shapes and any length. The time to read one depends on its length alone.

use super::*;

/// A text of about that many bytes.
type Shape = (&'static str, fn(usize) -> String);

fn times(part: &str, n: usize) -> String {
    part.repeat(n / part.len() + 1)
}

fn around(before: &str, part: &str, after: &str, n: usize) -> String {
    format!("{before}{}{after}", times(part, n))
}

/// `before` as often as `after`, one around the other.
fn deep(before: &str, inner: &str, after: &str, n: usize) -> String {
    let levels = n / (before.len() + after.len()) + 1;
    format!("{}{inner}{}", before.repeat(levels), after.repeat(levels))
}

const SHAPES: &[Shape] = &[
    ("open braces", |n| around("echo ", "{", "", n)),
    ("braces in braces", |n| format!("echo {}", deep("{a,", "b", "}", n))),
    ("braces beside braces", |n| around("echo ", "{a,b}", "", n)),
    ("long alternatives", |n| format!("rm {{{},b}}", times("abcdefgh", n))),
    ("closed braces", |n| around("echo ", "}", "", n)),
    ("commas in a brace", |n| around("echo {", "a,", "}", n)),
    ("sequences", |n| around("echo ", "{1..9}", "", n)),
    ("braces with blanks", |n| around("echo ", "{a b} ", "", n)),
    ("one word", |n| around("echo ", "abcdefgh", "", n)),
    ("many words", |n| around("echo ", "ab ", "", n)),
    ("words that set", |n| times("a=b ", n)),
    ("words that set a home", |n| times("a=~ ", n)),
    ("one quoted text", |n| around("echo '", "it is; $(so) ", "'", n)),
    ("many quoted texts", |n| around("echo ", "'a b' ", "", n)),
    ("quoted texts in one word", |n| around("echo ", "'a'\"b\"", "", n)),
    ("a quote that does not end", |n| around("echo \"", "a b; ", "", n)),
    ("double quotes", |n| around("echo \"", "a \\\" b $x ", "\"", n)),
    ("escapes", |n| around("echo ", "\\a", "", n)),
    ("backslashes at line ends", |n| times("a \\\n", n)),
    ("ansi quotes", |n| around("echo $'", "a\\n\\'", "'", n)),
    ("a here-document", |n| around("cat > f <<'EOF'\n", "some text; rm x\n", "EOF\n", n)),
    ("a here-document with variables", |n| around("cat <<EOF\n", "a $x ${y} b\n", "EOF\n", n)),
    ("a here-document with substitutions", |n| around("cat <<EOF\n", "a $(b) c\n", "EOF\n", n)),
    ("a here-document without end", |n| around("cat <<EOF\n", "a b\n", "", n)),
    ("many here-documents", |n| times("cat <<E\na\nE\n", n)),
    ("here-documents of one line", |n| around("", "a <<E;", "\n", n)),
    ("shells fed with shells", |n| times("sh<<E\n", n)),
    ("a here-string", |n| around("bash <<< '", "a b; ", "'", n)),
    ("substitutions beside each other", |n| around("echo ", "$(a)", "", n)),
    ("empty substitutions", |n| around("echo ", "$()", "", n)),
    ("substitutions in each other", |n| format!("echo {}", deep("$(", "a", ")", n))),
    ("substitutions without end", |n| around("echo ", "$(", "", n)),
    ("backticks", |n| around("echo ", "`a` ", "", n)),
    ("a backtick without end", |n| around("echo `", "a b \\` ", "", n)),
    ("processes as files", |n| around("diff ", "<(a) ", "", n)),
    ("sums", |n| around("echo ", "$((1+2)) ", "", n)),
    ("sums in each other", |n| format!("echo {}", deep("$((", "1", "))", n))),
    ("sums with substitutions", |n| around("echo $((", "$(a)+", "1))", n)),
    ("sums that are none", |n| times("(( \"(\" ) );", n)),
    ("sums without end", |n| times("((", n)),
    ("long sums", |n| around("((", "x+1+", "1))", n)),
    ("parameters", |n| around("echo ", "${x:-a}", "", n)),
    ("parameters in each other", |n| format!("echo {}", deep("${x:-", "a", "}", n))),
    ("known variables", |n| format!("X={}; echo {}", times("abcdefgh", n / 2), times("$X", n / 2))),
    ("arrays", |n| around("x=(", "a b ", ")", n)),
    ("arrays in arrays", |n| deep("x=(", "a", ")", n)),
    ("patterns", |n| around("ls ", "@(a|b) ", "", n)),
    ("comments", |n| times("# a; rm -rf /\n", n)),
    ("one comment", |n| around("ls # ", "a $( ' ", "", n)),
    ("commands", |n| times("a;", n)),
    ("pipes", |n| times("a|", n)),
    ("lists", |n| times("a&&", n)),
    ("background", |n| times("a&", n)),
    ("blanks", |n| around("a", " \t", "b", n)),
    ("empty lines", |n| times("\n", n)),
    ("redirections", |n| around("a ", ">b ", "", n)),
    ("copied descriptors", |n| around("a ", "2>&1 ", "", n)),
    ("digits", |n| around("a ", "1234567890", ">x", n)),
    ("subshells", |n| deep("(", "a", ")", n)),
    ("subshells beside each other", |n| times("(a);", n)),
    ("groups", |n| deep("{ ", "a;", "};", n)),
    ("brackets with blanks", |n| around("(", " ", "a)", n)),
    ("functions", |n| times("f(){ a;};", n)),
    ("a function with a long name", |n| {
        format!("{}(){{ {} }}", times("abcdefgh", n / 2), times("a;", n / 2))
    }),
    ("functions with arguments", |n| {
        format!("{}{}", times("f(){ a $1 \"$@\";};", 900), times("f b c;", n))
    }),
    ("functions in functions", |n| {
        format!("f(){{ {} }};{}", times("f \"$@\";", 900), times("f b;", n))
    }),
    ("an array that is used", |n| {
        format!("x=({});{}", times("abcdefgh ", n / 2), times("b ${x[@]};", n / 2))
    }),
    ("here-documents for xargs", |n| {
        times(&format!("xargs a <<E\n{}\nE\n", "b ".repeat(2_000)), n)
    }),
    ("loops", |n| times("for x in a b;do c $x;done;", n)),
    ("a loop over much", |n| {
        format!("for x in {};do {} done", times("abcdefgh ", n / 2), times("b $x;", n / 2))
    }),
    ("cases", |n| around("case x in ", "a) b;; ", "esac", n)),
    ("tests", |n| around("[[ ", "a && ", "b ]]", n)),
    ("folders", |n| times("cd abcdefgh;", n)),
    ("long folders", |n| times(&format!("cd {};", "a".repeat(4_000)), n)),
    ("folders and substitutions", |n| {
        format!("{}{}", times("pushd abcdefgh;", 900), times("$()", n))
    }),
    ("folders of git", |n| around("git ", "-C abcdefgh ", "status", n)),
    ("settings of git", |n| around("git ", "-c alias.x=y ", "x", n)),
    ("shells in shells", |n| times("sh -c 'sh -c ", n)),
    ("the same shells again", |n| times("sh -c 'a b';", n)),
    ("eval", |n| times("eval ", n)),
    ("eval of much", |n| around("eval eval eval '", "abcdefgh ", "'", n)),
    ("wrappers", |n| times("env ", n)),
    ("wrappers with flags", |n| times("sudo -u a ", n)),
    ("find", |n| around("find . ", "-exec a {} ; ", "", n)),
    ("find in find", |n| times("find . -exec ", n)),
    ("xargs", |n| times("xargs ", n)),
    ("echo into xargs", |n| around("echo ", "abcdefgh ", "| xargs -I{} a {} {} {} {}", n)),
    ("parallel", |n| around("parallel a {} {} {} ::: ", "b ", "", n)),
    ("aliases", |n| around("alias a='a a'; ", "a ", "", n)),
    ("said and said", |n| around("eval \"$(echo ", "abcdefgh ", ")\"", n)),
    ("signs of other scripts", |n| around("echo ", "æ—¥本é", "", n)),
];

/// Reading pays for every byte it looks at; this bounds the sum for each shape.
#[test]
fn a_text_of_any_shape_is_read_in_steps_that_grow_with_its_length() {
    let mut wrong = Vec::new();
    for (name, shape) in SHAPES {
        let text = shape(MAX_BYTES - 64);
        let (_, n_read) = read_counted(&text);
        let most = substrate_core::text::cut(&text, MAX_BYTES).len() * (MAX_AGAIN + 2) + MIN_READ;
        if n_read > most {
            wrong.push(format!("{name}: {n_read} bytes for {}", text.len()));
        }
    }
    assert!(SHAPES.len() >= 30 && wrong.is_empty(), "{wrong:#?}");
}
