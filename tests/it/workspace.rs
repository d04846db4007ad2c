//! Who may use whom. The table stands in the layout rules too; change both or neither.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each crate of ours, and which others of ours it may use.
const ALLOWED: [(&str, &[&str]); 12] = [
    ("cli", &["server", "crawler", "registry", "outbound", "domain"]),
    ("server", &["registry", "frontend", "domain"]),
    (
        "registry",
        &["store", "search", "provenance", "packages", "outbound", "domain"],
    ),
    ("crawler", &["packages", "outbound", "domain"]),
    ("provenance", &["packages", "outbound", "domain"]),
    ("packages", &["outbound", "domain"]),
    ("store", &["domain"]),
    ("search", &["domain"]),
    ("frontend", &["domain"]),
    ("domain", &[]),
    ("outbound", &[]),
    // Above everything; nothing may use it.
    (
        "tests",
        &[
            "cli",
            "server",
            "registry",
            "store",
            "search",
            "provenance",
            "packages",
            "crawler",
            "frontend",
            "outbound",
            "domain",
        ],
    ),
];

/// Heavy dependencies, each with the only crate that may use it.
const OWNERS: [(&str, &str); 10] = [
    ("anyhow", "cli"),
    ("askama", "frontend"),
    ("axum", "server"),
    ("clap", "cli"),
    ("reqwest", "outbound"),
    ("sigstore-trust-root", "provenance"),
    ("sigstore-types", "provenance"),
    ("sigstore-verify", "provenance"),
    ("sqlx", "store"),
    ("tantivy", "search"),
];

/// Crates of ours by their short name, each with its dependencies, those of tests apart.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| (short(&package["name"]), dependencies(package)))
        .collect()
}

fn dependencies(package: &Value) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|dependency| dependency["kind"] != "dev")
        .map(|dependency| short(&dependency["name"]))
        .collect()
}

fn short(name: &Value) -> String {
    let name = name.as_str().unwrap();
    name.strip_prefix("toolmark-").unwrap_or(name).to_owned()
}

#[test]
fn crates_use_only_those_below_them() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into();
    let crates = crates();
    for (name, dependencies) in &crates {
        let may = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("`{name}` has no row in the table"));
        let ours = dependencies
            .iter()
            .filter(|dependency| crates.contains_key(*dependency));
        let wrong: Vec<_> = ours
            .filter(|dependency| !may.contains(&dependency.as_str()))
            .collect();
        assert!(wrong.is_empty(), "`{name}` must not use {wrong:?}");
    }
}

#[test]
fn a_heavy_dependency_has_one_owner() {
    for (name, dependencies) in crates() {
        let wrong = OWNERS
            .iter()
            .filter(|(heavy, owner)| dependencies.contains(*heavy) && name != *owner);
        // The tests' own servers and clients stand in for the outside.
        let wrong: Vec<_> = wrong.filter(|_| name != "tests").collect();
        assert!(
            wrong.is_empty(),
            "`{name}` uses what another crate owns: {wrong:?}"
        );
    }
}
