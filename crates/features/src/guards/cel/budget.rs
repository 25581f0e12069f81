//! A bound on the work of conditions. The interpreter can't be interrupted, so work is paid for before it is done.
//!
//! Every condition pays once for each of its nodes. Every loop pays, before it runs, for the nodes of its body times
//! what it loops over: the items, the text in them, and the text of the event, which each turn may read. A condition
//! that can't pay is not judged.

use std::cell::Cell;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::{CelInt, CelString};
use cel::common::value::Val;

use super::scene::Scene;

/// What all rules of the user, the project and a skill may cost together at one event: some hundredths of a second.
const MAX_STEPS: u64 = 400_000;

/// What one of them may cost, so that a single rule does not spend everything.
const MAX_STEPS_PER_RULE: u64 = 100_000;

/// This many bytes of text cost one step.
const BYTES_PER_STEP: usize = 64;

/// A turn of a loop may read the whole event, and costs one step more per node for this many bytes of it.
const BYTES_PER_TURN: usize = 4 << 10;

pub(in crate::guards) const TOO_LONG: &str = "it was not judged: with the rules before it, it takes too long at this event; loop over less, or have fewer rules";

/// The function that pays for a loop. Its name can't be written in a condition.
pub(super) const PAY: &str = "@pay";

/// The steps of the condition that is being judged.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    left: u64,
    per_item: u64,
    is_spent: bool,
}

thread_local! {
    static ACCOUNT: Cell<Account> = const { Cell::new(Account { left: 0, per_item: 0, is_spent: false }) };
}

/// What is left for the rules that look at one event.
#[derive(Clone, Copy, Debug)]
pub(in crate::guards) struct Budget {
    left: u64,
    /// What one turn of a loop costs per node.
    per_item: u64,
}

impl Budget {
    pub(in crate::guards) fn of(scene: &Scene) -> Self {
        Self { left: MAX_STEPS, per_item: 1 + count(scene.n_bytes() / BYTES_PER_TURN) }
    }

    /// For the built-in rules. Their tests bound what they cost.
    pub(in crate::guards) const fn unlimited(self) -> Self {
        Self { left: u64::MAX, ..self }
    }

    /// Judges a condition with this many nodes. `Err(TOO_LONG)` if it ran out of steps.
    pub(super) fn spend_on<T>(
        &mut self,
        n_nodes: u64,
        judge: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let is_unlimited = self.left == u64::MAX;
        let lent = if is_unlimited { u64::MAX } else { self.left.min(MAX_STEPS_PER_RULE) };
        ACCOUNT.set(Account { left: lent, per_item: self.per_item, is_spent: false });
        let found = if pay(n_nodes.saturating_mul(self.per_item)) {
            judge()
        } else {
            Err(TOO_LONG.to_owned())
        };
        let account = ACCOUNT.get();
        if !is_unlimited {
            self.left -= lent - account.left;
        }
        if account.is_spent { found.map_err(|_| TOO_LONG.to_owned()) } else { found }
    }
}

/// Takes steps from the condition that is being judged. `false`: there are not that many left, and none after this.
pub(super) fn pay(steps: u64) -> bool {
    let account = ACCOUNT.get();
    if account.left == u64::MAX {
        return true;
    }
    let left = account.left.checked_sub(steps);
    let is_spent = account.is_spent || left.is_none();
    ACCOUNT.set(Account { left: left.unwrap_or(0), is_spent, ..account });
    left.is_some()
}

/// Pays for a loop over this value whose body has this many nodes.
pub(super) fn pay_for_loop(range: &dyn Val, n_nodes: u64) -> bool {
    let account = ACCOUNT.get();
    if account.left == u64::MAX {
        return true;
    }
    let mut items = 0_u64;
    if let Some(all) = range.as_iterable() {
        let mut all = all.iter();
        while all.next().is_some() {
            items += 1;
        }
    }
    let steps = items.saturating_mul(account.per_item).saturating_add(weight(range));
    pay(steps.saturating_mul(n_nodes))
}

/// How much there is to copy or compare in a value.
fn weight(value: &dyn Val) -> u64 {
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return 1 + count(text.inner().len() / BYTES_PER_STEP);
    }
    let mut sum = 1_u64;
    if let Some(all) = value.as_iterable() {
        let mut all = all.iter();
        while let Some(item) = all.next() {
            sum = sum.saturating_add(weight(item));
        }
    }
    sum
}

