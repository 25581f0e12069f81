//! `substrate hub serve|invite|machines|revoke|rotate|status`: the hub of a team, and which machines may connect to it.
//!
//! A hub keeps its certificate in its folder and everything else in its database. Any number of hubs may serve one
//! database, if they show the same certificate.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use substrate_core::time::{Ago, parse_span};
use substrate_core::{Audience, Db, DbError};
use substrate_hub::db::{Backend, Pool, Postgres, Sqlite, transact};
use substrate_hub::dial::{Target, health};
use substrate_hub::keys::{Invitation, random};
use substrate_hub::ops::{machines, mail};
use substrate_hub::server::{self, Certificate, Hub, HubError, Options};
use substrate_hub::wire::{Label, Limits};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::table::Definition;
use super::{Context, print};
use crate::error::{AppError, Kind, Result};
use crate::{clock, fsx, ui};

/// Where the address of a database may stand instead of in a flag, which every user of the machine can read.
const DATABASE: &str = "SUBSTRATE_HUB_DATABASE";

/// The file with the authority that signed the database's certificate.
const DATABASE_CA: &str = "SUBSTRATE_HUB_DATABASE_CA";

/// Where systems keep the authorities that they trust.
const SYSTEM_CAS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

const N_CONNECTIONS: usize = 4;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["hub", "serve"],
        Audience::User,
        "Serve a team's machines until it is stopped",
        serve,
    )
    .taking(|command| {
        with_database(command)
            .arg(
                value("listen", "ADDRESS:PORT", "Where machines connect")
                    .default_value("127.0.0.1:4433"),
            )
            .arg(value("tls-cert", "FILE", "A certificate of your own, as PEM").requires("tls-key"))
            .arg(value("tls-key", "FILE", "Its key, as PEM").requires("tls-cert"))
            .arg(
                Arg::new("plain-text")
                    .long("plain-text")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("tls-cert")
                    .help("Without TLS; only on loopback"),
            )
    }),
    Definition::new(
        &["hub", "invite"],
        Audience::User,
        "Print the line with which one machine joins the team",
        invite,
    )
    .taking(|command| {
        with_invitation(with_database(command)).arg(value(
            "name",
            "NAME",
            "What the machine will be called (default: its own name)",
        ))
    }),
    Definition::new(&["hub", "machines"], Audience::User, "List the machines of the team", list)
        .taking(with_database),
    Definition::new(
        &["hub", "revoke"],
        Audience::User,
        "Cut a machine off within a second. Its unsent mail stays on it",
        revoke,
    )
    .taking(|command| with_database(command).arg(machine())),
    Definition::new(
        &["hub", "rotate"],
        Audience::User,
        "Replace a machine's keys: cut it off, and print the line with which it joins again",
        rotate,
    )
    .taking(|command| with_invitation(with_database(command)).arg(machine())),
    Definition::new(
        &["hub", "status"],
        Audience::User,
        "Show whether the hub answers, and what it keeps",
        status,
    )
    .taking(with_database)
    .by_default(),
];

fn machine() -> Arg {
    Arg::new("machine").value_name("MACHINE").required(true).help("Its name or its id")
}

fn with_invitation(command: Command) -> Command {
    command.arg(value("ttl", "SPAN", "How long the line can be used").default_value("1h")).arg(
        value(
            "address",
            "HOST:PORT",
            "Where the machine finds the hub (default: where it listens)",
        ),
    )
}

fn value(name: &'static str, shown: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(shown).help(help)
}

fn with_database(command: Command) -> Command {
    command
        .arg(value(
            "database",
            "URL",
            "`postgres://…` (default: $SUBSTRATE_HUB_DATABASE, or a file in the state home)",
        ))
        .arg(value(
            "database-ca",
            "FILE",
            "The authority that signed the database's certificate, as PEM (default: those of the system)",
        ))
}

/// What `hub serve` leaves for `hub invite`.
fn folder(context: &Context) -> PathBuf {
    context.home.root().join("hub")
}

fn database_error(error: &DbError) -> AppError {
    AppError::new(Kind::State, format!("the hub's database can't be used: {error}"))
}

