//! Which placeholder of a statement takes which value.
//!
//! Asking SQLite for the name of each place costs more than binding it, and so does reading the statement's text at every
//! use. So the places of statements that were used lately are kept.

use std::cell::RefCell;

/// How many statements are kept. One whose two slots are taken takes one over.
const N_SLOTS: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<Places>> = RefCell::new(vec![Places::default(); N_SLOTS]);
}

/// The places of one statement.
#[derive(Clone, Debug, Default)]
struct Places {
    sql: Box<str>,
    /// For each place, in order, the number behind its `$`.
    numbers: Box<[usize]>,
}

/// Calls `with` with the number of each place of a statement.
pub(crate) fn of<T>(sql: &str, with: impl FnOnce(&[usize]) -> T) -> T {
    // Nearly every statement is a literal, which is always in the same place in memory. Another text may come to be there, so
    // the text decides.
    let mixed = (sql.as_ptr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let first = usize::try_from(mixed).unwrap_or(0) % N_SLOTS;
    KEPT.with_borrow_mut(|kept| {
        let both = [first, first ^ 1];
        if let Some(at) = both.into_iter().find(|at| *kept[*at].sql == *sql) {
            return with(&kept[at].numbers);
        }
        let free = both.into_iter().find(|at| kept[*at].sql.is_empty()).unwrap_or(first);
        kept[free] = Places { sql: sql.into(), numbers: numbers(sql).into() };
        with(&kept[free].numbers)
    })
}

/// The numbers behind `$`, in the order of the text, each once. Anything else behind it, as in a JSON path, is not a
/// placeholder.
fn numbers(sql: &str) -> Vec<usize> {
    let mut out = Vec::new();
    for (at, _) in sql.match_indices('$') {
        let digits = sql.as_bytes()[at + 1..].iter().take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0_usize, |number, digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        });
        if number > 0 && !out.contains(&number) {
            out.push(number);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_in_the_same_place_is_another_statement() {
        let mut sql = String::from("select $1, $2");
        assert_eq!(of(&sql, <[usize]>::to_vec), [1, 2]);
        sql.replace_range(7..9, "$2");
        sql.replace_range(11..13, "$1");
        assert_eq!(of(&sql, <[usize]>::to_vec), [2, 1]);
        sql.truncate(9);
        assert_eq!(of(&sql, <[usize]>::to_vec), [2]);
    }
}
