//! Gives the program the commit it was built from, where that is known: a checkout of this repository with git at
//! hand, or `TOOLMARK_BUILD_COMMIT` set by whoever builds from an archive. Never fails the build.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TOOLMARK_BUILD_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let given = std::env::var("TOOLMARK_BUILD_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(commit_of_the_checkout) {
        println!("cargo:rustc-env=TOOLMARK_COMMIT={commit}");
    }
}

/// The commit, unless this source merely lies inside a checkout of something else.
fn commit_of_the_checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD grows with each commit and each switch of branches.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if std::path::Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
