//! Why a look ended as it did: a finer word under an [`Outcome`](crate::snapshot::Outcome), for people and for rules.

/// Writes the closed list once: variant, word, sentence.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $says:literal;)*) => {
        /// A finer state under an outcome. A closed list; the sentence stands in [`Reason::meaning`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word in JSON and SQL.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// For people, as a sentence without its subject.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $says,)*
                }
            }
        }
    };
}

reasons! {
    // What answered is not this protocol, or only a part of it.
    HttpSseOnly = "http_sse_only", "speaks only the old HTTP+SSE transport";
    Html = "html", "answered with a web page";
    NotJsonRpc = "not_json_rpc", "answered with something other than JSON-RPC";
    NoAnswerToInitialize = "no_answer_to_initialize", "took `initialize` and gave no result";
    InitializeRefused = "initialize_refused", "refused `initialize`";
    NoCommonVersion = "no_common_version", "speaks no protocol version we speak";
    NoToolsList = "no_tools_list", "declares tools and does not list them";
    ListError = "list_error", "answered a list with an error";
    InvalidUtf8 = "invalid_utf8", "answered with bytes that are not UTF-8";
    NotTheServer = "not_the_server", "printed something and ended without an error: not the server";
    HeaderMismatch = "header_mismatch", "says our headers and body differ";
    NeedsClientCapability = "needs_client_capability", "wants a client capability that we do not declare";
    // It could not be reached.
    CannotConnect = "cannot_connect", "could not be connected to";
    RateLimited = "rate_limited", "asked us to come back later";
    ServerError = "server_error", "answered with an error of its HTTP server";
    BrokeOff = "broke_off", "broke off in the middle of an answer";
    NoAnswer = "no_answer", "accepted the request and did not answer";
    Unauthorized = "unauthorized", "answered 401";
    Forbidden = "forbidden", "answered 403";
    // It did not start, or ended.
    MissingSetting = "missing_setting", "wants a setting that it was not given";
    MissingArgument = "missing_argument", "wants an argument that it was not given";
    MissingModule = "missing_module", "lacks a module that it needs";
    DependencyDrift = "dependency_drift", "does not work with the newest dependencies it allows";
    NativePartMissing = "native_part_missing", "lacks its native part";
    RuntimeTooOld = "runtime_too_old", "wants another version of its runtime";
    ReadOnlyFileSystem = "read_only_file_system", "wants to write where it must not";
    NeedsNetwork = "needs_network", "does not list without the network";
    NeedsTimeZone = "needs_time_zone", "does not start in this time zone";
    ExitStatus = "exit_status", "ended by itself";
    Signal = "signal", "was ended by a signal that is not ours";
    CannotStart = "cannot_start", "could not be started";
    // One of our limits or rules.
    MessageTooLarge = "message_too_large", "sent a message over our limit";
    TooMuchOutput = "too_much_output", "sent more than our limit";
    TooManyItems = "too_many_items", "listed more than our limit";
    TooManyPages = "too_many_pages", "gave more pages than our limit";
    TooManyMessages = "too_many_messages", "sent more messages than our limit";
    CursorLoop = "cursor_loop", "repeated a cursor";
    CursorTooLong = "cursor_too_long", "gave a cursor over our limit";
    TooDeep = "too_deep", "nested deeper than our limit";
    ForbiddenAddress = "forbidden_address", "is at an address that is not public";
    NotHttps = "not_https", "is not at an https address";
    TooManyRedirects = "too_many_redirects", "redirects more often than our limit";
    OddEncoding = "odd_encoding", "is packed in a way we do not unpack";
    MemoryLimit = "memory_limit", "took more memory than our limit";
    ProcessLimit = "process_limit", "started more processes than our limit";
    DiskLimit = "disk_limit", "wrote more than our limit";
    CpuLimit = "cpu_limit", "took more processor time than our limit";
    ArchiveRefused = "archive_refused", "is packed in a way we do not unpack";
    // It was not looked at.
    NoSandbox = "no_sandbox", "there is no sandbox on this machine";
    NoRunner = "no_runner", "nothing here runs this kind of package";
    UnknownTarget = "unknown_target", "is not a kind of target we know";
    ArtifactMissing = "artifact_missing", "is not in its package registry";
    ArtifactMismatch = "artifact_mismatch", "is not the artifact that was named";
    DependencyUnavailable = "dependency_unavailable", "wants a dependency that its package registry does not have";
    InstallFailed = "install_failed", "could not be installed";
    InstallTimedOut = "install_timed_out", "was not installed in the time it had";
    RegistryUnreachable = "registry_unreachable", "its package registry did not answer";
}

impl Reason {
    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for reason in Reason::ALL {
            assert_eq!(Reason::parse(reason.as_str()), Some(*reason));
            let word = reason.as_str().bytes();
            assert!(
                word.into_iter()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            );
            assert!(!reason.meaning().is_empty() && !reason.meaning().ends_with('.'));
        }
        assert_eq!(Reason::parse("other"), None);
    }
}
