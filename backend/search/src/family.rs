//! Copies of one tool: same name, near the same description. Forks and mirrors of a server, and clones made to crowd a
//! list, are one answer, not seven.

use crate::schema::Facts;

/// A hash that is the same on every machine and in every version (FNV-1a with a final mix).
pub(crate) fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Sixteen one-byte minima over the distinct words; a text without words has the empty sketch.
pub(crate) fn sketch(words: &[String]) -> [u64; 2] {
    if words.is_empty() {
        return [0, 0];
    }
    let mut least = [u64::MAX; 16];
    for word in words {
        let hash = hash(word);
        for (seed, least) in (1_u64..).zip(&mut least) {
            *least = (*least).min(mix(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
    }
    let byte = |value: u64| u8::try_from(value & 0xff).unwrap_or_default();
    let bytes = least.map(byte);
    let (low, high) = bytes.split_at(8);
    let number = |half: &[u8]| half.iter().fold(0_u64, |number, &b| (number << 8) | u64::from(b));
    [number(low), number(high)]
}

/// How many of the sixteen bytes agree.
fn agreement(a: [u64; 2], b: [u64; 2]) -> usize {
    let pairs = a.iter().zip(&b);
    let same = pairs.map(|(a, b)| {
        a.to_be_bytes()
            .iter()
            .zip(b.to_be_bytes())
            .filter(|(a, b)| **a == *b)
            .count()
    });
    same.sum()
}

/// Bytes that must agree for two descriptions to be one; 10 of 16 is about two words in three shared.
const AGREEING: usize = 9;

/// Whether two tools are copies of one.
pub(crate) fn are_copies(a: &Facts, b: &Facts) -> bool {
    if a.name != b.name {
        return false;
    }
    let empty = [0, 0];
    if a.sketch == empty || b.sketch == empty {
        return a.sketch == b.sketch && a.shape.has_as_many_parameters(b.shape);
    }
    agreement(a.sketch, b.sketch) >= AGREEING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, text: &str) -> Facts {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Facts {
            name: hash(name),
            sketch: sketch(&words),
            ..Facts::default()
        }
    }

    #[test]
    fn a_clone_with_a_word_more_is_a_copy_and_another_tool_of_the_name_is_not() {
        let original = facts(
            "writefile",
            "write a file to the sandboxed file system of the container",
        );
        let clone = facts(
            "writefile",
            "write a file to the sandboxed file system of the container official",
        );
        let other = facts(
            "writefile",
            "store text in a bucket of the cloud and give its address back",
        );
        assert!(are_copies(&original, &clone));
        assert!(!are_copies(&original, &other));
        assert!(!are_copies(
            &original,
            &facts(
                "readfile",
                "write a file to the sandboxed file system of the container"
            )
        ));
    }
}
