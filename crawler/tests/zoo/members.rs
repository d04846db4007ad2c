//! The table: who is in the zoo, and what is to come of a look at each.

use toolmark_domain::snapshot::Outcome::{
    self, Crashed, DoesNotSpeakMcp, NeedsConfiguration, Observed, RefusedByPolicy, TimedOut,
};

/// What a member says it saw.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sees {
    /// It says, and it was nothing.
    Nothing,
    /// It does not say.
    Whatever,
}

/// One member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Its function in `zoo.py`.
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<&'static str>,
    pub(crate) sees: Sees,
    /// Places it tries to reach.
    pub(crate) reaches: &'static [&'static str],
    /// Words of findings that are to be there.
    pub(crate) findings: &'static [&'static str],
}

const fn comes_to(name: &'static str, outcome: Outcome) -> Member {
    Member {
        name,
        outcome,
        reason: None,
        sees: Sees::Whatever,
        reaches: &[],
        findings: &[],
    }
}

const fn refused(name: &'static str, reason: &'static str) -> Member {
    because(name, RefusedByPolicy, reason)
}

const fn because(name: &'static str, outcome: Outcome, reason: &'static str) -> Member {
    Member {
        reason: Some(reason),
        ..comes_to(name, outcome)
    }
}

const fn observed(name: &'static str, findings: &'static [&'static str]) -> Member {
    Member {
        findings,
        ..comes_to(name, Observed)
    }
}

const fn sees_nothing(name: &'static str, reaches: &'static [&'static str]) -> Member {
    Member {
        sees: Sees::Nothing,
        reaches,
        ..comes_to(name, Observed)
    }
}

pub(crate) const MEMBERS: &[Member] = &[
    because("hangs_at_start", TimedOut, "no_answer"),
    because("hangs_on_initialize", TimedOut, "no_answer"),
    because("hangs_on_its_list", TimedOut, "no_answer"),
    observed("hangs_at_the_end", &["C09"]),
    because("answers_byte_by_byte", TimedOut, "no_answer"),
    because("spins", TimedOut, "no_answer"),
    because("exits_on_its_list", Crashed, "exit_status"),
    because("is_killed_on_its_list", Crashed, "signal"),
    because("exits_at_once", DoesNotSpeakMcp, "not_the_server"),
    refused("endless_lines", "too_much_output"),
    refused("endless_line", "message_too_large"),
    refused("a_line_of_a_gigabyte", "message_too_large"),
    refused("endless_errors", "too_much_output"),
    observed("many_errors", &[]),
    refused("floods_notifications", "too_many_messages"),
    refused("asks_for_ever", "too_many_messages"),
    observed("says_its_lists_changed_for_ever", &[]),
    refused("blank_lines", "too_many_messages"),
    refused("repeats_a_cursor", "cursor_loop"),
    refused("never_ends_its_pages", "too_many_pages"),
    refused("gives_a_long_cursor", "cursor_too_long"),
    refused("lists_ten_thousand_tools", "too_many_items"),
    refused("lists_a_deep_schema", "too_deep"),
    because("lists_a_bracket_bomb", TimedOut, "no_answer"),
    refused("lists_a_large_tool", "message_too_large"),
    observed("refers_to_the_network", &[]),
    observed("refers_to_itself", &[]),
    observed("repeats_keys", &["key given twice"]),
    because("is_not_utf_8", DoesNotSpeakMcp, "invalid_utf8"),
    observed("has_lone_surrogates", &[]),
    observed("has_odd_numbers", &[]),
    observed("repeats_names", &[]),
    observed("answers_twice", &[]),
    because("answers_with_a_page", TimedOut, "no_answer"),
    because("speaks_http", TimedOut, "no_answer"),
    observed("changes_between_takes", &[]),
    because(
        "hides_commands_in_its_words",
        NeedsConfiguration,
        "missing_setting",
    ),
    refused("fork_bomb", "process_limit"),
    refused("thread_bomb", "process_limit"),
    refused("memory_bomb", "memory_limit"),
    refused("shared_memory_bomb", "memory_limit"),
    refused("disk_filler", "disk_limit"),
    refused("file_bomb", "disk_limit"),
    observed("opens_every_file_it_may", &[]),
    observed("ignores_sigterm", &["C09"]),
    observed("daemonises", &[]),
    because("leaves_a_child_that_answers", Crashed, "exit_status"),
    because("keeps_its_output_open", Crashed, "exit_status"),
    observed("kills_everything", &[]),
    sees_nothing("reads_other_processes", &[]),
    sees_nothing("reads_files", &[]),
    sees_nothing("reads_its_environment", &[]),
    sees_nothing("reads_kernel_secrets", &[]),
    sees_nothing("opens_raw_sockets", &[]),
    sees_nothing("scans_loopback", &[]),
    sees_nothing(
        "asks_for_metadata",
        &[
            "tcp 169.254.169.254:80",
            "tcp metadata.google.internal:80",
            "tcp 100.100.100.200:80",
        ],
    ),
    sees_nothing(
        "rebinds_names",
        &["dns rebind.attacker.example:53", "tcp rebind.attacker.example:80"],
    ),
    sees_nothing(
        "reaches_the_internet",
        &[
            "dns example.com:53",
            "tcp example.com:443",
            "tcp 8.8.8.8:53",
            "tcp 10.0.0.1:80",
        ],
    ),
    sees_nothing("uses_abstract_sockets", &[]),
    sees_nothing("writes_everywhere", &[]),
    sees_nothing("becomes_root", &[]),
];
