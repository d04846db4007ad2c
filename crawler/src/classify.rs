//! Why a server ended or refused, judged by its own words. The words are kept beside it, so that a person can judge
//! again; a reason here is the likeliest one and claims no more.

use std::os::unix::process::ExitStatusExt as _;

use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::stdio::Last;
use crate::wire::End;

/// Words that tell a reason, the more telling reasons first.
const TELLING: [(Reason, &[&str]); 7] = [
    (
        Reason::NativePartMissing,
        &[
            ".node'",
            ".node\"",
            "cannot open shared object file",
            "invalid elf header",
            "glibc_",
            "glibcxx_",
            "could not load the native",
            "native binding",
            "native module",
            "platform package",
            "platform-specific package",
            "optional dependency",
            "exec format error",
            "keytar",
        ],
    ),
    (
        Reason::MissingModule,
        &[
            "cannot find module",
            "cannot find package",
            "err_module_not_found",
            "modulenotfounderror",
            "no module named",
            "packagenotfounderror",
        ],
    ),
    (
        Reason::RuntimeTooOld,
        &[
            "requires node",
            "require node",
            "node.js version",
            "node version",
            "unsupported node",
            "unsupported engine",
            "upgrade node",
            "upgrade to node",
            "requires python",
            "require python",
            "python version",
            "upgrade python",
            "requires a different python",
            "is not supported by this version of python",
        ],
    ),
    (
        Reason::ReadOnlyFileSystem,
        &["erofs", "read-only file system", "readonly file system"],
    ),
    (
        Reason::NeedsTimeZone,
        &[
            "zoneinfonotfounderror",
            "no time zone found",
            "unknown time zone",
            "unknown timezone",
            "invalid time zone",
            "invalid timezone",
            "could not determine timezone",
            "could not determine local timezone",
        ],
    ),
    (
        Reason::MissingArgument,
        &[
            "usage:",
            "missing argument",
            "missing required argument",
            "missing required option",
            "missing required flag",
            "following arguments are required",
            "required arguments",
            "required option",
            "argument is required",
            "arguments are required",
            "no argument",
            "at least one director",
            "at least one argument",
            "must specify",
        ],
    ),
    (
        Reason::NeedsNetwork,
        &[
            "enotfound",
            "eai_again",
            "econnrefused",
            "econnreset",
            "enetunreach",
            "ehostunreach",
            "etimedout",
            "fetch failed",
            "failed to fetch",
            "getaddrinfo",
            "name resolution",
            "name or service not known",
            "network is unreachable",
            "network request failed",
            "no such host",
            "connection refused",
            "connection reset",
            "connecterror",
            "connecttimeout",
            "connectionerror",
            "max retries exceeded",
            "socket hang up",
            "dial tcp",
            "urlopen error",
            "all connection attempts failed",
        ],
    ),
];

/// Words that say something is wanted.
const WANTED: [&str; 22] = [
    "required",
    "is missing",
    "missing",
    "must be set",
    "must be provided",
    "must be defined",
    "must set",
    "must provide",
    "not set",
    "not provided",
    "not defined",
    "not configured",
    "not found",
    "please set",
    "please provide",
    "please configure",
    "please specify",
    "please add",
    "you need to",
    "unauthorized",
    "invalid",
    "no ",
];

/// What is wanted where it is a setting.
const SETTING: [&str; 16] = [
    "api key",
    "api_key",
    "apikey",
    "api-key",
    "access key",
    "token",
    "secret",
    "password",
    "credential",
    "environment variable",
    "env var",
    "environment",
    "client id",
    "client_id",
    "configuration",
    "connection string",
];

/// Words of a dependency that has moved on under its user.
const DRIFT: [&str; 12] = [
    "cannot import name",
    "does not provide an export named",
    "err_package_path_not_exported",
    "is not exported from package",
    "unexpected keyword argument",
    "pydanticusererror",
    "pydantic.errors",
    "has no attribute",
    "is not a function",
    "is not a constructor",
    "versionconflict",
    "cannot read properties of undefined",
];

/// What `text` says about why, if it says something.
pub(crate) fn telling(text: &str) -> Option<Reason> {
    let lower = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let early = TELLING[..5].iter().find(|(_, words)| says(words));
    if let Some((reason, _)) = early {
        return Some(*reason);
    }
    if wants_setting(text) {
        return Some(Reason::MissingSetting);
    }
    let late = TELLING[5..].iter().find(|(_, words)| says(words));
    if let Some((reason, _)) = late {
        return Some(*reason);
    }
    says(&DRIFT).then_some(Reason::DependencyDrift)
}

/// A line that wants something, and names a setting.
fn wants_setting(text: &str) -> bool {
    text.lines().any(|line| {
        let lower = line.to_lowercase();
        let wanted = WANTED.iter().any(|word| lower.contains(word));
        wanted && (SETTING.iter().any(|word| lower.contains(word)) || names_variable(line))
    })
}

/// `LIKE_THIS`: at least two parts.
fn names_variable(line: &str) -> bool {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.into_iter().any(|word| {
        let parts = word.split('_').filter(|part| part.len() > 1).count();
        let capitals = word
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        parts >= 2 && capitals && !word.starts_with("ERR_")
    })
}

