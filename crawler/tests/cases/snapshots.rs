//! Two takes make a snapshot: what moves is found and masked, what stands still keeps its digests.

use serde_json::{Value, json};
use toolmark_crawler::bare::Bare;
use toolmark_crawler::{Bounds, Look, Observation, Progress, Remote, observe_process, observe_remote};
use toolmark_domain::digest::Digest;
use toolmark_domain::manifest::{self, Era};
use toolmark_domain::snapshot::{Outcome, Snapshot};
use toolmark_outbound::HeaderMap;

use crate::peers::{Peer, Reply, client};
use crate::support::{discover, error, initialized, launch, quick, result, tools};

/// A legacy server written in the shell, so that it can look at its environment.
fn shell(script: &str) -> toolmark_crawler::Launch {
    let greet = result(&initialized()).replace("$ID", "2");
    let text = format!(
        r#"while read -r line; do case "$line" in
            *server/discover*) echo '{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"x"}}}}';;
            *'"initialize"'*) who=$(echo "$line" | sed 's/.*"clientInfo":{{"name":"\([^"]*\)".*/\1/'); echo '{greet}';;
            *tools/list*) {script};;
        esac; done"#
    );
    toolmark_crawler::Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), text.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: None,
    }
}

async fn observe(launch: &toolmark_crawler::Launch, volatile: &[String]) -> Observation {
    let bounds = quick();
    let look = Look {
        target: "-- sh",
        bounds: &bounds,
        volatile,
        progress: Progress::NONE,
    };
    observe_process(&look, &Bare, launch).await
}

fn listed(description: &str) -> String {
    format!(
        r#"echo '{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{"name":"a","description":"{description}","inputSchema":{{"type":"object"}}}}]}}}}'"#
    )
}

#[tokio::test]
async fn what_depends_on_the_circumstances_is_volatile() {
    let rows = [
        ("$TZ", true),
        ("$PYTHONHASHSEED", true),
        ("$who", true),
        ("$$", true),
        ("the same", false),
    ];
    for (word, moves) in rows {
        let text = format!("it is '\"{word}\"'");
        let seen = observe(&shell(&listed(&text)), &[]).await;
        assert_eq!(
            seen.snapshot.outcome,
            Outcome::Observed,
            "{word}: {:?}",
            seen.snapshot
        );
        let expected: &[&str] = if moves { &["/tools/a/description"] } else { &[] };
        assert_eq!(seen.snapshot.volatile, expected, "{word}");
        let again = observe(&shell(&listed(&text)), &seen.snapshot.volatile).await;
        assert_eq!(
            again.snapshot.digests["manifest/1"], seen.snapshot.digests["manifest/1"],
            "{word}: the pin moves"
        );
    }
}

#[tokio::test]
async fn digests_can_be_computed_again_from_the_document() {
    let seen = observe(&shell(&listed("$$ é")), &[]).await;
    let document = seen.snapshot.to_bytes();
    let read = Snapshot::read(&document).unwrap();
    let manifest = manifest::read(&document).unwrap();
    let mut digests = manifest.digests();
    digests["raw"] = json!(Digest::of(&seen.raw));
    assert_eq!(digests, read.digests);
    assert_eq!(read.digests["items"][0]["kind"], "tool");
    assert_eq!(read.digests["items"][0]["index"], 0);
}

#[tokio::test]
async fn a_known_place_stays_volatile_when_it_stands_still() {
    let known = ["/tools/a/description".to_owned()];
    let seen = observe(&shell(&listed("the same")), &known).await;
    assert_eq!(seen.snapshot.volatile, known);
}

#[tokio::test]
async fn another_order_is_no_change_and_is_said() {
    let script = r#"if [ "$PYTHONHASHSEED" = 1 ]; then l='{"name":"a"},{"name":"b"}'; else l='{"name":"b"},{"name":"a"}'; fi;
        echo '{"jsonrpc":"2.0","id":3,"result":{"tools":['"$l"']}}'"#;
    let seen = observe(&shell(script), &[]).await;
    assert!(seen.snapshot.volatile.is_empty());
    let findings = serde_json::to_string(&seen.snapshot.findings).unwrap();
    assert!(findings.contains("\"C18\""), "{findings}");
}

