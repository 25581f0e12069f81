//! Paints one pane and the tab of its window, and restores both.
//!
//! A painted pane carries `@substrate_saved` and its old values (`=` and the value, or `=` alone). So does a window
//! with a painted tab. Only one painter may work on a server at a time: the daemon's.

use substrate_core::Look;

use super::server::{Server, TmuxError};

/// The pane options that are changed, and where their old values are kept.
const STYLES: [(&str, &str, &str); 2] = [
    ("window-style", "@substrate_old_style", "@substrate_base_style"),
    ("window-active-style", "@substrate_old_active", "@substrate_base_active"),
];

/// The window options that colour its tab, also while it is current, and where their old values are kept.
const TABS: [(&str, &str); 2] = [
    ("window-status-style", "@substrate_old_tab"),
    ("window-status-current-style", "@substrate_old_current_tab"),
];

/// Separates several answers.
const BREAK: &str = "--substrate--";

/// Turns painting on or off for a server. Without this mark nothing is painted.
pub(crate) fn switch(server: &Server, on: bool) -> Result<(), TmuxError> {
    let args: &[&str] = if on {
        &["set-option", "-g", "@substrate_on", "1"]
    } else {
        &["set-option", "-gu", "@substrate_on"]
    };
    server.run(args).map(drop)
}

/// Whether painting is on, according to the server. A restarted server does not know.
pub(crate) fn is_on(server: &Server) -> Result<bool, TmuxError> {
    Ok(server.run(&["show-options", "-gqv", "@substrate_on"])?.trim() == "1")
}

/// Paints a pane. Does nothing if painting is off, the pane is gone, or it already looks like that.
pub(super) fn paint(server: &Server, pane: &str, look: &Look) -> Result<(), TmuxError> {
    let wanted =
        format!("{} {} {}", look.status, colour_or_none(&look.pane), colour_or_none(&look.tab));
    let Some(known) = PaneState::of(server, pane)? else { return Ok(()) };
    if !known.is_on || known.look == wanted {
        return Ok(());
    }
    if !known.is_saved {
        save_pane(server, pane)?;
    }
    let rank = look.rank.to_string();
    let mut args = Args::new();
    args.add(&["set-option", "-p", "-t", pane, "@substrate_look", &wanted]);
    args.add(&["set-option", "-p", "-t", pane, "@substrate_rank", &rank]);
    args.add(&["set-option", "-p", "-t", pane, "@substrate_tab", &look.tab]);
    for (option, old, base) in STYLES {
        let values = ask(server, pane, &[old, base])?;
        if look.pane.is_empty() {
            put_back(&mut args, &["-p", "-t", pane], option, &values[0]);
        } else {
            // The person's other pane styles stay.
            let style = format!("{},bg={}", values[1], look.pane);
            args.add(&["set-option", "-p", "-t", pane, option, style.trim_start_matches(',')]);
        }
    }
    args.run(server)?;
    tab(server, pane)
}

/// Restores a pane.
pub(super) fn restore(server: &Server, pane: &str) -> Result<(), TmuxError> {
    let Some(known) = PaneState::of(server, pane)? else { return Ok(()) };
    if !known.is_saved {
        return Ok(());
    }
    let mut args = Args::new();
    for (option, old, _) in STYLES {
        let values = ask(server, pane, &[old])?;
        put_back(&mut args, &["-p", "-t", pane], option, &values[0]);
    }
    let ours = ["@substrate_saved", "@substrate_look", "@substrate_rank", "@substrate_tab"];
    for option in ours.into_iter().chain(STYLES.iter().flat_map(|(_, old, base)| [*old, *base])) {
        args.add(&["set-option", "-pu", "-t", pane, option]);
    }
    args.run(server)?;
    tab(server, pane)
}

/// Restores everything on a server. Returns how many panes there were.
pub(crate) fn restore_all(server: &Server) -> Result<usize, TmuxError> {
    let mut n = 0;
    let panes = server.run(&["list-panes", "-a", "-F", "#{pane_id} #{@substrate_saved}"])?;
    for pane in panes.lines().filter_map(|line| line.strip_suffix(" 1")) {
        restore(server, pane)?;
        n += 1;
    }
    // A window may have lost the pane that coloured its tab.
    let windows =
        server.run(&["list-windows", "-a", "-F", "#{window_id} #{@substrate_tab_saved}"])?;
    for window in windows.lines().filter_map(|line| line.strip_suffix(" 1")) {
        restore_tab(server, window)?;
    }
    Ok(n)
}

/// A pane's own options.
struct PaneState {
    is_on: bool,
    is_saved: bool,
    look: String,
}

impl PaneState {
    /// `None`: the pane does not exist. tmux then answers for another one.
    fn of(server: &Server, pane: &str) -> Result<Option<Self>, TmuxError> {
        let format = "#{pane_id}|#{@substrate_on}|#{@substrate_saved}|#{@substrate_look}";
        let said = server.run(&["display-message", "-p", "-t", pane, format])?;
        let mut parts = said.trim_end_matches('\n').splitn(4, '|');
        let mut part = || parts.next().unwrap_or_default();
        if part() != pane {
            return Ok(None);
        }
        let (is_on, is_saved) = (part() == "1", part() == "1");
        Ok(Some(Self { is_on, is_saved, look: part().to_owned() }))
    }
}

