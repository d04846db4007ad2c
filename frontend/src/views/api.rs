//! `/docs/api`: the operations of an `OpenAPI` 3.1 description.

use askama::Template;
use serde::Serialize;
use serde_json::Value;

use super::doc::entries;
use super::{DocEntry, Head, Site};

/// One parameter of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    pub name: String,
    /// `path`, `query` or `header`.
    pub place: String,
    pub required: bool,
    pub description: String,
}

/// One operation.
#[derive(Clone, Debug, Serialize)]
pub struct Operation {
    pub method: String,
    pub path: String,
    pub summary: String,
    pub description: String,
    pub parameters: Vec<Parameter>,
    /// Status and what it means.
    pub responses: Vec<(String, String)>,
    #[serde(skip)]
    pub anchor: String,
}

#[derive(Debug, Serialize, Template)]
#[template(path = "api.html")]
pub struct ApiView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub title: String,
    pub version: String,
    pub operations: Vec<Operation>,
    pub pages: Vec<DocEntry>,
}

const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

impl ApiView {
    /// `openapi`: our own `OpenAPI` document.
    pub fn new(site: &Site, openapi: &Value) -> Self {
        let info = openapi.get("info").unwrap_or(&Value::Null);
        let mut operations = Vec::new();
        for (path, item) in openapi
            .get("paths")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    operations.push(Operation::read(openapi, method, path, item, operation));
                }
            }
        }
        Self {
            schema: "toolmark.page.api/1",
            head: Head::new(site, "/docs/api".to_owned(), "API").with_twin(),
            title: text(info, "title"),
            version: text(info, "version"),
            operations,
            pages: entries("api"),
        }
    }
}

impl Operation {
    fn read(openapi: &Value, method: &str, path: &str, item: &Value, operation: &Value) -> Self {
        let shared = item
            .get("parameters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let own = operation
            .get("parameters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let parameters = shared
            .chain(own)
            .map(|parameter| resolve(openapi, parameter))
            .map(|parameter| Parameter {
                name: text(parameter, "name"),
                place: text(parameter, "in"),
                required: parameter
                    .get("required")
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
                description: text(parameter, "description"),
            })
            .collect();
        let responses = operation
            .get("responses")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(status, response)| (status.clone(), text(resolve(openapi, response), "description")))
            .collect();
        let anchor: String = format!("{method}-{path}")
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(operation, "summary"),
            description: text(operation, "description"),
            parameters,
            responses,
            anchor,
        }
    }
}

/// Follows one `$ref` inside the document.
fn resolve<'a>(openapi: &'a Value, value: &'a Value) -> &'a Value {
    value
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|target| target.strip_prefix('#'))
        .and_then(|pointer| openapi.pointer(pointer))
        .unwrap_or(value)
}
