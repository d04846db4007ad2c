//! MCPB bundles: unpacked by us, with nothing in them trusted: no links, no devices, no names that lead out, and
//! never more than the bounds of an archive, whatever its directory says.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toolmark_domain::limits::{ARCHIVE_BYTES, ARCHIVE_ENTRIES, ARTIFACT_BYTES};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;
use zip::ZipArchive;

use super::{APP, Done, Installed, Installer, NotInstalled, Work, files, launch};
use crate::placeholder::{INERT, Settings};
use crate::sandbox::{Cage, Found, Mount};

const MANIFEST_BYTES: u64 = 1024 * 1024;
/// Longest name of an entry, in bytes.
const NAME_BYTES: usize = 1024;
/// What an archive says of a link, a device or a pipe among its entries.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("not an archive")]
    NotAnArchive,
    #[error("its entry {entry} has a name that leads out of its folder")]
    LeadsOut { entry: usize },
    #[error("its entry {entry} is a link or a device")]
    NotAFile { entry: usize },
    #[error("its entry {entry} is packed in a way that is not read")]
    Packed { entry: usize },
    #[error("two of its entries have the same name")]
    Twice,
    #[error("it has more than {ARCHIVE_ENTRIES} entries")]
    TooMany,
    #[error("it unpacks to more than {ARCHIVE_BYTES} bytes")]
    TooLarge,
    #[error("it could not be written")]
    Write(#[from] io::Error),
}

/// Unpacks a zip archive below an empty folder.
pub fn unpack(archive: File, folder: &Path) -> Result<u64, Refused> {
    unpack_within(archive, folder, ARCHIVE_BYTES, ARCHIVE_ENTRIES)
}

fn unpack_within(archive: File, folder: &Path, most_bytes: u64, most_entries: usize) -> Result<u64, Refused> {
    let mut archive = ZipArchive::new(archive).map_err(|_| Refused::NotAnArchive)?;
    if archive.len() > most_entries {
        return Err(Refused::TooMany);
    }
    let (mut written, mut seen) = (0, BTreeSet::new());
    for entry in 0..archive.len() {
        let file = archive.by_index(entry).map_err(|_| Refused::Packed { entry })?;
        let name = file.name().map_err(|_| Refused::LeadsOut { entry })?.into_owned();
        let path = inner(&name).ok_or(Refused::LeadsOut { entry })?;
        let mode = file.unix_mode().unwrap_or(0);
        let is_folder = file.is_dir() || mode & KIND == FOLDER;
        if !is_folder && !matches!(mode & KIND, 0 | REGULAR) {
            return Err(Refused::NotAFile { entry });
        }
        let place = folder.join(&path);
        if is_folder {
            fs::create_dir_all(&place)?;
            continue;
        }
        if !seen.insert(path) {
            return Err(Refused::Twice);
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let runs = mode & 0o111 != 0;
        written += write(file, &place, most_bytes - written).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Refused::TooLarge,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                Refused::Packed { entry }
            }
            _ => Refused::Write(error),
        })?;
        fs::set_permissions(
            &place,
            fs::Permissions::from_mode(if runs { 0o755 } else { 0o644 }),
        )?;
    }
    Ok(written)
}

/// The path of an entry below a folder; none where it would lead out, or is no path.
fn inner(name: &str) -> Option<PathBuf> {
    let odd = name.is_empty() || name.len() > NAME_BYTES || name.contains(['\0', '\\']) || name.contains(':');
    let path = Path::new(name);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    (!odd && inside).then(|| path.to_owned())
}

/// Copies at most so many bytes; what an entry says of its own size is not believed.
fn write(mut from: impl Read, place: &Path, most: u64) -> io::Result<u64> {
    // Never over something that is there: the folder was empty, and names come once.
    let mut to = File::create_new(place)?;
    let mut piece = vec![0; 64 * 1024];
    let mut written = 0;
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Ok(written);
        }
        written += read as u64;
        if written > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        to.write_all(&piece[..read])?;
    }
}

