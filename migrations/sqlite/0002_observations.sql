-- What servers were seen to declare, and what changed between two looks. The documents are blobs; a row holds what
-- is filtered and sorted by.

create table snapshots (
    id blob primary key not null,
    server_id blob not null references servers (id),
    version_id blob not null references versions (id),
    -- Copies of versions.name and versions.version.
    server text not null,
    version text not null,
    -- Place among the version's targets.
    position integer not null,
    -- What two versions of the same target have in common, as `npm:NAME`.
    line text not null,
    -- As written on the command line, as `npm:NAME@V`.
    target text not null,
    observed_at integer not null,
    took_ms integer not null,
    outcome text not null,
    -- A finer state under the outcome.
    reason text,
    era text check (era in ('modern', 'legacy')),
    protocol_version text,
    -- manifest/1; null where there is no manifest.
    manifest blob check (length(manifest) = 32),
    -- SHA-256 of the snapshot document, in the blob store.
    document blob not null check (length(document) = 32),
    -- SHA-256 of the answer of the scan, in the blob store.
    scan blob check (length(scan) = 32),
    -- SHA-256 of the artifact that was run.
    artifact blob check (length(artifact) = 32),
    -- The gravest finding of the scan.
    severity text check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    tools integer not null,
    prompts integer not null,
    resources integer not null,
    templates integer not null,
    -- Model tokens of all definitions of tools.
    token_cost integer not null,
    -- A changed era or an emptied list is believed at the second look.
    confirmed integer not null check (confirmed in (0, 1)),
    -- The last look at its target, however it ended.
    is_last integer not null check (is_last in (0, 1)),
    -- The last confirmed look with a manifest: what is shown.
    is_shown integer not null check (is_shown in (0, 1))
) strict;

create unique index snapshots_one_last on snapshots (version_id, position) where is_last;
create unique index snapshots_one_shown on snapshots (version_id, position) where is_shown;
-- The looks at one version, newest first.
create index snapshots_version on snapshots (version_id, observed_at);
-- What a new look is compared with.
create index snapshots_line on snapshots (server_id, line) where is_shown;

-- One tool, prompt, resource or template of a server, over all looks at one line.
create table items (
    id blob primary key not null,
    server_id blob not null references servers (id),
    line text not null,
    kind text not null check (kind in ('tool', 'prompt', 'resource', 'template')),
    key text not null,
    -- tool/1 and contract/1 as last seen.
    tool blob not null check (length(tool) = 32),
    contract blob not null check (length(contract) = 32),
    first_seen_at integer not null,
    first_seen_version text not null,
    changed_at integer not null,
    changed_version text not null,
    -- When it was first missing; null while it is there.
    gone_at integer
) strict;

create unique index items_of_line on items (server_id, line, kind, key);

create table changes (
    id blob primary key not null,
    server_id blob not null references servers (id),
    server text not null,
    line text not null,
    at integer not null,
    from_snapshot blob not null references snapshots (id),
    to_snapshot blob not null references snapshots (id),
    from_version text not null,
    to_version text not null,
    label text not null check (label in ('none', 'cosmetic', 'compatible', 'semantic', 'breaking', 'suspicious')),
    severity text check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    -- Between two versions of which a later one was seen before: history, not news.
    backfill integer not null check (backfill in (0, 1)),
    -- Ids of the rules that found something, with a space before and after each.
    rules text not null,
    -- SHA-256 of the answer of the comparison, in the blob store.
    document blob not null check (length(document) = 32),
    -- Number of its event.
    seq integer not null
) strict;

-- Everything that changed, newest first.
create unique index changes_seq on changes (seq);
-- What changed in one server.
create index changes_server on changes (server_id, seq);
