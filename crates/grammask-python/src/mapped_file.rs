//! Files that are mapped into memory: processes share their pages, and nothing is copied.

#![allow(unsafe_code, reason = "the types do not show that a file remains as it is")]

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use grammask::vocabulary::SharedBytes;
use memmap2::MmapOptions;

/// Maps a file into memory. Its pages are populated, since a checksum reads all of them.
pub(crate) fn map_file(path: &Path) -> io::Result<SharedBytes> {
    let file = File::open(path)?;
    // SAFETY: the bytes must not change while they are mapped. `write_whole` replaces files instead of changing them,
    // and the documentation of `Vocabulary.load` forbids other programs to change one in place.
    let bytes = unsafe { MmapOptions::new().populate().map(&file) }?;
    Ok(Arc::new(bytes))
}
