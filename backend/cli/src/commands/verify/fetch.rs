//! `toolmark verify --fetch`: asks the registry of origin for the artifact and every place for evidence.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use toolmark_domain::digest::Digest;
use toolmark_registry::packages::Coordinate;
use toolmark_registry::provenance::{
    Artifact, Checker, Examined, Question, RecordedArtifact, examine, examine_file,
};

use super::{VerifyArgs, artifact, declared, npm_keys, roots, time, usage};
use crate::commands::block_on;
use crate::opening;
use crate::outcome::Failure;
use crate::settings::Settings;

/// Asks, checks, and keeps what was found where the caller wants it.
pub(super) fn run(settings: &Settings, args: &VerifyArgs) -> Result<Examined, Failure> {
    let Some(target) = args.target.as_deref() else {
        return Err(usage("`--fetch` needs a package, an image or a file")
            .hint("for example `toolmark verify npm:NAME@VERSION --fetch`"));
    };
    let packages = opening::packages(settings)?;
    let checker = checker(settings, args)?;
    let at = time(args)?;
    let examined = if Path::new(target).is_file() {
        let artifact = on_disk(args, target)?;
        block_on(examine_file(&packages, &checker, artifact, declared(args), at))?
    } else {
        let coordinate: Coordinate = target
            .parse()
            .with_context(|| format!("`{target}` is neither a file nor a package"))
            .map_err(Failure::unreadable)?;
        let question = Question {
            coordinate,
            file: args.file.clone(),
            declared: declared(args),
            file_sha256: artifact_digest(args)?,
            at,
        };
        block_on(examine(&packages, &checker, &question))?
    };
    if let Some(folder) = &args.save {
        save(folder, &examined)?;
    }
    Ok(examined)
}

fn checker(settings: &Settings, args: &VerifyArgs) -> Result<Checker, Failure> {
    if args.trusted_root.is_empty() && args.npm_keys.is_none() {
        return opening::checker(settings);
    }
    let roots = roots(args)?.context("cannot use the trusted root");
    let settled = opening::checker(settings)?;
    let policy = settled.policy().clone();
    Ok(Checker::new(
        roots.map_err(Failure::unreadable)?,
        npm_keys(args)?,
        policy,
    ))
}

/// The digest that is expected of the file, as a `server.json` gives it.
fn artifact_digest(args: &VerifyArgs) -> Result<Option<[u8; 32]>, Failure> {
    let mut given = Artifact::default();
    for text in &args.digest {
        super::given_digest(text, &mut given)?;
    }
    Ok(given.sha256)
}

fn on_disk(args: &VerifyArgs, target: &str) -> Result<RecordedArtifact, Failure> {
    let artifact = artifact(args)?;
    let bytes = std::fs::metadata(target).map_or(0, |metadata| metadata.len());
    let name = Path::new(target)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let sha256 = artifact.sha256.and_then(|bytes| Digest::from_bytes(&bytes));
    Ok(RecordedArtifact {
        name: name.unwrap_or_else(|| target.to_owned()),
        url: String::new(),
        bytes,
        sha256: sha256.ok_or_else(|| usage("the file has no sha256 digest"))?,
        sha512: artifact.sha512.map(hex::encode),
    })
}

/// Writes the record and each answer it names into a folder, each under its digest.
fn save(folder: &Path, examined: &Examined) -> Result<(), Failure> {
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes)
            .with_context(|| format!("cannot write `{}`", folder.join(name).display()))
            .map_err(Failure::unreadable)
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make `{}`", folder.display()))
        .map_err(Failure::unreadable)?;
    for (digest, bytes) in needed(examined) {
        write(&digest.to_string(), bytes)?;
    }
    let record = serde_json::to_vec_pretty(&examined.record)
        .map_err(|error| Failure::unknown(anyhow!(error).context("cannot write the record")))?;
    write("record.json", &record)
}

fn needed(examined: &Examined) -> BTreeMap<Digest, &[u8]> {
    let all = examined.record.needs().into_iter();
    all.filter_map(|digest| Some((digest, examined.blobs.get(&digest)?.as_slice())))
        .collect()
}
