//! Words that say little about what is wanted: grammar, which is not scored, and the talk around a request, which
//! counts for less.

/// What a word of a query is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Grammar.
    None,
    /// Talk around the request.
    Little,
    /// Everything else.
    Full,
}

/// The worth of a surface form.
pub(crate) fn weight_of(surface: &str) -> Weight {
    if GRAMMAR.binary_search(&surface).is_ok() {
        Weight::None
    } else if TALK.binary_search(&surface).is_ok() {
        Weight::Little
    } else {
        Weight::Full
    }
}

/// Sorted.
#[rustfmt::skip]
const GRAMMAR: [&str; 142] = [
    "a", "about", "above", "again", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be",
    "because", "been", "being", "below", "between", "both", "but", "by", "can", "could", "couldn", "d", "did",
    "didn", "do", "does", "doesn", "doing", "don", "done", "down", "during", "each", "either", "for", "from",
    "further", "had", "has", "hasn", "have", "haven", "having", "he", "her", "here", "him", "his", "how", "i",
    "if", "in", "into", "is", "isn", "it", "its", "just", "let", "lets", "ll", "m", "may", "me", "might",
    "mine", "must", "my", "no", "nor", "not", "of", "off", "on", "once", "only", "onto", "or", "other", "our",
    "ours", "out", "over", "own", "re", "s", "same", "shall", "she", "should", "shouldn", "so", "some", "such",
    "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through",
    "to", "too", "under", "up", "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "without", "won", "would",
    "wouldn", "you", "your", "yours",
];

/// Sorted.
#[rustfmt::skip]
const TALK: [&str; 386] = [
    "able", "actually", "advance", "ahead", "already", "always", "another", "anything", "appreciate", "around",
    "ask", "asked", "asking", "assist", "assistance", "available", "aware", "back", "based", "basically", "bit",
    "bunch", "came", "care", "case", "certain", "check", "clear", "come", "complete", "consider", "considering",
    "couple", "curious", "currently", "day", "days", "deal", "decide", "decided", "deep", "detail", "detailed",
    "details", "determine", "different", "dig", "directly", "discover", "easily", "easy", "else", "end",
    "ensure", "especially", "even", "ever", "every", "everything", "exactly", "example", "excited", "exciting",
    "exist", "existing", "expect", "explain", "explore", "extra", "fact", "far", "feel", "feeling", "figure",
    "final", "finally", "find", "fine", "first", "firstly", "fix", "following", "friend", "friends", "fun",
    "gather", "general", "generally", "get", "gets", "getting", "give", "given", "gives", "giving", "go",
    "goes", "going", "gonna", "good", "got", "great", "guess", "guy", "guys", "hand", "handle", "happen",
    "happening", "hard", "hear", "hello", "help", "helpful", "helping", "hey", "hi", "hoping", "idea",
    "ideally", "identify", "important", "include", "included", "includes", "including", "info", "inform",
    "information", "inside", "insight", "insights", "instance", "instead", "interest", "interested",
    "interesting", "involve", "involved", "issue", "keep", "kind", "kindly", "know", "knowing", "last",
    "lastly", "lately", "later", "learn", "least", "less", "like", "likely", "little", "long", "look",
    "looking", "looks", "lot", "lots", "love", "made", "main", "make", "makes", "making", "manage", "many",
    "mean", "means", "mention", "mentioned", "mind", "moment", "month", "months", "more", "most", "much",
    "multiple", "myself", "name", "named", "near", "necessary", "need", "needed", "needing", "needs", "new",
    "next", "nice", "note", "now", "number", "numbers", "obtain", "ok", "okay", "old", "one", "ones", "option",
    "options", "order", "organize", "part", "particular", "particularly", "people", "perfect", "perform",
    "person", "personal", "place", "plan", "planning", "please", "plus", "point", "possible", "possibly",
    "prefer", "prepare", "prepared", "preparing", "present", "pretty", "probably", "proceed", "process",
    "project", "properly", "provide", "provided", "provides", "providing", "pull", "purpose", "put", "question",
    "questions", "quick", "quickly", "quite", "rather", "ready", "real", "really", "reason", "recent",
    "recently", "recommend", "recommendation", "recommendations", "regarding", "related", "relevant",
    "remember", "request", "require", "required", "requirement", "requirements", "requires", "result",
    "results", "retrieve", "return", "right", "rough", "roughly", "say", "second", "secondly", "see", "seem",
    "seems", "sense", "several", "share", "show", "side", "similar", "simple", "simply", "since", "situation",
    "small", "solid", "someone", "something", "somewhere", "soon", "sort", "specific", "specifically",
    "specified", "start", "started", "stay", "step", "steps", "still", "stuff", "suggest", "suggestion",
    "suggestions", "super", "support", "sure", "take", "taking", "talk", "tell", "thank", "thanks", "thing",
    "things", "think", "thinking", "third", "thirdly", "though", "thought", "three", "time", "times", "tips",
    "today", "together", "told", "took", "top", "topic", "totally", "toward", "towards", "tried", "try",
    "trying", "turn", "two", "type", "understand", "upcoming", "use", "used", "useful", "user", "using",
    "usual", "utilize", "value", "values", "various", "via", "view", "want", "wanted", "wanting", "wants",
    "way", "ways", "week", "weeks", "well", "whatever", "whether", "whole", "wish", "wonder", "wondering",
    "work", "working", "works", "world", "worried", "worry", "wrap", "yeah", "year", "years", "yes", "yet",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_apart() {
        assert!(GRAMMAR.is_sorted() && TALK.is_sorted());
        assert!(GRAMMAR.iter().all(|word| TALK.binary_search(word).is_err()));
        assert_eq!(weight_of("please"), Weight::Little);
        assert_eq!(weight_of("the"), Weight::None);
        assert_eq!(weight_of("weather"), Weight::Full);
    }
}
