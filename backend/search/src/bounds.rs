//! Bounds on what one tool and one query may cost. Text past a bound does not count for ranking.

/// Longest description that counts, in characters.
pub(crate) const DESCRIPTION_CHARS: usize = 1200;
/// Most distinct words of one description that count.
pub(crate) const DESCRIPTION_WORDS: usize = 200;
/// Longest name, title or server name that counts, in characters.
pub(crate) const NAME_CHARS: usize = 160;
/// Most words of a name that count: a longer one is a sentence in disguise.
pub(crate) const NAME_WORDS: usize = 14;
/// Longest description of a server that counts, in characters.
pub(crate) const SERVER_DESCRIPTION_CHARS: usize = 400;
/// Most parameters of a tool that count.
pub(crate) const PARAMETERS: usize = 40;
/// Longest description of a parameter that counts, in characters.
pub(crate) const PARAMETER_CHARS: usize = 240;
/// Most words counted over all parameter descriptions.
pub(crate) const PARAMETER_WORDS: usize = 300;
/// Most often one word of one field counts.
pub(crate) const REPEATS: u32 = 4;
/// Longest word, in bytes; what is longer is data, not language.
pub(crate) const WORD_BYTES: usize = 40;
/// Longest query that is read, in characters.
pub(crate) const QUERY_CHARS: usize = 4000;
/// Most distinct words of a query that are looked up.
pub(crate) const QUERY_WORDS: usize = 160;
/// Most words of a query that are scored: its heaviest.
pub(crate) const QUERY_TERMS: usize = 32;
/// Most parts of a query that are scored apart.
pub(crate) const QUERY_PARTS: usize = 8;
/// Most names one query may ask for.
pub(crate) const QUERY_NAMES: usize = 16;
/// Candidates kept of the lexical ranking.
pub(crate) const CANDIDATES: usize = 160;
/// Of them, how many the second stage looks at.
pub(crate) const RERANKED: usize = 100;
/// Most dictionary entries looked at to repair one name.
pub(crate) const REPAIR_SCAN: usize = 2000;
/// Most words of a query that a person types by hand; only those are completed and respelt.
pub(crate) const TYPED_WORDS: usize = 8;
/// Candidates kept for a list that is paged through.
pub(crate) const LISTED: usize = 1000;
