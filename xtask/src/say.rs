//! Printing, in one place: lines, and tables of what was measured against its bar.

use std::fmt::{Arguments, Display};
use std::io::Write as _;

/// Prints one line.
macro_rules! say {
    ($($arg:tt)*) => { $crate::say::line(format_args!($($arg)*)) };
}
pub(crate) use say;

/// What `say!` calls.
pub(crate) fn line(text: Arguments<'_>) {
    let _reader_gone = writeln!(std::io::stdout().lock(), "{text}");
}

/// The result of one measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Ok,
    Missed,
    /// Why it could not be judged.
    NotJudged(&'static str),
    /// A figure without a bar.
    Figure,
}

impl Judgement {
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Ok } else { Self::Missed }
    }
}

/// Figures with their bars, printed aligned.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<(String, String, String, Judgement)>,
}

impl Table {
    pub(crate) fn row(
        &mut self,
        what: impl Display,
        measured: impl Display,
        bar: impl Display,
        judgement: Judgement,
    ) {
        self.rows.push((what.to_string(), measured.to_string(), bar.to_string(), judgement));
    }

    /// A figure that has no bar.
    pub(crate) fn figure(&mut self, what: impl Display, measured: impl Display) {
        self.row(what, measured, "", Judgement::Figure);
    }

    /// Prints the table. Returns whether every bar was met.
    pub(crate) fn print(&self) -> bool {
        let width = |text: fn(&(String, String, String, Judgement)) -> &String| {
            self.rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0)
        };
        let (w0, w1, w2) = (width(|row| &row.0), width(|row| &row.1), width(|row| &row.2));
        for (what, measured, bar, judgement) in &self.rows {
            let word = match judgement {
                Judgement::Ok => "ok".to_owned(),
                Judgement::Missed => "MISSED".to_owned(),
                Judgement::NotJudged(why) => format!("not judged: {why}"),
                Judgement::Figure => String::new(),
            };
            say!("{}", format!("  {what:<w0$}  {measured:>w1$}  {bar:<w2$}  {word}").trim_end());
        }
        self.rows.iter().all(|row| row.3 != Judgement::Missed)
    }
}
