//! What a search gives back.

/// How far a hit can be trusted to be what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Little of the query is in it.
    Weak,
    /// Much of what the query says is in it.
    Strong,
    /// The query names it.
    Exact,
}

impl Strength {
    /// The word people see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Strong => "strong",
            Self::Exact => "exact",
        }
    }
}

/// A word of the query that the tool has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The word as the query has it, folded.
    pub word: String,
    /// Where: `name`, `server`, `description`, `parameters`, `server_text`, `parameter_text`.
    pub fields: Vec<&'static str>,
}

/// One ranked tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub id: String,
    pub strength: Strength,
    /// Why, heaviest word first.
    pub why: Vec<Match>,
    /// Copies folded under this one, best proved first.
    pub also_in: Vec<String>,
    /// The order's number on its grid; good for comparing within one answer, and for nothing else.
    pub score: i64,
    /// What the first stage gave it, each on the same grid: the whole query, its best part, neighbouring words.
    pub parts: [i64; 3],
    /// As the document had it.
    pub first_seen: u64,
    /// As the document had it.
    pub changed: u64,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// Tools that share a weighty word with the query, or are named by it.
    pub matched: usize,
    /// Words that were looked for in place of others.
    pub instead: Vec<(String, String)>,
    /// Words that no tool has.
    pub unknown: Vec<String>,
}
