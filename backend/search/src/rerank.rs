//! The second stage: small decision trees over what the first stage knows of a candidate.
//!
//! `rerank/*.txt` are made by `train/train.py`; their heads say from which judgements, seed and date.

use std::sync::LazyLock;

use crate::features::COUNT;
use crate::rank::Mode;

/// A score for the order of one answer; comparable with nothing else.
pub(crate) fn score(mode: Mode, row: &[f32; COUNT]) -> f32 {
    let model = match mode {
        Mode::Lexical | Mode::FirstStage => &*LEXICAL,
        Mode::Default => &*DEFAULT,
    };
    model.trees.iter().map(|tree| tree.value(row)).sum()
}

static LEXICAL: LazyLock<Model> = LazyLock::new(|| committed(include_str!("rerank/lexical.txt")));
static DEFAULT: LazyLock<Model> = LazyLock::new(|| committed(include_str!("rerank/default.txt")));

fn committed(text: &str) -> Model {
    Model::read(text).expect("the committed trees are read by a test")
}

struct Model {
    trees: Vec<Tree>,
}

struct Tree {
    splits: Vec<Split>,
    leaves: Vec<f32>,
}

struct Split {
    feature: usize,
    threshold: f32,
    /// Where a value up to the threshold goes on, and where a greater one.
    next: [Next; 2],
}

#[derive(Clone, Copy)]
enum Next {
    Split(usize),
    Leaf(usize),
}

impl Tree {
    fn value(&self, row: &[f32; COUNT]) -> f32 {
        let mut next = if self.splits.is_empty() {
            Next::Leaf(0)
        } else {
            Next::Split(0)
        };
        loop {
            match next {
                Next::Leaf(leaf) => return self.leaves[leaf],
                Next::Split(split) => {
                    let split = &self.splits[split];
                    next = split.next[usize::from(row[split.feature] > split.threshold)];
                }
            }
        }
    }
}

impl Model {
    /// Reads the form `train.py` writes; a split goes on to later splits only, so a walk ends.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let features: usize = lines.next()?.strip_prefix("features ")?.parse().ok()?;
        if features > COUNT {
            return None;
        }
        let trees = lines.map(tree).collect::<Option<Vec<Tree>>>()?;
        Some(Self { trees })
    }
}

fn tree(line: &str) -> Option<Tree> {
    let (splits, leaves) = line.split_once('|')?;
    let leaves: Vec<f32> = leaves
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let count = splits.split_whitespace().count();
    let splits: Vec<Split> = splits
        .split_whitespace()
        .enumerate()
        .map(|(place, text)| split(text, place, count, leaves.len()))
        .collect::<Option<_>>()?;
    (!leaves.is_empty()).then_some(Tree { splits, leaves })
}

fn split(text: &str, place: usize, splits: usize, leaves: usize) -> Option<Split> {
    let mut cells = text.split(':');
    let feature = cells.next()?.parse().ok().filter(|&feature| feature < COUNT)?;
    let threshold = cells.next()?.parse().ok()?;
    let mut next = || {
        let number: i64 = cells.next()?.parse().ok()?;
        if let Ok(split) = usize::try_from(number) {
            return (split > place && split < splits).then_some(Next::Split(split));
        }
        let leaf = usize::try_from(-(number + 1)).ok()?;
        (leaf < leaves).then_some(Next::Leaf(leaf))
    };
    Some(Split {
        feature,
        threshold,
        next: [next()?, next()?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_trees_are_read_and_walked() {
        for (mode, model) in [(Mode::Lexical, &LEXICAL), (Mode::Default, &DEFAULT)] {
            assert!(model.trees.len() > 10);
            let mut strong = [0.0; COUNT];
            strong[..4].fill(1.0);
            assert!(score(mode, &strong) > score(mode, &[0.0; COUNT]));
        }
    }

    #[test]
    fn trees_that_would_not_end_are_refused() {
        let text = |tree: &str| format!("# x\nfeatures {COUNT}\n{tree}\n");
        assert!(Model::read(&text("0:0.5:-1:-2 | 1 2")).is_some());
        for bad in [
            "0:0.5:0:-1 | 1",
            "0:0.5:-1:-3 | 1 2",
            "99:0.5:-1:-2 | 1 2",
            "0:0.5:-1 | 1",
            "0:x:-1:-2 | 1 2",
        ] {
            assert!(Model::read(&text(bad)).is_none(), "{bad}");
        }
        assert!(Model::read("features 999\n").is_none());
    }
}
