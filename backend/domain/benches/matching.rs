//! The promised figure of matching: ten thousand subscriptions against one event in under 5 ms.

#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use toolmark_domain::alert::filter::{Facts, Filter};
use toolmark_domain::alert::matcher::Matcher;
use toolmark_domain::event::Severity;

const SUBSCRIPTIONS: usize = 10_000;
const MOST_MILLIS: f64 = 5.0;

/// What the subscriptions are about, and each of them.
type Kind<'a> = (&'a str, &'a dyn Fn(usize) -> Filter);

fn main() -> ExitCode {
    let facts = Facts::read(&json!({
        "seq": 1, "kind": "change.recorded", "server": "com.example42/weather", "severity": "high",
        "data": {"rules": ["D08"], "tools": ["get_tide"]},
    }))
    .unwrap();
    let by_server = |n: usize| Filter {
        servers: vec![format!("com.example{n}/weather")],
        ..Filter::default()
    };
    let by_namespace = |n: usize| Filter {
        namespaces: vec![format!("com.example{n}*"), format!("*.example{n}")],
        ..Filter::default()
    };
    let by_rest = |n: usize| Filter {
        severity: Severity::Medium,
        rules: vec![
            "D15".into(),
            if n.is_multiple_of(2) {
                "D08".into()
            } else {
                "D12".into()
            },
        ],
        tools: vec!["*_tide".into()],
        ..Filter::default()
    };
    let kinds: [Kind<'_>; 3] = [
        ("each about its own server", &by_server),
        ("each about its own namespaces", &by_namespace),
        ("all about every server", &by_rest),
    ];
    let mut well = true;
    for (what, filter) in kinds {
        let matcher = Matcher::new((0..SUBSCRIPTIONS).map(|n| (n, filter(n))).collect());
        let mut best = f64::INFINITY;
        let mut found = 0;
        for _ in 0..50 {
            let started = Instant::now();
            found = matcher.matches(&facts).len();
            best = best.min(started.elapsed().as_secs_f64() * 1000.0);
        }
        println!("{SUBSCRIPTIONS} subscriptions, {what}: {found} fit, {best:.3} ms, promised {MOST_MILLIS}");
        well &= best < MOST_MILLIS;
    }
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