/// The outcome under which a reason stands when the server ended by itself.
fn ended(reason: Reason) -> Outcome {
    match reason {
        Reason::MissingSetting | Reason::MissingArgument => Outcome::NeedsConfiguration,
        _ => Outcome::Crashed,
    }
}

/// A process ended before it had said all. `spoke`: it had answered something.
pub(crate) fn gone(last: &Last, spoke: bool) -> End {
    let stderr = last.stderr.as_deref().unwrap_or_default();
    let all = format!("{stderr}\n{}", last.noise);
    let words = [stderr, &last.noise]
        .into_iter()
        .find(|text| !text.trim().is_empty());
    let end = |outcome, reason| End {
        outcome,
        reason,
        words: words.map(said),
    };
    if let Some(reason) = telling(&all) {
        return end(ended(reason), reason);
    }
    let status = last.status;
    if status.is_some_and(|status| status.signal().is_some()) {
        return end(Outcome::Crashed, Reason::Signal);
    }
    if status.is_some_and(|status| status.success()) && !spoke && !all.trim().is_empty() {
        return end(Outcome::DoesNotSpeakMcp, Reason::NotTheServer);
    }
    end(Outcome::Crashed, Reason::ExitStatus)
}

/// The line that says most about why, else the last one.
fn said(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let best = lines().find(|line| telling(line).is_some());
    best.or_else(|| lines().next_back())
        .unwrap_or_default()
        .to_owned()
}

/// A server did not answer in time.
pub(crate) fn silent(last: Option<&Last>, reached_out: bool) -> End {
    let stderr = last.and_then(|last| last.stderr.as_deref()).unwrap_or_default();
    let network = reached_out || telling(stderr) == Some(Reason::NeedsNetwork);
    let reason = if network {
        Reason::NeedsNetwork
    } else {
        Reason::NoAnswer
    };
    End {
        outcome: Outcome::TimedOut,
        reason,
        words: network.then(|| said(stderr)).filter(|words| !words.is_empty()),
    }
}

/// A server answered a list with an error. `remote`: it is not ours to give it settings.
pub(crate) fn list_error(words: String, remote: bool) -> End {
    let (outcome, reason) = match telling(&words) {
        Some(Reason::MissingSetting) if remote => (Outcome::AuthRequired, Reason::MissingSetting),
        Some(reason @ (Reason::MissingSetting | Reason::MissingArgument)) => {
            (Outcome::NeedsConfiguration, reason)
        }
        // Our rule is what keeps it from the network.
        Some(Reason::NeedsNetwork) if !remote => (Outcome::RefusedByPolicy, Reason::NeedsNetwork),
        _ => (Outcome::NotObserved, Reason::ListError),
    };
    End::saying(outcome, reason, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_real_kinds_tell_their_reason() {
        let cases = [
            (
                "Error: BRAVE_API_KEY environment variable is required",
                Some(Reason::MissingSetting),
            ),
            ("Please set your access token", Some(Reason::MissingSetting)),
            (
                "Error: Cannot find module 'zod'\nRequire stack:",
                Some(Reason::MissingModule),
            ),
            (
                "ModuleNotFoundError: No module named 'httpx'",
                Some(Reason::MissingModule),
            ),
            (
                "Error: Cannot find module '../build/Release/keytar.node'",
                Some(Reason::NativePartMissing),
            ),
            (
                "libsecret-1.so.0: cannot open shared object file",
                Some(Reason::NativePartMissing),
            ),
            ("This tool requires Node 22 or newer", Some(Reason::RuntimeTooOld)),
            (
                "OSError: [Errno 30] Read-only file system: 'x.log'",
                Some(Reason::ReadOnlyFileSystem),
            ),
            (
                "ZoneInfoNotFoundError: 'No time zone found with key Asia/X'",
                Some(Reason::NeedsTimeZone),
            ),
            (
                "Usage: mcp-server-filesystem <allowed-directory>",
                Some(Reason::MissingArgument),
            ),
            ("TypeError: fetch failed", Some(Reason::NeedsNetwork)),
            (
                "getaddrinfo ENOTFOUND api.example.com",
                Some(Reason::NeedsNetwork),
            ),
            (
                "ImportError: cannot import name 'FastMCP' from 'mcp'",
                Some(Reason::DependencyDrift),
            ),
            ("Segmentation fault", None),
            ("Listening", None),
        ];
        for (text, expected) in cases {
            assert_eq!(telling(text), expected, "{text}");
        }
    }

    #[test]
    fn a_program_that_prints_and_ends_well_is_not_the_server() {
        let last = Last {
            status: Some(std::process::ExitStatus::from_raw(0)),
            stderr: None,
            noise: "{\"mcpServers\": {}}\n".to_owned(),
        };
        assert_eq!(gone(&last, false).reason, Reason::NotTheServer);
        assert_eq!(gone(&last, true).outcome, Outcome::Crashed);
        let killed = Last {
            status: Some(std::process::ExitStatus::from_raw(9)),
            ..Last::default()
        };
        assert_eq!(gone(&killed, false).reason, Reason::Signal);
    }
}
