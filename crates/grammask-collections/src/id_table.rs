//! A hash table from contents to ids, which holds neither: the contents are in tables of their own, by id.
//!
//! It grows a little at every insertion. A table that moves all its entries at once when it doubles is cheap in the
//! mean, and makes one token in a thousand wait for it.

/// Slots of a new table.
const FEWEST_SLOTS: usize = 16;
/// Old slots that an insertion moves. Slots double when three quarters are taken, so eight are twice what is needed.
const MOVED_AT_ONCE: usize = 8;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct IdTable {
    /// Ends of hashes above ids plus one; 0 where nothing is. Zeros, because the system hands them out without a write.
    slots: Vec<u64>,
    /// Slots from before the table grew.
    old: Vec<u64>,
    /// How many of the old slots have been moved.
    moved: usize,
    len: usize,
}

impl IdTable {
    /// The id with this hash that `is_wanted`.
    pub fn find(&self, hash: u64, mut is_wanted: impl FnMut(usize) -> bool) -> Option<usize> {
        find_in(&self.slots, hash, &mut is_wanted).or_else(|| find_in(&self.old, hash, &mut is_wanted))
    }

    /// Adds an id, which is not there.
    pub fn insert(&mut self, hash: u64, id: usize) {
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            let slots = vec![0; (self.slots.len() * 2).max(FEWEST_SLOTS)];
            self.old = std::mem::replace(&mut self.slots, slots);
            self.moved = 0;
        }
        let end = self.old.len().min(self.moved + MOVED_AT_ONCE);
        for position in self.moved..end {
            if self.old[position] != 0 {
                self.put(self.old[position]);
            }
        }
        self.moved = end;
        if self.moved == self.old.len() {
            self.old = Vec::new();
        }
        // Ids are indices of tables that Limits bound far below 2^32.
        self.put(hash << 32 | (id as u64 + 1));
        self.len += 1;
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        (self.slots.len() + self.old.len()) * size_of::<u64>()
    }

    fn put(&mut self, slot: u64) {
        let last = self.slots.len() - 1;
        let mut position = (slot >> 32) as usize & last;
        while self.slots[position] != 0 {
            position = (position + 1) & last;
        }
        self.slots[position] = slot;
    }
}

fn find_in(slots: &[u64], hash: u64, is_wanted: &mut impl FnMut(usize) -> bool) -> Option<usize> {
    let last = slots.len().checked_sub(1)?;
    let mut position = hash as usize & last;
    loop {
        let slot = slots[position];
        let id = (slot as u32).checked_sub(1)? as usize;
        if slot >> 32 == hash & u64::from(u32::MAX) && is_wanted(id) {
            return Some(id);
        }
        position = (position + 1) & last;
    }
}

#[cfg(test)]
mod tests {
    use super::IdTable;

    #[test]
    fn finds_what_was_inserted() {
        let mut table = IdTable::default();
        // Hashes that collide in many ways.
        let hash = |id: usize| (id as u64 / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (id % 2 * 20);
        for id in 0..5_000 {
            assert_eq!(table.find(hash(id), |found| found == id), None);
            table.insert(hash(id), id);
            for known in (0..=id).step_by(37).chain([id]) {
                assert_eq!(table.find(hash(known), |found| found == known), Some(known));
            }
        }
        assert!(table.memory_bytes() <= 5_000 * 4 * size_of::<u64>());
    }
}
