use proptest::prelude::*;

use super::*;

fn facts(raw: &str) -> Vec<(FactKind, String)> {
    let found = parse(raw).1.into_iter();
    found.map(|fact| (fact.kind, fact.pointer)).collect()
}

#[test]
fn what_has_no_canonical_form_is_named_by_its_place() {
    use FactKind::{DuplicateKey, InexactNumber, LoneSurrogate, TooDeep};
    for exact in [
        "0",
        "-0",
        "1.0",
        "1e3",
        "0.1",
        "1.50",
        "9007199254740992",
        "1e21",
        "1E-7",
        "5e-324",
        "100000000000000000000",
    ] {
        assert_eq!(facts(exact), [], "{exact}");
    }
    for inexact in [
        "9007199254740993",
        "0.1000000000000000055",
        "1e400",
        "-1e400",
        "1e-400",
    ] {
        assert_eq!(facts(inexact), [(InexactNumber, String::new())], "{inexact}");
    }
    assert_eq!(
        facts(r#"{"a":{"b/c":1,"b/c":2}}"#),
        [(DuplicateKey, "/a/b~1c".to_owned())]
    );
    assert_eq!(
        facts(r#"["\ud83d\ude00","\ud83d"]"#),
        [(LoneSurrogate, "/1".to_owned())]
    );
    assert_eq!(facts(r#"{"\udc00":1}"#), [(LoneSurrogate, String::new())]);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let (_, found) = parse(&deep);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, TooDeep);
    assert_eq!(parse("1e400").0, json!(f64::MAX));
}

#[test]
fn a_doubtful_item_is_pinned_by_its_bytes() {
    let manifest = read(br#"{"tools":[{"name":"a","name":"a"},{"name":"b"}]}"#).unwrap();
    let digests = manifest.digests();
    assert_eq!(digests["items"][0]["kind"], "raw-tool");
    let raw = Digest::of(br#"{"name":"a","name":"a"}"#);
    assert_eq!(digests["items"][0]["tool/1"], raw.to_string());
    assert_eq!(digests["items"][1]["kind"], "tool");
    assert_eq!(
        digests["items"][1]["tool/1"],
        Digest::of(br#"{"name":"b"}"#).to_string()
    );
}

#[test]
fn the_root_is_that_of_rfc_9162_over_the_described_leaves() {
    let manifest = read(
        br#"{"tools":[{"name":"b"},{"name":"a"}],"initialize":{"instructions":"x","capabilities":{},"serverInfo":{}}}"#,
    )
    .unwrap();
    let leaf = |name: &str| {
        let digest = Digest::of(format!(r#"{{"name":"{name}"}}"#).as_bytes());
        [b"tool\0", name.as_bytes(), b"\0", digest.as_bytes().as_slice()].concat()
    };
    let server = br#"{"capabilities":{},"instructions":"x"}"#.to_vec();
    assert_eq!(manifest.leaves(), [server.clone(), leaf("a"), leaf("b")]);
    let node = |left: Digest, right: Digest| {
        Digest::of(&[&[1], left.as_bytes().as_slice(), right.as_bytes().as_slice()].concat())
    };
    let hash = Digest::of_leaf;
    let expected = node(node(hash(&server), hash(&leaf("a"))), hash(&leaf("b")));
    assert_eq!(manifest.root(), expected);
}

#[test]
fn one_item_can_be_proved_alone() {
    for count in 1..20 {
        let tools: Vec<Value> = (0..count).map(|n| json!({"name": format!("tool-{n}")})).collect();
        let manifest = read(json!({"tools": tools}).to_string().as_bytes()).unwrap();
        let (root, leaves) = (manifest.root(), manifest.leaves());
        for item in manifest.tools() {
            let proof = manifest.membership(item).unwrap();
            assert_eq!(proof.verify(&leaves[proof.index], root), Ok(()));
            assert_eq!(proof.verify(b"other", root), Err(MembershipError::Root));
            let mut longer = proof.clone();
            longer.path.push(root);
            assert!(longer.verify(&leaves[proof.index], root).is_err());
            let mut elsewhere = proof.clone();
            elsewhere.index = (proof.index + 1) % proof.size;
            assert!(elsewhere.verify(&leaves[proof.index], root).is_err());
        }
    }
}

#[test]
fn every_form_gives_the_same_items() {
    let tools = r#"[{"name":"a"}]"#;
    let bare = read(format!(r#"{{"tools":{tools}}}"#).as_bytes()).unwrap();
    let captured = format!(
        r#"{{"package":"x","discover_or_initialize":{{"initialize":{{"capabilities":{{}}}}}},"tools":{tools}}}"#
    );
    let captured = read(captured.as_bytes()).unwrap();
    let ours = format!(
        r#"{{"schema":"toolmark.snapshot/1","era":"modern","discover":{{"capabilities":{{}}}},"initialize":{{}},"tools":{tools},"prompts":null}}"#
    );
    let ours = read(ours.as_bytes()).unwrap();
    assert_eq!(bare.items, captured.items);
    assert_eq!(captured.root(), ours.root());
    assert_eq!(ours.server.era, Some(Era::Modern));
    assert_ne!(bare.root(), ours.root());
}

#[test]
fn a_strange_manifest_is_a_snapshot_and_no_error() {
    let manifest = read(br#"{"tools":[],"prompts":{"x":1}}"#).unwrap();
    assert_eq!(manifest.lists, [ItemKind::Tool]);
    assert_eq!(manifest.facts, [Fact::shape("/prompts", "not a list")]);
    let manifest = read(br#"{"tools":[1,null,{"name":7}]}"#).unwrap();
    assert!(manifest.items.iter().all(|item| item.key.is_empty()));
    assert_eq!(manifest.items.len(), 3);
    assert_eq!(read(b"{}"), Err(InputError::NoLists));
    assert!(matches!(read(b"[1"), Err(InputError::Syntax { .. })));
    assert_eq!(
        read(b"\"\xff\"").unwrap_err().to_string(),
        "not UTF-8 from byte 1 on"
    );
}

#[test]
fn limits_have_edges() {
    use crate::limits::{MANIFEST_BYTES, MANIFEST_ITEMS};
    let tools = |count: usize| format!(r#"{{"tools":[{}]}}"#, vec!["{}"; count].join(","));
    assert!(read(tools(MANIFEST_ITEMS).as_bytes()).is_ok());
    let error = read(tools(MANIFEST_ITEMS + 1).as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "`tools` has 2001 entries, the limit is 2000");
    let padded = |size: usize| format!(r#"{{"tools":[]{}}}"#, " ".repeat(size - 12));
    assert!(read(padded(MANIFEST_BYTES).as_bytes()).is_ok());
    assert!(matches!(
        read(padded(MANIFEST_BYTES + 1).as_bytes()),
        Err(InputError::TooLarge { .. })
    ));
}

#[test]
fn what_moves_between_two_takes_does_not_move_the_digest() {
    let take = |default: &str, extra: &str| {
        let text = format!(
            r#"{{"tools":[{{"name":"a/b","inputSchema":{{"default":"{default}"}}}},{{"name":"c"}}{extra}]}}"#
        );
        read(text.as_bytes()).unwrap()
    };
    let (mut first, mut second) = (take("x,y", ""), take("y,x", r#",{"name":"d"}"#));
    let pointers = volatile_pointers(&first, &second);
    assert_eq!(pointers, ["/tools/a~1b/inputSchema/default", "/tools/d"]);
    first.set_volatile(pointers.clone());
    second.set_volatile(pointers);
    assert_eq!(first.items[0].tool, second.items[0].tool);
    assert_eq!(first.items[0].value["inputSchema"]["default"], "x,y");
    assert_eq!(
        volatile_pointers(&take("x", ""), &take("x", "")),
        Vec::<String>::new()
    );
}

#[test]
fn equivalent_spellings_have_one_contract() {
    let tool = |more: Value| {
        let mut tool = json!({"name": "a"});
        tool.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        contract(ItemKind::Tool, &tool)
    };
    let input = |schema: Value| tool(json!({"inputSchema": {"type": "object", "properties": {"p": schema}}}));
    let same = [
        (
            tool(json!({})),
            tool(json!({"annotations": {"readOnlyHint": false, "openWorldHint": true}, "title": "a"})),
        ),
        (
            tool(json!({"description": "a  b\r\nc"})),
            tool(json!({"description": "a b\nc"})),
        ),
        (
            input(json!({"enum": ["a", "b"]})),
            input(json!({"anyOf": [{"const": "b"}, {"const": "a", "type": "string"}]})),
        ),
        (
            input(json!({"type": ["string", "null"]})),
            input(json!({"anyOf": [{"type": "null"}, {"type": "string"}]})),
        ),
        (
            input(json!({"type": "integer", "exclusiveMinimum": 0})),
            input(json!({"type": "integer", "minimum": 1})),
        ),
        (
            input(json!({"type": "object", "additionalProperties": {}})),
            input(json!({"type": "object", "title": "P"})),
        ),
        (
            input(json!({"required": ["a", "b"]})),
            input(json!({"required": ["b", "a"]})),
        ),
    ];
    for (one, other) in same {
        assert_eq!(one, other);
    }
    let named = input(json!({"properties": {"title": {"type": "string"}}}));
    assert_ne!(named, input(json!({"properties": {}})));
    assert_ne!(
        tool(json!({})),
        tool(json!({"annotations": {"destructiveHint": false}}))
    );
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |n| Some(json!(Number::from_f64(n)?))),
        "\\PC{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
use serde_json::Number;

proptest! {
    #[test]
    fn reading_again_gives_what_serde_gives(value in json_value()) {
        let (read, found) = parse(&serde_json::to_string_pretty(&value).unwrap());
        prop_assert_eq!(digest_of(&read), digest_of(&value));
        prop_assert!(found.is_empty(), "{:?}", found);
    }

    #[test]
    fn reading_never_panics(text in "\\PC*") {
        let _ = read(text.as_bytes());
        let _ = read(format!("{{\"tools\":[{text}]}}").as_bytes());
    }
}
