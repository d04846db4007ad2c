//! What words mean: one small vector for each of many words, so that a query and a tool that share no word can still
//! meet. A text is the weighted mean of its words; nothing is computed but sums.
//!
//! `meaning/table.bin` is made by `train/table.py`, which says from what.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::analysis::Word;
use crate::family::hash;
use crate::num::real;

/// Numbers of a vector.
pub(crate) const WIDTH: usize = 96;
/// Most words of one text that count.
const WORDS: usize = 80;

/// A direction: of length one, or zero for a text none of whose words is known.
pub(crate) type Direction = [f32; WIDTH];

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::read(include_bytes!("meaning/table.bin")).expect("the committed table is read by a test")
});

struct Table {
    /// By the word's hash: where its row is.
    rows: HashMap<u64, usize>,
    scales: Vec<f32>,
    values: &'static [u8],
}

impl Table {
    /// Width and count, then for each word its hash, its scale and its bytes; numbers are little endian.
    fn read(bytes: &'static [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(8)?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let count = usize::try_from(number(4)?).ok()?;
        let (hashes, rest) = rest.split_at_checked(count.checked_mul(8)?)?;
        let (scales, values) = rest.split_at_checked(count.checked_mul(4)?)?;
        if usize::try_from(number(0)?).ok()? != WIDTH || values.len() != count * WIDTH {
            return None;
        }
        let hash = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let scale = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes).ok();
        Some(Self {
            rows: hashes
                .chunks(8)
                .map(hash)
                .zip(0..)
                .map(|(hash, row)| Some((hash?, row)))
                .collect::<Option<_>>()?,
            scales: scales.chunks(4).map(scale).collect::<Option<_>>()?,
            values,
        })
    }

    fn add(&self, word: &str, sum: &mut Direction) -> bool {
        let Some(&row) = self.rows.get(&hash(word)) else {
            return false;
        };
        let scale = self.scales[row];
        let values = &self.values[row * WIDTH..(row + 1) * WIDTH];
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += scale * f32::from(value.cast_signed());
        }
        true
    }
}

/// The direction of texts, each with its weight.
pub(crate) fn direction(texts: &[(f32, &[Word])]) -> Direction {
    let mut out = [0.0; WIDTH];
    for (weight, words) in texts {
        let mut sum = [0.0; WIDTH];
        let known = words
            .iter()
            .filter(|word| TABLE.add(&word.surface, &mut sum))
            .take(WORDS)
            .count();
        if known > 0 {
            let share = weight / real(known).sqrt();
            out.iter_mut().zip(sum).for_each(|(out, sum)| *out += share * sum);
        }
    }
    let length = out.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in &mut out {
            *value /= length;
        }
    }
    out
}

/// A direction in bytes, as the index keeps it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "values of a direction are within one"
)]
pub(crate) fn packed(direction: &Direction) -> [i8; WIDTH] {
    direction.map(|value| (value * 127.0).round() as i8)
}

/// How far two directions agree, 1 for the same.
pub(crate) fn agreement(a: &Direction, b: &[i8]) -> f32 {
    let products = a.iter().zip(b).map(|(a, b)| a * f32::from(*b));
    products.sum::<f32>() / 127.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::words;

    fn near(a: &str, b: &str) -> f32 {
        let b = packed(&direction(&[(1.0, &words(b))]));
        agreement(&direction(&[(1.0, &words(a))]), &b)
    }

    #[test]
    fn texts_that_share_no_word_can_meet() {
        assert!(near("picture", "image") > near("picture", "invoice") + 0.1);
        assert!(near("purchase clothes", "buy apparel") > near("purchase clothes", "read logs") + 0.1);
        assert!((near("weather", "weather") - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_text_without_known_words_agrees_with_nothing() {
        assert!(near("zzqqxy", "weather").abs() < f32::EPSILON);
    }

    #[test]
    fn a_table_of_another_form_is_refused() {
        assert!(Table::read(&[0; 4]).is_none());
        assert!(Table::read(&[1, 0, 0, 0, 1, 0, 0, 0, 0]).is_none());
    }
}
