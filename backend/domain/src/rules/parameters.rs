//! What the names of parameters ask for.

use super::Severity;
use super::text::Alarm;
use crate::finding::excerpt;

/// The words of a name, lower case: `userPrompt`, `user_prompt` and `user-prompt` are two words each.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            lower = false;
            parts.push(String::new());
            continue;
        }
        if parts.is_empty() || (c.is_uppercase() && lower) {
            parts.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(part) = parts.last_mut() {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Pairs of words that together ask for what a tool does not need: one of the first with one of the second.
const PRIVATE: &[(&[&str], &[&str])] = &[
    (
        &["conversation", "chat", "dialog", "dialogue", "session"],
        &["history", "transcript", "messages"],
    ),
    (
        &["llm", "calling", "caller", "assistant", "agent"],
        &["name", "model", "identity"],
    ),
    (&["system"], &["prompt", "instructions"]),
    (
        &["user", "users"],
        &["prompt", "prompts", "utterance", "verbatim"],
    ),
    (&["tools", "tool"], &["list", "names", "inventory", "available"]),
    (
        &["previous", "prior", "all"],
        &["messages", "conversation", "turns", "prompts"],
    ),
    (&["env", "environment"], &["data", "dump", "secrets", "contents"]),
    (&["model", "llm"], &["reasoning", "thoughts", "thinking"]),
    (&["chain"], &["thought"]),
];

/// Names, read as words one after the other, of places where secrets lie.
const SECRET_NAMES: &[&[&str]] = &[
    &["id", "rsa"],
    &["ssh", "key", "contents"],
    &["private", "key", "contents"],
    &["dotenv"],
    &["env", "file", "contents"],
    &["aws", "credentials"],
    &["etc", "passwd"],
    &["etc", "shadow"],
    &["mcp", "json"],
    &["keychain"],
    &["contents", "of", "home"],
];

/// What a parameter's name asks for, if that is nothing the work of a tool needs.
pub(crate) fn judge(name: &str, own_words: &str) -> Option<Alarm> {
    let parts = parts(name);
    let has = |word: &str| parts.iter().any(|part| part == word);
    let row = |row: &[&str]| {
        parts
            .windows(row.len())
            .any(|window| window.iter().eq(row.iter()))
    };
    if SECRET_NAMES.iter().any(|names| row(names)) && parts.len() >= 3 {
        return Some(Alarm {
            rule: "D06",
            severity: Severity::High,
            summary: format!("the parameter `{}` asks for a secret by its name", excerpt(name)),
            excerpt: excerpt(name),
        });
    }
    let asks = PRIVATE.iter().find(|(one, other)| {
        one.iter().any(|word| has(word)) && other.iter().any(|word| has(word)) && parts.len() <= 4
    });
    let (one, other) = asks?;
    // A tool that runs a model of its own has to be given its orders.
    let runs_a_model = ["agent", "llm", "completion", "chatbot", "assistant"]
        .iter()
        .any(|word| own_words.contains(word));
    if *one == ["system"] && runs_a_model {
        return None;
    }
    // What the tool itself is about it may ask for.
    let about = |words: &[&str]| {
        let mut asked = words.iter().filter(|word| has(word));
        asked.any(|word| own_words.contains(word.trim_end_matches('s')))
    };
    if about(one) && about(other) {
        return None;
    }
    Some(Alarm {
        rule: "S07",
        severity: Severity::High,
        summary: format!(
            "the parameter `{}` asks for more than the work needs",
            excerpt(name)
        ),
        excerpt: excerpt(name),
    })
}

/// Several parameters that no description mentions and whose names say nothing but "anything".
pub(crate) fn loose(names: &[&str]) -> Option<Alarm> {
    const ANYTHING: [&str; 8] = [
        "feedback",
        "debug",
        "extra",
        "sidenote",
        "misc",
        "notes",
        "thoughts",
        "reasoning",
    ];
    let mut loose: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| ANYTHING.contains(&name.to_lowercase().as_str()))
        .collect();
    loose.sort_unstable();
    loose.dedup();
    (loose.len() >= 2).then(|| Alarm {
        rule: "S07",
        severity: Severity::Medium,
        summary: format!("parameters take anything: {}", excerpt(&loose.join(", "))),
        excerpt: excerpt(&loose.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for name in ["user_prompt", "userPrompt", "user-prompt", "User Prompt"] {
            assert_eq!(parts(name), ["user", "prompt"], "{name}");
        }
        assert_eq!(parts("LLMName"), ["llmname"]);
    }

    #[test]
    fn names_that_ask_for_more_are_found() {
        for name in [
            "llm_name",
            "conversation_history",
            "systemPrompt",
            "tools_list",
            "user_prompt",
        ] {
            assert_eq!(judge(name, "adds two numbers").unwrap().rule, "S07", "{name}");
        }
        assert_eq!(judge("contents_of_home_ssh_id_rsa", "").unwrap().rule, "D06");
        for name in [
            "model",
            "name",
            "user_id",
            "context",
            "session_id",
            "private_key",
            "prompt",
            "tool_name",
        ] {
            assert_eq!(judge(name, "adds two numbers"), None, "{name}");
        }
        assert_eq!(judge("chat_history", "reads the history of a chat"), None);
    }
}
