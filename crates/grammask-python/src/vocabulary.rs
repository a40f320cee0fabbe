//! `Vocabulary`: the tokens of a model.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use grammask::vocabulary::{SavedVocabularyError, TokenId, TokenTexts, Vocabulary};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::allocator::{PurgeOnDrop, populate_pages, reset_freed_bytes};
use crate::counts::{OfArgument, check_no_bytes, count, optional_count};
use crate::errors::{coded_vocabulary_error, vocabulary_error};
use crate::files::{file_error, write_whole};
use crate::forks::OutsideForks;
use crate::mapped_file::map_file;
use crate::unknown_keywords::refuse_keywords;

/// The tokens of a model: their bytes, the special tokens, and the end tokens.
///
/// Immutable, thread-safe, and shared by all grammars without copying: make one per model. Copies are the object
/// itself. Can be pickled.
#[pyclass(name = "Vocabulary", module = "grammask._grammask", frozen, subclass, weakref)]
pub(crate) struct PyVocabulary {
    /// Shared with all grammars that are compiled for the vocabulary.
    pub(crate) vocabulary: Arc<Vocabulary>,
    _purge: PurgeOnDrop,
}

#[pymethods]
impl PyVocabulary {
    #[new]
    #[pyo3(signature = (tokens, *, special=None, eos=None, size=None, **unknown), text_signature = "(tokens, *, special=None, eos=None, size=None)")]
    fn new(
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        special: Option<&Bound<'_, PyMapping>>,
        eos: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = optional_count)] size: Option<usize>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        refuse_keywords("Vocabulary", &["special", "eos", "size"], unknown)?;
        if let Ok(other) = tokens.cast::<Self>() {
            if special.is_some() || eos.is_some() || size.is_some() {
                return Err(PyTypeError::new_err("a copy of a vocabulary has no other options"));
            }
            return Ok(Self::of(other.get().shared()));
        }
        let texts = token_texts(tokens)?;
        let special = special.map_or(Ok(Vec::new()), special_tokens)?;
        let eos = eos.map_or(Ok(Vec::new()), |eos| end_tokens(eos, &special))?;
        let vocabulary = py
            .outside_forks(|| Vocabulary::new(texts, special, eos, size))
            .map_err(|error| vocabulary_error(&error))?;
        populate_pages();
        reset_freed_bytes();
        Ok(Self::of(Arc::new(vocabulary)))
    }

    /// Identity of the vocabulary of the core, not of the Python object.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| Arc::ptr_eq(&self.vocabulary, &other.get().vocabulary))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.vocabulary).addr()
    }

    /// Number of ids, including padding: the width of a mask in bits.
    #[getter]
    fn size(&self) -> usize {
        self.vocabulary.size()
    }

    /// Ids of the end tokens, in ascending order.
    #[getter]
    fn eos<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.vocabulary.eos().iter().map(|id| id.0))
    }

    /// Ids of the special tokens by name, as a new dictionary.
    #[getter]
    fn special<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let special = PyDict::new(py);
        for (name, id) in self.vocabulary.specials() {
            special.set_item(&**name, id.0)?;
        }
        Ok(special)
    }

    /// Return the bytes of a token; None for a token without text, such as special tokens, end tokens and padding.
    ///
    /// Raises:
    ///     IndexError: The vocabulary has no such id.
    fn token<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.vocabulary.token(self.existing(id)?).map(|text| PyBytes::new(py, text)))
    }

    /// Return the name of a special token, the first one if it has several; None for all other tokens.
    ///
    /// Raises:
    ///     IndexError: The vocabulary has no such id.
    fn name_of(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<&str>> {
        Ok(self.vocabulary.name_of(self.existing(id)?))
    }

    /// Return the ids of all tokens whose bytes equal ``text``, in ascending order.
    fn ids_of(&self, text: &[u8]) -> Vec<u32> {
        self.vocabulary.ids_of(text).iter().map(|id| id.0).collect()
    }

    /// Return the bytes of each token as :meth:`token` does, as a new list; padding at the end may be omitted.
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.vocabulary.texts().iter().map(|text| text.map(|text| PyBytes::new(py, text))))
    }

    /// Estimated memory of the summaries of terminals that all grammars of this vocabulary share, in bytes.
    #[getter]
    fn cache_bytes(&self) -> usize {
        self.vocabulary.summaries().memory_bytes()
    }

    /// Set the maximum of :attr:`cache_bytes`: 22 MiB by default; 0 disables the cache.
    ///
    /// From a full cache, what was not read lately is removed. Masks stay correct, and some of them are computed again.
    fn set_cache_capacity(&self, #[pyo3(from_py_with = count)] bytes: usize) {
        self.vocabulary.summaries().set_capacity(bytes);
    }

    /// Return the vocabulary in few bytes, for :meth:`grammask.Vocabulary.from_bytes`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.outside_forks(|| self.vocabulary.to_bytes()))
    }

    /// Write the vocabulary to a file, for :meth:`grammask.Vocabulary.load`.
    ///
    /// The file has about 140 bytes per token, 14 times those of :meth:`to_bytes`: all tables as they are in memory.
    /// It is replaced as a whole, so processes that have it open keep the previous one; on Windows it cannot be
    /// replaced while a process has it open.
    ///
    /// Raises:
    ///     OSError: The file cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.outside_forks(|| write_whole(&path, &self.vocabulary.to_image()))
            .map_err(|error| file_error(error, &path))
    }

    fn __len__(&self) -> usize {
        self.vocabulary.size()
    }

    fn __repr__(&self) -> String {
        let vocabulary = &self.vocabulary;
        let eos: Vec<_> = vocabulary.eos().iter().map(|id| id.0.to_string()).collect();
        format!(
            "<Vocabulary of {} ids: {} with text, {} special, eos [{}]>",
            vocabulary.size(),
            vocabulary.trie().sorted_ids().len(),
            vocabulary.specials().len(),
            eos.join(", ")
        )
    }

    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((Bound<'py, PyList>,), Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("special", self.special(py)?)?;
        options.set_item("eos", self.eos(py)?)?;
        options.set_item("size", self.size())?;
        Ok(((self.tokens(py)?,), options))
    }
}

