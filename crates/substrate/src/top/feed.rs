//! What the daemon says, again after every change: the same verbs and the same journal as the page, over the socket.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::model::Event;
use super::run::Outbox;
use super::views::View;
use crate::cli::{Context, Line, control};
use crate::config::settings_at;
use crate::daemon::{self, Ask, Reach, STILL_THERE, Status, Stay};
use crate::error::{AppError, Kind, Result};

/// The pause between two looks: as often as a page is told.
const BATCH: Duration = Duration::from_millis(250);

/// A look is taken after this long even if nothing was committed: ages grow, deadlines pass.
const AGES: Duration = Duration::from_secs(20);

/// How often a daemon that is away is looked for.
const AWAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How long a daemon may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follows the daemon until its reader is gone.
pub(super) fn follow(context: &Context, outbox: &Outbox) {
    begin(context);
    let mut asks = View::ALL.map(View::asks);
    let mut pause = AWAY.0;
    loop {
        match look(context, &mut asks, outbox) {
            Ok(()) => pause = AWAY.0,
            Err(error) => {
                if !outbox.send(Event::Away(away(&error))) {
                    return;
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(AWAY.1);
            }
        }
    }
}

/// Starts a daemon where none runs, as any command does. Later none is started: the user may have stopped it.
fn begin(context: &Context) {
    let dir = context.caller.project_dir.as_deref().unwrap_or(&context.caller.cwd);
    let settings = settings_at(&context.home.config(), std::path::Path::new(dir));
    let stay = if settings.on("daemon.autostart") { Stay::Long } else { Stay::Brief };
    let until = Instant::now() + PATIENCE;
    let _told_when_it_is_asked =
        Reach::new(&context.env, &context.home, until, Some(stay)).connect();
}

/// Asks all verbs, then waits until asking again makes sense.
fn look(
    context: &Context,
    asks: &mut [(&'static [&'static str], Value); 6],
    outbox: &Outbox,
) -> Result<()> {
    let Status { n_commits, .. } = watch(context, None, PATIENCE)?;
    let begun = Instant::now();
    let mut fed = Vec::new();
    let mut line: Option<Line<'_>> = None;
    for (view, (path, body)) in View::ALL.into_iter().zip(asks) {
        let words: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
        let verb = daemon::find(&words)
            .ok_or_else(|| AppError::new(Kind::Internal, format!("there is no verb {path:?}")))?;
        let line = line.get_or_insert_with(|| Line::of_running(context, verb));
        line.turn_to(verb);
        match line.call(body.clone(), &crate::cli::request()) {
            Ok(output) => {
                if let Some(next) = output.follow {
                    *body = next;
                }
                fed.push((view, Ok(output.json)));
            }
            Err(error) if error.kind == Kind::Daemon => return Err(error),
            Err(error) => fed.push((view, Err(error.in_one_line()))),
        }
    }
    outbox.send(Event::Fed(fed));
    let took = begun.elapsed();
    loop {
        let status = watch(context, Some(n_commits), STILL_THERE + PATIENCE)?;
        if status.n_commits != n_commits || begun.elapsed() >= AGES {
            break;
        }
    }
    // A large fleet is not asked all the time.
    std::thread::sleep((BATCH.max(took * 4)).saturating_sub(begun.elapsed()));
    Ok(())
}

/// Waits for a commit that is not among these.
fn watch(context: &Context, n_commits: Option<u64>, patience: Duration) -> Result<Status> {
    match control(&context.home, &Ask::Watch { n_commits }, patience) {
        Ok((_, status)) => Ok(status),
        Err(ipc::ConnError::Foreign) => {
            let error = "the daemon is of another version";
            Err(AppError::new(Kind::Daemon, error).hint("`substrate daemon restart` replaces it"))
        }
        Err(ipc::ConnError::TooSlow) => {
            Err(AppError::new(Kind::Daemon, "the daemon does not answer"))
        }
        Err(ipc::ConnError::Absent | ipc::ConnError::Broken) => {
            let error = AppError::new(Kind::Daemon, "no daemon runs");
            Err(error.hint("the next hook starts one, and so does `substrate daemon start`"))
        }
    }
}

/// `No daemon runs: the next hook starts one. What is shown is from before.`
fn away(error: &AppError) -> String {
    let mut words = error.message.clone();
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let hint = error.hints.first().map(|hint| format!(": {hint}")).unwrap_or_default();
    format!("{words}{hint}.")
}
