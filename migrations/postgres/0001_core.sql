-- The whole of the first release: servers, versions, targets, the event feed, jobs, audit, tokens, cursors.
-- Times are microseconds since 1970-01-01T00:00:00Z. Text that is sorted compares by bytes on both engines.

create table servers (
    id uuid primary key not null,
    name text collate "C" not null unique,
    -- `name` in lower case: two names that fold to the same are one name to people.
    name_folded text collate "C" not null,
    namespace text collate "C" not null,
    -- Name, title and description of the current version in lower case, for substring search.
    search_text text not null,
    created_at bigint not null,
    -- Blocked by the operator's settings, or taken down: shown nowhere.
    hidden boolean not null default false,
    taken_down_at bigint,
    taken_down_reason text
);

-- Publish refuses a name that differs only by case, pages redirect to the canonical case.
create index servers_name_folded on servers (name_folded);
-- The publisher page.
create index servers_namespace on servers (namespace, name);

create table versions (
    id uuid primary key not null,
    server_id uuid not null references servers (id),
    -- Copy of servers.name: the official list is ordered by it and must page without a join.
    name text collate "C" not null,
    version text collate "C" not null,
    status text not null check (status in ('active', 'deprecated', 'deleted')),
    status_changed_at bigint not null,
    status_message text check (length(status_message) <= 500),
    published_at bigint not null,
    updated_at bigint not null,
    -- Upstream's latest.
    is_latest boolean not null,
    -- What the source of an imported row said of is_latest; null where it said nothing.
    told_latest boolean,
    -- What people and agents see.
    is_current boolean not null,
    origin text not null check (origin in ('published', 'imported', 'listed')),
    valid boolean not null,
    -- SHA-256 of the bytes as received.
    digest bytea not null check (length(digest) = 32),
    -- The server.json as served.
    document text not null,
    -- The bytes as received, where they differ from `document`.
    raw bytea,
    hidden boolean not null default false
);

-- The official list, one version, and every keyset page.
create unique index versions_name_version on versions (name, version);
-- The list filtered to latest versions, which is what most clients ask.
create index versions_latest_name on versions (name, version) where is_latest;
-- At most one latest and one current of a server.
create unique index versions_one_latest on versions (server_id) where is_latest;
create unique index versions_one_current on versions (server_id) where is_current;
-- All versions of a server, newest first.
create index versions_server_published on versions (server_id, published_at);
-- Incremental mirrors.
create index versions_updated on versions (updated_at);
-- Recently changed servers.
create index versions_current_updated on versions (updated_at) where is_current;

-- One thing of a version that can be looked at: a package or a remote.
create table targets (
    id uuid primary key not null,
    version_id uuid not null references versions (id) on delete cascade,
    server_id uuid not null references servers (id),
    -- Place among the version's packages, then its remotes.
    position bigint not null,
    -- `remote`, or the registry type of the package.
    kind text not null,
    transport text not null,
    -- URL of a remote, identifier of a package.
    identifier text collate "C" not null,
    package_version text,
    unique (version_id, position)
);

-- Is a remote URL claimed by another server?
create index targets_identifier on targets (identifier);

-- The newest event number; one row. Updating it takes its lock, so numbers become visible in order.
create table feed (
    id bigint primary key not null check (id = 1),
    seq bigint not null
);

insert into feed (id, seq) values (1, 0);

create table events (
    seq bigint primary key not null,
    id uuid not null unique,
    kind text not null,
    at bigint not null,
    server text collate "C" not null,
    version text collate "C",
    target text,
    severity text not null check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    -- RFC 8785 bytes of the whole event: the leaf of a log. Null when blanked by a takedown.
    body text,
    -- RFC 9162 leaf hash of `body`; kept when the body is blanked.
    leaf_hash bytea not null check (length(leaf_hash) = 32)
);

-- The feed of one server.
create index events_server on events (server, seq);

create table jobs (
    id uuid primary key not null,
    name text collate "C" not null,
    -- What the job is about; one waiting job per name and key.
    key text collate "C" not null,
    payload text not null,
    priority bigint not null default 0,
    state text not null check (state in ('waiting', 'running', 'done', 'dead')),
    run_at bigint not null,
    attempts bigint not null default 0,
    max_attempts bigint not null,
    worker text,
    -- A running job whose lease ended may be taken by another worker.
    lease_until bigint,
    last_error text,
    created_at bigint not null,
    finished_at bigint
);

create unique index jobs_one_waiting on jobs (name, key) where state = 'waiting';
-- Claiming: the most urgent of the due ones.
create index jobs_due on jobs (priority desc, run_at) where state = 'waiting';
create index jobs_leases on jobs (lease_until) where state = 'running';

create table audit (
    id uuid primary key not null,
    at bigint not null,
    actor text not null,
    method text not null,
    action text not null,
    subject text collate "C" not null,
    outcome text not null check (outcome in ('done', 'refused')),
    detail text not null
);

create index audit_at on audit (at, id);
create index audit_subject on audit (subject, at);

create table tokens (
    id uuid primary key not null,
    label text not null,
    -- SHA-256 of the whole token.
    hash bytea not null unique check (length(hash) = 32),
    -- Shown in lists, so that an owner knows which one it is.
    hint text not null,
    -- JSON array of {action, resource}.
    permissions text not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);

-- How far a follower of the feed has read.
create table cursors (
    name text collate "C" primary key not null,
    seq bigint not null,
    updated_at bigint not null
);

-- Where an import stands, written in the transaction of each batch.
create table import_cursors (
    source text collate "C" primary key not null,
    cursor text,
    since bigint,
    started_at bigint not null
);

-- Facts of this installation that are made once: its id, its signing seeds.
create table instance (
    key text collate "C" primary key not null,
    value bytea not null,
    created_at bigint not null
);
