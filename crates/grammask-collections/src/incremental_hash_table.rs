//! A hash table of ids for interning. The values are stored elsewhere, by id; the caller supplies hash and equality.
//!
//! Resizing is incremental: every insertion moves a few slots. A table that moves all entries at once has the same
//! amortised cost, but adds the whole move to the latency of one token.

/// Number of slots of the first allocation.
const MIN_SLOTS: usize = 16;
/// Number of old slots that an insertion moves. The table doubles when it is three quarters full, so the move is
/// complete after a sixth of the insertions until it doubles again.
const SLOTS_PER_INSERTION: usize = 8;

/// A hash table of ids. See the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct IncrementalHashTable {
    /// The low 32 bits of the hash, then the id plus one; 0 if empty. Zero, since zeroed memory costs no write.
    slots: Vec<u64>,
    /// The slots before the last resize; empty once all have been moved.
    old: Vec<u64>,
    /// Number of old slots that have been moved.
    moved: usize,
    len: usize,
}

impl IncrementalHashTable {
    /// The id with this hash for which `is_equal` holds.
    pub fn find(&self, hash: u64, mut is_equal: impl FnMut(usize) -> bool) -> Option<usize> {
        find_in(&self.slots, hash, &mut is_equal).or_else(|| find_in(&self.old, hash, &mut is_equal))
    }

    /// Adds an id, which must not be in the table.
    pub fn insert(&mut self, hash: u64, id: usize) {
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            let slots = vec![0; (self.slots.len() * 2).max(MIN_SLOTS)];
            self.old = std::mem::replace(&mut self.slots, slots);
            self.moved = 0;
        }
        let end = self.old.len().min(self.moved + SLOTS_PER_INSERTION);
        for position in self.moved..end {
            if self.old[position] != 0 {
                self.put(self.old[position]);
            }
        }
        self.moved = end;
        if self.moved == self.old.len() {
            self.old = Vec::new();
        }
        // Ids are indices into tables that `Limits` bounds far below 2^32.
        self.put(hash << 32 | (id as u64 + 1));
        self.len += 1;
    }

    /// Memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.slots.len() + self.old.len()) * size_of::<u64>()
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut position = (slot >> 32) as usize & mask;
        while self.slots[position] != 0 {
            position = (position + 1) & mask;
        }
        self.slots[position] = slot;
    }
}

fn find_in(slots: &[u64], hash: u64, is_equal: &mut impl FnMut(usize) -> bool) -> Option<usize> {
    let mask = slots.len().checked_sub(1)?;
    let mut position = hash as usize & mask;
    loop {
        let slot = slots[position];
        let id = (slot as u32).checked_sub(1)? as usize;
        if slot >> 32 == hash & u64::from(u32::MAX) && is_equal(id) {
            return Some(id);
        }
        position = (position + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::IncrementalHashTable;

    #[test]
    fn finds_inserted_ids() {
        let mut table = IncrementalHashTable::default();
        // Hashes with many collisions, in all bits and in the low bits.
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
