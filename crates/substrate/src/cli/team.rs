//! `substrate team join`, `substrate team leave`

use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::{Audience, RequestId};
use substrate_hub::dial::{Wish, drive};
use substrate_hub::keys::{Invitation, MachineKeys, random};
use substrate_hub::link::{Away, Credentials, JoinAs, Link, Output};
use substrate_hub::wire::{Bytes, Code, Uid, Welcome};
use tokio::sync::mpsc::unbounded_channel;

use super::call::Line;
use super::table::{self, Definition};
use super::{Context, daemon, hub, print};
use crate::error::{AppError, Kind, Result};
use crate::team::Membership;
use crate::{proc, ui};

/// How long the hub may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["team", "join"],
        Audience::User,
        "Join a team with the line that `substrate hub invite` printed",
        join,
    )
    .taking(|command| {
        command
            .arg(
                Arg::new("invitation")
                    .value_name("https://HOST:PORT#TOKEN")
                    .required(true)
                    .help("The invitation, which works once"),
            )
            .arg(
                Arg::new("name")
                    .long("name")
                    .value_name("NAME")
                    .help("What this machine is called (default: its host name)"),
            )
            .arg(
                Arg::new("also")
                    .long("also")
                    .value_name("HOST:PORT")
                    .action(ArgAction::Append)
                    .help("Another hub of the same team; they are tried in turn"),
            )
    }),
    Definition::new(
        &["team", "leave"],
        Audience::User,
        "Leave the team, and undo everything that joining did",
        leave,
    ),
];

fn join(context: &Context, flags: &ArgMatches) -> Result<()> {
    context.home.ensure()?;
    if let Some(known) = Membership::read(&context.home) {
        return Err(AppError::new(
            Kind::User,
            format!("this machine is in a team already, as `{}`", known.name),
        )
        .hint("`substrate team leave` first"));
    }
    let text = flags.get_one::<String>("invitation").map_or("", String::as_str);
    let invitation = Invitation::parse(text).map_err(|error| {
        AppError::from_error(Kind::User, &error)
            .hint("paste the whole line of `substrate hub invite`")
    })?;
    let name = match flags.get_one::<String>("name") {
        Some(name) => hub::name_of(name)?,
        None => hub::name_of(&host_name())?,
    };
    let machine = format!("m-{:032x}", u128::from_be_bytes(random()));
    let seeds: [u8; 64] = random();
    let person = one_line(context.env.text("USER").unwrap_or_default(), 60);
    let credentials = Credentials {
        machine: Uid::try_from(machine).map_err(|error| AppError::new(Kind::Internal, error))?,
        keys: MachineKeys::from_seeds(&seeds),
        hub: invitation.fingerprint,
        join: Some(JoinAs {
            token: invitation.token(),
            name,
            person: person.try_into().unwrap_or_default(),
        }),
    };
    let mut membership = Membership {
        machine: credentials.machine.clone(),
        name: Default::default(),
        team: Uid::default(),
        addresses: std::iter::once(invitation.address.clone())
            .chain(flags.get_many::<String>("also").into_iter().flatten().cloned())
            .collect(),
        plain: invitation.plain,
        fingerprint: Bytes(invitation.fingerprint.to_vec()),
        seeds: Bytes(seeds.to_vec()),
    };
    let met = meet(&membership, credentials, false)?.map_err(|away| refused(&away))?;
    (membership.name, membership.team) = (met.name, met.team);
    membership.keep(&context.home).map_err(|error| AppError::from_error(Kind::State, &error))?;
    daemon::restart(context)?;
    wait_for_link(context)?;
    let json = json!({"machine": membership.machine.as_str(), "name": membership.name.as_str()});
    print::result(context, &json, || {
        format!("Joined as {}. `substrate team members` shows who is there.\n", membership.name)
    });
    Ok(())
}

