//! Growth of vectors by a half, for tables that every compiled grammar keeps.
//!
//! A `Vec` doubles, so a copy of a table, which has no spare capacity, is twice as large after its next entry. Growth by
//! a half leaves at most a third of a large table unused, and an entry is moved twice in the mean.

/// Minimum number of entries that a table grows by.
const MIN_GROWTH: usize = 16;

/// Reserves capacity for one more entry.
#[inline]
pub fn reserve_one<T>(table: &mut Vec<T>) {
    if table.len() == table.capacity() {
        grow(table, table.len() + 1);
    }
}

/// Reserves capacity for `len` entries in total.
#[inline]
pub fn reserve<T>(table: &mut Vec<T>, len: usize) {
    if len > table.capacity() {
        grow(table, len);
    }
}

#[cold]
fn grow<T>(table: &mut Vec<T>, len: usize) {
    let capacity = len.max(table.len() + (table.len() / 2).max(MIN_GROWTH));
    table.reserve_exact(capacity - table.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_exceeds_the_length_by_a_half_at_most() {
        let mut table = Vec::new();
        for entry in 0..10_000_usize {
            reserve_one(&mut table);
            table.push(entry);
            assert!(table.capacity() <= table.len() + (table.len() / 2).max(MIN_GROWTH));
        }
        reserve(&mut table, 20_000);
        assert_eq!(table.capacity(), 20_000);
        reserve(&mut table, 10);
        assert!(table.iter().copied().eq(0..10_000));
    }
}
