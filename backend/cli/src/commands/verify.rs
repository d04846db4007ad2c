//! `toolmark verify`: the verdict on who built an artifact. From evidence on disk, unless `--fetch` says otherwise.

mod fetch;
mod replay;
mod stored;
mod summary;
mod text;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use toolmark_domain::limits::{
    EVIDENCE_BYTES, KEY_LIST_BYTES, OCI_MANIFEST_BYTES, OCI_RECORDED_BYTES, OCI_RECORDED_FILES,
    TRUSTED_ROOT_BYTES,
};
use toolmark_domain::provenance::Verdict;
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::provenance::{
    Artifact, Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request,
    RootError, TrustedRoots, unusable_root,
};
use toolmark_registry::{Clock as _, SystemClock};

use super::read_bounded;
use crate::Global;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark verify weather-1.2.3.tgz --evidence attestations.json --ecosystem npm \\
    --name weather --version 1.2.3 --repository https://github.com/acme/weather
  toolmark verify --oci-recorded answers/ --digest sha256:HEX --ecosystem oci \\
    --repository https://github.com/acme/weather --format json

  toolmark verify npm:@acme/weather@1.2.3 --fetch --repository https://github.com/acme/weather
  toolmark verify --record saved/record.json
  toolmark verify com.example/weather@1.2.3
  toolmark verify --summary summary.json --keys keys.json

What is not given is not compared. Nothing is fetched unless `--fetch` is given: then the artifact and
every place that may hold evidence are asked, at the addresses of the settings or of npm, pip and cargo.

Exit status: 0 verified, 1 unsigned, mismatch or invalid, 2 bad usage or unreadable input, 3 could not tell")]
pub(crate) struct VerifyArgs {
    /// The artifact itself, its digests are computed; with `--fetch` also a package: `npm:NAME@V`,
    /// `pypi:NAME@V`, `cargo:NAME@V`, `oci:REF`, `mcpb:URL`, `github:OWNER/REPO@TAG#FILE`. Or a server stored here, `NAMESPACE/NAME[@VERSION]`: its checks are
    /// made again from the stored evidence
    #[arg(value_name = "FILE|PACKAGE|SERVER")]
    target: Option<String>,
    /// The evidence
    #[arg(long, value_name = "FILE", conflicts_with = "oci_recorded")]
    evidence: Option<PathBuf>,
    /// Form of the evidence [default: told by looking at it]
    #[arg(long, value_enum, requires = "evidence")]
    evidence_format: Option<FormatArg>,
    /// Folder of recorded answers of an image registry
    #[arg(long, value_name = "DIR")]
    oci_recorded: Option<PathBuf>,
    /// Trusted root in place of the built-in ones; may be given several times
    #[arg(long, value_name = "FILE")]
    trusted_root: Vec<PathBuf>,
    /// Signing keys of the npm registry in place of the built-in ones
    #[arg(long, value_name = "FILE")]
    npm_keys: Option<PathBuf>,
    /// Digest of the artifact, such as `sha256:HEX`; may be given several times
    #[arg(long, value_name = "ALGORITHM:HEX")]
    digest: Vec<String>,
    /// Kind of artifact
    #[arg(long, value_enum)]
    ecosystem: Option<EcosystemArg>,
    /// Name of the package
    #[arg(long)]
    name: Option<String>,
    /// Version of the package
    #[arg(long)]
    version: Option<String>,
    /// Name of the file, where a version has several
    #[arg(long, value_name = "NAME")]
    file: Option<String>,
    /// Source repository that is declared
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// The forge's id of that repository
    #[arg(long, value_name = "ID")]
    repository_id: Option<String>,
    /// Time of the check [default: now]
    #[arg(long, value_name = "RFC3339")]
    at: Option<String>,
    /// Look for the artifact and for evidence on the network
    #[arg(long, conflicts_with_all = ["evidence", "oci_recorded"])]
    fetch: bool,
    /// Keep the record of the check and every answer in this folder
    #[arg(long, value_name = "DIR", requires = "fetch")]
    save: Option<PathBuf>,
    /// Make a check again from its record and the answers beside it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fetch", "evidence", "oci_recorded", "target"])]
    record: Option<PathBuf>,
    /// A summary signed by a registry
    #[arg(long, value_name = "FILE", requires = "keys", conflicts_with_all = ["record", "fetch", "evidence", "oci_recorded", "target"])]
    summary: Option<PathBuf>,
    /// The keys of that registry, from its `/.well-known/toolmark/keys.json`
    #[arg(long, value_name = "FILE", requires = "summary")]
    keys: Option<PathBuf>,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EcosystemArg {
    Npm,
    Pypi,
    Oci,
    Mcpb,
    Release,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    SigstoreBundle,
    BundleJsonl,
    NpmAttestations,
    #[value(name = "pep740-provenance")]
    Pep740Provenance,
    #[value(name = "pep740-attestation")]
    Pep740Attestation,
    DsseEnvelope,
    GithubAttestations,
}

impl From<EcosystemArg> for Ecosystem {
    fn from(arg: EcosystemArg) -> Self {
        match arg {
            EcosystemArg::Npm => Self::Npm,
            EcosystemArg::Pypi => Self::Pypi,
            EcosystemArg::Oci => Self::Oci,
            EcosystemArg::Mcpb => Self::Mcpb,
            EcosystemArg::Release => Self::Release,
        }
    }
}

impl From<FormatArg> for EvidenceFormat {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::SigstoreBundle => Self::SigstoreBundle,
            FormatArg::BundleJsonl => Self::BundleJsonl,
            FormatArg::NpmAttestations => Self::NpmAttestations,
            FormatArg::Pep740Provenance => Self::Pep740Provenance,
            FormatArg::Pep740Attestation => Self::Pep740Attestation,
            FormatArg::DsseEnvelope => Self::DsseEnvelope,
            FormatArg::GithubAttestations => Self::GithubAttestations,
        }
    }
}