/// The daemon's own link needs a moment. The commands after this one should find it.
fn wait_for_link(context: &Context) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        // Until the daemon has noted the team, there is none.
        if ask(context, &["team", "status"]).is_ok_and(|json| json["connected"] == true) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    ui::talk("The daemon has not connected to the hub yet. `substrate team status` says why.\n");
    Ok(())
}

/// Runs one of the team's verbs in the daemon.
fn ask(context: &Context, path: &[&str]) -> Result<Value> {
    let verb = table::verbs().find(|verb| verb.path == path);
    let verb = verb.ok_or_else(|| AppError::new(Kind::Internal, "the team has no such verb"))?;
    let request = RequestId(proc::random_id()).to_string();
    Ok(Line::silent(context, verb).call(json!({}), &request)?.json)
}

/// Connects once and returns the welcome, or why there was none. With `leaving`, it leaves as well.
fn meet(
    membership: &Membership,
    credentials: Credentials,
    leaving: bool,
) -> Result<std::result::Result<Welcome, Away>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    let (wishes, wanted) = unbounded_channel();
    let (told, mut events) = unbounded_channel();
    let nothing =
        || Away { why: format!("no answer in {} seconds", PATIENCE.as_secs()), refused: None };
    Ok(runtime.block_on(async {
        let driving = drive(membership.target(), |now| Link::new(credentials, 0, now), wanted, told);
        let meeting = async {
            let mut welcome = Err(nothing());
            while let Some(event) = events.recv().await {
                match event {
                    Output::Up(met) => {
                        welcome = Ok(met);
                        if !leaving {
                            break;
                        }
                        let _driver_ended = wishes.send(Wish::Leave);
                    }
                    // A machine that left is refused, as any stranger is.
                    Output::Down(away) if leaving && welcome.is_ok() && away.refused.is_some() => break,
                    Output::Down(away) => {
                        welcome = Err(away);
                        break;
                    }
                    _ => {}
                }
            }
            welcome
        };
        tokio::select! {
            () = driving => Err(nothing()),
            welcome = tokio::time::timeout(PATIENCE, meeting) => welcome.unwrap_or_else(|_| Err(nothing())),
        }
    }))
}

fn refused(away: &Away) -> AppError {
    let why = one_line(&away.why, 200);
    match away.refused {
        Some(Code::Token) => AppError::new(Kind::User, why)
            .hint("ask for another line: `substrate hub invite` on the hub's machine"),
        Some(Code::Name) => AppError::new(Kind::User, why).hint("choose another with `--name`"),
        _ => AppError::new(Kind::State, format!("the hub can't be reached: {why}")),
    }
}

fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let first = text.trim().split('.').next().unwrap_or_default();
    let name: String = first.chars().filter(|c| plain(*c)).take(40).collect();
    if name.is_empty() { "machine".to_owned() } else { name }
}

fn membership(context: &Context) -> Result<Membership> {
    Membership::read(&context.home).ok_or_else(|| {
        AppError::new(Kind::User, "this machine is in no team")
            .hint("`substrate hub invite` on the hub's machine prints the line with which it joins")
    })
}

fn leave(context: &Context, _: &ArgMatches) -> Result<()> {
    let membership = membership(context)?;
    let told = match membership.credentials() {
        Some(credentials) => meet(&membership, credentials, true)?.map(drop),
        None => Err(Away { why: "the keys are damaged".to_owned(), refused: None }),
    };
    Membership::forget(&context.home).map_err(|error| AppError::from_error(Kind::State, &error))?;
    daemon::restart(context)?;
    ask(context, &["team", "left"])?;
    if let Err(away) = &told
        && away.refused.is_none()
    {
        ui::talk(&format!(
            "warning: the hub could not be told ({}); run `substrate hub revoke {}` there\n",
            one_line(&away.why, 200),
            membership.name
        ));
    }
    print::result(context, &json!({"left": membership.name.as_str()}), || {
        format!("Left the team. This machine was called {}.\n", membership.name)
    });
    Ok(())
}
