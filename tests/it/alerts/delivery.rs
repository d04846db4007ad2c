//! What is sent, and what becomes of it when the receiver misbehaves.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use toolmark_tests::receiver::Manner;

use super::Watching;

#[tokio::test]
async fn an_event_is_sent_signed_within_its_bounds_and_once() {
    let watching = Watching::start().await;
    watching.app.publish("com.example/before", &["1.0.0"]).await;
    watching
        .subscribe(json!({"namespaces": ["com.example"]}), "instant")
        .await;
    watching
        .subscribe(json!({"servers": ["com.example/aa"]}), "instant")
        .await;
    watching.app.publish("com.example/aa", &["1.0.0"]).await;
    watching.app.publish("org.example/other", &["1.0.0"]).await;
    assert_eq!(watching.work().await, 1);
    assert_eq!(watching.work().await, 0);
    let messages = watching.receiver.messages();
    assert_eq!(messages.len(), 1, "two subscriptions, one endpoint, one message");
    let message = &messages[0];
    let body = message.json();
    assert_eq!(body["type"], "version.published");
    assert_eq!(body["data"]["server"], "com.example/aa");
    assert_eq!(body["data"]["link"], "https://registry.example/s/com.example/aa");
    assert_eq!(message.header("content-type"), "application/json");
    assert!(message.header("webhook-id").starts_with("msg_"));
    assert!(message.header("webhook-signature").starts_with("v1,"));
    assert_eq!(watching.log().await, [("delivered".to_owned(), 2)]);
    watching.app.stop().await;
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, read from top to bottom")]
async fn a_receiver_that_misbehaves_gets_it_again_with_one_id_and_its_line_in_order() {
    let watching = Watching::start().await;
    watching.subscribe(json!({}), "instant").await;
    watching.receiver.behave(&[
        Manner::Status(500),
        Manner::Close,
        Manner::With(302, "Location: http://127.0.0.1:1/\r\n".into()),
        Manner::With(503, "Retry-After: 7200\r\n".into()),
        Manner::Status(200),
    ]);
    watching.app.publish("com.example/aa", &["1.0.0", "1.1.0"]).await;
    assert_eq!(watching.work().await, 1, "the second waits behind the first");
    watching.receiver.behave(&[
        Manner::Status(204),
        Manner::Close,
        Manner::With(302, "Location: http://127.0.0.1:1/\r\n".into()),
        Manner::With(503, "Retry-After: 7200\r\n".into()),
        Manner::Status(200),
    ]);
    watching.app.publish("com.example/bb", &["1.0.0"]).await;
    assert_eq!(watching.work().await, 1, "another server is not held back");
    // 5 s, 5 min, 30 min and what the receiver asked for, each with up to a tenth more.
    for wait in [6, 330, 1980] {
        assert_eq!(watching.work().await, 0);
        watching.app.clock.advance_secs(wait);
        assert_eq!(watching.work().await, 1);
    }
    watching.app.clock.advance_secs(1980);
    assert_eq!(watching.work().await, 0, "the receiver asked for two hours");
    watching.app.clock.advance_secs(7200);
    assert_eq!(
        watching.work().await,
        2,
        "it is taken, and the next goes on at once"
    );
    let messages = watching.receiver.messages();
    let of = |version: &str| -> Vec<_> {
        let found = messages.iter().filter(|m| {
            m.json()["data"]["version"] == version && m.json()["data"]["server"] == "com.example/aa"
        });
        found.map(|m| m.header("webhook-id").to_owned()).collect()
    };
    let ids = of("1.0.0");
    assert_eq!(ids.len(), 5);
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(of("1.1.0").len(), 1);
    let stamps: Vec<i64> = messages
        .iter()
        .map(|m| m.header("webhook-timestamp").parse().unwrap())
        .collect();
    assert!(stamps.last() > stamps.first(), "the time is that of the attempt");
    let list = watching.get("/api/v1/deliveries").await.expect(200).json();
    let first = list["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["event_seq"] == 1)
        .unwrap();
    assert_eq!(first["message_id"], json!(ids[0]));
    let whole = watching
        .get(&format!("/api/v1/deliveries/{}", first["id"].as_str().unwrap()))
        .await
        .expect(200)
        .json();
    let log: Vec<_> = whole["log"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["status"].as_i64())
        .collect();
    assert_eq!(log, [Some(500), None, None, Some(503), Some(200)]);
    assert!(
        whole["log"][2]["error"].as_str().unwrap().contains("redirects"),
        "{whole}"
    );
    watching.app.stop().await;
}

#[tokio::test]
async fn a_hanging_receiver_does_not_delay_others() {
    let watching = Watching::start().await;
    let slow = toolmark_tests::receiver::Receiver::start().await;
    slow.behave(&[Manner::Hang]);
    let body = json!({"label": "slow", "channel": "webhook", "address": slow.url});
    let made = watching
        .send(Method::POST, "/api/v1/endpoints", &body)
        .await
        .expect(201)
        .json();
    let body = json!({"endpoint": made["id"], "label": "all"});
    let _ = watching
        .send(Method::POST, "/api/v1/subscriptions", &body)
        .await
        .expect(201);
    watching.subscribe(json!({}), "instant").await;
    for n in 0..6 {
        watching
            .app
            .publish(&format!("com.example/s{n}"), &["1.0.0"])
            .await;
    }
    let registry = watching.app.registry.clone();
    let loops = tokio::spawn(async move {
        let worker = toolmark_registry::WorkerSettings::default();
        registry.work(&worker, std::future::pending::<()>()).await;
    });
    let got = watching.receiver.wait_for(6, Duration::from_secs(10)).await;
    assert_eq!(got.len(), 6);
    assert!(slow.messages().len() <= 4, "only so many at one time");
    watching.app.publish("com.example/later", &["1.0.0"]).await;
    let got = watching.receiver.wait_for(7, Duration::from_secs(5)).await;
    assert_eq!(got.len(), 7, "also what comes later");
    loops.abort();
    watching.app.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_paused_keeps_its_messages_and_resumes() {
    let watching = Watching::start().await;
    watching.subscribe(json!({}), "instant").await;
    watching.receiver.behave(&[Manner::Status(410)]);
    watching.app.publish("com.example/aa", &["1.0.0", "1.1.0"]).await;
    assert_eq!(watching.work().await, 1);
    assert_eq!(watching.state().await, "paused");
    watching.app.publish("com.example/bb", &["1.0.0"]).await;
    watching.app.clock.advance_secs(86_400);
    assert_eq!(watching.work().await, 0);
    let target = |word: &str| format!("/api/v1/endpoints/{}/{word}", watching.endpoint);
    let _ = watching
        .send(Method::POST, &target("test"), &json!({}))
        .await
        .expect(202);
    assert_eq!(watching.work().await, 1, "a test goes out all the same");
    watching.receiver.behave(&[Manner::Status(200)]);
    let _ = watching
        .send(Method::POST, &target("resume"), &json!({}))
        .await
        .expect(204);
    let _ = watching
        .send(Method::POST, &target("resume"), &json!({}))
        .await
        .expect(400);
    assert_eq!(watching.work().await, 3);
    let order: Vec<_> = watching
        .receiver
        .messages()
        .iter()
        .filter(|message| message.json()["data"]["server"] == "com.example/aa")
        .map(|message| message.json()["data"]["version"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(order, ["1.0.0", "1.0.0", "1.1.0"]);
    let _ = watching
        .send(Method::POST, &target("pause"), &json!({}))
        .await
        .expect(204);
    assert_eq!(watching.state().await, "paused");
    watching.app.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_takes_nothing_for_days_is_paused() {
    let watching = Watching::start().await;
    watching.subscribe(json!({}), "instant").await;
    watching.receiver.behave(&[Manner::Status(500)]);
    watching.app.publish("com.example/aa", &["1.0.0"]).await;
    let mut attempts = 0;
    while watching.state().await == "active" {
        attempts += watching.work().await;
        watching.app.clock.advance_secs(3600);
        assert!(attempts < 20);
    }
    assert!((8..=10).contains(&attempts), "{attempts}");
    assert_eq!(watching.log().await, [("queued".to_owned(), 1)], "it is kept");
    watching.app.stop().await;
}

#[tokio::test]
async fn digests_come_at_the_full_hour() {
    let watching = Watching::start().await;
    watching.subscribe(json!({}), "hourly").await;
    watching.app.publish("com.example/aa", &["1.0.0"]).await;
    watching.app.publish("com.example/bb", &["1.0.0"]).await;
    assert_eq!(watching.work().await, 0);
    assert_eq!(watching.app.registry.gather_digests().await.unwrap(), 0);
    watching.app.clock.advance_secs(3600);
    assert_eq!(watching.app.registry.gather_digests().await.unwrap(), 1);
    assert_eq!(watching.work().await, 1);
    let body = watching.receiver.messages()[0].json();
    assert_eq!(
        (&body["type"], &body["data"]["count"]),
        (&json!("digest"), &json!(2))
    );
    assert_eq!(body["data"]["events"][1]["server"], "com.example/bb");
    watching.app.stop().await;
}

#[tokio::test]
async fn events_are_replayed_from_a_number_under_their_ids() {
    let watching = Watching::start().await;
    watching.app.publish("com.example/early", &["1.0.0"]).await;
    watching.subscribe(json!({}), "instant").await;
    watching.app.publish("com.example/aa", &["1.0.0"]).await;
    assert_eq!(watching.work().await, 1);
    let target = format!("/api/v1/endpoints/{}/replay", watching.endpoint);
    let replay = async |body| watching.send(Method::POST, &target, &body).await;
    assert_eq!(replay(json!({"from": 1})).await.expect(202).json()["messages"], 1);
    assert_eq!(watching.work().await, 1);
    assert_eq!(replay(json!({"from": 1})).await.expect(202).json()["messages"], 0);
    assert_eq!(
        replay(json!({"from": 2, "delivered": true}))
            .await
            .expect(202)
            .json()["messages"],
        1
    );
    assert_eq!(watching.work().await, 1);
    let messages = watching.receiver.messages();
    assert_eq!(messages[0].header("webhook-id"), messages[2].header("webhook-id"));
    assert_eq!(messages[1].json()["data"]["server"], "com.example/early");
    let _ = replay(json!({"from": 0})).await.expect(422);
    let _ = replay(json!({"from": 5, "to": 4})).await.expect(422);
    let list = watching
        .get("/api/v1/deliveries?state=delivered")
        .await
        .expect(200)
        .json();
    let id = list["deliveries"][0]["id"].as_str().unwrap();
    let one = format!("/api/v1/deliveries/{id}/replay");
    let _ = watching.send(Method::POST, &one, &json!({})).await.expect(400);
    let _ = watching
        .send(Method::POST, &one, &json!({"delivered": true}))
        .await
        .expect(202);
    assert_eq!(watching.work().await, 1);
    watching.app.stop().await;
}

#[tokio::test]
async fn a_message_carries_two_signatures_while_a_key_is_replaced_and_a_chat_gets_its_own_shape() {
    let watching = Watching::start().await;
    let target = |word: &str| format!("/api/v1/endpoints/{}/{word}", watching.endpoint);
    let rotated = watching
        .send(Method::POST, &target("rotate"), &json!({"overlap_secs": 60}))
        .await
        .expect(200)
        .json();
    assert_ne!(rotated["secret"], json!(watching.secret));
    let _ = watching
        .send(Method::POST, &target("test"), &json!({}))
        .await
        .expect(202);
    watching.work().await;
    watching.app.clock.advance_secs(61);
    let _ = watching
        .send(Method::POST, &target("test"), &json!({}))
        .await
        .expect(202);
    watching.work().await;
    let signatures: Vec<usize> = watching
        .receiver
        .messages()
        .iter()
        .map(|message| message.header("webhook-signature").split(' ').count())
        .collect();
    assert_eq!(signatures, [2, 1]);
    let _ = watching
        .send(Method::POST, &target("rotate"), &json!({"overlap_secs": -1}))
        .await
        .expect(422);
    let body =
        json!({"label": "chat", "channel": "webhook", "shape": "slack", "address": watching.receiver.url});
    let chat = watching
        .send(Method::POST, "/api/v1/endpoints", &body)
        .await
        .expect(201)
        .json();
    let target = format!("/api/v1/endpoints/{}/test", chat["id"].as_str().unwrap());
    let _ = watching.send(Method::POST, &target, &json!({})).await.expect(202);
    watching.work().await;
    let body = watching.receiver.messages()[2].json();
    assert_eq!(body["text"], "test message");
    assert_eq!(body["blocks"][0]["type"], "header");
    watching.app.stop().await;
}
