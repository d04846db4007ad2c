//! Making, changing and removing endpoints and subscriptions.

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_domain::permission::Action;

use super::Watching;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, read from top to bottom")]
async fn alerts_are_managed_by_their_owner_and_nobody_else() {
    let watching = Watching::start().await;
    assert!(watching.secret.starts_with("whsec_"));
    let id = watching
        .subscribe(
            json!({"namespaces": ["com.*"], "severity": "high", "rules": ["D08"]}),
            "daily",
        )
        .await;
    let target = format!("/api/v1/subscriptions/{id}");
    let found = watching.get(&target).await.expect(200).json();
    assert_eq!(found["filter"]["namespaces"], json!(["com.*"]));
    assert_eq!(
        (&found["cadence"], &found["owner"]),
        (&json!("daily"), &json!("team-a"))
    );
    let other = watching.app.token("team-b", &[Action::Subscribe]).await;
    let publisher = watching.app.any_token().await;
    for (token, status) in [
        (Some(other.as_str()), 404),
        (Some(publisher.as_str()), 404),
        (None, 401),
    ] {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = bearer
            .iter()
            .map(|bearer| ("authorization", bearer.as_str()))
            .collect();
        let answer = watching.app.get_with(&target, &headers).await;
        assert_eq!(answer.status, status);
        let removed = watching.app.send(Method::DELETE, &target, &headers, None).await;
        assert_eq!(removed.status, status);
    }
    let answer = watching.app.get("/api/v1/subscriptions").await.expect(401);
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    let change = json!({"label": "less", "filter": {"tools": ["get_*"]}, "cadence": "instant"});
    let changed = watching
        .send(Method::PUT, &target, &change)
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&changed["label"], &changed["filter"]["rules"]),
        (&json!("less"), &json!([]))
    );
    let list = watching.get("/api/v1/subscriptions").await.expect(200).json();
    assert_eq!(list["subscriptions"][0]["id"], json!(id));
    let operator = watching.app.token("*", &[Action::Subscribe]).await;
    let all = watching
        .app
        .get_with(
            "/api/v1/subscriptions",
            &[("authorization", &format!("Bearer {operator}"))],
        )
        .await
        .expect(200)
        .json();
    assert_eq!(all["subscriptions"].as_array().unwrap().len(), 1);
    let _ = watching
        .send(Method::DELETE, &target, &json!({}))
        .await
        .expect(204);
    let _ = watching.get(&target).await.expect(404);
    let endpoint = format!("/api/v1/endpoints/{}", watching.endpoint);
    let _ = watching
        .send(Method::DELETE, &endpoint, &json!({}))
        .await
        .expect(204);
    let _ = watching.get(&endpoint).await.expect(404);
    watching.app.stop().await;
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story, read from top to bottom")]
async fn what_cannot_be_reached_or_can_never_fit_is_refused_with_its_place() {
    let watching = Watching::start().await;
    let endpoint = |address: &str| json!({"label": "x", "channel": "webhook", "address": address});
    for (address, said) in [
        ("http://example.org/", "is not an https address"),
        ("https://10.0.0.1/", "is at 10.0.0.1"),
        ("https://169.254.169.254/latest", "is at 169.254.169.254"),
        ("https://[::ffff:127.0.0.2]/", "is at"),
        ("https://0x7f000002/", "is at 127.0.0.2"),
        ("https://user:pass@example.org/", "holds a user name or password"),
        ("ftp://example.org/", "is not an http or https address"),
        ("nothing", "not a URL"),
        ("https://example.org/#part", "has a fragment"),
    ] {
        let answer = watching
            .send(Method::POST, "/api/v1/endpoints", &endpoint(address))
            .await
            .expect(422)
            .json();
        assert_eq!(answer["code"], "validation_failed", "{address}");
        assert_eq!(answer["errors"][0]["location"], "body.address");
        let message = answer["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(said), "{address}: {message}");
    }
    let mail = json!({"label": "x", "channel": "email", "address": "a@example.org"});
    let answer = watching
        .send(Method::POST, "/api/v1/endpoints", &mail)
        .await
        .expect(422)
        .json();
    assert_eq!(answer["detail"], "body.channel: this registry sends no mail");
    let filters: [(Value, &str); 5] = [
        (json!({"rules": ["D08", "Z1"]}), "body.filter.rules[1]"),
        (json!({"servers": ["no name"]}), "body.filter.servers[0]"),
        (json!({"kinds": ["nothing.happened"]}), "body.filter.kinds[0]"),
        (json!({"severity": "loud"}), "body"),
        (json!({"servres": []}), "body"),
    ];
    for (filter, place) in filters {
        let body = json!({"endpoint": watching.endpoint, "label": "x", "filter": filter});
        let answer = watching
            .send(Method::POST, "/api/v1/subscriptions", &body)
            .await
            .expect(422)
            .json();
        assert_eq!(answer["errors"][0]["location"], place, "{answer}");
    }
    let body = json!({"endpoint": "00000000-0000-7000-8000-000000000000", "label": "x"});
    let _ = watching
        .send(Method::POST, "/api/v1/subscriptions", &body)
        .await
        .expect(422);
    let unnamed = watching.app.token("*", &[Action::Subscribe]).await;
    let body = json!({"label": "x", "channel": "webhook", "address": watching.receiver.url});
    let answer = watching
        .app
        .write(Method::POST, "/api/v1/endpoints", Some(&unnamed), &body)
        .await
        .expect(422);
    assert_eq!(answer.json()["detail"], "owner: say whose alerts are meant");
    let answer = watching
        .send(Method::PATCH, "/api/v1/endpoints", &json!({}))
        .await
        .expect(405);
    assert!(
        answer.header("allow").contains("POST"),
        "{}",
        answer.header("allow")
    );
    watching.app.stop().await;
}

#[tokio::test]
async fn every_list_has_a_second_page() {
    let watching = Watching::start().await;
    for _ in 0..3 {
        watching.subscribe(json!({}), "instant").await;
    }
    watching.app.publish("com.example/aa", &["1.0.0"]).await;
    watching.app.publish("com.example/bb", &["1.0.0"]).await;
    watching.work().await;
    for (list, key, count) in [("subscriptions", "id", 3), ("deliveries", "id", 2)] {
        let mut seen = Vec::new();
        let mut target = format!("/api/v1/{list}?limit=1");
        loop {
            let page = watching.get(&target).await.expect(200).json();
            seen.extend(
                page[list]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row[key].to_string()),
            );
            let Some(cursor) = page["next_cursor"].as_str() else {
                break;
            };
            target = format!("/api/v1/{list}?limit=1&cursor={cursor}");
        }
        assert_eq!(seen.len(), count, "{list}");
        seen.dedup();
        assert_eq!(seen.len(), count, "{list}");
    }
    let _ = watching.get("/api/v1/subscriptions?cursor=x").await.expect(400);
    let _ = watching.get("/api/v1/endpoints?limit=0").await.expect(400);
    watching.app.stop().await;
}
