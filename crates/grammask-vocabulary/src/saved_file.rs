//! The frame of saved files, and a reader of their contents: magic bytes, format version, body, checksum over all of
//! these. The checksum detects accidents, not forgeries.

use crate::WordHash;

/// Why bytes have no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDefect {
    /// They do not begin with the magic bytes.
    Foreign,
    /// The format has another version.
    Version(u32),
    /// They are too short, or the checksum is wrong.
    Damaged,
}

/// Number of bytes before the body.
pub(crate) const FRAME_HEAD_BYTES: usize = 12;

/// A file with a body.
#[must_use]
pub fn framed(magic: &[u8; 8], version: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(body);
    bytes.extend(WordHash::of(&bytes).to_le_bytes());
    bytes
}

/// The body of a file.
///
/// # Errors
/// When the bytes are not a file with this magic and this version.
pub fn unframed<'a>(bytes: &'a [u8], magic: &[u8; 8], version: u32) -> Result<&'a [u8], FrameDefect> {
    let after_magic = bytes.strip_prefix(magic).ok_or(FrameDefect::Foreign)?;
    let (found, rest) = after_magic.split_first_chunk().ok_or(FrameDefect::Damaged)?;
    let found = u32::from_le_bytes(*found);
    if found != version {
        return Err(FrameDefect::Version(found));
    }
    let (body, checksum) = rest.split_last_chunk::<{ WordHash::BYTES }>().ok_or(FrameDefect::Damaged)?;
    if WordHash::of(&bytes[..bytes.len() - checksum.len()]) != u128::from_le_bytes(*checksum) {
        return Err(FrameDefect::Damaged);
    }
    Ok(body)
}

/// The bytes of a body that were not read yet. All methods return `None` where these do not suffice.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    /// A reader of all of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Number of bytes that were not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.0.len()
    }

    /// Whether all bytes were read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, remaining) = self.0.split_at_checked(length)?;
        self.0 = remaining;
        Some(taken)
    }

    /// The next four bytes as a little-endian number.
    pub fn number(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A number of entries of at least `entry_bytes` bytes each, for which the remaining bytes have room.
    pub fn count(&mut self, entry_bytes: usize) -> Option<usize> {
        let count = self.number()? as usize;
        (count.checked_mul(entry_bytes)? <= self.0.len()).then_some(count)
    }
}