impl PyVocabulary {
    pub(crate) fn of(vocabulary: Arc<Vocabulary>) -> Self {
        Self { vocabulary, _purge: PurgeOnDrop }
    }

    /// The vocabulary of the core.
    pub(crate) fn shared(&self) -> Arc<Vocabulary> {
        self.vocabulary.clone()
    }

    /// Extracts the id of a token of the vocabulary.
    fn existing(&self, id: &Bound<'_, PyAny>) -> PyResult<TokenId> {
        let size = self.vocabulary.size();
        match id.extract::<u32>() {
            Ok(id) if (id as usize) < size => Ok(TokenId(id)),
            Err(error) if error.is_instance_of::<PyTypeError>(id.py()) => {
                Err(error).of_argument(id.py(), "id")
            }
            _ => Err(PyIndexError::new_err(format!("there is no token {id}; ids go from 0 to {}", size - 1))),
        }
    }
}

/// Read the bytes of a saved vocabulary. Use :meth:`grammask.Vocabulary.from_bytes`.
#[pyfunction]
pub(crate) fn saved_vocabulary(py: Python<'_>, saved: &[u8]) -> PyResult<PyVocabulary> {
    read_vocabulary(py.outside_forks(|| Vocabulary::from_bytes(saved)))
}

/// Read the file of a saved vocabulary. Use :meth:`grammask.Vocabulary.load`.
#[pyfunction]
pub(crate) fn open_vocabulary(py: Python<'_>, path: PathBuf) -> PyResult<PyVocabulary> {
    let opened = py.outside_forks(|| match map_file(&path) {
        Ok(bytes) => Ok(Vocabulary::from_image(&bytes)),
        // Pipes and some file systems cannot be mapped; for all other reasons this fails too.
        Err(_) => fs::read(&path).map(|bytes| Vocabulary::from_bytes(&bytes)),
    });
    read_vocabulary(opened.map_err(|error| file_error(error, &path))?)
}