/// Makes every loop of a condition pay before it runs: `range` becomes `@pay(range, nodes of the body)`. Returns the
/// number of nodes.
pub(super) fn charge_loops(expr: &mut IdedExpr) -> u64 {
    1 + match &mut expr.expr {
        Expr::Call(call) => {
            let inner = call.target.as_deref_mut().into_iter().chain(&mut call.args);
            inner.map(charge_loops).sum()
        }
        Expr::List(list) => list.elements.iter_mut().map(charge_loops).sum(),
        Expr::Select(select) => charge_loops(&mut select.operand),
        Expr::Comprehension(each) => {
            let n_range = charge_loops(&mut each.iter_range) + charge_loops(&mut each.accu_init);
            let body = [&mut each.loop_cond, &mut each.loop_step, &mut each.result];
            let n_body: u64 = body.into_iter().map(charge_loops).sum();
            let range = std::mem::take(&mut each.iter_range);
            let id = range.id;
            let n_nodes = LiteralValue::Int(CelInt::from(n_body.cast_signed()));
            let args = vec![range, IdedExpr { id, expr: Expr::Literal(n_nodes) }];
            let call = CallExpr { func_name: PAY.to_owned(), target: None, args };
            each.iter_range = IdedExpr { id, expr: Expr::Call(call) };
            n_range + n_body
        }
        // A condition with maps or structs is refused.
        Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => 0,
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;

    use super::super::condition::Condition;
    use super::super::values::SceneHandle;
    use super::*;
    use crate::shell;

    fn zeros(n: usize) -> String {
        format!("[{}0]", "0,".repeat(n - 1))
    }

    /// What comes of a condition at a command line.
    fn judged(when: &str, command: &str) -> Result<bool, String> {
        let line = shell::read(command);
        let scene = Scene { command: command.to_owned(), line, ..Scene::default() };
        let mut budget = Budget::of(&scene);
        Condition::compile(when)?.holds(&SceneHandle(Arc::new(scene)), &mut budget)
    }

    const WORDS: &str = "commands.exists(c, c.args.exists(a, a.startsWith('/dev/')))";
    const PAIRS: &str = "commands.exists(a, commands.exists(b, a.name == b.name + 'x'))";
    const TRIPLES: &str =
        "commands.exists(a, commands.exists(b, commands.exists(c, a.name == c.name + 'x')))";

    #[rstest]
    #[case::no_loop("command == 'x'", 2_000)]
    #[case::words_of_each(WORDS, 500)]
    #[case::names(
        "['a','b','c','d'].exists(n, calls(n).exists(c, c.args.exists(a, matches(a, 'x'))))",
        500
    )]
    #[case::pairs(PAIRS, 20)]
    #[case::triples(TRIPLES, 6)]
    #[case::long_list(&format!("!{}.all(a, a == 0)", zeros(290)), 1)]
    #[case::grown_a_little("commands.map(c, c.name + c.name).exists(n, n == 'x')", 20)]
    fn a_condition_that_ends_soon_is_judged(#[case] when: &str, #[case] n_commands: usize) {
        assert_eq!(judged(when, &"ls -la src;".repeat(n_commands)), Ok(false), "{when}");
    }

    #[rstest]
    #[case::pairs(PAIRS, 900)]
    #[case::triples(TRIPLES, 100)]
    #[case::words_twice(
        "commands.exists(c, c.words.exists(a, commands.exists(d, a + 'x' == d.name)))",
        300
    )]
    #[case::matching("commands.exists(a, commands.exists(b, matches(command, 'x.*y')))", 100)]
    #[case::long_sums(&format!("[command]{0}{0}.exists(c, c == 'x')", format!(".map(a, a{})", "+a".repeat(29))), 300)]
    #[case::lists_of_lists(&format!("[command]{0}{0}.exists(c, c == 'x')", format!(".map(a, [a{}])", ",a".repeat(29))), 300)]
    #[case::many_copies(&format!("[command + command].map(a, [{}a]).exists(c, c == 'x')", "a,".repeat(400)), 900)]
    #[case::literals(&format!("{0}.all(a, {0}.all(b, {0}.all(c, true)))", zeros(100)), 1)]
    #[case::sums(&format!("({0}+[0]).all(a, ({0}+[0]).all(b, true))", zeros(200)), 1)]
    #[case::both_sides_of_or(
        "commands.exists(a, commands.exists(b, false) || commands.exists(c, false))",
        900
    )]
    fn a_condition_that_takes_too_long_is_not_judged(
        #[case] when: &str,
        #[case] n_commands: usize,
    ) {
        assert_eq!(
            judged(when, &"ls -la src;".repeat(n_commands)),
            Err(TOO_LONG.to_owned()),
            "{when}"
        );
    }

    #[test]
    fn one_rule_leaves_steps_for_the_next() {
        let line = shell::read(&"ls;".repeat(900));
        let scene = Scene { line, ..Scene::default() };
        let mut budget = Budget::of(&scene);
        let scene = SceneHandle(Arc::new(scene));
        let (greedy, modest) =
            (Condition::compile(PAIRS).unwrap(), Condition::compile("command == ''").unwrap());
        for _ in 0..3 {
            assert_eq!(greedy.holds(&scene, &mut budget), Err(TOO_LONG.to_owned()));
            assert_eq!(modest.holds(&scene, &mut budget), Ok(true));
        }
        while budget.left > 0 {
            assert!(greedy.holds(&scene, &mut budget).is_err());
        }
        assert_eq!(modest.holds(&scene, &mut budget), Err(TOO_LONG.to_owned()), "nothing is left");
        assert_eq!(modest.holds(&scene, &mut budget.unlimited()), Ok(true));
    }
}
