//! The table of work items. Queued and claimed items have small partial indexes; done items are history. The keys under
//! which items were added outlive them.

use substrate_core::Migration;

pub(super) const MIGRATIONS: &[Migration] = &[QUEUE, KEYS];

const KEYS: Migration = Migration {
    about: "the keys under which work was added, so that an import adds nothing twice",
    sql: "create table work_keys (
            project text not null,
            key text not null,
            item bigint not null,
            primary key (project, key)
          );",
};

const QUEUE: Migration = Migration {
    about: "the work queue",
    // The longest texts come last, so that a list that skips them never touches their pages.
    sql: "create table work (
            id integer primary key,
            project text not null,
            state text not null,
            title text not null,
            request text not null,
            added_by text not null,
            added_ms bigint not null,
            n_claims bigint not null,
            session text,
            actor text,
            agent bigint,
            sub text,
            pid bigint,
            began bigint,
            claim_request text,
            claimed_ms bigint,
            expires_ms bigint,
            ttl_ms bigint,
            note text not null,
            done_by text,
            done_ms bigint,
            result text,
            body text not null
          );
          create unique index work_request on work (request);
          create index work_queued on work (project, id) where state = 'queued';
          create index work_claimed on work (claimed_ms, id) where state = 'claimed';
          create index work_claim_request on work (claim_request) where state = 'claimed';
          create index work_done on work (done_ms) where state = 'done';",
};
