//! The schema as a document: JSON with spans, the schemas in it and their dialects, references, findings by JSON pointer.

pub(crate) mod findings;
pub(crate) mod json;
pub(crate) mod keyword_names;
pub(crate) mod metaschemas;
pub(crate) mod resources;
pub(crate) mod structural_equality;
mod uri;
