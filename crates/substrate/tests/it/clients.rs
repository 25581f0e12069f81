//! What the hook has built in about clients matches what `clients` says about them.

use substrate_clients::ALL;
use substrate_clients::install::{Form, Wanted};
use substrate_core::verdict::Permission;
use substrate_core::{Delivery, Event, EventKind, Timestamp, Verdict, WishKind};

#[test]
fn the_hook_passes_every_variable_of_every_client_on() {
    for client in ALL {
        for name in client.variables.all().chain(client.dialect.session_variable) {
            assert!(ipc::passed::passes(format!("{name}=x").as_bytes()), "{}: {name}", client.name);
        }
    }
}

#[test]
fn the_hook_asks_in_every_clients_words_when_nothing_can_judge_a_call() {
    for client in ALL {
        let kind = EventKind::PreToolUse;
        let asks = (client.delivers)(kind, WishKind::Ask) == Delivery::Delivered;
        let reason = ipc::unjudged::REASON.to_owned();
        let verdict =
            Verdict { permission: Some(Permission::Ask { reason }), ..Verdict::default() };
        let said = (client.encode)(&Event::bare(client.name, kind, Timestamp(0)), &verdict);
        let known = ipc::unjudged::words(client.name.as_bytes(), kind.name().as_bytes());
        let known = known.map(|words| String::from_utf8_lossy(words).into_owned());
        assert_eq!(known, asks.then_some(said.stdout), "{}", client.name);
    }
}

#[test]
fn no_two_clients_share_a_name_a_program_or_a_folder() {
    for (at, client) in ALL.iter().enumerate() {
        for other in &ALL[at + 1..] {
            assert_ne!(client.name, other.name);
            assert_ne!(client.program, other.program);
            assert_ne!(client.install.places.home, other.install.places.home);
        }
    }
    assert_eq!(
        substrate_clients::named(substrate_clients::DEFAULT.name).unwrap().title,
        substrate_clients::DEFAULT.title
    );
}

/// The plugin speaks the hook's frames by itself. With another version it would start our program for every event.
#[test]
fn the_plugin_speaks_the_frames_of_today() {
    let client = substrate_clients::named("opencode").unwrap();
    let entries = (client.install.entries)(Form::Project);
    let wanted = Wanted { entries, ..Wanted::default() };
    let plugin = (client.install.format.add)("", &wanted).unwrap().text;
    assert!(plugin.contains(&format!("const VERSION = {};", ipc::frame::VERSION)));
}