fn backend(context: &Context, flags: &ArgMatches) -> Result<Box<dyn Backend>> {
    let given = flags.get_one::<String>("database").map(String::as_str);
    match given.or_else(|| context.env.text(DATABASE)).filter(|url| !url.is_empty()) {
        Some(url) if url.starts_with("postgres") => {
            let server =
                Postgres::new(url, N_CONNECTIONS).map_err(|error| database_error(&error))?;
            Ok(Box::new(match authorities(context, flags)? {
                Some(pem) => server.trusting(&pem).map_err(|error| database_error(&error))?,
                None => server,
            }))
        }
        Some(_) => Err(AppError::new(Kind::User, "`--database` takes `postgres://user@host/name`")
            .hint("without it, the hub uses a file in the state home")),
        None => {
            let folder = folder(context);
            fsx::create_folders(&folder).map_err(|error| unusable(&folder, &error))?;
            let path = folder.join("hub.db");
            Ok(Box::new(Sqlite::at(&path, Arc::new(|| clock::now().0))))
        }
    }
}

/// The certificates of those who may have signed the database's: the given ones, or the system's.
fn authorities(context: &Context, flags: &ArgMatches) -> Result<Option<String>> {
    let given = flags.get_one::<String>("database-ca").map(String::as_str);
    if let Some(path) = given.or_else(|| context.env.text(DATABASE_CA)).map(PathBuf::from) {
        let read = std::fs::read_to_string(&path).map_err(|error| unusable(&path, &error))?;
        return Ok(Some(read));
    }
    Ok(SYSTEM_CAS.iter().find_map(|path| std::fs::read_to_string(path).ok()))
}

fn unusable(path: &std::path::Path, error: &io::Error) -> AppError {
    AppError::new(Kind::State, format!("can't use `{}`: {error}", path.display()))
}

/// Runs on the hub's database, which is made if there is none.
fn on_database<T>(
    context: &Context,
    flags: &ArgMatches,
    mut body: impl FnMut(&mut dyn Db) -> std::result::Result<T, DbError>,
) -> Result<T> {
    let backend = backend(context, flags)?;
    let done = backend.connect().and_then(|mut connection| {
        substrate_hub::db::migrate(connection.as_mut())?;
        transact(connection.as_mut(), &mut body)
    });
    done.map_err(|error| database_error(&error))
}

/// The certificate of this hub: the given one, the one that it made before, or a new one.
fn certificate(context: &Context, flags: Option<&ArgMatches>) -> Result<Certificate> {
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).map_err(|error| unusable(path, &error))
    };
    let given =
        |name: &str| flags.and_then(|flags| flags.get_one::<String>(name)).map(PathBuf::from);
    let (chain, key) = (folder(context).join("cert.pem"), folder(context).join("key.pem"));
    if let (Some(own_chain), Some(own_key)) = (given("tls-cert"), given("tls-key")) {
        let own = Certificate { chain: read(&own_chain)?, key: read(&own_key)? };
        // `hub invite` needs its fingerprint, and not its key.
        fsx::create_folders(&folder(context)).map_err(|error| unusable(&chain, &error))?;
        fsx::replace(&chain, own.chain.as_bytes(), 0o600)
            .map_err(|error| unusable(&chain, &error))?;
        return Ok(own);
    }
    // With a certificate of the user's own, only its public half is here, and that is all that an invitation needs.
    if chain.exists() && (key.exists() || flags.is_none()) {
        let key = if key.exists() { read(&key)? } else { String::new() };
        return Ok(Certificate { chain: read(&chain)?, key });
    }
    fsx::create_folders(&folder(context)).map_err(|error| unusable(&chain, &error))?;
    let made = Certificate::make().map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    fsx::replace(&key, made.key.as_bytes(), 0o600).map_err(|error| unusable(&key, &error))?;
    fsx::replace(&chain, made.chain.as_bytes(), 0o600).map_err(|error| unusable(&chain, &error))?;
    Ok(made)
}

