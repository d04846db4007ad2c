//! Whether a statement is about the artifact: name and digest on the same subject, and every known digest of that
//! subject agreeing.

use toolmark_domain::provenance::{Reason, Warning};

use crate::checker::{Artifact, Declared, Ecosystem};
use crate::names::{self, PythonFile};
use crate::report::Fault;
use crate::statement::{Statement, Subject};

/// How the digests of a subject compare with the artifact's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digests {
    Equal,
    /// One agrees and another does not.
    Conflict,
    Different,
    /// No algorithm in common.
    Incomparable,
}

fn digests(subject: &Subject, artifact: &Artifact) -> Digests {
    let sha256 = subject.sha256.zip(artifact.sha256).map(|(a, b)| a == b);
    let sha512 = subject.sha512.zip(artifact.sha512).map(|(a, b)| a == b);
    match (sha256, sha512) {
        (None, None) => Digests::Incomparable,
        (Some(true), Some(false)) | (Some(false), Some(true)) => Digests::Conflict,
        (Some(false), _) | (_, Some(false)) => Digests::Different,
        _ => Digests::Equal,
    }
}

/// How the name of a subject compares with the declared one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Naming {
    Equal,
    /// Another name, and for this kind of artifact that is only worth a warning.
    Differs,
    Other(String),
}

fn naming(subject: &Subject, declared: &Declared) -> Naming {
    let name = subject.name.as_deref();
    let text = || name.unwrap_or("no name").to_owned();
    match declared.ecosystem {
        Some(Ecosystem::Npm) => npm(name, declared),
        Some(Ecosystem::Pypi) => python(name, declared),
        Some(Ecosystem::Release | Ecosystem::Mcpb) => {
            let expected = declared.file.as_deref().or(declared.name.as_deref());
            match expected {
                Some(expected) if name != Some(expected) => Naming::Differs,
                _ => Naming::Equal,
            }
        }
        // For images the digest decides. Without an ecosystem a name can only be compared as it is.
        Some(Ecosystem::Oci) => Naming::Equal,
        None => match declared.name.as_deref() {
            Some(expected) if name != Some(expected) => Naming::Other(text()),
            _ => Naming::Equal,
        },
    }
}

fn npm(name: Option<&str>, declared: &Declared) -> Naming {
    if declared.name.is_none() && declared.version.is_none() {
        return Naming::Equal;
    }
    let other = || Naming::Other(name.unwrap_or("no name").to_owned());
    let Some((package, version)) = name.and_then(names::npm) else {
        return other();
    };
    let same_name = declared
        .name
        .as_deref()
        .is_none_or(|expected| expected == package);
    let same_version = declared
        .version
        .as_deref()
        .is_none_or(|expected| expected == version);
    if same_name && same_version {
        Naming::Equal
    } else {
        other()
    }
}

fn python(name: Option<&str>, declared: &Declared) -> Naming {
    let other = || Naming::Other(name.unwrap_or("no name").to_owned());
    // The declared name may be the project's or a file's.
    let declared_file = declared
        .name
        .as_deref()
        .and_then(|name| names::python_file(name).map(|file| (name, file)));
    let project = declared.name.as_deref().filter(|_| declared_file.is_none());
    let file = declared
        .file
        .as_deref()
        .map(|name| (name, names::python_file(name)));
    let file = file.or(declared_file.map(|(name, file)| (name, Some(file))));
    if file.is_none() && project.is_none() && declared.version.is_none() {
        return Naming::Equal;
    }
    let Some(subject) = name.and_then(names::python_file) else {
        return other();
    };
    let same_file = match file {
        Some((expected, None)) => name == Some(expected),
        Some((_, Some(expected))) => expected == subject,
        None => true,
    };
    let same = same_file && same_project(&subject, project, declared.version.as_deref());
    if same { Naming::Equal } else { other() }
}

fn same_project(subject: &PythonFile, project: Option<&str>, version: Option<&str>) -> bool {
    project.is_none_or(|project| names::python_project(project) == subject.project)
        && version.is_none_or(|version| names::python_version(version) == subject.version)
}

