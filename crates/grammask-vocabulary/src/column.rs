//! Arrays that never change: with memory of their own, or in an *image*, the bytes of a file that has them as they are in
//! memory.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use yoke::Yoke;

/// Bytes that several arrays share, such as those of a file that is mapped into memory. They never change.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An array that never changes. A copy has the same memory.
pub(crate) struct Column<T: Pod>(Yoke<&'static [T], SharedBytes>);

impl<T: Pod> Column<T> {
    /// A part of some bytes; `None` if these are fewer, if the part has no whole number of entries, or if its address is
    /// not a multiple of their alignment.
    pub(crate) fn part(bytes: &SharedBytes, part: Range<usize>) -> Option<Self> {
        let entries = Yoke::try_attach_to_cart(bytes.clone(), |bytes| {
            bytes.as_ref().get(part).and_then(|part| bytemuck::try_cast_slice(part).ok()).ok_or(())
        });
        entries.ok().map(Self)
    }
}

/// The memory of an array.
struct Entries<T>(Vec<T>);

impl<T: Pod> AsRef<[u8]> for Entries<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl<T: Pod + Send + Sync> From<Vec<T>> for Column<T> {
    fn from(entries: Vec<T>) -> Self {
        let entries: SharedBytes = Arc::new(Entries(entries));
        Self(Yoke::attach_to_cart(entries, |entries| bytemuck::cast_slice(entries.as_ref())))
    }
}

impl<T: Pod + Send + Sync> Default for Column<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.0.get()
    }
}

impl<T: Pod> Clone for Column<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<T: Pod + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod + Eq> Eq for Column<T> {}

/// Arrays in an image begin at a multiple of this number of bytes, the largest alignment of their entries.
const ALIGNMENT: usize = 16;

/// A copy of an image at an address that is aligned for all arrays.
pub(crate) fn aligned(image: &[u8]) -> SharedBytes {
    let mut words = vec![0_u128; image.len().div_ceil(ALIGNMENT)];
    bytemuck::cast_slice_mut(&mut words)[..image.len()].copy_from_slice(image);
    Arc::new(Aligned { words, length: image.len() })
}

/// Bytes at the address of words.
struct Aligned {
    words: Vec<u128>,
    /// Number of bytes.
    length: usize,
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

/// Appends arrays to an image. Each is preceded by its length in bytes and zeros.
#[derive(Debug)]
pub(crate) struct ImageWriter {
    image: Vec<u8>,
    /// Number of bytes before these in the file.
    before: usize,
}

impl ImageWriter {
    /// An image that begins with `head`, in a file with `before` bytes before it.
    pub(crate) fn after(head: Vec<u8>, before: usize) -> Self {
        let mut image = Self { image: head, before };
        image.align();
        image
    }

    fn align(&mut self) {
        let end = (self.before + self.image.len()).next_multiple_of(ALIGNMENT);
        self.image.resize(end - self.before, 0);
    }

    /// Adds an array.
    pub(crate) fn column<T: Pod>(&mut self, column: &Column<T>) {
        let entries: &[u8] = bytemuck::cast_slice(column);
        self.image.extend((entries.len() as u64).to_le_bytes());
        self.align();
        self.image.extend(entries);
        self.align();
    }

    /// The bytes of the image.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.image
    }
}

/// Reads the arrays of an image in the order in which they were written.
pub(crate) struct ImageReader<'a> {
    image: &'a SharedBytes,
    position: usize,
}

impl<'a> ImageReader<'a> {
    /// The arrays of an image after a head that ends at `position`.
    pub(crate) fn after(image: &'a SharedBytes, position: usize) -> Self {
        Self { image, position: position.next_multiple_of(ALIGNMENT) }
    }

    /// The next array, of any contents; `None` if none of these entries is there.
    pub(crate) fn column<T: Pod>(&mut self) -> Option<Column<T>> {
        let length = (**self.image).as_ref().get(self.position..)?.first_chunk()?;
        let start = self.position + ALIGNMENT;
        let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        self.position = end.checked_next_multiple_of(ALIGNMENT)?;
        Column::part(self.image, start..end)
    }

    /// The position after the last array.
    pub(crate) fn position(&self) -> usize {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_within_the_bytes() {
        let bytes: SharedBytes = Arc::new(Entries::<u32>(vec![1, 2, 3]));
        let of = |part| Column::<u32>::part(&bytes, part).map(|part| part.to_vec());
        assert_eq!(of(0..12), Some(vec![1, 2, 3]));
        assert_eq!(of(4..8), Some(vec![2]));
        assert_eq!(of(4..4), Some(vec![]));
        assert_eq!([of(2..6), of(0..3), of(8..16)], [None, None, None]);
        let own = Column::from(vec![1_u16, 2]);
        assert_eq!(own, own.clone());
    }
}
