//! The pure core: what happened (`Event`), what features want (`Wish`), what is answered (`Verdict`).
//!
//! Nothing here does I/O, reads a clock or knows a client. Time, ids, settings and the database come in as arguments,
//! so policies are tested by the hundred without a process.

pub mod arrival;
pub mod db;
pub mod dialect;
pub mod effect;
pub mod engine;
pub mod event;
pub mod facts;
pub mod feature;
pub mod html;
pub mod ids;
pub mod lanes;
pub mod lineage;
pub mod memo;
pub mod merge;
pub mod need;
pub mod page;
pub mod quick;
pub mod redact;
pub mod seed;
pub mod settings;
pub mod size;
pub mod text;
pub mod time;
pub mod tool;
pub mod verb;
pub mod verdict;
pub mod view;
pub mod who;
pub mod wish;
pub mod world;

pub use arrival::{Arrival, arrival};
pub use db::{Db, DbError, Param, Row};
pub use dialect::Dialect;
pub use effect::{Effect, Look};
pub use engine::{Failure, Outcome};
pub use event::{Activity, Actor, Detail, Dialog, Event, EventKind, Pane, StartSource};
pub use facts::{Facts, Need};
pub use feature::{Cx, Feature, FeatureError, Migration};
pub use ids::{RequestId, SafeId};
pub use lineage::{Lineage, ProcessId};
pub use memo::{Memo, Memorable};
pub use need::{NeedKind, UserNeed};
pub use page::{Page, PageBody, PageRequest};
pub use settings::Settings;
pub use time::Timestamp;
pub use tool::{Question, TodoItem, ToolCall, ToolClass};
pub use verb::{Access, Audience, Caller, Format, Local, Output, Verb, VerbError, WaitFor};
pub use verdict::{Delivery, Verdict};
pub use who::{Asking, Standing, Who};
pub use wish::{Fate, Part, Wish, WishKind, Wished};
pub use world::World;
