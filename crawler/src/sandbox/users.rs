//! User ids for cages: each running cage has one that nothing else on this machine has, so that what it owns is
//! known, and no file of another is readable to it by ownership.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Ids from here on belong to no system, no user and no container by any custom we know.
const FIRST: u32 = 0x6000_0000;
/// Cages at a time in one process.
const PER_PROCESS: u32 = 64;
/// Process ids are below this on Linux.
const PROCESSES: u32 = 1 << 22;

static TAKEN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// An id, free again when dropped.
#[derive(Debug)]
pub(super) struct SpareUser(u32);

impl SpareUser {
    /// One that no other cage has, of this process or another; none when all are taken.
    pub(super) fn take() -> Option<Self> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (0..PER_PROCESS).find(|slot| !taken.contains(slot))?;
        taken.insert(free);
        Some(Self(free))
    }

    pub(super) fn id(&self) -> u32 {
        FIRST + (std::process::id() % PROCESSES) * PER_PROCESS + self.0
    }
}

impl Drop for SpareUser {
    fn drop(&mut self) {
        TAKEN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_while_taken() {
        let all: Vec<SpareUser> = (0..8).filter_map(|_| SpareUser::take()).collect();
        let ids: BTreeSet<u32> = all.iter().map(SpareUser::id).collect();
        assert_eq!(ids.len(), 8);
        assert!(ids.iter().all(|id| *id >= FIRST && *id < 0x7000_0000));
        let first = all[0].id();
        drop(all);
        assert_eq!(SpareUser::take().unwrap().id(), first);
    }
}
