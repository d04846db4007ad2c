//! Every bound of the product, in one place.
//!
//! A bound is a promise to whoever runs the registry: foreign bytes never cost more than this. Each one is tested at
//! its edge, and the docs page "Limits" is made from this file's names and values.

/// Largest accepted `server.json`, in bytes (1 MiB), as upstream.
pub const SERVER_JSON_BYTES: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects in any JSON we read.
pub const JSON_DEPTH: usize = 64;
/// Time a client has to send a request body, in seconds.
pub const BODY_READ_SECS: u64 = 5;
/// Shortest and longest server name, in characters.
pub const SERVER_NAME_CHARS: (usize, usize) = (3, 200);
/// Longest version string, in characters (schema 2025-12-11).
pub const VERSION_CHARS: usize = 255;
/// Longest `statusMessage`, in characters.
pub const STATUS_MESSAGE_CHARS: usize = 500;
/// Longest title and description at publish, in characters.
pub const TITLE_CHARS: usize = 100;
/// Longest description at publish, in characters.
pub const DESCRIPTION_CHARS: usize = 100;
/// Largest publisher-provided `_meta` block, in bytes of JSON.
pub const PUBLISHER_META_BYTES: usize = 4096;
/// Most versions of one server.
pub const VERSIONS_PER_SERVER: i64 = 10_000;
/// Default and largest page of a list.
pub const PAGE_DEFAULT: u32 = 30;
/// Largest page of a list.
pub const PAGE_MAX: u32 = 100;
/// Largest page of the event feed.
pub const EVENTS_PAGE_MAX: u32 = 1000;
/// Longest wait of the event feed for a new event, in seconds.
pub const EVENTS_WAIT_SECS: u64 = 30;
/// Longest search text, in characters.
pub const SEARCH_CHARS: usize = 2000;
/// Longest accepted page cursor, in bytes.
pub const CURSOR_BYTES: usize = 1024;
/// Longest path and query of a request, in bytes.
pub const REQUEST_TARGET_BYTES: usize = 16 * 1024;
/// Largest answer read from an upstream registry, per page, in bytes (100 documents at their own limit would be
/// 100 MiB; real pages are under 400 kB).
pub const IMPORT_PAGE_BYTES: usize = 32 * 1024 * 1024;
/// Longest line of a JSON-lines file given to `import`, in bytes.
pub const IMPORT_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Most pages followed in one import run before we suspect a cursor loop.
pub const IMPORT_PAGES: usize = 100_000;
/// Largest settings file, in bytes.
pub const SETTINGS_BYTES: u64 = 256 * 1024;
/// Longest foreign text shown on its own page, in characters; the whole is in the raw document.
pub const SHOWN_TEXT_CHARS: usize = 2000;
/// Longest foreign text shown in a line or a row of a list, in characters.
pub const SHOWN_LINE_CHARS: usize = 300;
/// Most packages, and most remotes, shown on the page of one version.
pub const SHOWN_TARGETS: usize = 20;
/// Most settings (arguments, variables, headers) shown of one package or remote.
pub const SHOWN_SETTINGS: usize = 40;
/// Most findings about its form shown on the page of one version.
pub const SHOWN_FINDINGS: usize = 50;
/// Versions shown on one page of a server's versions.
pub const SHOWN_VERSIONS: usize = 100;
/// Most doubtful places (duplicate keys, NULs) named for one JSON document.
pub const JSON_FINDINGS: usize = 20;
/// Most issues named for one `server.json`; a last one says how many were left out.
pub const VALIDATION_ISSUES: usize = 200;