/// Unpacks a bundle of this machine, and says how it is run.
pub(super) fn install(
    installer: &Installer,
    path: &Path,
    settings: &Settings,
) -> Result<Installed, NotInstalled> {
    let refused = |refused: &Refused| {
        NotInstalled::new(
            Outcome::RefusedByPolicy,
            Reason::ArchiveRefused,
            refused.to_string(),
        )
    };
    let here = |error: io::Error| NotInstalled::here(&error);
    let (sha256, bytes) = hash(path).map_err(here)?;
    if bytes > ARTIFACT_BYTES as u64 {
        return Err(refused(&Refused::TooLarge));
    }
    let work = Work::without_network(installer).map_err(here)?;
    let app = work.app();
    let unpacked = unpack(File::open(path).map_err(here)?, &app).map_err(|error| refused(&error))?;
    let manifest = files::read(&app, "manifest.json", MANIFEST_BYTES);
    let manifest: Option<Value> = manifest.and_then(|text| serde_json::from_slice(&text).ok());
    let manifest = manifest.ok_or_else(|| {
        NotInstalled::new(
            Outcome::NotObserved,
            Reason::NoRunner,
            "the bundle has no readable `manifest.json`",
        )
    })?;
    let command = Command::read(&manifest).ok_or_else(|| {
        NotInstalled::new(
            Outcome::NotObserved,
            Reason::NoRunner,
            "the bundle's manifest names no command",
        )
    })?;
    let (program, mounts, search) = command.found()?;
    let mounts = mounts.into_iter().chain([Mount {
        source: app,
        target: APP.into(),
        writable: false,
    }]);
    let mut given = settings.clone();
    given.env.splice(..0, command.env.clone());
    let args = command.args.iter().map(OsString::from).collect();
    let done = Done {
        cage: Cage::new(work.sandbox.clone()).with(mounts),
        launch: launch(program, args, &given, &search),
        lock: None,
        record: Value::Null,
    };
    let seen = json!({"artifact": {"sha256": sha256, "bytes": bytes, "unpacked_bytes": unpacked}});
    Ok(work.finish(done, seen))
}

fn hash(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok((hex::encode(hasher.finalize()), bytes));
        }
        bytes += read as u64;
        hasher.update(&piece[..read]);
    }
}

/// How a bundle's manifest says it is run.
struct Command {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Command {
    fn read(manifest: &Value) -> Option<Self> {
        let config = manifest.pointer("/server/mcp_config")?;
        let strings = |value: Option<&Value>| -> Vec<String> {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str)
                .map(|text| filled(text, manifest))
                .collect()
        };
        let env = config.get("env").and_then(Value::as_object).into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), filled(value.as_str()?, manifest))));
        Some(Self {
            program: filled(config.get("command")?.as_str()?, manifest),
            args: strings(config.get("args")),
            env: env.collect(),
        })
    }

    /// The program, what it needs of this machine, and where it looks for others.
    fn found(&self) -> Result<(OsString, Vec<Mount>, Vec<PathBuf>), NotInstalled> {
        if self.program.starts_with(APP) {
            // A script of the bundle's own may want what is usual.
            let usual = ["node", "python3"]
                .into_iter()
                .filter_map(|name| found(name).ok());
            let (mut mounts, mut search) = (Vec::new(), Vec::new());
            for one in usual {
                mounts.extend(one.mounts);
                search.extend(one.path);
            }
            return Ok((self.program.clone().into(), mounts, search));
        }
        let name = if self.program == "python" {
            "python3"
        } else {
            &self.program
        };
        let found = found(name)?;
        Ok((found.program.into(), found.mounts, found.path))
    }
}

fn found(name: &str) -> Result<Found, NotInstalled> {
    if name.contains('/') {
        return Err(NotInstalled::not_observed(
            Reason::NoRunner,
            "the bundle wants a program outside of it",
        ));
    }
    Found::read(
        name.as_ref(),
        &[],
        Path::new("/"),
        std::env::home_dir().as_deref(),
    )
    .map_err(|missing| NotInstalled::not_observed(Reason::NoRunner, missing.to_string()))
}

/// A value of the manifest: where the bundle lies, and inert values for what a user would set.
fn filled(text: &str, manifest: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        out.push_str(&match name {
            "__dirname" => APP.to_owned(),
            "HOME" | "DESKTOP" | "DOCUMENTS" | "DOWNLOADS" => crate::sandbox::HOME.to_owned(),
            "/" | "pathSeparator" => "/".to_owned(),
            _ => inert(name, manifest),
        });
        rest = after;
    }
    out + rest
}

