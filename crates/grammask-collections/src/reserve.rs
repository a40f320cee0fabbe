//! Growth of vectors by a quarter, for tables that every compiled grammar keeps.
//!
//! A `Vec` doubles, so a copy of a table, which has no spare capacity, is twice as large after its next entry. Growth by
//! a quarter leaves at most a fifth of a table unused, and an entry is moved four times in the mean, since tables grow.

/// Minimum number of entries that a table grows by.
const MIN_GROWTH: usize = 8;

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
    let capacity = len.max(table.len() + (table.len() / 4).max(MIN_GROWTH));
    table.reserve_exact(capacity - table.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_exceeds_the_length_by_a_quarter_at_most() {
        let mut table = Vec::new();
        for entry in 0..10_000_usize {
            reserve_one(&mut table);
            table.push(entry);
            assert!(table.capacity() <= table.len() + (table.len() / 4).max(MIN_GROWTH));
        }
        reserve(&mut table, 20_000);
        assert_eq!(table.capacity(), 20_000);
        reserve(&mut table, 10);
        assert!(table.iter().copied().eq(0..10_000));
    }
}
