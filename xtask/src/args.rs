//! The few flags that the commands take.

use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// The words after `cargo xtask`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    rest: Vec<String>,
}

impl Args {
    pub(crate) fn of_this_process() -> Self {
        Self { rest: std::env::args().skip(1).collect() }
    }

    /// The next word that is not a flag.
    pub(crate) fn word(&mut self) -> Option<String> {
        if self.rest.first()?.starts_with("--") { None } else { Some(self.rest.remove(0)) }
    }

    /// Whether that flag is given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let at = self.rest.iter().position(|arg| arg == name);
        at.map(|at| self.rest.remove(at)).is_some()
    }

    /// The value of that flag.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let value = text.replace('_', "").parse().ok();
        value.map(Some).with_context(|| format!("`{text}` is not a value for `{name}`"))
    }

    /// The word after that flag, as it is.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>> {
        let Some(at) = self.rest.iter().position(|arg| arg == name) else { return Ok(None) };
        self.rest.remove(at);
        if at == self.rest.len() {
            bail!("`{name}` needs a value");
        }
        Ok(Some(self.rest.remove(at)))
    }

    /// Fails if anything is left over.
    pub(crate) fn end(self) -> Result<()> {
        match self.rest.first() {
            Some(arg) => bail!("unknown argument `{arg}`; run `cargo xtask` for the list"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Args;

    fn args(text: &str) -> Args {
        Args { rest: text.split_whitespace().map(str::to_owned).collect() }
    }

    #[test]
    fn words_flags_and_values_are_taken_out() {
        let mut args = args("kill --short --rounds 1_000");
        assert_eq!(args.word().as_deref(), Some("kill"));
        assert_eq!(args.value("--rounds").unwrap(), Some(1_000));
        assert!(args.flag("--short") && !args.flag("--short"));
        args.end().unwrap();
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert!(args("--rounds").value::<usize>("--rounds").is_err());
        assert!(args("--rounds x").value::<usize>("--rounds").is_err());
        assert!(args("--what").end().is_err());
    }
}
