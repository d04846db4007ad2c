-- What servers were seen to declare, and what changed between two looks. The documents are blobs; a row holds what
-- is filtered and sorted by.

create table snapshots (
    id uuid primary key not null,
    server_id uuid not null references servers (id),
    version_id uuid not null references versions (id),
    -- Copies of versions.name and versions.version.
    server text collate "C" not null,
    version text collate "C" not null,
    -- Place among the version's targets.
    position bigint not null,
    -- What two versions of the same target have in common, as `npm:NAME`.
    line text collate "C" not null,
    -- As written on the command line, as `npm:NAME@V`.
    target text not null,
    observed_at bigint not null,
    took_ms bigint not null,
    outcome text not null,
    -- A finer state under the outcome.
    reason text,
    era text check (era in ('modern', 'legacy')),
    protocol_version text,
    -- manifest/1; null where there is no manifest.
    manifest bytea check (length(manifest) = 32),
    -- SHA-256 of the snapshot document, in the bytea store.
    document bytea not null check (length(document) = 32),
    -- SHA-256 of the answer of the scan, in the bytea store.
    scan bytea check (length(scan) = 32),
    -- SHA-256 of the artifact that was run.
    artifact bytea check (length(artifact) = 32),
    -- The gravest finding of the scan.
    severity text check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    tools bigint not null,
    prompts bigint not null,
    resources bigint not null,
    templates bigint not null,
    -- Model tokens of all definitions of tools.
    token_cost bigint not null,
    -- A changed era or an emptied list is believed at the second look.
    confirmed boolean not null,
    -- The last look at its target, however it ended.
    is_last boolean not null,
    -- The last confirmed look with a manifest: what is shown.
    is_shown boolean not null
);

create unique index snapshots_one_last on snapshots (version_id, position) where is_last;
create unique index snapshots_one_shown on snapshots (version_id, position) where is_shown;
-- The looks at one version, newest first.
create index snapshots_version on snapshots (version_id, observed_at);
-- What a new look is compared with.
create index snapshots_line on snapshots (server_id, line) where is_shown;

-- One tool, prompt, resource or template of a server, over all looks at one line.
create table items (
    id uuid primary key not null,
    server_id uuid not null references servers (id),
    line text collate "C" not null,
    kind text not null check (kind in ('tool', 'prompt', 'resource', 'template')),
    key text collate "C" not null,
    -- tool/1 and contract/1 as last seen.
    tool bytea not null check (length(tool) = 32),
    contract bytea not null check (length(contract) = 32),
    first_seen_at bigint not null,
    first_seen_version text not null,
    changed_at bigint not null,
    changed_version text not null,
    -- When it was first missing; null while it is there.
    gone_at bigint
);

create unique index items_of_line on items (server_id, line, kind, key);

create table changes (
    id uuid primary key not null,
    server_id uuid not null references servers (id),
    server text collate "C" not null,
    line text collate "C" not null,
    at bigint not null,
    from_snapshot uuid not null references snapshots (id),
    to_snapshot uuid not null references snapshots (id),
    from_version text collate "C" not null,
    to_version text collate "C" not null,
    label text not null check (label in ('none', 'cosmetic', 'compatible', 'semantic', 'breaking', 'suspicious')),
    severity text check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    -- Between two versions of which a later one was seen before: history, not news.
    backfill boolean not null,
    -- Ids of the rules that found something, with a space before and after each.
    rules text not null,
    -- SHA-256 of the answer of the comparison, in the bytea store.
    document bytea not null check (length(document) = 32),
    -- Number of its event.
    seq bigint not null
);

-- Everything that changed, newest first.
create unique index changes_seq on changes (seq);
-- What changed in one server.
create index changes_server on changes (server_id, seq);