fn inert(name: &str, manifest: &Value) -> String {
    let declared = name
        .strip_prefix("user_config.")
        .and_then(|name| manifest.get("user_config")?.get(name));
    let default = declared.and_then(|field| field.get("default"));
    if let Some(default) = default {
        let plain = default.as_str().map(str::to_owned);
        return plain.unwrap_or_else(|| default.to_string());
    }
    match declared.and_then(|field| field.get("type")?.as_str()) {
        Some("directory" | "file") => crate::sandbox::HOME.to_owned(),
        Some("number") => "1".to_owned(),
        Some("boolean") => "false".to_owned(),
        _ => INERT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    /// An archive with these files; a name that ends in `@` is a link to its content.
    fn archive(files: &[(&str, &[u8])]) -> File {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for (name, content) in files {
            if let Some(name) = name.strip_suffix('@') {
                let to = String::from_utf8(content.to_vec()).unwrap();
                writer.add_symlink(name, to, options).unwrap();
            } else {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
        }
        writer.finish().unwrap()
    }

    /// Replaces bytes of an archive, all of the same length.
    fn patched(mut file: File, change: impl Fn(&mut Vec<u8>)) -> File {
        use std::io::Seek as _;
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        change(&mut bytes);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
        let places: Vec<usize> = (0..bytes.len() - from.len())
            .filter(|at| bytes[*at..].starts_with(from))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }

    fn refusal(file: File) -> String {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let refused = unpack_within(file, &inside, 1 << 20, 100)
            .unwrap_err()
            .to_string();
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "it wrote outside"
        );
        refused
    }

    #[test]
    fn what_leads_out_is_refused() {
        for name in [
            "../out",
            "a/../../out",
            "/etc/out",
            "a\\..\\..\\out",
            "c:out",
            "./../out",
            "a/\u{0}b",
        ] {
            let refused = refusal(archive(&[("fine", b"x"), (name, b"x")]));
            assert_eq!(
                refused, "its entry 1 has a name that leads out of its folder",
                "{name}"
            );
        }
    }

    #[test]
    fn links_and_devices_are_refused() {
        for to in ["/etc/shadow", "../../out", "fine"] {
            let refused = refusal(archive(&[
                ("fine", b"x"),
                ("link@", to.as_bytes()),
                ("link/under", b"x"),
            ]));
            assert_eq!(refused, "its entry 1 is a link or a device");
        }
        for kind in [0o020_000_u32, 0o060_000, 0o010_000, 0o140_000] {
            let device = patched(archive(&[("device", b"x")]), |bytes| {
                let file = (REGULAR | 0o644) << 16;
                replace(bytes, &file.to_le_bytes(), &((kind | 0o644) << 16).to_le_bytes());
            });
            assert_eq!(refusal(device), "its entry 0 is a link or a device", "{kind:o}");
        }
    }

    #[test]
    fn bombs_are_refused_whatever_they_say_of_themselves() {
        let zeros = vec![0; 4 << 20];
        assert!(refusal(archive(&[("bomb", &zeros)])).starts_with("it unpacks to more"));
        let lying = patched(archive(&[("bomb", &zeros)]), |bytes| {
            replace(bytes, &(4_u32 << 20).to_le_bytes(), &10_u32.to_le_bytes());
        });
        let refused = refusal(lying);
        assert!(
            refused.contains("unpacks to more") || refused.contains("packed in a way"),
            "{refused}"
        );
        let names: Vec<String> = (0..101).map(|n| format!("f{n}")).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert!(refusal(archive(&many)).starts_with("it has more than"));
        let twice = archive(&[("a/b", b"1"), ("a//b", b"2")]);
        assert_eq!(refusal(twice), "two of its entries have the same name");
        assert_eq!(refusal(patched(archive(&[]), Vec::clear)), "not an archive");
    }

    #[test]
    fn an_honest_archive_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let written = unpack(
            archive(&[("manifest.json", b"{}"), ("server/index.js", b"1")]),
            folder.path(),
        )
        .unwrap();
        assert_eq!(written, 3);
        assert_eq!(fs::read(folder.path().join("server/index.js")).unwrap(), b"1");
    }

    #[test]
    fn a_manifest_says_how_it_is_run() {
        let manifest = json!({
            "server": {"mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js", "${user_config.dir}"],
                "env": {"KEY": "${user_config.key}", "N": "${user_config.n}", "D": "${user_config.d}", "X": "${"}}},
            "user_config": {"dir": {"type": "directory"}, "key": {"type": "string"}, "n": {"type": "number"},
                "d": {"type": "string", "default": "given"}},
        });
        let command = Command::read(&manifest).unwrap();
        assert_eq!(command.program, "node");
        assert_eq!(command.args, ["/app/server/index.js", "/home/probe"]);
        let env: Vec<(&str, &str)> = command
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            env,
            [("KEY", "placeholder"), ("N", "1"), ("D", "given"), ("X", "${")]
        );
        assert!(Command::read(&json!({"server": {}})).is_none());
    }
}
