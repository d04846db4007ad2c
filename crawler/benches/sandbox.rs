//! What the sandbox adds to a take: the same server, started in a cage and by hand, by turns.
#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::time::{Duration, Instant};

use toolmark_crawler::bare::Bare;
use toolmark_crawler::sandbox::{Cage, Mount, Sandbox};
use toolmark_crawler::{Bounds, Condition, Launch, Progress, Start, take_process};
use toolmark_domain::snapshot::Outcome;

const ROUNDS: usize = 20;
const MOST: Duration = Duration::from_millis(60);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let sandbox = Sandbox::find_with(env!("CARGO_BIN_EXE_toolmark-cage").as_ref())
        .await
        .unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoo/zoo.py");
    let cage = Cage::new(sandbox).with([Mount::same(script)]);
    let launch = Launch {
        program: "/usr/bin/python3".into(),
        args: [script, "refers_to_itself"].map(Into::into).to_vec(),
        ..Launch::default()
    };
    let (mut caged, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        caged.push(time(&cage, &launch).await);
        bare.push(time(&Bare, &launch).await);
    }
    let (caged, bare) = (median(caged), median(bare));
    let more = caged.saturating_sub(bare);
    println!(
        "sandbox: {more:.1?} more a take ({caged:.1?} in a cage, {bare:.1?} by hand; median of {ROUNDS}; at most {MOST:?})"
    );
    assert!(more <= MOST, "too slow");
}

async fn time(start: &dyn Start, launch: &Launch) -> Duration {
    let began = Instant::now();
    let take = take_process(
        start,
        launch,
        &Condition::TAKES[0],
        &Bounds::default(),
        Progress::NONE,
    )
    .await;
    assert_eq!(take.outcome, Outcome::Observed, "{take:?}");
    began.elapsed()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
