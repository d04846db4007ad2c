//! `GET /health`, `/ping`, `/version`: that the process answers, and which one it is.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::answer;
use crate::state::App;

/// Does not look at the store, as upstream; `/health/ready` does.
pub(crate) async fn get_health(State(app): State<App>) -> Response {
    let mut body = json!({"status": "ok"});
    if let Some(client_id) = &app.settings.github_client_id {
        body["github_client_id"] = client_id.as_str().into();
    }
    answer::fresh(body.to_string())
}

pub(crate) async fn ping() -> Response {
    answer::fresh(r#"{"pong":true}"#.to_owned())
}

pub(crate) async fn get_build(State(app): State<App>) -> Response {
    let build = &app.settings.build;
    let body = json!({
        "version": build.version,
        "git_commit": build.git_commit,
        "build_time": build.build_time,
    });
    answer::fresh(body.to_string())
}
