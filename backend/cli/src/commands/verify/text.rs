//! A verdict for people: what was decided, each step, and why.

use std::fmt::Write as _;

use toolmark_domain::provenance::Verdict;
use toolmark_registry::provenance::{Claims, Place, PlaceAnswer, Record, Report, StepName, StepState};

use crate::output::{plain, table};

/// The whole answer.
pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    let level = report
        .level
        .map_or(String::new(), |level| format!(" ({level}: {})", level.meaning()));
    let _ = writeln!(out, "{}: {}{level}", report.verdict, report.verdict.meaning());
    for reason in &report.reasons {
        let _ = writeln!(out, "  {reason}: {}", reason.meaning());
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "  note {warning}: {}", warning.meaning());
    }
    if report.verdict != Verdict::Unsigned {
        out.push_str("\nsteps\n");
        let rows: Vec<Vec<String>> = report
            .steps
            .iter()
            .map(|step| {
                let state = match step.state {
                    StepState::Pass => "  pass",
                    StepState::Fail => "  FAIL",
                    StepState::NotDone => "  not done",
                };
                vec![state.to_owned(), words(step.name).to_owned(), plain(&step.note)]
            })
            .collect();
        out.push_str(&table(&rows));
    }
    if let Some(claims) = &report.claims {
        out.push_str(&claimed(claims));
    }
    if report.attestations.len() > 1 {
        let _ = writeln!(out, "\n{} attestations were looked at", report.attestations.len());
    }
    let root = report.trusted_root.as_ref();
    let root = root.map_or("none".to_owned(), |root| {
        format!("{} sha256:{}", plain(&root.name), root.sha256)
    });
    let _ = writeln!(
        out,
        "\nchecked at {}, {}, trusted root: {root}",
        report.checked_at, report.policy
    );
    out
}

/// Which places were asked, and how each answered.
pub(super) fn places(record: &Record) -> String {
    let mut out = format!("{}\n", plain(&record.target));
    if let Some(artifact) = &record.artifact {
        let name = plain(&artifact.name);
        let _ = writeln!(
            out,
            "  {name}, {} bytes, sha256:{}",
            artifact.bytes, artifact.sha256
        );
    }
    if !record.places.is_empty() {
        out.push_str("\nplaces asked\n");
        let rows: Vec<Vec<String>> = record.places.iter().map(place).collect();
        out.push_str(&table(&rows));
    }
    out.push('\n');
    out
}

fn place(place: &Place) -> Vec<String> {
    let answer = match place.answer {
        PlaceAnswer::Found => "  found",
        PlaceAnswer::None => "  none",
        PlaceAnswer::Failed => "  FAILED",
    };
    let note = match &place.failure {
        Some(failure) => plain(&failure.note),
        None => plain(&place.url),
    };
    vec![answer.to_owned(), plain(&place.what), note]
}

fn words(step: StepName) -> &'static str {
    match step {
        StepName::Read => "evidence can be read",
        StepName::Time => "time of signing",
        StepName::Certificate => "certificate or key",
        StepName::Log => "transparency log",
        StepName::Signature => "signature",
        StepName::Statement => "kind of statement",
        StepName::Subject => "is about this artifact",
        StepName::Builder => "signed by a build",
        StepName::Source => "source is the declared one",
        StepName::Trigger => "what started the build",
    }
}

fn claimed(claims: &Claims) -> String {
    let times: Vec<String> = claims.signed_at.iter().map(ToString::to_string).collect();
    let times = Some(times.join(", ")).filter(|times| !times.is_empty());
    let level = claims.slsa_level.map(|level| level.to_string());
    let rows = [
        ("source", &claims.source_repository),
        ("commit", &claims.source_commit),
        ("ref", &claims.source_ref),
        ("workflow", &claims.workflow),
        ("signer", &claims.signer),
        ("issuer", &claims.issuer),
        ("builder", &claims.builder_id),
        ("runner", &claims.runner),
        ("trigger", &claims.trigger),
        ("run", &claims.run),
        ("registry", &claims.registry),
        ("signed at", &times),
        ("SLSA build level", &level),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .filter_map(|(name, value)| Some(vec![format!("  {name}"), plain(value.as_ref()?)]))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\nthe evidence says\n{}", table(&rows))
}
