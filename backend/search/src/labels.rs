//! What of a tool can be filtered and counted beside its words: a bit for each value.

/// Groups and their values. A value keeps its bit: adding one raises `schema::LAYOUT`.
pub const GROUPS: [(&str, &[&str]); 10] = [
    (
        "registry_type",
        &["npm", "pypi", "oci", "mcpb", "nuget", "cargo", "remote"],
    ),
    ("transport", &["stdio", "streamable-http", "sse"]),
    ("era", &["modern", "legacy"]),
    (
        "verdict",
        &["verified", "unsigned", "mismatch", "invalid", "unverifiable"],
    ),
    ("read_only", &["yes", "no"]),
    ("destructive", &["yes", "no"]),
    ("output_schema", &["yes", "no"]),
    ("auth", &["needed", "none"]),
    ("severity", &["none", "low", "medium", "high", "critical"]),
    ("status", &["active", "deprecated"]),
];

/// Values a tool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels(u64);

impl Labels {
    /// Adds a value; a value nobody counts is left out.
    pub fn add(&mut self, group: &str, value: &str) {
        self.0 |= bit(group, value).unwrap_or_default();
    }

    /// With a value more.
    #[must_use]
    pub fn with(mut self, group: &str, value: &str) -> Self {
        self.add(group, value);
        self
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

fn bit(group: &str, value: &str) -> Option<u64> {
    let mut at = 0;
    for (name, values) in GROUPS {
        if name == group {
            let place = values.iter().position(|known| *known == value)?;
            return Some(1 << (at + place));
        }
        at += values.len();
    }
    None
}

/// The bits of each group.
pub(crate) fn masks() -> [u64; GROUPS.len()] {
    let mut at = 0;
    GROUPS.map(|(_, values)| {
        let mask = ((1 << values.len()) - 1) << at;
        at += values.len();
        mask
    })
}

/// Values that are asked for: any one of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted(u64);

impl Wanted {
    /// Asks for a value beside the others of its group. `false` when there is no such value.
    #[must_use]
    pub fn add(&mut self, group: &str, value: &str) -> bool {
        let bit = bit(group, value);
        self.0 |= bit.unwrap_or_default();
        bit.is_some()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Of the groups asked about, those the labels do not meet.
    pub(crate) fn unmet(self, labels: Labels) -> u16 {
        if self.0 == 0 {
            return 0;
        }
        let unmet = |mask: &u64| self.0 & mask != 0 && self.0 & mask & labels.0 == 0;
        let masks = masks();
        let bits = masks.iter().enumerate().filter(|(_, mask)| unmet(mask));
        bits.fold(0, |all, (group, _)| all | 1 << group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_bits_of_their_own_and_groups_are_met_by_any() {
        let count: usize = GROUPS.iter().map(|(_, values)| values.len()).sum();
        let mut all = 0;
        for (group, values) in GROUPS {
            for value in values {
                all |= bit(group, value).unwrap();
            }
        }
        assert_eq!(all.count_ones() as usize, count);
        assert!(count <= 64);
        assert_eq!(bit("era", "future"), None);
        let labels = Labels::default()
            .with("era", "modern")
            .with("verdict", "verified");
        let mut wanted = Wanted::default();
        assert!(wanted.add("era", "modern") && wanted.add("era", "legacy"));
        assert_eq!(wanted.unmet(labels), 0);
        assert!(wanted.add("verdict", "unsigned"));
        assert_eq!(wanted.unmet(labels), 1 << 3);
        assert!(!wanted.add("colour", "red"));
    }
}
