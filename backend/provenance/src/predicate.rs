//! What the builder writes in a statement, against what the certificate says. The certificate decides; the statement
//! only adds, and where it says something else that is a conflict.

use serde_json::Value;
use toolmark_domain::provenance::Reason;

use crate::policy::Source;
use crate::report::Fault;
use crate::repository::Repository;
use crate::statement::Kind;

/// What a statement of origin says beyond the certificate.
#[derive(Default)]
pub(crate) struct Added {
    pub(crate) faults: Vec<Fault>,
    pub(crate) builder_id: Option<String>,
    /// Whether the certificate confirms it.
    pub(crate) confirmed: bool,
}

impl Added {
    fn conflict(&mut self, note: impl Into<String>) {
        self.faults
            .push(Fault::new(Reason::PredicateCertificateConflict, note));
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Compares a SLSA predicate with the certificate's source.
pub(crate) fn compare(kind: Kind, predicate: &Value, source: &Source) -> Added {
    let mut added = Added::default();
    let builder = match kind {
        Kind::SlsaV1 => {
            slsa_v1(predicate, source, &mut added);
            text(predicate, "/runDetails/builder/id")
        }
        Kind::SlsaV02 => {
            slsa_v02(predicate, source, &mut added);
            text(predicate, "/builder/id")
        }
        _ => return added,
    };
    added.builder_id = builder.map(str::to_owned);
    added.confirmed = builder.is_some_and(|id| confirmed(id, source));
    added
}

fn slsa_v1(predicate: &Value, source: &Source, added: &mut Added) {
    let workflow = "/buildDefinition/externalParameters/workflow";
    if let Some(repository) = text(predicate, &format!("{workflow}/repository"))
        && Repository::parse(repository).as_ref() != Some(&source.repository)
    {
        added.conflict(format!("the statement names the repository `{repository}`"));
    }
    let config = source.config.as_deref().and_then(|uri| workflow_of(uri, source));
    if let Some(reference) = text(predicate, &format!("{workflow}/ref")) {
        let of_workflow = config.map(|(_, reference)| reference);
        if source.reference.as_deref() != Some(reference) && of_workflow != Some(reference) {
            added.conflict(format!("the statement names the ref `{reference}`"));
        }
    }
    if let Some(path) = text(predicate, &format!("{workflow}/path"))
        && config.is_some_and(|(own, _)| own != path.trim_start_matches('/'))
    {
        added.conflict(format!("the statement names the workflow `{path}`"));
    }
    let id = predicate.pointer("/buildDefinition/internalParameters/github/repository_id");
    let id = id.and_then(|id| match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    if let (Some(stated), Some(own)) = (&id, &source.id)
        && stated != own
    {
        added.conflict(format!("the statement names the repository id {stated}"));
    }
    let inputs = predicate
        .pointer("/buildDefinition/resolvedDependencies")
        .and_then(Value::as_array);
    commits(inputs.map_or(&[], Vec::as_slice), source, added);
}

/// Commits among the inputs: each that is of the source repository is the certificate's, and one must be.
fn commits(inputs: &[Value], source: &Source, added: &mut Added) {
    let stated: Vec<(Option<&str>, &str)> = inputs
        .iter()
        .filter_map(|input| Some((text(input, "/uri"), text(input, "/digest/gitCommit")?)))
        .collect();
    let own = |uri: Option<&str>| uri.is_none_or(|uri| of_source(uri, source));
    if !stated.is_empty() && !stated.iter().any(|(uri, _)| own(*uri)) {
        added.conflict("no input of the statement is the source repository");
    }
    for (_, commit) in stated.iter().filter(|(uri, _)| own(*uri)) {
        if source.commit.as_deref() != Some(commit) {
            added.conflict(format!("the statement names the commit `{commit}`"));
        }
    }
}

fn slsa_v02(predicate: &Value, source: &Source, added: &mut Added) {
    let config = "/invocation/configSource";
    if let Some(uri) = text(predicate, &format!("{config}/uri")) {
        let (address, reference) = uri_and_ref(uri);
        if Repository::parse(address).as_ref() != Some(&source.repository) {
            added.conflict(format!("the statement names the source `{address}`"));
        }
        let of_workflow = source.config.as_deref().and_then(|uri| workflow_of(uri, source));
        if let Some(reference) = reference
            && source.reference.as_deref() != Some(reference)
            && of_workflow.is_none_or(|(_, own)| own != reference)
        {
            added.conflict(format!("the statement names the ref `{reference}`"));
        }
    }
    if let Some(commit) = text(predicate, &format!("{config}/digest/sha1"))
        && source.commit.as_deref() != Some(commit)
    {
        added.conflict(format!("the statement names the commit `{commit}`"));
    }
}

fn of_source(uri: &str, source: &Source) -> bool {
    Repository::parse(uri_and_ref(uri).0).as_ref() == Some(&source.repository)
}

/// `git+https://host/path@ref` in its two parts. An `@` before the host is a user's, not a ref's.
fn uri_and_ref(uri: &str) -> (&str, Option<&str>) {
    match uri.rfind("@refs/") {
        Some(at) => (&uri[..at], Some(&uri[at + 1..])),
        None => match uri.rsplit_once('@') {
            Some((address, reference)) if address.contains("://") && !reference.contains('/') => {
                (address, Some(reference))
            }
            _ => (uri, None),
        },
    }
}

/// Path within the source repository, and ref, of the workflow in a certificate.
fn workflow_of<'a>(uri: &'a str, source: &Source) -> Option<(&'a str, &'a str)> {
    let (path, reference) = uri.strip_prefix(&source.uri)?.split_once('@')?;
    Some((path.trim_start_matches('/'), reference))
}

/// A builder is confirmed when it is the signer, or fits the runner the certificate names.
fn confirmed(id: &str, source: &Source) -> bool {
    if id == source.signer {
        return true;
    }
    let runner = source.runner.as_deref();
    match id.strip_prefix("https://github.com/actions/runner") {
        Some("") => source.repository.host() == "github.com",
        Some(kind) => kind.strip_prefix('/').is_some_and(|kind| Some(kind) == runner),
        None => {
            let gitlab = id
                .strip_prefix(source.uri.as_str())
                .and_then(|rest| rest.strip_prefix("/-/runners/"));
            gitlab.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source() -> Source {
        let uri = "https://github.com/acme/weather";
        Source {
            repository: Repository::parse(uri).unwrap(),
            uri: uri.into(),
            id: Some("7".into()),
            commit: Some("c0".into()),
            reference: Some("refs/tags/v1".into()),
            config: Some(format!("{uri}/.github/workflows/r.yml@refs/tags/v1")),
            runner: Some("github-hosted".into()),
            signer: format!("{uri}/.github/workflows/r.yml@refs/tags/v1"),
        }
    }

    fn v1() -> Value {
        json!({
            "buildDefinition": {
                "externalParameters": {"workflow": {
                    "repository": "https://github.com/acme/weather",
                    "ref": "refs/tags/v1",
                    "path": ".github/workflows/r.yml"}},
                "internalParameters": {"github": {"repository_id": "7"}},
                "resolvedDependencies": [
                    {"uri": "git+https://github.com/acme/weather@refs/tags/v1", "digest": {"gitCommit": "c0"}},
                    {"uri": "git+https://github.com/acme/library@refs/tags/v9", "digest": {"gitCommit": "c9"}}]},
            "runDetails": {"builder": {"id": "https://github.com/actions/runner/github-hosted"}}
        })
    }

    #[test]
    fn every_statement_that_differs_is_a_conflict() {
        let added = compare(Kind::SlsaV1, &v1(), &source());
        assert_eq!(added.faults, []);
        assert!(added.confirmed);
        let definition = "/buildDefinition";
        for (pointer, value) in [
            (
                "externalParameters/workflow/repository",
                json!("https://github.com/m/weather"),
            ),
            ("externalParameters/workflow/ref", json!("refs/heads/main")),
            (
                "externalParameters/workflow/path",
                json!(".github/workflows/x.yml"),
            ),
            ("internalParameters/github/repository_id", json!(8)),
            ("resolvedDependencies/0/digest/gitCommit", json!("c1")),
            (
                "resolvedDependencies/0/uri",
                json!("git+https://github.com/m/w@refs/tags/v1"),
            ),
        ] {
            let mut changed = v1();
            *changed.pointer_mut(&format!("{definition}/{pointer}")).unwrap() = value;
            let faults = compare(Kind::SlsaV1, &changed, &source()).faults;
            assert_eq!(faults.len(), 1, "{pointer}: {faults:?}");
            assert_eq!(faults[0].reason, Reason::PredicateCertificateConflict);
        }
    }

    #[test]
    fn the_older_predicate_is_compared_too() {
        let v02 = |uri: &str, sha1: &str| {
            let predicate = json!({"builder": {"id": "https://github.com/actions/runner"},
                "invocation": {"configSource": {"uri": uri, "digest": {"sha1": sha1}}}});
            compare(Kind::SlsaV02, &predicate, &source()).faults.len()
        };
        let good = "git+https://github.com/acme/weather@refs/tags/v1";
        assert_eq!(v02(good, "c0"), 0);
        assert_eq!(v02(good, "c1"), 1);
        assert_eq!(v02("git+https://github.com/m/weather@refs/tags/v1", "c0"), 1);
        assert_eq!(v02("git+https://github.com/acme/weather@refs/tags/v2", "c0"), 1);
    }

    #[test]
    fn only_a_builder_the_certificate_confirms_is_shown() {
        let source = source();
        assert!(confirmed(&source.signer, &source));
        for other in [
            "https://github.com/actions/runner/self-hosted",
            "https://github.com/actions/runnerx",
            "https://github.com/npm/cli@9.5.0",
            "https://github.com/acme/weather/-/runners/x",
        ] {
            assert!(!confirmed(other, &source), "{other}");
        }
    }
}
