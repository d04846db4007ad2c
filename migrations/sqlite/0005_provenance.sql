-- Verdicts on who built an artifact. Append only: a new check adds a row, and only the two marks of the row before move.
-- Everything a check rests on is in its record, a blob; a row holds what is filtered and shown.

create table verdicts (
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
    checked_at integer not null,
    -- Why it was checked: a new release, a repeat after a failure, another look, other roots or rules.
    cause text not null check (cause in ('new', 'retry', 'look', 'recheck')),
    verdict text not null check (verdict in ('verified', 'unsigned', 'mismatch', 'invalid', 'unverifiable')),
    level text check (level in ('build', 'publish', 'release', 'signature')),
    -- Words, with a space before and after each.
    reasons text not null,
    warnings text not null,
    -- What changed about the builder against the releases before, in the same form.
    changes text not null,
    -- The gravest of those changes.
    severity text check (severity in ('info', 'low', 'medium', 'high', 'critical')),
    -- The artifact; null where it could not be fetched.
    artifact blob check (length(artifact) = 32),
    -- Repository and id as declared at that time.
    repository text,
    repository_id text,
    -- The builder as JSON, where the evidence names one.
    builder text,
    -- SHA-256 over the digests of roots and keys, and the rules: other ones are a reason to check again.
    basis blob not null check (length(basis) = 32),
    -- SHA-256 of the record and of the report, in the blob store.
    record blob not null check (length(record) = 32),
    report blob not null check (length(report) = 32),
    -- SHA-256 of the signed summary, in the blob store; null until the verdict is final.
    summary blob check (length(summary) = 32),
    -- The last check of its target, however it ended.
    is_last integer not null check (is_last in (0, 1)),
    -- The last check that could tell: what is shown. A failure does not take away what was known.
    is_shown integer not null check (is_shown in (0, 1)),
    -- Number of its event; 0 where a check confirmed the one before, so that there is none.
    seq integer not null
) strict;

create unique index verdicts_one_last on verdicts (version_id, position) where is_last;
create unique index verdicts_one_shown on verdicts (version_id, position) where is_shown;
-- The checks of one version, newest first.
create index verdicts_version on verdicts (version_id, checked_at);
-- The releases a builder is compared with.
create index verdicts_line on verdicts (server_id, line) where is_shown;
-- What is to be checked again with other roots or rules.
create index verdicts_basis on verdicts (basis, id) where is_last;

-- Which blobs are evidence, and may be given to anybody.
create table evidence (
    digest blob primary key not null check (length(digest) = 32),
    bytes integer not null,
    first_seen_at integer not null
) strict, without rowid;
