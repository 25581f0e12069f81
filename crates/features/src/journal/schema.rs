//! The journal's tables. Only the primary key and what is rare are indexed, because an index over all rows would cost more
//! than the insert itself. `journal_session` knows each session's range of rows up to `journal_summed`, and a time is found by bisection.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[
    JOURNAL,
    PROJECT_LOGS,
    SUMMED,
    REFUSED,
    NOTED,
    STANDS_FOR,
    FEATURE_COSTS,
    SEARCH,
    NOTED_WHOLE,
];

/// Up to which row `journal_session` knows them.
const SUMMED: Migration = Migration {
    about: "the ranges of sessions are summed up from the rows",
    sql: "create table journal_summed (up_to bigint not null);
          insert into journal_summed (up_to) select coalesce(max(id), 0) from journal;",
};

/// Only refusals are in it.
const REFUSED: Migration = Migration {
    about: "an index of what was refused",
    sql: "create index journal_refused on journal (id) where verdict in ('deny', 'ask', 'block');",
};

/// What people ask for: refusals and failures. No lists, because SQLite builds a table of each for every row that is
/// inserted. Queries use the same comparisons in the same order.
const NOTED: Migration = Migration {
    about: "an index of refusals and failures, by plain comparisons",
    sql:
        "drop index journal_refused;
          create index journal_noted on journal (id)
            where verdict = 'deny' or verdict = 'ask' or verdict = 'block' or failures is not null;",
};

/// With the columns that are asked about, so that days full of refusals are counted without reading their rows.
const NOTED_WHOLE: Migration = Migration {
    about: "the index of refusals and failures says which it is",
    sql:
        "drop index journal_noted;
          create index journal_noted on journal (id, verdict, failures)
            where verdict = 'deny' or verdict = 'ask' or verdict = 'block' or failures is not null;",
};

/// A row with a scope stands for its request: nothing was answered, and when it comes again, nothing is done.
const STANDS_FOR: Migration = Migration {
    about: "a row that says nothing more stands for its request",
    sql: "alter table journal add column scope bigint;",
};

/// The index of prompts, calls and refusals, and up to which row it is. It keeps no text of its own. Rows get into it in
/// housekeeping, never at an event.
const SEARCH: Migration = Migration {
    about: "a full-text index of prompts, calls and refusals",
    sql: "create virtual table journal_search using fts5(text, content='', contentless_delete=1);
          create table journal_searchable (up_to bigint not null);
          insert into journal_searchable (up_to)
            select case when coalesce(max(id), 0) > 50000 then max(id) - 50000 else 0 end from journal;",
};

/// `counts` is JSON: for each feature, how many events fell into which bucket.
const FEATURE_COSTS: Migration = Migration {
    about: "what features cost, as a histogram per hour",
    sql: "create table journal_feature_costs (hour_ms bigint primary key, counts text not null);",
};

/// For projects with session logs: which subagents a session had, and what could not be said at Setup.
const PROJECT_LOGS: Migration = Migration {
    about: "the session logs of projects",
    sql: "create table journal_agent (
            session text not null,
            agent text not null,
            at_ms bigint not null,
            primary key (session, agent)
          );
          create table journal_setup (
            root text primary key,
            said text not null,
            at_ms bigint not null
          );",
};

const JOURNAL: Migration = Migration {
    about: "the journal",
    sql: "create table journal (
            id integer primary key,
            at_ms bigint not null,
            request text not null,
            client text not null,
            event text not null,
            session text,
            actor text not null,
            actor_kind text,
            tool text,
            tool_use text,
            cwd text not null,
            input text,
            output text,
            verdict text not null,
            answer text,
            wishes text,
            undeliverable text,
            failures text,
            costs text,
            spent_us bigint not null,
            host text not null,
            why text,
            n_bytes bigint not null,
            n_unknown_fields bigint not null
          );
          create table journal_session (
            session text primary key,
            client text not null,
            cwd text not null,
            first_id bigint not null,
            last_id bigint not null,
            n_events bigint not null,
            first_ms bigint not null,
            last_ms bigint not null
          );",
};
