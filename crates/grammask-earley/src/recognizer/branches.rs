//! Where what was seen leads to: a map with short lists of numbers as keys.
//!
//! Most places have one or two branches, so the first few are compared one by one.

use rustc_hash::FxHashMap;

/// Branches that are compared one by one.
const FEW: usize = 4;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    few: Vec<(Box<[u32]>, usize)>,
    /// The others, once there are any.
    many: Option<Box<FxHashMap<Box<[u32]>, usize>>>,
}

impl Branches {
    pub(crate) fn len(&self) -> usize {
        self.few.len() + self.many.as_ref().map_or(0, |many| many.len())
    }

    pub(crate) fn get(&self, seen: &[u32]) -> Option<usize> {
        // Number by number: to call the comparison of memory takes longer than to compare the few that there are.
        let is_seen =
            |known: &[u32]| known.len() == seen.len() && known.iter().zip(seen).all(|(a, b)| a == b);
        let found = self.few.iter().find(|(known, _)| is_seen(known));
        match found {
            Some(&(_, target)) => Some(target),
            None => self.many.as_ref()?.get(seen).copied(),
        }
    }

    /// Adds a branch, or changes where it leads to.
    pub(crate) fn insert(&mut self, seen: Box<[u32]>, target: usize) {
        if let Some(known) = self.few.iter_mut().find(|(known, _)| *known == seen) {
            known.1 = target;
        } else if self.few.len() < FEW {
            if self.few.is_empty() {
                self.few.reserve_exact(1);
            }
            self.few.push((seen, target));
        } else {
            self.many.get_or_insert_default().insert(seen, target);
        }
    }
}
