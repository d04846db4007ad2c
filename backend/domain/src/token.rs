//! The form of stored tokens: `tmk_`, 32 characters of base 62, 6 characters of checksum. The prefix and the checksum
//! let a secret scanner tell a real token from a look-alike without asking us.

use sha2::{Digest as _, Sha256};

/// What every token starts with.
pub const PREFIX: &str = "tmk_";
const BODY_CHARS: usize = 32;
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Six characters: the first 40 bits of SHA-256 of the body, low digits first, in base 62.
fn checksum(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let mut number = digest[..5]
        .iter()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let mut text = String::with_capacity(CHECKSUM_CHARS);
    for _ in 0..CHECKSUM_CHARS {
        text.push(digit(number % 62));
        number /= 62;
    }
    text
}

fn digit(value: u64) -> char {
    char::from(ALPHABET[usize::try_from(value % 62).expect("a remainder of 62 fits")])
}

/// A token made of 32 random bytes. Each byte gives one of 62 characters: 190 bits of them are unpredictable.
pub fn format(random: [u8; BODY_CHARS]) -> String {
    let body: String = random.iter().map(|byte| digit(u64::from(*byte))).collect();
    let checksum = checksum(&body);
    format!("{PREFIX}{body}{checksum}")
}

/// Whether `text` has the form and the checksum of a token. Says nothing about whether it is known.
pub fn is_well_formed(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX) else {
        return false;
    };
    rest.len() == BODY_CHARS + CHECKSUM_CHARS
        && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        && checksum(&rest[..BODY_CHARS]) == rest[BODY_CHARS..]
}

/// What may be shown of a token: the prefix and four characters.
pub fn hint(token: &str) -> String {
    token.chars().take(PREFIX.len() + 4).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_checks_and_a_changed_one_does_not() {
        let token = format([7; BODY_CHARS]);
        assert_eq!(token.len(), 42);
        assert!(is_well_formed(&token));
        for at in PREFIX.len()..token.len() {
            let mut other = token.clone().into_bytes();
            other[at] = if other[at] == b'x' { b'y' } else { b'x' };
            assert!(!is_well_formed(&String::from_utf8(other).unwrap()), "{at}");
        }
        for bad in ["", "tmk_", "tmk_é", "ghp_abc"] {
            assert!(!is_well_formed(bad));
        }
    }
}
