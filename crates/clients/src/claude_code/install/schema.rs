//! What the client accepts where, as far as hooks and permissions go: what its `doctor` said about each mistake (2.1.325).

use substrate_core::EventKind;

use crate::install::Drops;
use crate::settings::schema::{Field, Kind, NEW, Schema, optional, required};

pub(super) const SCHEMA: Schema = Schema {
    new: NEW,
    second: 1,
    keys: None,
    file: FILE,
    permissions: PERMISSIONS,
    group: GROUP,
    types: TYPES,
    every_type: EVERY_TYPE,
    knows: |event| EventKind::named(event) != EventKind::Unknown,
    // The hook might have been what guards the permissions beside it.
    costs: |event| match event {
        "PreToolUse" | "PermissionRequest" => Drops::File,
        _ => Drops::Entry,
    },
};

/// The keys of the whole file whose mistakes drop it. There are many more; these stand beside hooks most often.
const FILE: &[Field] = &[
    optional("permissions", Kind::Object),
    optional("env", Kind::Object),
    optional("model", Kind::Text),
    optional("statusLine", Kind::Object),
    optional("disableAllHooks", Kind::Flag),
];

const PERMISSIONS: &[Field] = &[
    optional("allow", Kind::List),
    optional("deny", Kind::List),
    optional("ask", Kind::List),
    optional("additionalDirectories", Kind::List),
    optional(
        "defaultMode",
        Kind::OneOf(&["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"]),
    ),
];

const GROUP: &[Field] = &[optional("matcher", Kind::Text), required("hooks", Kind::List)];

/// The keys of a hook by its `type`, besides those of every hook.
const TYPES: &[(&str, &[Field])] = &[
    (
        "command",
        &[
            required("command", Kind::Text),
            optional("args", Kind::Texts),
            optional("shell", Kind::OneOf(&["bash", "powershell"])),
            optional("onFailure", ON_FAILURE),
            optional("async", Kind::Flag),
            optional("asyncRewake", Kind::Flag),
            optional("rewakeMessage", Kind::Text),
            optional("rewakeSummary", Kind::Text),
        ],
    ),
    (
        "prompt",
        &[
            required("prompt", Kind::Text),
            optional("model", Kind::Text),
            optional("continueOnBlock", Kind::Flag),
        ],
    ),
    ("agent", &[required("prompt", Kind::Text), optional("model", Kind::Text)]),
    (
        "http",
        &[
            required("url", Kind::Url),
            optional("headers", Kind::ObjectOfTexts),
            optional("allowedEnvVars", Kind::Texts),
            optional("onFailure", ON_FAILURE),
        ],
    ),
    (
        "mcp_tool",
        &[
            required("server", Kind::Text),
            required("tool", Kind::Text),
            optional("input", Kind::Object),
        ],
    ),
];

const ON_FAILURE: Kind = Kind::OneOf(&["continue", "block"]);

const EVERY_TYPE: &[Field] = &[
    optional("timeout", Kind::Positive),
    optional("if", Kind::Text),
    optional("statusMessage", Kind::Text),
    optional("once", Kind::Flag),
];
