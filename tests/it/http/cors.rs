//! CORS on every answer, of every status.

use reqwest::Method;
use toolmark_tests::app::{Answer, Builder};

on_both_engines! {
    every_answer_may_be_read_by_every_origin
    a_preflight_allows_what_editors_and_browsers_send
}

const ORIGIN: (&str, &str) = ("origin", "https://editor.example");

#[track_caller]
fn open(answer: &Answer) {
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    let methods = answer.header("access-control-allow-methods");
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        assert!(methods.contains(method), "{methods}");
    }
    let headers = answer.header("access-control-allow-headers");
    assert!(
        headers.contains("Authorization") && headers.contains("Content-Type"),
        "{headers}"
    );
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    assert!(
        answer
            .header("access-control-expose-headers")
            .contains("Content-Length")
    );
}

async fn every_answer_may_be_read_by_every_origin(builder: Builder) {
    let app = builder.rate_limit(600, 14).start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let etag = app.get("/v0.1/servers").await.header("etag").to_owned();
    for (target, status) in [
        ("/v0.1/servers", 200),
        ("/v0.1/servers/com.example%2Fweather/versions/latest", 200),
        ("/v0.1/servers/com.example%2Fnone/versions/latest", 404),
        ("/v0.1/servers/", 308),
        ("/v0.1/servers/Com.Example%2Fweather/versions/latest", 308),
        ("/v0.1/servers?limit=0", 422),
        ("/v0.1/servers?search=%00", 400),
        ("/v0.9/servers", 404),
        ("/", 200),
    ] {
        let answer = app.get_with(target, &[ORIGIN]).await.expect(status);
        open(&answer);
    }
    let same = app
        .get_with("/v0.1/servers", &[ORIGIN, ("if-none-match", &etag)])
        .await
        .expect(304);
    open(&same);
    let limited = loop {
        let answer = app.get_with("/v0.1/servers", &[ORIGIN]).await;
        if answer.status == 429 {
            break answer;
        }
    };
    open(&limited);
}

async fn a_preflight_allows_what_editors_and_browsers_send(builder: Builder) {
    let app = builder.rate_limit(1, 1).start().await;
    for target in [
        "/v0.1/servers",
        "/v0/servers/x/versions/1/status",
        "/nothing",
        "/api/v1/events",
    ] {
        let asked = [
            ORIGIN,
            ("access-control-request-method", "PATCH"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        let answer = app.send(Method::OPTIONS, target, &asked, None).await.expect(204);
        open(&answer);
        assert_eq!(answer.header("access-control-max-age"), "86400");
        assert!(answer.body.is_empty());
        // It would name the methods of one path, beside a list of what any path may have.
        assert_eq!(answer.header("allow"), "");
    }
}
