//! Every bound of the product, in one place.
//!
//! A bound is a promise to whoever runs the registry: foreign bytes never cost more than this. Each one is tested at
//! its edge, and the docs page "Limits" is made from this file's names and values.

/// Largest accepted `server.json`, in bytes (1 MiB), as upstream.
pub const SERVER_JSON_BYTES: usize = 1024 * 1024;
/// Largest manifest, in bytes (8 MiB).
pub const MANIFEST_BYTES: usize = 8 * 1024 * 1024;
/// Most entries of one list of a manifest (tools, prompts, resources, templates).
pub const MANIFEST_ITEMS: usize = 2000;
/// Longest string that rules look into, in bytes; of a longer one the head is read and the rest is named.
pub const RULE_TEXT_BYTES: usize = 100_000;
/// Most findings named for one manifest or one step; a last one says how many were left out.
pub const FINDINGS: usize = 2000;
/// Most findings told in the event of a change; all are in its document.
pub const EVENT_FINDINGS: usize = 10;
/// Most attempts to record a look while others are recorded.
pub const OBSERVE_ATTEMPTS: usize = 8;
/// Most targets of one version that are looked at.
pub const TARGETS_LOOKED_AT: usize = 16;
/// Most attempts of a crawl that failed on our side.
pub const CRAWL_ATTEMPTS: i64 = 5;
/// Time until a surprising look is repeated, in seconds.
pub const SECOND_LOOK_SECS: i64 = 600;
/// Time until a remote is looked at again, in seconds (a day), and a tenth of it at most.
pub const REMOTE_RELOOK_SECS: i64 = 86_400;
/// Time until a package is looked at again, in seconds (two weeks), and a tenth of it at most.
pub const PACKAGE_RELOOK_SECS: i64 = 14 * 86_400;
/// How long a worker may hold a job, in seconds: longer than any job takes.
pub const JOB_LEASE_SECS: i64 = 1800;
/// Time until a failed job is tried again, in seconds; doubled at each attempt.
pub const JOB_RETRY_SECS: i64 = 30;
/// Longest text of one side of a finding, in characters.
pub const FINDING_TEXT_CHARS: usize = 600;
/// Deepest nesting of arrays and objects in any JSON we read.
pub const JSON_DEPTH: usize = 64;
/// Most bytes read of a request body over the limit before it is refused (16 MiB), so that a client that writes all
/// of it first can read the refusal; a client that sends more may see its connection reset.
pub const BODY_DRAIN_BYTES: usize = 16 * 1024 * 1024;
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
/// Longest search text of a list, in characters: longer than any name, title and description it is compared with.
pub const LIST_SEARCH_CHARS: usize = 200;
/// Longest accepted page cursor, in bytes: it holds the longest filters and the longest position.
pub const CURSOR_BYTES: usize = 6 * 1024;
/// Longest path and query of a request, in bytes.
pub const REQUEST_TARGET_BYTES: usize = 16 * 1024;
/// Largest answer read from an upstream registry, per page, in bytes (100 documents at their own limit would be
/// 100 MiB; real pages are under 400 kB).
pub const IMPORT_PAGE_BYTES: usize = 32 * 1024 * 1024;
/// Longest line of a JSON-lines file given to `import`, in bytes.
pub const IMPORT_LINE_BYTES: usize = 4 * 1024 * 1024;
/// Most pages followed in one import run before we suspect a cursor loop.
pub const IMPORT_PAGES: usize = 100_000;
/// Longest page cursor followed in an import, in bytes.
pub const IMPORT_CURSOR_BYTES: usize = 4096;
/// Most rows written in one transaction by an import.
pub const IMPORT_BATCH_ROWS: usize = 500;
/// Most bytes of a file in one batch of an import, before the row that reaches it.
pub const IMPORT_BATCH_BYTES: usize = 8 * 1024 * 1024;
/// How far an incremental import reaches back before the start of the last run, in seconds: clocks differ, and a row
/// may become visible later than its time says.
pub const IMPORT_OVERLAP_SECS: i64 = 3600;
/// Longest wait for the first byte of an upstream page, in seconds.
pub const IMPORT_FIRST_BYTE_SECS: u64 = 60;
/// Longest time for a whole upstream page, in seconds.
pub const IMPORT_PAGE_SECS: u64 = 120;
/// Most attempts for one upstream page.
pub const IMPORT_PAGE_ATTEMPTS: u32 = 8;
/// Most attempts for the first page of a run: an address that is wrong should be said soon.
pub const IMPORT_FIRST_PAGE_ATTEMPTS: u32 = 4;
/// Longest time spent on attempts for one upstream page, in seconds.
pub const IMPORT_RETRY_SECS: u64 = 900;
/// Longest single wait before another attempt, whatever `Retry-After` says, in seconds.
pub const IMPORT_RETRY_WAIT_SECS: u64 = 300;
/// Longest wait for any connection we open, in seconds.
pub const OUTBOUND_CONNECT_SECS: u64 = 10;
/// Most redirects followed.
pub const OUTBOUND_REDIRECTS: usize = 2;
/// Largest answer about one version read from a registry, in bytes: a document at its limit, and what is said of it.
pub const STATUS_ANSWER_BYTES: usize = 2 * 1024 * 1024;
/// Most bytes an answer may unpack to for each byte received.
pub const OUTBOUND_EXPANSION: usize = 200;
/// Largest settings file, in bytes.
pub const SETTINGS_BYTES: u64 = 256 * 1024;
/// Longest foreign text shown on its own page, in characters; the whole is in the raw document.
pub const SHOWN_TEXT_CHARS: usize = 2000;
/// Longest foreign text shown in a line or a row of a list, in characters.
pub const SHOWN_LINE_CHARS: usize = 300;
/// Longest definition of a tool shown on its page, in characters.
pub const SHOWN_DEFINITION_CHARS: usize = 20_000;
/// Most parameters of a tool shown in its table.
pub const SHOWN_PARAMETERS: usize = 60;
/// Room for declarations kept in memory for pages, in bytes as estimated.
pub const DECLARED_CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// Tools shown on one page of a version's tools.
pub const TOOLS_PAGE: usize = 50;
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
/// Largest single signature bundle, in bytes; the largest genuine one seen has about 22 kB.
pub const BUNDLE_BYTES: usize = 1024 * 1024;
/// Largest document of evidence (a registry's answer, lines of bundles), in bytes.
pub const EVIDENCE_BYTES: usize = 4 * 1024 * 1024;
/// Most values in one JSON document of evidence, or in one statement: small values cost the most to read.
pub const EVIDENCE_VALUES: usize = 100_000;
/// Most attestations in one document of evidence, or found for one image.
pub const EVIDENCE_ATTESTATIONS: usize = 64;
/// Most transparency log entries of one bundle.
pub const BUNDLE_LOG_ENTRIES: usize = 32;
/// Most signed timestamps of one bundle.
pub const BUNDLE_TIMESTAMPS: usize = 32;
/// Most certificates in the chain of one bundle.
pub const BUNDLE_CERTIFICATES: usize = 10;
/// Most hashes in one inclusion proof: a tree of 64-bit size is no deeper.
pub const BUNDLE_PROOF_HASHES: usize = 64;
/// Most subjects of one in-toto statement.
pub const STATEMENT_SUBJECTS: usize = 1024;
/// Most digests of one subject of a statement.
pub const SUBJECT_DIGESTS: usize = 32;
/// Longest claim of a certificate or a statement that is kept and shown, in characters.
pub const CLAIM_CHARS: usize = 500;
/// Largest file of trusted certificates and log keys, in bytes.
pub const TRUSTED_ROOT_BYTES: usize = 1024 * 1024;
/// Largest list of a registry's signing keys, in bytes.
pub const KEY_LIST_BYTES: usize = 256 * 1024;
/// Most keys in a registry's list of signing keys.
pub const KEY_LIST_KEYS: usize = 256;
/// Most files in a folder of recorded registry answers.
pub const OCI_RECORDED_FILES: usize = 512;
/// Most bytes of a folder of recorded registry answers.
pub const OCI_RECORDED_BYTES: usize = 64 * 1024 * 1024;
/// Largest manifest or index of an image registry, in bytes.
pub const OCI_MANIFEST_BYTES: usize = 4 * 1024 * 1024;
/// Largest single message of a server we look at, in bytes (4 MiB).
pub const MCP_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes a server may send us in one take, in bytes (8 MiB).
pub const TAKE_BYTES: usize = 8 * 1024 * 1024;
/// Most messages, and lines that are none, a server may send us in one take.
pub const TAKE_MESSAGES: usize = 20_000;
/// Most pages followed in one list.
pub const LIST_PAGES: usize = 50;
/// Longest page cursor of a list that is followed, in bytes.
pub const LIST_CURSOR_BYTES: usize = 4 * 1024;
/// Longest wait for the first answer of a server, from its start, in seconds.
pub const PROBE_SECS: u64 = 30;
/// Longest wait for each later answer, in seconds.
pub const ANSWER_SECS: u64 = 20;
/// Longest time of one take, in seconds.
pub const TAKE_SECS: u64 = 120;
/// Time a server has to end by itself once its input is closed, in milliseconds; twice, before it is killed.
pub const END_MILLIS: u64 = 2000;
/// Last bytes of a server's error output that are kept.
pub const STDERR_TAIL_BYTES: usize = 8 * 1024;
/// Longest words of a server about itself that are kept (an error, a challenge), in characters.
pub const SERVER_WORDS_CHARS: usize = 2000;
/// Largest document about who gives access to a remote, in bytes.
pub const ACCESS_METADATA_BYTES: usize = 64 * 1024;
/// Most requests of a server that are answered in one take.
pub const SERVER_REQUESTS_ANSWERED: usize = 100;
/// Largest file of a package that is fetched, in bytes (512 MiB).
pub const ARTIFACT_BYTES: usize = 512 * 1024 * 1024;
/// Longest time for one attempt to fetch a file of a package, in seconds.
pub const ARTIFACT_SECS: u64 = 600;
/// Largest answer of a package registry about a name, in bytes: a list of thousands of versions has 20 MB.
pub const METADATA_BYTES: usize = 64 * 1024 * 1024;
/// Longest wait for the head of a package registry's answer, and between two pieces of a file, in seconds.
pub const PACKAGE_FIRST_BYTE_SECS: u64 = 30;
/// Longest time for one answer of a package registry, in seconds.
pub const PACKAGE_ANSWER_SECS: u64 = 60;
/// Most attempts for one answer of a package registry.
pub const PACKAGE_ATTEMPTS: u32 = 3;
/// Longest time spent on attempts for one answer of a package registry, in seconds.
pub const PACKAGE_RETRY_SECS: u64 = 90;
/// Longest single wait before another attempt at a package registry, in seconds.
pub const PACKAGE_RETRY_WAIT_SECS: u64 = 20;
/// Longest time a package client may take to print its settings, in seconds.
pub const CLIENT_SECS: u64 = 20;
/// Largest output or file of settings of a package client, in bytes.
pub const CLIENT_ANSWER_BYTES: usize = 1024 * 1024;
/// Most tokens of image registries kept at a time.
pub const OCI_TOKENS: usize = 256;
/// Largest record of a check of provenance, in bytes.
pub const RECORD_BYTES: usize = 1024 * 1024;
/// Most memory of a server in the sandbox, with all that it starts, in bytes (1 GiB).
pub const CAGE_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Most processes and threads of a server in the sandbox.
pub const CAGE_TASKS: u64 = 256;
/// Room in the home of a server in the sandbox, in bytes (256 MiB).
pub const CAGE_HOME_BYTES: u64 = 256 * 1024 * 1024;
/// Room for temporary files of a server in the sandbox, in bytes (64 MiB).
pub const CAGE_TEMP_BYTES: u64 = 64 * 1024 * 1024;
/// Most files open in one process in the sandbox.
pub const CAGE_FILES: u64 = 4096;
/// Most processor time of one process in the sandbox, in seconds.
pub const CAGE_CPU_SECS: u64 = 120;
/// Most names or patterns of one kind in the filter of a subscription: a lock file of this many servers fits.
pub const ALERT_FILTER_ENTRIES: usize = 2000;
/// Longest pattern in the filter of a subscription, in characters.
pub const ALERT_PATTERN_CHARS: usize = 200;
/// Longest name of a subscription or an endpoint, in characters.
pub const ALERT_LABEL_CHARS: usize = 100;
/// Most subscriptions of one owner.
pub const SUBSCRIPTIONS_PER_OWNER: i64 = 20_000;
/// Most endpoints of one owner.
pub const ENDPOINTS_PER_OWNER: i64 = 2000;
/// Longest address of an endpoint, in characters.
pub const ENDPOINT_ADDRESS_CHARS: usize = 2000;
/// Largest body of a webhook, in bytes; what is longer is cut and linked.
pub const WEBHOOK_BODY_BYTES: usize = 20_000;
/// Largest answer read from a webhook's receiver, in bytes.
pub const WEBHOOK_ANSWER_BYTES: usize = 1024 * 1024;
/// How much of a receiver's answer is kept in the delivery log, in characters.
pub const WEBHOOK_ANSWER_KEPT_CHARS: usize = 500;
/// Time a webhook's receiver has to begin its answer, in seconds.
pub const WEBHOOK_FIRST_BYTE_SECS: u64 = 15;
/// Time a webhook's receiver has for its whole answer, in seconds.
pub const WEBHOOK_TOTAL_SECS: u64 = 20;
/// Most deliveries sent at one time by one process.
pub const DELIVERIES_AT_ONCE: usize = 64;
/// Most deliveries sent at one time to one endpoint.
pub const DELIVERIES_AT_ONCE_PER_ENDPOINT: usize = 4;
/// Most events asked for in one replay.
pub const REPLAY_EVENTS: i64 = 10_000;
/// Most events told in one digest.
pub const DIGEST_EVENTS: usize = 1000;
/// How long a finished delivery stays in the log, in seconds (30 days).
pub const DELIVERY_LOG_SECS: i64 = 30 * 24 * 3600;
/// Most servers asked about in one check of pins.
pub const CHECKED_PINS: usize = 200;
/// Largest lock file and settings file of a client that is read, in bytes.
pub const LOCK_BYTES: usize = 8 * 1024 * 1024;
/// Longest time to install one package, in seconds.
pub const INSTALL_SECS: u64 = 180;
/// Most bytes an install may fetch, and most it may leave, in bytes (1 GiB).
pub const INSTALL_BYTES: u64 = 1024 * 1024 * 1024;
/// Most files an install may leave, and most files of packages its registry may name while it resolves.
pub const INSTALL_FILES: usize = 500_000;
/// Most memory of an install, in bytes (2 GiB).
pub const INSTALL_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Most processes and threads of an install.
pub const INSTALL_TASKS: u64 = 512;
/// Most bytes an archive may unpack to, in bytes (2 GiB).
pub const ARCHIVE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Most entries of an archive.
pub const ARCHIVE_ENTRIES: usize = 100_000;
/// Usual and largest number of tools in one answer of `find_tools`.
pub const FIND_LIMIT: usize = 7;
/// Largest number of tools for one need in one answer of `find_tools`.
pub const FIND_LIMIT_MAX: usize = 20;
/// Most needs in one call of `find_tools`.
pub const FIND_NEEDS: usize = 8;
/// Most tools whose definitions are asked for in one call of `find_tools`.
pub const FIND_IDS: usize = 20;
/// Longest need that is read, in characters; what follows does not count.
pub const FIND_NEED_CHARS: usize = 4000;
/// Usual size of an answer of `find_tools`, in model tokens (a quarter of its bytes).
pub const FIND_TOKENS: usize = 2000;
/// Smallest size of an answer of `find_tools` that can be asked for, in model tokens.
pub const FIND_TOKENS_MIN: usize = 300;
/// Largest size of an answer of `find_tools` that can be asked for, in model tokens.
pub const FIND_TOKENS_MAX: usize = 50_000;
/// Longest summary of a tool in an answer of `find_tools`, in characters.
pub const FIND_SUMMARY_CHARS: usize = 110;
/// Largest request to the MCP endpoint, in bytes.
pub const MCP_REQUEST_BYTES: usize = 64 * 1024;
/// Longest time for one call at the MCP endpoint, in seconds.
pub const MCP_CALL_SECS: u64 = 20;
/// Bytes that definitions of tools read for answers may take in memory.
pub const FOUND_CACHE_BYTES: u64 = 48 * 1024 * 1024;
/// How soon a target is checked again when a place that may hold evidence failed to answer, in seconds.
pub const VERIFY_RETRY_SECS: i64 = 3600;
/// How soon it is checked again when places keep failing, in seconds.
pub const VERIFY_RETRY_LATER_SECS: i64 = 86_400;
/// How soon an old release is looked at again: other bytes under its version, withdrawn, new evidence; in seconds.
pub const VERIFY_RELOOK_SECS: i64 = 14 * 86_400;
/// Stored verdicts read at a time when all are checked again.
pub const RECHECK_PAGE: u32 = 200;
/// Most checks of one version that are shown.
pub const SHOWN_VERDICTS: u32 = 100;
/// Largest signed summary that is read, in bytes.
pub const SUMMARY_BYTES: usize = 1024 * 1024;
