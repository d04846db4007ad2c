//! The tree over a manifest, as RFC 9162 builds it: one root to pin, and a proof for one item alone.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;

/// A tree that is not the pinned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    #[error("the proof does not fit a tree of this size")]
    Length,
    #[error("the proof leads to another root")]
    Root,
}

/// Proof that a leaf is part of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Place of the leaf.
    pub index: usize,
    /// Leaves of the tree.
    pub size: usize,
    /// Hashes beside the way from the leaf to the root.
    pub path: Vec<Digest>,
}

impl Membership {
    /// Checks that the leaf with `data` is part of the tree with this `root` (RFC 9162, 2.1.3.2).
    pub fn verify(&self, data: &[u8], root: Digest) -> Result<(), MembershipError> {
        if self.index >= self.size {
            return Err(MembershipError::Length);
        }
        let (mut node, mut last) = (self.index, self.size - 1);
        let mut hash = Digest::of_leaf(data);
        for beside in &self.path {
            if last == 0 {
                return Err(MembershipError::Length);
            }
            if node % 2 == 1 || node == last {
                hash = inner(*beside, hash);
                while node % 2 == 0 && node != 0 {
                    node /= 2;
                    last /= 2;
                }
            } else {
                hash = inner(hash, *beside);
            }
            node /= 2;
            last /= 2;
        }
        match (last, hash == root) {
            (0, true) => Ok(()),
            (0, false) => Err(MembershipError::Root),
            _ => Err(MembershipError::Length),
        }
    }
}

fn inner(left: Digest, right: Digest) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    Digest::from_bytes(&hasher.finalize()).expect("SHA-256 has 32 bytes")
}

/// The largest power of two below `leaves`, which is at least 2.
fn split(leaves: usize) -> usize {
    leaves.next_power_of_two() / 2
}

fn tree(hashes: &[Digest]) -> Digest {
    match hashes {
        [] => Digest::of(b""),
        [leaf] => *leaf,
        _ => {
            let (left, right) = hashes.split_at(split(hashes.len()));
            inner(tree(left), tree(right))
        }
    }
}

fn hashes(leaves: &[Vec<u8>]) -> Vec<Digest> {
    leaves.iter().map(|leaf| Digest::of_leaf(leaf)).collect()
}

pub(super) fn root(leaves: &[Vec<u8>]) -> Digest {
    tree(&hashes(leaves))
}

pub(super) fn membership(leaves: &[Vec<u8>], index: usize) -> Membership {
    let hashes = hashes(leaves);
    let mut path = Vec::new();
    let (mut part, mut place) = (hashes.as_slice(), index);
    while part.len() > 1 {
        let (left, right) = part.split_at(split(part.len()));
        if place < left.len() {
            path.push(tree(right));
            part = left;
        } else {
            path.push(tree(left));
            place -= left.len();
            part = right;
        }
    }
    path.reverse();
    Membership {
        index,
        size: hashes.len(),
        path,
    }
}
