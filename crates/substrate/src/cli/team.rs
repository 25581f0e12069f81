//! `substrate team join|leave|status|members`

use std::fmt::Write as _;
use std::time::Duration;

use clap::{Arg, ArgMatches};
use serde_json::json;
use substrate_core::Audience;
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_hub::dial::{Wish, drive};
use substrate_hub::keys::{Invitation, MachineKeys, random};
use substrate_hub::link::{Away, Credentials, JoinAs, Link, Output};
use substrate_hub::wire::{Bytes, Code, Uid, Welcome};
use tokio::sync::mpsc::unbounded_channel;

use super::table::Definition;
use super::{Context, daemon, hub, print};
use crate::error::{AppError, Kind, Result};
use crate::team::{Membership, Seen};
use crate::{clock, ui};

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
    }),
    Definition::new(
        &["team", "leave"],
        Audience::User,
        "Leave the team, and undo everything that joining did",
        leave,
    ),
    Definition::new(
        &["team", "status"],
        Audience::Both,
        "Show whether the hub can be reached, and since when",
        status,
    )
    .by_default(),
    Definition::new(
        &["team", "members"],
        Audience::Both,
        "Show the machines of the team and what their agents do",
        members,
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
        addresses: vec![invitation.address.clone()],
        plain: invitation.plain,
        fingerprint: Bytes(invitation.fingerprint.to_vec()),
        seeds: Bytes(seeds.to_vec()),
    };
    let met = meet(&membership, credentials, false)?.map_err(|away| refused(&away))?;
    (membership.name, membership.team) = (met.name, met.team);
    membership.keep(&context.home).map_err(|error| AppError::from_error(Kind::State, &error))?;
    daemon::restart(context)?;
    let json = json!({"machine": membership.machine.as_str(), "name": membership.name.as_str()});
    print::result(context, &json, || {
        format!("Joined as {}. `substrate team members` shows who is there.\n", membership.name)
    });
    Ok(())
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

fn status(context: &Context, _: &ArgMatches) -> Result<()> {
    let membership = membership(context)?;
    let seen = Seen::read(&context.home).unwrap_or_default();
    let now = clock::now().0;
    let json = json!({"machine": membership.machine.as_str(), "name": membership.name.as_str(),
        "team": membership.team.as_str(), "hub": membership.addresses, "connected": seen.is_up,
        "since_ms": seen.since_ms, "why": seen.why, "seen_ms": seen.at_ms});
    print::result(context, &json, || {
        let hub = membership.addresses.join(", ");
        let since = Ago(now - seen.since_ms);
        let link = match (seen.at_ms, seen.is_up) {
            (0, _) => "the daemon has not connected yet".to_owned(),
            (_, true) => format!("connected to {hub} for {since}"),
            (_, false) => {
                format!("{hub} has been unreachable for {since}: {}", one_line(&seen.why, 200))
            }
        };
        format!("machine   {}\nhub       {link}\n", membership.name)
    });
    Ok(())
}

fn members(context: &Context, _: &ArgMatches) -> Result<()> {
    let membership = membership(context)?;
    let seen = Seen::read(&context.home).unwrap_or_default();
    let json = json!({"seen_ms": seen.at_ms, "connected": seen.is_up, "machines": seen.machines, "agents": seen.agents});
    print::result(context, &json, || {
        let mut out = String::new();
        for machine in seen.machines.iter().filter(|it| !it.revoked) {
            let own = if machine.machine == membership.machine { ", this one" } else { "" };
            let person = one_line(machine.person.as_str(), 60);
            let _infallible =
                writeln!(out, "{} ({person}{own})", one_line(machine.name.as_str(), 60));
            let agents = seen.agents.get(&machine.machine);
            for agent in agents.into_iter().flat_map(|agents| agents.values()) {
                let at = format!("{}@{}", agent.name, machine.name);
                let _infallible = writeln!(
                    out,
                    "  {}  {}  {}",
                    one_line(&at, 100),
                    one_line(agent.status.as_str(), 40),
                    one_line(agent.project.as_str(), 60)
                );
            }
        }
        if !seen.is_up {
            let since = Ago(clock::now().0 - seen.since_ms);
            let _infallible = writeln!(
                out,
                "The hub has been unreachable for {since}; this is what it last told."
            );
        }
        out
    });
    Ok(())
}