/// The subject that is the artifact, and a warning; or why there is none.
pub(crate) fn bind<'a>(
    statement: &'a Statement,
    artifact: &Artifact,
    declared: &Declared,
) -> Result<(&'a Subject, Option<Warning>), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut comparable = false;
    let mut differs = None;
    for subject in &statement.subjects {
        let digests = digests(subject, artifact);
        comparable |= digests != Digests::Incomparable;
        let naming = naming(subject, declared);
        let name = subject.name.as_deref().unwrap_or("without a name");
        match (digests, naming) {
            (Digests::Equal, Naming::Equal) => return Ok((subject, None)),
            (Digests::Equal, Naming::Differs) => {
                differs.get_or_insert(subject);
            }
            (Digests::Equal, Naming::Other(name)) => faults.push(Fault::new(
                Reason::SubjectNameMismatch,
                format!("the digest fits, the name is `{name}`"),
            )),
            (Digests::Conflict, _) => faults.push(Fault::new(
                Reason::DigestConflict,
                format!("one digest of the subject `{name}` fits and another does not"),
            )),
            _ => {}
        }
    }
    if let Some(subject) = differs {
        return Ok((subject, Some(Warning::SubjectNameDiffers)));
    }
    if faults.is_empty() {
        faults.push(if comparable {
            different(statement)
        } else {
            Fault::new(
                Reason::NoSupportedDigest,
                "the subjects and the artifact have no sha256 or sha512 in common",
            )
        });
    }
    Err(faults)
}

fn different(statement: &Statement) -> Fault {
    let first = statement
        .subjects
        .iter()
        .find_map(|subject| subject.name.as_deref());
    let about = first.map_or_else(String::new, |name| format!("; it is about `{name}`"));
    Fault::new(
        Reason::DigestMismatch,
        format!("no subject has the digest of the artifact{about}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: [u8; 32] = [1; 32];
    const WRONG: [u8; 32] = [2; 32];

    fn subject(name: &str, sha256: [u8; 32]) -> Subject {
        Subject {
            name: Some(name.to_owned()),
            sha256: Some(sha256),
            sha512: None,
        }
    }

    fn reasons(subjects: Vec<Subject>, declared: &Declared) -> Vec<Reason> {
        let statement = Statement {
            predicate_type: String::new(),
            predicate: serde_json::Value::Null,
            subjects,
        };
        let artifact = Artifact {
            sha256: Some(RIGHT),
            sha512: Some([1; 64]),
        };
        match bind(&statement, &artifact, declared) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(|fault| fault.reason).collect(),
        }
    }

    fn npm() -> Declared {
        Declared {
            ecosystem: Some(Ecosystem::Npm),
            name: Some("weather".into()),
            version: Some("1.2.3".into()),
            ..Declared::default()
        }
    }

    #[test]
    fn name_and_digest_are_on_the_same_subject() {
        let good = subject("pkg:npm/weather@1.2.3", RIGHT);
        assert_eq!(reasons(vec![good], &npm()), []);
        let apart = vec![
            subject("pkg:npm/weather@1.2.3", WRONG),
            subject("pkg:npm/other@1.0.0", RIGHT),
        ];
        assert_eq!(reasons(apart, &npm()), [Reason::SubjectNameMismatch]);
        let other_version = vec![subject("pkg:npm/weather@1.2.4", RIGHT)];
        assert_eq!(reasons(other_version, &npm()), [Reason::SubjectNameMismatch]);
        let case = vec![subject("pkg:npm/Weather@1.2.3", RIGHT)];
        assert_eq!(reasons(case, &npm()), [Reason::SubjectNameMismatch]);
    }

    #[test]
    fn all_known_digests_of_the_subject_agree() {
        let mut conflict = subject("pkg:npm/weather@1.2.3", RIGHT);
        conflict.sha512 = Some([9; 64]);
        assert_eq!(reasons(vec![conflict], &npm()), [Reason::DigestConflict]);
        let none = Subject {
            name: Some("pkg:npm/weather@1.2.3".into()),
            ..Subject::default()
        };
        assert_eq!(reasons(vec![none], &npm()), [Reason::NoSupportedDigest]);
        let wrong = subject("pkg:npm/weather@1.2.3", WRONG);
        assert_eq!(reasons(vec![wrong], &npm()), [Reason::DigestMismatch]);
    }

    #[test]
    fn what_is_not_declared_is_not_compared() {
        let any = Declared::default();
        assert_eq!(reasons(vec![subject("whatever", RIGHT)], &any), []);
        let version = Declared {
            ecosystem: Some(Ecosystem::Pypi),
            name: Some("My_Project".into()),
            version: Some("1.0".into()),
            ..Declared::default()
        };
        let file = "my_project-1.0.0.tar.gz";
        assert_eq!(reasons(vec![subject(file, RIGHT)], &version), []);
        let other = "my_project-1.1.tar.gz";
        assert_eq!(
            reasons(vec![subject(other, RIGHT)], &version),
            [Reason::SubjectNameMismatch]
        );
    }
}
