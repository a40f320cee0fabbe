//! The place in a schema that a position of a JSON text is about, for messages.
//!
//! The text is scanned for the names and indices that lead to the position, and the same steps are taken in the schema,
//! through the schemas that it applies in place. Cost: linear in the text, and in the schemas on the path.

use rustc_hash::FxHashSet;

use crate::document::json::{Document, Value};
use crate::document::resources::{Library, Location, Scope};
use crate::interner::Id;
use crate::keywords::pattern_language;
use crate::strings::string_encoding::EncodingKind;
use crate::values::value_sets::ValueSets;
use crate::{KeyOrder, SchemaOptions, layers};
use grammask_diagnostics::Limits;
use grammask_grammar::{TextPlace, TextPlaces};
use std::sync::Arc;

/// Maximum number of places in a message.
const MAX_PLACES: usize = 3;

/// Maximum number of schemas that apply to one value.
const MAX_APPLIED: usize = 1000;

/// The source of a grammar.
#[derive(Debug)]
pub(crate) struct SchemaPlaces {
    pub(crate) schema: Arc<str>,
    pub(crate) options: SchemaOptions,
    pub(crate) limits: Limits,
}

impl TextPlaces for SchemaPlaces {
    fn place(&self, text: &[u8], position: usize) -> Option<TextPlace> {
        let document = Document::parse(&self.schema).ok()?;
        let library = Library::new(document, &self.options);
        let encoding = EncodingKind::Json(self.options.escapes);
        let (mut sets, _) = layers(encoding, library, &self.options, &self.limits);
        let JsonPosition { containers, is_after_value } = JsonPosition::find(text, position)?;
        let mut schemas = vec![(sets.reader.library.root(), sets.reader.library.first_scope())];
        let mut applied = applied_in_place(&mut sets, &schemas);
        for (depth, container) in containers.iter().enumerate() {
            if is_after_value && depth + 1 == containers.len() {
                break;
            }
            let Some(step) = container.step() else { break };
            let children = children(&mut sets, &applied, step);
            if children.is_empty() {
                break;
            }
            applied = applied_in_place(&mut sets, &children);
            schemas = children;
        }
        let mut pointers: Vec<String> = Vec::new();
        for (location, _) in schemas {
            let pointer = sets.reader.library.pointer(location);
            if !pointers.contains(&pointer) {
                pointers.push(pointer);
            }
        }
        if pointers.len() > MAX_PLACES {
            pointers.truncate(MAX_PLACES);
            pointers.push("other places".to_owned());
        }
        let help = containers.last().and_then(|container| self.help(&sets, &applied, container, text));
        Some(TextPlace { place: pointers.join(" or "), help })
    }
}

impl SchemaPlaces {
    /// The help for a member that the schema declares, where another member has to come.
    fn help(
        &self,
        sets: &ValueSets<'_>,
        applied: &[(Location, Id<Scope>)],
        container: &Container,
        text: &[u8],
    ) -> Option<String> {
        let Container::Object { names, name: MemberName::Open(begin) } = container else { return None };
        let (name, _) = string_at(text, *begin);
        let name = name?;
        let library = &sets.reader.library;
        let is_declared = applied.iter().any(|&(schema, _)| {
            let properties = library.member(schema, "properties");
            properties.is_some_and(|properties| library.member(properties, &name).is_some())
        });
        let is_out_of_order =
            is_declared && self.options.key_order == KeyOrder::Declared && !names.contains(&name);
        is_out_of_order.then(|| "members come in the declared order; key_order=\"any\" lifts that".to_owned())
    }
}

/// The position of a byte in a JSON text.
struct JsonPosition {
    /// The arrays and objects around it, from the outermost.
    containers: Vec<Container>,
    /// Whether the value before it is complete, so that it is about the container.
    is_after_value: bool,
}

/// An array or object that is open.
enum Container {
    /// An array, with the index of the item.
    Array(usize),
    /// An object.
    Object {
        /// The names of the members before.
        names: Vec<String>,
        /// The name of the member.
        name: MemberName,
    },
}

/// The name of a member that is being read.
enum MemberName {
    /// It begins at this byte.
    Open(usize),
    /// It was read.
    Read(String),
}

/// A step from a value to a part of it.
#[derive(Clone, Copy)]
enum PathStep<'a> {
    Item(usize),
    Member(&'a str),
}

impl Container {
    /// The step to the value that is being read; `None` before a member.
    fn step(&self) -> Option<PathStep<'_>> {
        match self {
            Self::Array(index) => Some(PathStep::Item(*index)),
            Self::Object { name: MemberName::Read(name), .. } => Some(PathStep::Member(name)),
            Self::Object { name: MemberName::Open(_), .. } => None,
        }
    }
}

