//! Encodings of texts, by name.

use grammask::automata::encoding::{CharacterEncoding, JsonEscapes, Quote, Spellings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The encoding called `name`. `quote` and `prefix` have an effect on the encodings that use them.
pub(crate) fn character_encoding(
    name: &str,
    spellings: &str,
    quote: &str,
    prefix: &str,
) -> PyResult<CharacterEncoding> {
    let spellings = match spellings {
        "any" => Spellings::Any,
        "canonical" => Spellings::Canonical,
        _ => {
            let message = format!("spellings={spellings:?} is not one of 'any' and 'canonical'");
            return Err(PyValueError::new_err(message));
        }
    };
    let quote = match quote {
        "\"" => Quote::Double,
        "'" => Quote::Single,
        _ => return Err(PyValueError::new_err(format!("quote={quote:?} is neither \" nor '"))),
    };
    Ok(match name {
        "json-string" => CharacterEncoding::JsonString(match spellings {
            Spellings::Any => JsonEscapes::Any,
            Spellings::Canonical => JsonEscapes::Canonical,
        }),
        "xml-text" => CharacterEncoding::XmlText(spellings),
        "xml-attribute" => CharacterEncoding::XmlAttribute(quote, spellings),
        "python-string" => CharacterEncoding::PythonString(quote, spellings),
        "line-prefix" => CharacterEncoding::LinePrefix(prefix.into()),
        "indented-block" => CharacterEncoding::indented_block(prefix).ok_or_else(|| {
            PyValueError::new_err(format!("prefix={prefix:?} is not up to 255 printable ASCII characters"))
        })?,
        _ => return Err(PyValueError::new_err(format!("there is no encoding {name:?}"))),
    })
}
