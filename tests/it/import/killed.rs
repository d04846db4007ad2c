use std::process::Stdio;
use std::time::Duration;

use toolmark_tests::data::{OFFICIAL, corpus};
use toolmark_tests::fake_official::FakeOfficial;
use toolmark_tests::program::{self, toolmark};

use super::{counts, held, import_official, upstream_facts};

/// A sequence that is the same in every run, so that a failure can be seen again.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_killed_import_goes_on_where_it_was() {
    let Some(file) = corpus("a_killed_import_goes_on_where_it_was", OFFICIAL) else {
        return;
    };
    let runs = if std::env::var_os("TOOLMARK_TEST_LONG").is_some() {
        100
    } else {
        10
    };
    let fake = FakeOfficial::of_corpus(&file);
    // Spreads the pages over the time in which the kills fall.
    fake.pause(Duration::from_millis(20));
    let upstream = upstream_facts(&fake);
    program::path();
    let mut sequence = Sequence(0x2545_f491_4f6c_dd1d);
    let mut interrupted = 0;
    for run in 0..runs {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut command = toolmark(folder.path());
            command.args(["import", "official", "--base-url", &fake.base_url()]);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(20 + sequence.below(700)));
            child.kill().unwrap();
            child.wait().unwrap();
            let now_held = held(folder.path(), &fake);
            now_held.assert_whole();
            // What the stored place says is done is there, and nothing beyond it.
            let reached = now_held.cursor.as_ref().map(|place| place.cursor.clone());
            let expected = upstream.keys().filter(|(name, version)| match &reached {
                None => false,
                Some(None) => true,
                Some(Some(cursor)) => {
                    let (last_name, last_version) = cursor.split_once(':').unwrap();
                    (name.as_str(), version.as_str()) <= (last_name, last_version)
                }
            });
            assert!(
                now_held.facts().keys().eq(expected),
                "run {run}, reached {reached:?}"
            );
            interrupted += u32::from(matches!(reached, Some(Some(_))));
        }
        let ended = import_official(folder.path(), &fake);
        assert_eq!(ended.code, Some(0), "run {run}: {ended:?}");
        assert_eq!(counts(&ended)[2], 0, "run {run}: rows were read twice");
        let now_held = held(folder.path(), &fake);
        assert_eq!(now_held.facts(), upstream, "run {run}");
        now_held.assert_whole();
    }
    println!("{interrupted} of {} kills fell between two pages", runs * 2);
    assert!(
        interrupted > 0,
        "no kill fell into an import: the pauses do not fit this machine"
    );
}
