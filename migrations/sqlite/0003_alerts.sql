-- Alerts: who wants which events, where they go, and each attempt to deliver them.

create table alert_endpoints (
    id blob primary key not null,
    -- The team it belongs to; a token manages the owners its permission names.
    owner text not null,
    label text not null,
    channel text not null check (channel in ('webhook', 'email')),
    -- An https URL or a mail address.
    address text not null,
    shape text not null check (shape in ('standard', 'slack')),
    -- A mail address gets nothing until its reader confirmed it; a paused endpoint keeps what waits.
    state text not null check (state in ('unconfirmed', 'active', 'paused')),
    state_reason text,
    state_at integer not null,
    -- What the reader of a mail proves to have read; null for webhooks.
    code text,
    -- Since when every attempt failed; null when the last one did not.
    failing_since integer,
    last_success_at integer,
    created_at integer not null
) strict, without rowid;

create index alert_endpoints_owner on alert_endpoints (owner, id);

-- Keys of webhooks. Two are valid while one is being replaced.
create table alert_secrets (
    id blob primary key not null,
    endpoint_id blob not null references alert_endpoints (id) on delete cascade,
    secret blob not null,
    created_at integer not null,
    expires_at integer
) strict, without rowid;

create index alert_secrets_endpoint on alert_secrets (endpoint_id);

create table alert_subscriptions (
    id blob primary key not null,
    owner text not null,
    endpoint_id blob not null references alert_endpoints (id) on delete cascade,
    label text not null,
    -- JSON object: servers, namespaces, lock, kinds, rules, tools, severity.
    filter text not null,
    cadence text not null check (cadence in ('instant', 'hourly', 'daily')),
    -- The newest event when it was made: earlier ones are not told unless asked for.
    since_seq integer not null,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create index alert_subscriptions_owner on alert_subscriptions (owner, id);
create index alert_subscriptions_endpoint on alert_subscriptions (endpoint_id);

-- Raised with every change of a subscription, so that the follower knows when its index is stale. One row.
create table alert_revision (
    id integer primary key not null check (id = 1),
    revision integer not null
) strict;

insert into alert_revision (id, revision) values (1, 0);

create table deliveries (
    -- Also the id of the message, the same for every attempt and replay.
    id blob primary key not null,
    endpoint_id blob not null references alert_endpoints (id) on delete cascade,
    kind text not null check (kind in ('event', 'digest', 'test')),
    -- The event; of a digest its last one.
    event_seq integer not null,
    -- Deliveries of one server to one endpoint go in order; empty for digests.
    server text not null,
    cadence text not null check (cadence in ('instant', 'hourly', 'daily')),
    -- `held`: for a digest; `gathered`: in one; `queued`: behind another of its line, or the endpoint is paused.
    state text not null check (state in ('held', 'gathered', 'queued', 'waiting', 'sending', 'delivered', 'dead')),
    due_at integer not null,
    attempts integer not null default 0,
    first_attempt_at integer,
    worker text,
    -- A delivery whose sender stopped is sent again after this.
    lease_until integer,
    digest_id blob,
    last_error text,
    created_at integer not null,
    finished_at integer
) strict, without rowid;

-- Exactly one message for an event and an endpoint, however many subscriptions match.
create unique index deliveries_once on deliveries (event_seq, endpoint_id) where kind = 'event';
create index deliveries_due on deliveries (endpoint_id, due_at) where state = 'waiting';
create index deliveries_sending on deliveries (endpoint_id, lease_until) where state = 'sending';
-- The line of a server at an endpoint.
create index deliveries_line on deliveries (endpoint_id, server, event_seq)
    where state in ('queued', 'waiting', 'sending');
create index deliveries_held on deliveries (due_at) where state = 'held';
create index deliveries_digest on deliveries (digest_id, event_seq) where digest_id is not null;
-- The log, newest first.
create index deliveries_log on deliveries (endpoint_id, created_at, id);
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;

create table delivery_attempts (
    id blob primary key not null,
    delivery_id blob not null references deliveries (id) on delete cascade,
    at integer not null,
    took_ms integer not null,
    -- Of the receiver's answer, when there was one.
    status integer,
    error text,
    -- The beginning of the receiver's answer.
    answer text
) strict, without rowid;

create index delivery_attempts_delivery on delivery_attempts (delivery_id, at);

-- Which servers have a tool of this name: a newcomer that takes a known name is told of.
create index items_tool_names on items (key) where kind = 'tool';