impl JsonPosition {
    /// The position of byte `position`; `None` if the text before it is no beginning of a JSON text.
    fn find(text: &[u8], position: usize) -> Option<Self> {
        let mut containers: Vec<Container> = Vec::new();
        let mut is_after_value = false;
        let mut is_in_scalar = false;
        let mut at = 0;
        while at < position {
            let byte = text[at];
            let begin = at;
            at += 1;
            match byte {
                b'{' => containers.push(Container::Object { names: Vec::new(), name: MemberName::Open(at) }),
                b'[' => containers.push(Container::Array(0)),
                b'}' | b']' => {
                    containers.pop()?;
                }
                b',' => match containers.last_mut()? {
                    Container::Array(index) => *index += 1,
                    Container::Object { names, name } => {
                        if let MemberName::Read(read) = std::mem::replace(name, MemberName::Open(at)) {
                            names.push(read);
                        }
                    }
                },
                b'"' => {
                    let (string, end) = string_at(text, begin);
                    if end > position {
                        if let Some(Container::Object { name: MemberName::Open(open), .. }) =
                            containers.last_mut()
                        {
                            *open = begin;
                        }
                        is_after_value = false;
                        break;
                    }
                    at = end;
                    if let Some(Container::Object { name: name @ MemberName::Open(_), .. }) =
                        containers.last_mut()
                    {
                        *name = MemberName::Read(string?);
                        is_after_value = false;
                        continue;
                    }
                }
                _ => {}
            }
            let is_white_space = byte.is_ascii_whitespace();
            is_in_scalar = is_scalar(byte);
            is_after_value = match byte {
                b'}' | b']' | b'"' => true,
                _ if is_white_space => is_after_value || is_scalar(text[at.saturating_sub(2)]),
                _ => false,
            };
        }
        is_after_value |= is_in_scalar && text.get(position).copied().is_some_and(|byte| !is_scalar(byte));
        Some(Self { containers, is_after_value })
    }
}

/// Whether a byte belongs to a number or a word.
fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The string that begins at a quotation mark, perhaps after white space, if it is one, and the byte after it, which is
/// after the text if the string does not end.
fn string_at(text: &[u8], begin: usize) -> (Option<String>, usize) {
    let begin = begin + text[begin..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut end = begin + 1;
    while let Some(&byte) = text.get(end) {
        end += if byte == b'\\' { 2 } else { 1 };
        if byte == b'"' {
            let quoted = std::str::from_utf8(&text[begin..end]).ok();
            let document = quoted.and_then(|quoted| Document::parse(quoted).ok());
            let string = document.and_then(|document| match document.get(document.root()) {
                Value::String(string) => Some(string.to_string()),
                _ => None,
            });
            return (string, end);
        }
    }
    (None, text.len() + 1)
}

/// The schemas, and those that they apply to the same value.
fn applied_in_place(
    sets: &mut ValueSets<'_>,
    schemas: &[(Location, Id<Scope>)],
) -> Vec<(Location, Id<Scope>)> {
    let reader = &mut sets.reader;
    let mut applied: Vec<(Location, Id<Scope>)> = Vec::new();
    let mut visited = FxHashSet::default();
    let mut pending: Vec<(Location, Id<Scope>)> = schemas.iter().rev().copied().collect();
    while let Some((location, scope)) = pending.pop() {
        let scope = reader.library.enter(location, scope);
        if applied.len() == MAX_APPLIED || !visited.insert((location, scope)) {
            continue;
        }
        applied.push((location, scope));
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let parts = reader.library.member(location, keyword);
            let parts = parts.map_or_else(Vec::new, |place| reader.items(place));
            pending.extend(parts.into_iter().rev().map(|part| (part, scope)));
        }
        let parts = ["then", "else"].map(|keyword| reader.library.member(location, keyword));
        pending.extend(parts.into_iter().flatten().map(|part| (part, scope)));
        if let Some(place) = reader.library.member(location, "dependentSchemas") {
            pending.extend(reader.members(place).into_iter().map(|(_, part)| (part, scope)));
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if reader.library.member(location, keyword).is_some()
                && let Some(target) = reader.reference_target(location, scope, keyword)
            {
                pending.push((target, scope));
            }
        }
    }
    applied
}

/// The schemas of a part of the values of `schemas`.
fn children(
    sets: &mut ValueSets<'_>,
    schemas: &[(Location, Id<Scope>)],
    step: PathStep<'_>,
) -> Vec<(Location, Id<Scope>)> {
    let mut children = Vec::new();
    for &(schema, scope) in schemas {
        let places = match step {
            PathStep::Member(name) => member_schemas(sets, schema, name),
            PathStep::Item(index) => item_schema(sets, schema, index).into_iter().collect(),
        };
        children.extend(places.into_iter().map(|place| (place, scope)));
    }
    children
}

/// The schemas of a member in one schema.
fn member_schemas(sets: &mut ValueSets<'_>, schema: Location, name: &str) -> Vec<Location> {
    let ValueSets { reader, languages, .. } = sets;
    let mut found = Vec::new();
    let properties = reader.library.member(schema, "properties");
    found.extend(properties.and_then(|properties| reader.library.member(properties, name)));
    if let Some(place) = reader.library.member(schema, "patternProperties") {
        for (pattern, member) in reader.members(place) {
            let word = languages.encoding.literal(languages.automata.terms_mut(), name);
            let Some(pattern) = pattern_language(reader, languages, member, &pattern) else { continue };
            if languages.are_disjoint(pattern, word).is_ok_and(|are_disjoint| !are_disjoint) {
                found.push(member);
            }
        }
    }
    if found.is_empty() {
        let others = ["additionalProperties", "unevaluatedProperties"];
        found.extend(others.into_iter().find_map(|keyword| reader.library.member(schema, keyword)));
    }
    found
}

/// The schema of an item in one schema.
fn item_schema(sets: &ValueSets<'_>, schema: Location, index: usize) -> Option<Location> {
    let reader = &sets.reader;
    let of = |keyword: &str| reader.library.member(schema, keyword);
    let listed = |place: Location| reader.items(place).get(index).copied();
    let is_list = |place: &Location| matches!(reader.library.get(*place), Value::Array(_));
    of("prefixItems")
        .and_then(listed)
        .or_else(|| of("items").filter(is_list).and_then(listed))
        .or_else(|| of("items").filter(|place| !is_list(place)))
        .or_else(|| of("additionalItems"))
        .or_else(|| of("unevaluatedItems"))
}