fn read_vocabulary(vocabulary: Result<Vocabulary, SavedVocabularyError>) -> PyResult<PyVocabulary> {
    let vocabulary = vocabulary.map_err(|error| coded_vocabulary_error(error.code(), error.to_string()))?;
    populate_pages();
    reset_freed_bytes();
    Ok(PyVocabulary::of(Arc::new(vocabulary)))
}

/// Extracts the bytes of tokens from `list[bytes | None]`, or another iterable of these.
fn token_texts(tokens: &Bound<'_, PyAny>) -> PyResult<TokenTexts> {
    let mut texts = TokenTexts::builder_with_capacity(tokens.len().unwrap_or(0));
    for token in tokens.try_iter().of_argument(tokens.py(), "tokens")? {
        let token = token?;
        if token.is_none() {
            texts.push_textless();
        } else if let Ok(text) = token.cast::<PyBytes>() {
            texts.push(text.as_bytes());
        } else {
            return Err(PyTypeError::new_err(format!(
                "token {} is a {}, and a token must be bytes, or None if it has no text; {}",
                texts.len(),
                token.get_type().name()?,
                if token.is_instance_of::<PyString>() {
                    "encode a text with .encode(), and load a tokenizer's own vocabulary with Vocabulary.from_*, \
                     because its entries are seldom plain text"
                } else {
                    "pass the tokens in the order of their ids"
                }
            )));
        }
    }
    Ok(texts.finish())
}

/// Extracts the entries of `Mapping[str, int]`.
fn special_tokens(special: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, u32)>> {
    special
        .items()?
        .iter()
        .map(|entry| {
            let (name, id): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            let name: String = name.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "special tokens have names of type str, and {name:?} is not one"
                ))
            })?;
            let id = token_id(&id, &format!("the special token {name:?}"), "special-out-of-range")?;
            Ok((name, id))
        })
        .collect()
}

/// Extracts the ids of `int | str | Iterable[int | str]`, where a `str` is the name of a special token.
fn end_tokens(eos: &Bound<'_, PyAny>, special: &[(String, u32)]) -> PyResult<Vec<u32>> {
    let one = |eos: &Bound<'_, PyAny>| {
        let Ok(name) = eos.cast::<PyString>() else {
            return token_id(eos, "the end token", "eos-out-of-range");
        };
        let name = name.to_string();
        special.iter().find(|(other, _)| *other == name).map(|&(_, id)| id).ok_or_else(|| {
            let known: Vec<_> = special.iter().take(8).map(|(name, _)| format!("{name:?}")).collect();
            let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
            coded_vocabulary_error(
                "unknown-eos",
                format!("the end token {name:?} is not a special token ({known}); pass its id, or name it in special="),
            )
        })
    };
    check_no_bytes(eos).of_argument(eos.py(), "eos")?;
    match eos.try_iter() {
        Ok(several) if !eos.is_instance_of::<PyString>() => several.map(|eos| one(&eos?)).collect(),
        _ => Ok(vec![one(eos)?]),
    }
}

/// Extracts the id of the token that messages call `subject`; an id out of range is an error with `code`.
fn token_id(id: &Bound<'_, PyAny>, subject: &str, code: &'static str) -> PyResult<u32> {
    let py = id.py();
    id.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(py) {
            coded_vocabulary_error(
                code,
                format!("{subject} cannot have the id {id}; ids go from 0 to the size of the vocabulary"),
            )
        } else {
            let kind = id.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!("{subject} needs an id of type int, not {kind}"))
        }
    })
}
