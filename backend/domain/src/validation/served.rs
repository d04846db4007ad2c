//! The served form: what the official contract answers for a published document. Null and empty optional fields are
//! dropped, keys in another letter case get their own; everything else stays, in its order.

use serde_json::{Map, Value};

use super::shape::{Kind, META, Need, Object, SERVER};

/// `document` as it is served.
pub(super) fn served_form(document: &Value) -> Value {
    object(document, &SERVER)
}

fn object(value: &Value, shape: &'static Object) -> Value {
    let Value::Object(map) = value else {
        return value.clone();
    };
    let mut served = Map::with_capacity(map.len());
    for (key, value) in map {
        let Some(index) = shape.index_of(key) else {
            // `_meta` holds the publisher's block and no other: clients trust the keys of a registry there.
            if !std::ptr::eq(shape, &raw const META) {
                served.insert(key.clone(), value.clone());
            }
            continue;
        };
        let field = &shape.fields[index];
        if key != field.key && map.contains_key(field.key) {
            continue;
        }
        let value = kind(value, &field.kind);
        let dropped = value.is_null() || field.need == Need::Optional && is_empty(&value);
        if !dropped {
            served.insert(field.key.to_owned(), value);
        }
    }
    Value::Object(served)
}

fn kind(value: &Value, kind_of: &'static Kind) -> Value {
    match (kind_of, value) {
        (Kind::List(item_kind), Value::Array(items)) => {
            items.iter().map(|item| kind(item, item_kind)).collect()
        }
        (Kind::Object(shape), _) => object(value, shape),
        (Kind::Map(shape), Value::Object(map)) => map
            .iter()
            .map(|(key, value)| (key.clone(), object(value, shape)))
            .collect(),
        _ => value.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) | Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_optional_fields_are_dropped_and_the_order_stays() {
        let document = json!({
            "version": "", "Name": "a/b", "repository": {"url": "", "id": null}, "title": "",
            "packages": [], "websiteUrl": null,
            "icons": [{"src": "", "sizes": [], "theme": null}],
            "remotes": [{"type": "", "url": "", "variables": {}, "headers": [
                {"name": "", "isSecret": false, "isRequired": true, "variables": {"v": {"value": ""}}}
            ]}],
            "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"a": null}, "x/y": 1},
        });
        assert_eq!(
            served_form(&document).to_string(),
            json!({
                "version": "", "name": "a/b", "repository": {},
                "icons": [{"src": ""}],
                "remotes": [{"type": "", "headers": [
                    {"name": "", "isRequired": true, "variables": {"v": {}}}
                ]}],
                "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"a": null}},
            })
            .to_string()
        );
    }

    #[test]
    fn what_is_not_ours_to_drop_stays() {
        let document = json!({"extra": null, "packages": {"a": ""}, "remotes": [1, null]});
        assert_eq!(served_form(&document), document);
        assert_eq!(served_form(&json!([null])), json!([null]));
    }
}