pub(crate) fn run(global: &Global, args: &VerifyArgs) -> Result<Outcome, Failure> {
    let settings = global.start(Vec::new())?;
    if args.fetch {
        let examined = fetch::run(&settings.settings, args)?;
        if args.format == Format::Text {
            print(&text::places(&examined.record))?;
        }
        return answer(args, &examined.report);
    }
    if let (Some(path), Some(keys)) = (&args.summary, &args.keys) {
        return summary::run(args, path, keys);
    }
    if let Some(named) = stored_name(args) {
        return stored::run(&settings.settings, args, named);
    }
    if let Some(path) = &args.record {
        return answer(args, &replay::run(path)?);
    }
    answer(args, &from_disk(args)?)
}

/// The stored version that is meant: a name of a server that is no file, and no evidence beside it.
fn stored_name(args: &VerifyArgs) -> Option<(&str, &str)> {
    let target = args.target.as_deref()?;
    if args.evidence.is_some() || args.oci_recorded.is_some() || Path::new(target).exists() {
        return None;
    }
    stored::named(target)
}

/// Prints a report; the exit status follows the verdict.
fn answer(args: &VerifyArgs, report: &Report) -> Result<Outcome, Failure> {
    match args.format {
        Format::Text => print(&text::text(report))?,
        Format::Json => print_json(report)?,
    }
    Ok(match report.verdict {
        Verdict::Verified => Outcome::Yes,
        Verdict::Unverifiable => Outcome::Unknown,
        Verdict::Unsigned | Verdict::Mismatch | Verdict::Invalid => Outcome::No,
    })
}

/// The check of evidence that is given.
fn from_disk(args: &VerifyArgs) -> Result<Report, Failure> {
    let artifact = artifact(args)?;
    let (bytes, files);
    let evidence = match (&args.evidence, &args.oci_recorded) {
        (Some(path), _) => {
            bytes = read_bounded(path, EVIDENCE_BYTES)?;
            let format = evidence_format(args, path, &bytes)?;
            Evidence::Document {
                format,
                bytes: &bytes,
            }
        }
        (None, Some(folder)) => {
            files = recorded(folder)?;
            Evidence::OciRecorded(&files)
        }
        (None, None) => {
            return Err(usage("no evidence given")
                .hint("give it with `--evidence FILE`, or `--oci-recorded DIR` for an image"));
        }
    };
    let request = Request {
        evidence,
        artifact,
        declared: declared(args),
        at: time(args)?,
    };
    Ok(match roots(args)? {
        Ok(roots) => Checker::new(roots, npm_keys(args)?, Policy::default()).check(&request),
        Err(error) => unusable_root(&error.to_string(), request.at),
    })
}

fn usage(message: &'static str) -> Failure {
    Failure::unreadable(anyhow!(message))
}

fn evidence_format(args: &VerifyArgs, path: &Path, bytes: &[u8]) -> Result<EvidenceFormat, Failure> {
    if let Some(format) = args.evidence_format {
        return Ok(format.into());
    }
    EvidenceFormat::guess(bytes).ok_or_else(|| {
        let error = anyhow!("cannot tell what form of evidence `{}` has", path.display());
        Failure::unreadable(error).hint("name it with `--evidence-format`")
    })
}

fn time(args: &VerifyArgs) -> Result<Timestamp, Failure> {
    match &args.at {
        Some(text) => text.parse().context("`--at`").map_err(Failure::unreadable),
        None => Ok(SystemClock.now()),
    }
}

