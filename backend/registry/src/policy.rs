//! What an operator forbids.

/// A namespace, or with a trailing `*` every namespace that starts so. Compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePattern(String);

impl NamespacePattern {
    /// Reads a pattern; `None` when it is no namespace (empty, a slash, blanks, a star elsewhere).
    pub fn parse(text: &str) -> Option<Self> {
        let stem = text.strip_suffix('*').unwrap_or(text);
        let ok = !text.is_empty()
            && stem
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
        ok.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The pattern, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `namespace` is meant.
    pub fn matches(&self, namespace: &str) -> bool {
        let namespace = namespace.to_ascii_lowercase();
        match self.0.strip_suffix('*') {
            Some(prefix) => namespace.starts_with(prefix),
            None => namespace == self.0,
        }
    }
}

pub(crate) fn blocked(patterns: &[NamespacePattern], namespace: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_namespace_or_a_prefix() {
        let pattern = |text: &str| NamespacePattern::parse(text).unwrap();
        assert!(pattern("com.Evil").matches("com.evil"));
        assert!(!pattern("com.evil").matches("com.evil.sub"));
        assert!(pattern("com.evil*").matches("com.evil.sub"));
        assert!(pattern("*").matches("anything"));
        for bad in ["", "a/b", "a b", "*a", "a*b"] {
            assert_eq!(NamespacePattern::parse(bad), None, "{bad}");
        }
    }
}
