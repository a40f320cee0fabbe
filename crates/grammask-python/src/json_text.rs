//! Values of Python as JSON texts.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Maximum nesting of containers, which bounds the recursion.
const MAX_DEPTH: usize = 100;

/// Write a value as compact JSON, with the characters of its strings as they are.
///
/// The result is that of ``json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))``; None where
/// this function leaves the value to Python: subclasses of the types of JSON, names that are no strings, numbers that
/// are not finite, lone surrogates, more than 100 nested containers, and values that JSON does not have.
#[pyfunction]
pub(crate) fn compact_json(value: &Bound<'_, PyAny>) -> Option<String> {
    let mut text = String::new();
    write_value(&mut text, value, MAX_DEPTH)?;
    Some(text)
}

fn write_value(text: &mut String, value: &Bound<'_, PyAny>, depth: usize) -> Option<()> {
    if let Ok(string) = value.cast_exact::<PyString>() {
        write_string(text, string)?;
    } else if let Ok(members) = value.cast_exact::<PyDict>() {
        let depth = depth.checked_sub(1)?;
        text.push('{');
        // A copy, since other threads may change the dictionary where the interpreter is free-threaded.
        for (position, member) in members.items().iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            let member = member.cast_exact::<PyTuple>().ok()?;
            write_string(text, member.get_item(0).ok()?.cast_exact::<PyString>().ok()?)?;
            text.push(':');
            write_value(text, &member.get_item(1).ok()?, depth)?;
        }
        text.push('}');
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        write_items(text, items.iter(), depth)?;
    } else if let Ok(items) = value.cast_exact::<PyTuple>() {
        write_items(text, items.iter(), depth)?;
    } else if value.is_none() {
        text.push_str("null");
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        text.push_str(if flag.is_true() { "true" } else { "false" });
    } else if value.is_exact_instance_of::<PyInt>() || is_finite_float(value) {
        text.push_str(value.repr().ok()?.to_str().ok()?);
    } else {
        return None;
    }
    Some(())
}

fn is_finite_float(value: &Bound<'_, PyAny>) -> bool {
    value.cast_exact::<PyFloat>().is_ok_and(|float| float.value().is_finite())
}

fn write_items<'py>(
    text: &mut String,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    text.push('[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            text.push(',');
        }
        write_value(text, &item, depth)?;
    }
    text.push(']');
    Some(())
}

fn write_string(text: &mut String, string: &Bound<'_, PyString>) -> Option<()> {
    let string = string.to_str().ok()?;
    text.push('"');
    let mut rest = string;
    while let Some(place) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        text.push_str(&rest[..place]);
        match rest.as_bytes()[place] {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x08 => text.push_str("\\b"),
            0x0c => text.push_str("\\f"),
            byte @ (b'"' | b'\\') => text.extend(['\\', char::from(byte)]),
            control => text.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[place + 1..];
    }
    text.push_str(rest);
    text.push('"');
    Some(())
}