fn declared(args: &VerifyArgs) -> Declared {
    let target = args.target.as_deref().map(Path::new);
    let own_name = || Some(target?.file_name()?.to_str()?.to_owned());
    // A file is known by its name only where the name is part of what is attested.
    let by_file = matches!(
        args.ecosystem,
        Some(EcosystemArg::Pypi | EcosystemArg::Mcpb | EcosystemArg::Release)
    );
    let file = args.file.clone();
    Declared {
        ecosystem: args.ecosystem.map(Into::into),
        name: args.name.clone(),
        version: args.version.clone(),
        file: file.or_else(|| own_name().filter(|_| by_file && args.name.is_none())),
        repository: args.repository.clone(),
        repository_id: args.repository_id.clone(),
    }
}

/// The roots to check with. One that can be read but not used is an answer, not a mistake of who asks.
fn roots(args: &VerifyArgs) -> Result<Result<TrustedRoots, RootError>, Failure> {
    if args.trusted_root.is_empty() {
        return Ok(TrustedRoots::pinned());
    }
    let mut roots = TrustedRoots::default();
    for path in &args.trusted_root {
        let bytes = read_bounded(path, TRUSTED_ROOT_BYTES)?;
        if let Err(error) = roots.add(&path.display().to_string(), &bytes) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(roots))
}

fn npm_keys(args: &VerifyArgs) -> Result<KeyList, Failure> {
    let keys = match &args.npm_keys {
        Some(path) => KeyList::read(&read_bounded(path, KEY_LIST_BYTES)?)
            .with_context(|| format!("cannot use the keys `{}`", path.display())),
        None => KeyList::pinned().context("cannot use the built-in keys"),
    };
    keys.map_err(Failure::unreadable)
}

/// The digests of the artifact, computed and given.
fn artifact(args: &VerifyArgs) -> Result<Artifact, Failure> {
    let mut artifact = match &args.target {
        None => Artifact::default(),
        Some(target) => {
            let file = File::open(target);
            let artifact = file.and_then(Artifact::read);
            artifact
                .with_context(|| format!("cannot read `{target}`"))
                .map_err(|error| target_failure(target, error))?
        }
    };
    if args.target.is_none() && args.digest.is_empty() {
        return Err(
            usage("no artifact given").hint("give the file, or its digest with `--digest sha256:HEX`")
        );
    }
    for text in &args.digest {
        given_digest(text, &mut artifact)?;
    }
    Ok(artifact)
}

fn target_failure(target: &str, error: anyhow::Error) -> Failure {
    let failure = Failure::unreadable(error);
    if target.contains(':') {
        return failure.hint("a package is looked up with `--fetch`");
    }
    failure
}

/// Takes one `ALGORITHM:HEX`. An algorithm that binds nothing here is left out: what cannot be compared is
/// unverifiable, not a mistake of who asks.
fn given_digest(text: &str, artifact: &mut Artifact) -> Result<(), Failure> {
    let bad = |what: &str| Failure::unreadable(anyhow!("`--digest {text}`: {what}"));
    let (algorithm, hex) = text
        .split_once(':')
        .ok_or_else(|| bad("expected ALGORITHM:HEX"))?;
    let conflict = || bad("another digest was given or computed");
    match algorithm {
        "sha256" => {
            let mut bytes = [0; 32];
            hex::decode_to_slice(hex, &mut bytes).map_err(|_| bad("expected 64 hex digits"))?;
            if artifact
                .sha256
                .replace(bytes)
                .is_some_and(|before| before != bytes)
            {
                return Err(conflict());
            }
        }
        "sha512" => {
            let mut bytes = [0; 64];
            hex::decode_to_slice(hex, &mut bytes).map_err(|_| bad("expected 128 hex digits"))?;
            if artifact
                .sha512
                .replace(bytes)
                .is_some_and(|before| before != bytes)
            {
                return Err(conflict());
            }
        }
        _ => {}
    }
    Ok(())
}

/// Every file of a folder, bounded in number and size.
fn recorded(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let unreadable = |error: std::io::Error| {
        let context = format!("cannot read `{}`", folder.display());
        Failure::unreadable(anyhow::Error::new(error).context(context))
    };
    let mut files = Vec::new();
    let mut total = 0;
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.path().is_file() {
            continue;
        }
        let bytes = read_bounded(&entry.path(), OCI_MANIFEST_BYTES)?;
        total += bytes.len();
        if total > OCI_RECORDED_BYTES || files.len() == OCI_RECORDED_FILES {
            let error = anyhow!("`{}` holds more than we read", folder.display());
            return Err(Failure::unreadable(error));
        }
        files.push((name, bytes));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_taken_left_out_or_refused() {
        let mut artifact = Artifact::default();
        given_digest(&format!("sha256:{}", "0a".repeat(32)), &mut artifact).unwrap();
        assert_eq!(artifact.sha256, Some([10; 32]));
        given_digest("gitCommit:00", &mut artifact).unwrap();
        assert_eq!(artifact.sha512, None);
        for bad in [
            "sha256:00",
            "sha512:zz",
            "00",
            &format!("sha256:{}", "0b".repeat(32)),
        ] {
            assert!(given_digest(bad, &mut artifact).is_err(), "{bad}");
        }
    }
}
