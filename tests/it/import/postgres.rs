//! The same takeover into PostgreSQL: killed, gone on with, repeated.

use std::process::Stdio;
use std::time::Duration;

use toolmark_registry::Database;
use toolmark_tests::app::new_database;
use toolmark_tests::data::{OFFICIAL, corpus};
use toolmark_tests::fake_official::FakeOfficial;
use toolmark_tests::program::{self, toolmark};

use super::{counts, held_in, upstream_facts};

#[tokio::main(flavor = "current_thread")]
async fn database() -> Option<String> {
    new_database("import").await
}

#[test]
fn a_killed_import_into_postgresql_goes_on_and_ends_as_upstream() {
    let test = "a_killed_import_into_postgresql_goes_on_and_ends_as_upstream";
    let (Some(file), Some(url)) = (corpus(test, OFFICIAL), database()) else {
        return;
    };
    let fake = FakeOfficial::of_corpus(&file);
    let folder = tempfile::tempdir().unwrap();
    let import = || {
        let mut command = toolmark(folder.path());
        command.args(["--database-url", &url, "import", "--format", "json", "official"]);
        command.args(["--base-url", &fake.base_url()]);
        command
    };
    let held = || held_in(Database::Postgres(url.clone()), &fake);
    // Spreads the pages over the time in which the kills fall.
    fake.pause(Duration::from_millis(60));
    let mut interrupted = 0;
    for wait in [150, 400, 300, 500] {
        let mut command = import();
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let half = held();
        half.assert_whole();
        interrupted += u32::from(half.cursor.is_some_and(|place| place.cursor.is_some()));
    }
    fake.pause(Duration::ZERO);
    let ended = program::run(&mut import());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(counts(&ended)[2], 0, "rows were read twice");
    let whole = held();
    assert_eq!(whole.facts(), upstream_facts(&fake));
    whole.assert_whole();
    let again = program::run(&mut import());
    assert_eq!(counts(&again)[..2], [0, 0], "{again:?}");
    assert_eq!(held().events.len(), whole.events.len());
    assert!(
        interrupted > 0,
        "no kill fell into an import: the pauses do not fit this machine"
    );
}
