//! Files that are read and written as a whole, whose errors name them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The error of a file as an `OSError` of its kind with the name of the file, which the error of Rust does not have.
pub(crate) fn file_error(error: io::Error, path: &Path) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, reason, path.to_owned()))
}

/// Writes a file under another name and renames it, so that no other process reads a part of it, and an interrupted
/// call leaves the previous file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut unfinished = name.to_owned();
    unfinished.push(format!(".{}.{}.unfinished", process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let unfinished = path.with_file_name(unfinished);
    let written = File::create_new(&unfinished).and_then(|mut file| file.write_all(bytes));
    let renamed = written.and_then(|()| fs::rename(&unfinished, path));
    if renamed.is_err() {
        // The first error counts; the file may not exist.
        let _ = fs::remove_file(&unfinished);
    }
    renamed
}
