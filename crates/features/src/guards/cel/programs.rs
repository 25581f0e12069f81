//! Which programs a condition is about, read from the condition itself. A line that runs none of them can't fulfil it, so
//! it is not judged.

use cel::common::ast::operators::{EQUALS, LOGICAL_AND, LOGICAL_OR, NOT_EQUALS};
use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

/// The programs of which a line must run one (`mkfs*` is a prefix). `None`: other lines may fulfil it too, or be an error.
pub(super) fn of(expr: &IdedExpr) -> Option<Vec<String>> {
    match &expr.expr {
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (LOGICAL_OR, [left, right]) => {
                let mut all = of(left)?;
                all.extend(of(right)?);
                Some(all)
            }
            // What stands before it is judged first, and may be an error.
            (LOGICAL_AND, [left, right]) => {
                of(left).or_else(|| is_plain(left).then(|| of(right)).flatten())
            }
            ("runs", [name, ..]) => Some(vec![text(name)?]),
            ("executes", names) if !names.is_empty() => names.iter().map(text).collect(),
            _ => None,
        },
        // `calls(…).exists(…)`: it begins with false, and no turn of it means false.
        Expr::Comprehension(each) => {
            let is_exists = matches!(
                &each.accu_init.expr,
                Expr::Literal(LiteralValue::Boolean(begins)) if !begins.inner()
            ) && matches!(&each.result.expr, Expr::Ident(name) if *name == each.accu_var);
            match &each.iter_range.expr {
                Expr::Call(CallExpr { func_name, args, target: None })
                    if is_exists && func_name == "calls" =>
                {
                    Some(vec![text(args.first()?)?])
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Comparisons of texts with texts, which can't be an error.
fn is_plain(expr: &IdedExpr) -> bool {
    let Expr::Call(call) = &expr.expr else { return false };
    if [LOGICAL_AND, LOGICAL_OR].contains(&call.func_name.as_str()) {
        return call.args.iter().all(is_plain);
    }
    let is_text = |one: &IdedExpr| match &one.expr {
        Expr::Ident(name) => ["tool", "cwd", "project", "actor", "mode"].contains(&name.as_str()),
        _ => text(one).is_some(),
    };
    [EQUALS, NOT_EQUALS].contains(&call.func_name.as_str()) && call.args.iter().all(is_text)
}

fn text(expr: &IdedExpr) -> Option<String> {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case::runs("runs('npm')", &["npm"])]
    #[case::with_words("runs('git', 'push', '--force')", &["git"])]
    #[case::either("runs('npm') || runs('yarn', 'add')", &["npm", "yarn"])]
    #[case::first("runs('npm') && input.x == 1", &["npm"])]
    #[case::behind_a_comparison("tool == 'Bash' && mode != 'plan' && runs('npm')", &["npm"])]
    #[case::calls("calls('rm').exists(c, c.flag('-r'))", &["rm"])]
    #[case::executes("executes('curl', 'wget')", &["curl", "wget"])]
    fn a_condition_is_about(#[case] when: &str, #[case] programs: &[&str]) {
        let program = cel::Program::compile(when).unwrap();
        assert_eq!(super::of(program.expression()).unwrap(), programs, "{when}");
    }

    #[rstest]
    #[case::not("!runs('npm')")]
    #[case::all("calls('rm').all(c, c.flag('-r'))")]
    #[case::one("calls('rm').exists_one(c, c.flag('-r'))")]
    #[case::no_calls("size(calls('rm')) == 0")]
    #[case::or_another("runs('npm') || command.contains('npm')")]
    #[case::unknown("runs(tool)")]
    #[case::an_error_before_it("input.x == 1 && runs('npm')")]
    #[case::any_command("commands.exists(c, c.name == 'npm')")]
    #[case::choice("runs('npm') ? false : true")]
    fn a_condition_is_about_any_line(#[case] when: &str) {
        let program = cel::Program::compile(when).unwrap();
        assert_eq!(super::of(program.expression()), None, "{when}");
    }
}