fn serve(context: &Context, flags: &ArgMatches) -> Result<()> {
    context.home.ensure()?;
    // A supervisor keeps what comes on stderr.
    let _only_once = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_target(false)
        .with_writer(io::stderr)
        .try_init();
    let listen = flags.get_one::<String>("listen").map_or("", String::as_str);
    let address: SocketAddr = listen.parse().map_err(|_| {
        AppError::new(Kind::User, format!("`{listen}` is not an address"))
            .hint("write it like `0.0.0.0:4433`")
    })?;
    let plain = flags.get_flag("plain-text");
    if plain && !address.ip().is_loopback() {
        return Err(AppError::new(Kind::User, "plain text is for loopback only")
            .hint("leave `--plain-text` out: the hub makes a certificate by itself"));
    }
    let certificate = if plain { None } else { Some(certificate(context, Some(flags))?) };
    let options = Options { certificate, limits: Limits::default() };
    let backend = backend(context, flags)?;
    let failed = |error: &HubError| AppError::from_error(Kind::State, error);
    server::prepare(backend.as_ref()).map_err(|error| database_error(&error))?;
    let pool = Pool::start(backend).map_err(|error| database_error(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    runtime.block_on(async {
        let hub = Hub::open(pool, &options).await.map_err(|error| failed(&error))?;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            AppError::new(Kind::State, format!("can't listen on {address}: {error}"))
        })?;
        let address = listener.local_addr().unwrap_or(address);
        // Before anything says that the hub is there: a supervisor may stop it at once.
        let stopped = stopped().map_err(|error| AppError::from_error(Kind::Internal, &error))?;
        let kept = json!({"address": address.to_string(), "plain": plain}).to_string();
        let note = folder(context).join("serves.json");
        fsx::create_folders(&folder(context)).map_err(|error| unusable(&note, &error))?;
        fsx::replace(&note, kept.as_bytes(), 0o600).map_err(|error| unusable(&note, &error))?;
        ui::talk(&format!(
            "The hub listens on {address}. `substrate hub invite` prints the line with which a machine joins.\n"
        ));
        server::serve(hub, listener, &options, stopped).await.map_err(|error| failed(&error))
    })
}

/// Resolves when the process should end. Signals are caught from now on.
fn stopped() -> io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

/// Where this hub listens, as it left it, and what its certificate is.
fn target(context: &Context, address: Option<&str>) -> Result<Target> {
    let kept = std::fs::read_to_string(folder(context).join("serves.json")).ok();
    let kept: Value = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let address = address.or_else(|| kept["address"].as_str()).ok_or_else(|| {
        AppError::new(Kind::User, "no hub has served from this state home yet")
            .hint("run `substrate hub serve` first, or name it with `--address host:port`")
    })?;
    let plain = kept["plain"] == true;
    let fingerprint = if plain {
        [0; 32]
    } else {
        certificate(context, None)?
            .fingerprint()
            .map_err(|error| AppError::from_error(Kind::State, &error))?
    };
    Ok(Target { addresses: vec![address.to_owned()], plain, fingerprint })
}

fn invite(context: &Context, flags: &ArgMatches) -> Result<()> {
    let name = flags.get_one::<String>("name").map(|name| name_of(name)).transpose()?;
    invite_as(context, flags, name.as_ref(), &json!({}))
}

fn invite_as(
    context: &Context,
    flags: &ArgMatches,
    name: Option<&Label>,
    more: &Value,
) -> Result<()> {
    let target = target(context, flags.get_one::<String>("address").map(String::as_str))?;
    let Target { addresses, plain, fingerprint } = target;
    let ttl = flags.get_one::<String>("ttl").map_or("", String::as_str);
    let ttl_ms = parse_span(ttl).filter(|ms| *ms > 0).ok_or_else(|| {
        AppError::new(Kind::User, format!("`{ttl}` is not a span")).hint("write it like `1h`")
    })?;
    let address = addresses.concat();
    let invitation = Invitation { address, plain, secret: random(), fingerprint };
    let hash = Invitation::hash(&invitation.secret);
    on_database(context, flags, |db| machines::invite(db, &hash, name, ttl_ms))?;
    let url = invitation.url();
    let mut json = more.clone();
    json["url"] = json!(url);
    json["ttl_ms"] = json!(ttl_ms);
    print::result(context, &json, || format!("substrate team join {url}\n"));
    ui::talk(&format!("Type this on the machine. It works once, within {ttl}.\n"));
    Ok(())
}