/// Saves a pane's own values, to restore, and those in force, to paint over.
fn save_pane(server: &Server, pane: &str) -> Result<(), TmuxError> {
    let mut args = Args::new();
    for (option, old, base) in STYLES {
        let own = server.run(&["show-options", "-pqv", "-t", pane, option])?;
        let in_force = server.run(&["show-options", "-pqAv", "-t", pane, option])?;
        let own = format!("={}", own.trim_end_matches('\n'));
        args.add(&["set-option", "-p", "-t", pane, old, &own]);
        args.add(&["set-option", "-p", "-t", pane, base, in_force.trim_end_matches('\n')]);
    }
    args.add(&["set-option", "-p", "-t", pane, "@substrate_saved", "1"]);
    args.run(server)
}

/// Colours the tab of the pane's window after the strongest of its panes.
fn tab(server: &Server, pane: &str) -> Result<(), TmuxError> {
    let format = "#{window_id} #{@substrate_tab_saved}|#{@substrate_rank}|#{@substrate_tab}";
    let said = server.run(&["list-panes", "-t", pane, "-F", format])?;
    let mut strongest = (0_u8, "");
    let (mut window, mut is_saved) = ("", false);
    for line in said.lines() {
        let mut parts = line.splitn(3, '|');
        let mut part = || parts.next().unwrap_or_default();
        (window, is_saved) = match part().split_once(' ') {
            Some((window, saved)) => (window, saved == "1"),
            None => continue,
        };
        strongest = strongest.max((part().parse().unwrap_or(0), part()));
    }
    let (_, colour) = strongest;
    if colour.is_empty() {
        return if is_saved { restore_tab(server, window) } else { Ok(()) };
    }
    let mut args = Args::new();
    for (option, old) in TABS {
        let kept = if is_saved {
            server
                .run(&["show-options", "-wqv", "-t", window, old])?
                .trim_end_matches('\n')
                .to_owned()
        } else {
            let own = server.run(&["show-options", "-wqv", "-t", window, option])?;
            let own = format!("={}", own.trim_end_matches('\n'));
            args.add(&["set-option", "-w", "-t", window, old, &own]);
            own
        };
        let own = kept.strip_prefix('=').unwrap_or_default();
        let base = if own.is_empty() {
            server.run(&["show-options", "-gwqv", option])?.trim_end_matches('\n').to_owned()
        } else {
            own.to_owned()
        };
        // The person's other tab styles stay.
        let base = if base == "default" { "" } else { base.as_str() };
        let style = format!("{base},bg={colour}");
        args.add(&["set-option", "-w", "-t", window, option, style.trim_start_matches(',')]);
    }
    args.add(&["set-option", "-w", "-t", window, "@substrate_tab_saved", "1"]);
    args.run(server)
}

fn restore_tab(server: &Server, window: &str) -> Result<(), TmuxError> {
    let mut args = Args::new();
    for (option, old) in TABS {
        let kept = server.run(&["show-options", "-wqv", "-t", window, old])?;
        put_back(&mut args, &["-w", "-t", window], option, kept.trim_end_matches('\n'));
        args.add(&["set-option", "-wu", "-t", window, old]);
    }
    args.add(&["set-option", "-wu", "-t", window, "@substrate_tab_saved"]);
    args.run(server)
}

/// Restores an option: `=value`, or `=` if it had no value of its own.
fn put_back(args: &mut Args, whose: &[&str], option: &str, kept: &str) {
    match kept.strip_prefix('=').filter(|value| !value.is_empty()) {
        Some(value) => args.add(&[&["set-option"], whose, &[option, value]].concat()),
        None => args.add(&[&["set-option", "-u"], whose, &[option]].concat()),
    }
}

/// The values of some of our own options of one pane.
fn ask(server: &Server, pane: &str, options: &[&str]) -> Result<Vec<String>, TmuxError> {
    let format: Vec<String> = options.iter().map(|option| format!("#{{{option}}}")).collect();
    let said = server.run(&["display-message", "-p", "-t", pane, &format.join(BREAK)])?;
    let mut values: Vec<String> =
        said.trim_end_matches('\n').split(BREAK).map(str::to_owned).collect();
    values.resize(options.len(), String::new());
    Ok(values)
}

fn colour_or_none(colour: &str) -> &str {
    if colour.is_empty() { "-" } else { colour }
}

/// Several commands for one call of tmux.
struct Args(Vec<String>);

impl Args {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn add(&mut self, command: &[&str]) {
        if !self.0.is_empty() {
            self.0.push(";".to_owned());
        }
        // A word that ends in `;` would end the command.
        self.0.extend(command.iter().map(|word| match word.strip_suffix(';') {
            Some(word) => format!("{word}\\;"),
            None => (*word).to_owned(),
        }));
    }

    fn run(self, server: &Server) -> Result<(), TmuxError> {
        let args: Vec<&str> = self.0.iter().map(String::as_str).collect();
        server.run(&args).map(drop)
    }
}
