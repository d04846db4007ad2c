//! What a token may do: an action on names that match a pattern.

use serde::{Deserialize, Serialize};

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Publish,
    Edit,
    /// Manage the subscriptions and endpoints of an owner, whose name stands where a server's would.
    Subscribe,
}

impl Action {
    /// The word used in JSON and prose.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Edit => "edit",
            Self::Subscribe => "subscribe",
        }
    }
}

/// One grant: `resource` is a whole server name, `*`, or a prefix before a trailing `*`. Matching is case-sensitive,
/// as in the official registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Permission {
    pub action: Action,
    pub resource: String,
}

impl Permission {
    /// Whether this grant allows `action` on the server `name`.
    pub fn allows(&self, action: Action, name: &str) -> bool {
        if self.action != action {
            return false;
        }
        match self.resource.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => self.resource == name,
        }
    }
}

/// Whether any of `grants` allows `action` on the server `name`.
pub fn allowed(grants: &[Permission], action: Action, name: &str) -> bool {
    grants.iter().any(|grant| grant.allows(action, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_match_whole_names_prefixes_and_everything() {
        let grant = |resource: &str| Permission {
            action: Action::Publish,
            resource: resource.into(),
        };
        assert!(grant("*").allows(Action::Publish, "a/b"));
        assert!(grant("io.github.a/*").allows(Action::Publish, "io.github.a/x"));
        assert!(!grant("io.github.a/*").allows(Action::Publish, "io.github.ab/x"));
        assert!(!grant("io.github.a/*").allows(Action::Publish, "io.github.A/x"));
        assert!(grant("a/b").allows(Action::Publish, "a/b"));
        assert!(!grant("a/b").allows(Action::Publish, "a/bc"));
        assert!(!grant("*").allows(Action::Edit, "a/b"));
    }
}
