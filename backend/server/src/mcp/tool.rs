//! The one tool, as clients see it.

use std::sync::LazyLock;

use rmcp::model::Tool;
use serde_json::{Value, json};
use toolmark_domain::limits::{
    FIND_IDS, FIND_LIMIT, FIND_LIMIT_MAX, FIND_NEEDS, FIND_TOKENS, FIND_TOKENS_MAX, FIND_TOKENS_MIN,
};

pub(super) const NAME: &str = "find_tools";

/// The definition, as JSON.
pub fn tool_definition() -> Value {
    json!({
        "name": NAME,
        "title": "Find tools of MCP servers",
        "description": "Finds tools of MCP servers that can do a job. Say in `query` what you want done, or in `needs` \
            several things at once; each is answered apart. Give `ids` from an earlier answer to get whole definitions. \
            The answer is a ranked sample, not all there is; its `note` says how many matched and what was left out.",
        "annotations": {
            "title": "Find tools of MCP servers", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false,
        },
        "inputSchema": input(),
        "outputSchema": output(),
    })
}

fn input() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What you want done, in plain words, or the name of a tool."},
            "needs": {"type": "array", "minItems": 1, "maxItems": FIND_NEEDS, "items": {"type": "string", "minLength": 1},
                "description": "Several things you want done; in place of `query`."},
            "ids": {"type": "array", "minItems": 1, "maxItems": FIND_IDS, "items": {"type": "string", "minLength": 1},
                "description": "Tools whose definitions you want, as `ns/name#tool`; in place of `query`."},
            "server": {"type": "string", "description": "Only tools of this server, as `ns/name`."},
            "filters": {
                "type": "object", "additionalProperties": false,
                "properties": {
                    "namespace": {"type": "string", "description": "Only servers of this namespace and those below it."},
                    "registry_type": {"enum": ["npm", "pypi", "oci", "mcpb", "nuget", "cargo", "remote"]},
                    "transport": {"enum": ["stdio", "streamable-http", "sse"]},
                    "provenance": {"enum": ["verified", "unsigned", "mismatch", "invalid", "unverifiable"],
                        "description": "Only tools of servers whose artifact was checked with this verdict."},
                    "read_only": {"type": "boolean", "description": "What the server claims of its tool; not checked."},
                    "changed_since": {"type": "string", "description": "A date, such as 2026-03-01."},
                    "minimum_age_days": {"type": "integer", "minimum": 0, "description": "Known here for so many days."},
                },
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": FIND_LIMIT_MAX, "default": FIND_LIMIT,
                "description": "Most tools for each need."},
            "detail": {"enum": ["auto", "compact", "full"], "default": "auto",
                "description": "`compact`: a line each; `full`: whole definitions; `auto`: the best ones whole."},
            "max_tokens": {"type": "integer", "minimum": FIND_TOKENS_MIN, "maximum": FIND_TOKENS_MAX, "default": FIND_TOKENS,
                "description": "Bounds the answer."},
        },
    })
}

fn output() -> Value {
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
    json!({
        "type": "object",
        "required": ["schema", "tools", "more", "event", "note"],
        "properties": {
            "schema": {"const": toolmark_domain::find::SCHEMA},
            "tools": {"type": "array", "items": {
                "type": "object",
                "required": ["id", "summary", "match", "version", "verdict", "tokens"],
                "properties": {
                    "need": {"type": "integer", "description": "Which of `needs` it is for, from 0."},
                    "id": text(),
                    "title": text(),
                    "summary": text(),
                    "match": {"enum": ["exact", "strong", "weak"]},
                    "why": {"type": "object", "description": "Words of the request it has, and where."},
                    "version": text(),
                    "run": {"type": "string", "description": "Package or address of its server, such as npm:NAME@VERSION."},
                    "transport": text(),
                    "status": text(),
                    "verdict": {"type": ["string", "null"], "description": "Of the check of its origin; null: not checked."},
                    "manifest": maybe(),
                    "tool": maybe(),
                    "first_seen": maybe(),
                    "last_changed": maybe(),
                    "high_findings": {"type": "integer"},
                    "claims": {"type": "object", "description": "Annotations as its server claims them; not checked."},
                    "also_in": {"type": "array", "items": {"type": "string"}, "description": "Copies of it."},
                    "also_in_more": {"type": "integer"},
                    "tokens": {"type": "integer", "description": "What its definition costs."},
                    "definition": {"type": "object", "description": "As its server declares it."},
                },
            }},
            "needs": {"type": "array", "items": {"type": "object"}},
            "more": {"type": "integer"},
            "event": {"type": "integer", "description": "The event of the registry's feed the index reflects."},
            "note": text(),
        },
    })
}

/// The tool as the protocol's library holds it.
pub(super) fn tool() -> Tool {
    static TOOL: LazyLock<Tool> =
        LazyLock::new(|| serde_json::from_value(tool_definition()).expect("the definition is a tool"));
    TOOL.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_a_tool_and_nothing_of_it_is_lost() {
        let held = serde_json::to_value(tool()).unwrap();
        assert_eq!(held, tool_definition());
    }
}