#[tokio::test]
async fn a_second_take_that_fails_decides_and_both_are_told() {
    let script = format!(
        r#"if [ "$PYTHONHASHSEED" = 1 ]; then {}; else echo boom >&2; exit 3; fi"#,
        listed("x")
    );
    let seen = observe(&shell(&script), &[]).await;
    assert_eq!(seen.snapshot.outcome, Outcome::Crashed);
    assert_eq!(seen.snapshot.stderr_tail.as_deref(), Some("boom"));
    let takes = seen.snapshot.look["takes"].as_array().unwrap();
    let outcomes: Vec<&Value> = takes.iter().map(|take| &take["outcome"]).collect();
    assert_eq!(outcomes, ["observed", "crashed"]);
}

#[tokio::test]
async fn an_era_that_was_seen_goes_before_one_that_follows_from_silence() {
    // The first start is slow, as on a cold machine; the second is not.
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let script = format!(
        r#"if [ ! -e {mark} ]; then touch {mark}; sleep 2; fi; exec "$0" "$1""#,
        mark = mark.display()
    );
    let config = json!({
        "server/discover": [{"say": result(&discover())}],
        "initialize": [{"say": result(&initialized())}],
        "tools/list": [{"say": result(&tools())}],
    });
    let inner = launch(&config);
    let slow = toolmark_crawler::Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into(), inner.program, inner.args[0].clone()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: None,
    };
    let bounds = Bounds {
        probe: std::time::Duration::from_secs(1),
        ..quick()
    };
    let look = Look {
        target: "-- slow",
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let seen = observe_process(&look, &Bare, &slow).await;
    assert_eq!(seen.snapshot.outcome, Outcome::Observed, "{:?}", seen.snapshot);
    assert_eq!(seen.snapshot.era, Some(Era::Modern));
    assert_eq!(seen.snapshot.look["takes"][0]["era_evidence"], "timeout");
    let findings = serde_json::to_string(&seen.snapshot.findings).unwrap();
    assert!(findings.contains("\"C11\""), "{findings}");
}

#[tokio::test]
async fn a_failed_first_take_is_not_followed_by_another() {
    let peer = Peer::start(|_, _| Reply::empty(503)).await;
    let bounds = quick();
    let look = Look {
        target: peer.url.as_str(),
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let remote = Remote {
        url: peer.url.clone(),
        headers: HeaderMap::new(),
    };
    let seen = observe_remote(&look, &client(), &remote).await;
    assert_eq!(
        (seen.snapshot.outcome, seen.snapshot.reason.as_deref()),
        (Outcome::Unreachable, Some("server_error"))
    );
    assert_eq!(peer.asked().len(), 1);
    assert_eq!(seen.snapshot.target, peer.url.as_str());
}

#[tokio::test]
async fn a_remote_is_asked_twice_by_clients_of_other_names() {
    let peer = Peer::start(|asked, _| match asked.method().as_str() {
        "server/discover" => Reply::json(200, result(&discover())),
        "tools/list" => {
            let name = asked.body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"].clone();
            Reply::json(
                200,
                result(&json!({"tools": [{"name": "a", "description": name}]})),
            )
        }
        _ => Reply::json(404, error(-32601, "x")),
    })
    .await;
    let bounds = quick();
    let look = Look {
        target: peer.url.as_str(),
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let remote = Remote {
        url: peer.url.clone(),
        headers: HeaderMap::new(),
    };
    let seen = observe_remote(&look, &client(), &remote).await;
    assert_eq!(seen.snapshot.outcome, Outcome::Observed);
    assert_eq!(seen.snapshot.volatile, ["/tools/a/description"]);
}
