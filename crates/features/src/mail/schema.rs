//! The tables of mail. What an event looks at has partial indexes that hold only the open rows, so that a mailbox of a
//! hundred thousand messages costs what one of a hundred costs.

use substrate_core::Migration;

pub(super) const TABLES: Migration = Migration {
    about: "messages, their deliveries, topics and subscriptions",
    // The body comes last: a list that does not want it never touches its pages.
    sql: "create table messages (
            id integer primary key,
            sender bigint not null,
            sender_sub text not null,
            subject text not null,
            priority bigint not null,
            sent_ms bigint not null,
            deadline_ms bigint,
            thread bigint not null,
            reply_to bigint,
            topic text,
            replace_key text,
            idem_key text,
            body text not null
          );
          create unique index messages_idem on messages (sender, idem_key) where idem_key is not null;
          create index messages_replace on messages (sender, replace_key, id) where replace_key is not null;
          create index messages_thread on messages (thread, id);
          create index messages_sent on messages (sender, id);
          create table deliveries (
            message bigint not null,
            agent bigint not null,
            sub text not null,
            was_for text,
            box text not null,
            priority bigint not null,
            queued_ms bigint not null,
            deadline_ms bigint,
            claim text,
            claimed_ms bigint,
            injected_ms bigint,
            channel text,
            in_session text,
            in_actor text,
            seen_ms bigint,
            read_ms bigint,
            acked_ms bigint,
            starred bigint not null,
            snooze_ms bigint,
            boxed_ms bigint,
            replaced_by bigint,
            overdue_told_ms bigint,
            shown_to_sub_ms bigint,
            primary key (message, agent, sub)
          );
          create index deliveries_pending on deliveries (agent, sub, priority desc, message)
            where seen_ms is null and injected_ms is null and replaced_by is null and box = 'inbox'
              and snooze_ms is null;
          create index deliveries_unread on deliveries (agent, sub, priority desc, message)
            where read_ms is null and replaced_by is null and box = 'inbox' and snooze_ms is null;
          create index deliveries_kept on deliveries (agent, sub, message) where box <> 'trash';
          create index deliveries_flying on deliveries (in_session, in_actor)
            where injected_ms is not null and seen_ms is null;
          create index deliveries_flying_to on deliveries (agent, sub)
            where injected_ms is not null and seen_ms is null;
          create index deliveries_claim on deliveries (claim) where claim is not null and injected_ms is null;
          create index deliveries_subs on deliveries (agent, sub) where seen_ms is null and replaced_by is null and sub <> '';
          create index deliveries_due on deliveries (deadline_ms)
            where deadline_ms is not null and acked_ms is null and overdue_told_ms is null
              and replaced_by is null;
          create index deliveries_snoozed on deliveries (agent, snooze_ms) where snooze_ms is not null;
          create index deliveries_trash on deliveries (boxed_ms) where box = 'trash';
          create table topics (
            name text primary key,
            about text not null,
            made_by bigint not null,
            made_ms bigint not null
          );
          create table subscriptions (
            topic text not null,
            agent bigint not null,
            sub text not null,
            primary key (topic, agent, sub)
          );
          create index subscriptions_agent on subscriptions (agent, sub)",
};

pub(super) const WHOLE: Migration = Migration {
    about: "whether a message was told with its whole body, how often it held a turn, and when it was announced again",
    sql: "alter table deliveries add column whole bigint not null default 0;
          alter table deliveries add column n_held bigint not null default 0;
          alter table deliveries add column again_ms bigint;",
};

pub(super) const KEYS: Migration = Migration {
    about: "the keys of messages that were deleted, so that an import sends nothing twice",
    sql: "create table mail_keys (
            sender bigint not null,
            key text not null,
            message bigint not null,
            primary key (sender, key)
          );",
};