/// A machine's name becomes part of addresses.
pub(super) fn name_of(text: &str) -> Result<Label> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = (1..=40).contains(&text.len()) && text.chars().all(plain);
    Label::try_from(text).ok().filter(|_| is_name).ok_or_else(|| {
        AppError::new(Kind::User, "a machine's name has letters, digits, `-`, `_` and `.`")
            .hint("for example `--name laptop`")
    })
}

fn list(context: &Context, flags: &ArgMatches) -> Result<()> {
    let all = on_database(context, flags, machines::all)?;
    let rows: Vec<Value> = all
        .iter()
        .map(|it| {
            json!({"machine": it.machine.as_str(), "name": it.name.as_str(), "person": it.person.as_str(),
                   "revoked": it.revoked, "silent_ms": it.silent_ms})
        })
        .collect();
    print::result(context, &json!(rows), || {
        let line = |it: &substrate_hub::wire::MachineInfo| {
            let heard = Ago(it.silent_ms);
            let revoked = if it.revoked { ", revoked" } else { "" };
            format!("{}  {}  heard from {heard} ago{revoked}\n", it.name, it.machine)
        };
        match all.is_empty() {
            true => "No machine has joined. `substrate hub invite` lets one in.\n".to_owned(),
            false => all.iter().map(line).collect(),
        }
    });
    Ok(())
}

fn revoke(context: &Context, flags: &ArgMatches) -> Result<()> {
    let name = flags.get_one::<String>("machine").map_or("", String::as_str);
    let found = on_database(context, flags, |db| machines::revoke(db, name))?;
    let Some(machine) = found else {
        return Err(AppError::new(Kind::User, format!("no machine is called `{name}`"))
            .hint("`substrate hub machines` lists them"));
    };
    print::result(context, &json!({"revoked": machine.as_str()}), || {
        format!("Revoked {name}. It is cut off within a second.\n")
    });
    Ok(())
}

fn rotate(context: &Context, flags: &ArgMatches) -> Result<()> {
    let named = flags.get_one::<String>("machine").map_or("", String::as_str);
    target(context, flags.get_one::<String>("address").map(String::as_str))?;
    let all = on_database(context, flags, machines::all)?;
    let is_it = |it: &&substrate_hub::wire::MachineInfo| {
        !it.revoked && (it.name.as_str() == named || it.machine.as_str() == named)
    };
    let Some(found) = all.iter().find(is_it) else {
        return Err(AppError::new(Kind::User, format!("no machine is called `{named}`"))
            .hint("`substrate hub machines` lists them"));
    };
    on_database(context, flags, |db| machines::revoke(db, found.machine.as_str()))?;
    ui::talk(&format!(
        "{} is cut off. Run `substrate team leave` there, and then this line:\n",
        found.name
    ));
    invite_as(context, flags, Some(&found.name), &json!({"revoked": found.machine.as_str()}))
}

fn status(context: &Context, flags: &ArgMatches) -> Result<()> {
    let target = target(context, None)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    let health = runtime.block_on(health(&target));
    let (machines, n_waiting) =
        on_database(context, flags, |db| Ok((machines::all(db)?, mail::n_waiting(db)?)))?;
    let there = machines.iter().filter(|it| !it.revoked);
    let n_machines = there.clone().count();
    // A link says something every 15 seconds.
    let n_heard = there.filter(|it| it.silent_ms <= 60_000).count();
    let address = target.addresses.concat();
    let (is_well, words) = match &health {
        Ok(true) => (true, format!("answers at {address}")),
        Ok(false) => (false, format!("answers at {address}, but can't use its database")),
        Err(error) => (false, format!("does not answer at {address}: {error}")),
    };
    let json = json!({"address": address, "well": is_well, "machines": n_machines, "heard": n_heard, "mail": n_waiting});
    print::result(context, &json, || {
        format!(
            "hub       {words}\nmachines  {n_machines}, {n_heard} of them heard from in the last minute\nmail      {n_waiting} on the way\n"
        )
    });
    Ok(())
}
