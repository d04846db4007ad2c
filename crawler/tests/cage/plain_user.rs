//! The same without root: no user to spare, no control groups, namespaces of the caller's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::support::helper;

/// What is tried again; the rest rests on control groups.
const AGAIN: [&str; 7] = [
    "reach::",
    "sight::",
    "bounds::a_daemon_does_not_outlive_its_server_nor_hold_its_output",
    "bounds::a_disk_filler_meets_the_end_of_its_room",
    "bounds::an_output_closed_early_is_seen_while_the_server_lives",
    "bounds::asking_to_end_reaches_the_server_itself",
    "bounds::what_will_not_end_is_ended_with_all_it_started",
];

#[test]
fn a_cage_holds_for_a_user_without_rights_too() {
    if !nix::unistd::geteuid().is_root() {
        // Then everything else here has shown it.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copied = |from: &std::path::Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let tests = copied(&std::env::current_exe().unwrap(), "tests");
    let cage = copied(&helper(), "cage");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(tests)
        .args(["--test-threads", "2"])
        .args(AGAIN)
        .env("TOOLMARK_TEST_CAGE", cage)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test result: ok. 13 passed"), "{said}");
}
