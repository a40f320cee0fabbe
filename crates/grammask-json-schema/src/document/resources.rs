//! The documents of a schema: the subschemas of each, their URIs and drafts, and the targets of references.
//!
//! `$id` and anchors count only in subschemas, that is where a keyword expects a schema; inside `enum` or an unknown
//! keyword they are data. A reference may still point anywhere: its target then becomes a schema.

use grammask_diagnostics::without_byte_order_mark;
use rustc_hash::FxHashMap;

use super::{metaschemas, structural_equality, uri};
use crate::document::json::{Document, Value, ValueId};
use crate::interner::{Id, Interner};
use crate::{Draft, SchemaOptions};

/// A value in one of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) document: DocumentId,
    pub(crate) value: ValueId,
}

/// One of the documents; the first is the schema itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(u32);

/// A schema with its own URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ResourceId(u32);

/// The interpretation of the keywords of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaDialect {
    pub(crate) draft: Draft,
    /// Whether keywords of older drafts keep their meaning, because neither the schema nor the caller names a draft.
    pub(crate) lenient: bool,
    /// Whether the validation vocabulary is in use.
    pub(crate) validation: bool,
}

#[derive(Debug)]
struct Resource {
    uri: String,
    root: Location,
    dialect: SchemaDialect,
    anchors: FxHashMap<Box<str>, Location>,
    /// In source order. `$recursiveAnchor` is an anchor with an empty name.
    dynamic_anchors: Vec<(Box<str>, Location)>,
}

#[derive(Debug)]
struct LoadedDocument {
    document: Document,
    /// The resource of each value that is a schema.
    resource_of: Vec<Option<ResourceId>>,
    /// For each schema, the first structurally equal one.
    representatives: Vec<ValueId>,
}

/// The target of each dynamic anchor name. That of the outermost resource takes precedence.
pub(crate) type Scope = Vec<(Box<str>, Location)>;

/// All documents that are loaded so far.
#[derive(Debug)]
pub(crate) struct Library<'o> {
    options: &'o SchemaOptions,
    documents: Vec<LoadedDocument>,
    resources: Vec<Resource>,
    by_uri: FxHashMap<String, ResourceId>,
    scopes: Interner<Scope>,
    /// Memo table of resolved references, by the location of the reference.
    resolved: FxHashMap<Location, Location>,
}

/// The reasons why a reference cannot be resolved.
#[derive(Debug)]
pub(crate) enum ReferenceError {
    /// The document is not available.
    Document(String),
    /// The document has no such anchor or pointer, but perhaps a similar pointer.
    Place {
        /// The reference, absolute unless it is to the schema itself.
        reference: String,
        similar: Option<String>,
    },
    /// The document is not JSON.
    NotJson(String),
}

/// The base URI of a schema without `$id`.
const DEFAULT_BASE_URI: &str = "schema:/";

fn without_default_base(reference: &str) -> String {
    reference.strip_prefix(DEFAULT_BASE_URI).unwrap_or(reference).to_owned()
}

impl<'o> Library<'o> {
    /// A library with `document` as the schema.
    pub(crate) fn new(document: Document, options: &'o SchemaOptions) -> Self {
        let mut library = Self {
            options,
            documents: Vec::new(),
            resources: Vec::new(),
            by_uri: FxHashMap::default(),
            scopes: Interner::new(),
            resolved: FxHashMap::default(),
        };
        library.add(document, DEFAULT_BASE_URI);
        library
    }

    /// The schema itself.
    pub(crate) fn root(&self) -> Location {
        Location { document: DocumentId(0), value: self.documents[0].document.root() }
    }

    pub(crate) fn get(&self, location: Location) -> &Value {
        self.document(location).get(location.value)
    }

    pub(crate) fn document(&self, location: Location) -> &Document {
        &self.documents[location.document.0 as usize].document
    }

    pub(crate) fn member(&self, location: Location, name: &str) -> Option<Location> {
        let value = self.document(location).member(location.value, name)?;
        Some(Location { value, ..location })
    }

    pub(crate) fn text_member(&self, location: Location, name: &str) -> Option<&str> {
        self.document(location).text_member(location.value, name)
    }

    /// Whether the location is in the schema itself.
    pub(crate) fn is_own(&self, location: Location) -> bool {
        location.document.0 == 0
    }

    /// The location for diagnostics: a pointer, after the URI of its document if that is not the schema itself.
    pub(crate) fn pointer(&self, location: Location) -> String {
        let pointer = self.document(location).pointer(location.value);
        if self.is_own(location) {
            return pointer;
        }
        let root = Location { value: self.document(location).root(), ..location };
        let uri = self.resource_of(root).map_or("", |resource| &self.resources[resource.0 as usize].uri);
        format!("{}{pointer}", uri.trim_end_matches('#'))
    }

    /// The enclosing array or object.
    pub(crate) fn parent(&self, location: Location) -> Option<Location> {
        let value = self.document(location).parent(location.value)?;
        Some(Location { value, ..location })
    }

    /// The location in `copy` that corresponds to `steps[0]` in the last of `steps`; each step is a child of the next
    /// one.
    pub(crate) fn corresponding_location(&self, steps: &[Location], copy: Location) -> Option<Location> {
        let mut at = copy;
        for pair in steps.windows(2).rev() {
            let (child, parent) = (pair[0], pair[1]);
            let value = match (self.get(parent), self.get(at)) {
                (Value::Object(members), Value::Object(_)) => {
                    let (name, _) = members.iter().find(|(_, value)| *value == child.value)?;
                    self.member(at, name)?.value
                }
                (Value::Array(items), Value::Array(others)) => {
                    *others.get(items.iter().position(|&item| item == child.value)?)?
                }
                _ => return None,
            };
            at = Location { value, ..at };
        }
        Some(at)
    }

    /// The subschemas of the schema itself, and other values that references make schemas.
    pub(crate) fn own_schemas(&self) -> impl Iterator<Item = Location> {
        let document = DocumentId(0);
        let resources = self.documents[0].resource_of.iter().enumerate();
        resources
            .filter(|(_, resource)| resource.is_some())
            .map(move |(index, _)| Location { document, value: ValueId::at(index) })
    }

    /// The resource of a schema.
    fn resource_of(&self, location: Location) -> Option<ResourceId> {
        self.documents[location.document.0 as usize].resource_of[location.value.index()]
    }

    /// The resource of a schema; for other values, that of the enclosing schema.
    fn resource(&self, location: Location) -> ResourceId {
        let document = self.document(location);
        let mut at = location.value;
        loop {
            if let Some(resource) = self.resource_of(Location { value: at, ..location }) {
                return resource;
            }
            match document.parent(at) {
                Some(parent) => at = parent,
                None => return ResourceId(0),
            }
        }
    }

    /// The first schema of the same resource that is structurally equal to the one at `location`.
    pub(crate) fn representative(&self, location: Location) -> Location {
        let value = self.documents[location.document.0 as usize].representatives[location.value.index()];
        let first = Location { value, ..location };
        if self.resource_of(first) == self.resource_of(location) { first } else { location }
    }

    /// The interpretation of the keywords of the schema at `location`.
    pub(crate) fn dialect(&self, location: Location) -> SchemaDialect {
        self.resources[self.resource(location).0 as usize].dialect
    }

    /// Whether the schema at `location` is in or below one with `$recursiveAnchor: true` that is not the root of its
    /// resource. Draft 2019-09 gives a `$recursiveRef` there no meaning: its author took the schema for a resource.
    pub(crate) fn is_below_misplaced_anchor(&self, location: Location) -> bool {
        let root = self.resources[self.resource(location).0 as usize].root;
        std::iter::successors(Some(location), |&at| self.parent(at)).take_while(|&at| at != root).any(|at| {
            self.member(at, "$recursiveAnchor").is_some_and(|flag| self.get(flag) == &Value::Boolean(true))
        })
    }

    fn add(&mut self, document: Document, uri: &str) -> DocumentId {
        let id = DocumentId(u32::try_from(self.documents.len()).unwrap_or(u32::MAX));
        let root = Location { document: id, value: document.root() };
        let resource_of = vec![None; document.len()];
        let representatives = structural_equality::representatives(&document);
        self.documents.push(LoadedDocument { document, resource_of, representatives });
        let resource = self.add_resource(uri.to_owned(), root, None);
        self.index_schemas(root, resource);
        id
    }

    fn add_resource(&mut self, uri: String, root: Location, parent: Option<ResourceId>) -> ResourceId {
        let id = ResourceId(u32::try_from(self.resources.len()).unwrap_or(u32::MAX));
        let inherited =
            parent.map_or_else(|| self.default_dialect(), |parent| self.resources[parent.0 as usize].dialect);
        let dialect = match self.text_member(root, "$schema") {
            Some(metaschema) => self.dialect_of_metaschema(metaschema, inherited),
            None => inherited,
        };
        self.by_uri.entry(uri.clone()).or_insert(id);
        self.resources.push(Resource {
            uri,
            root,
            dialect,
            anchors: FxHashMap::default(),
            dynamic_anchors: Vec::new(),
        });
        id
    }

    fn default_dialect(&self) -> SchemaDialect {
        let draft = self.options.draft;
        SchemaDialect { draft: draft.unwrap_or(Draft::Draft2020), lenient: draft.is_none(), validation: true }
    }

    fn dialect_of_metaschema(&self, metaschema: &str, default: SchemaDialect) -> SchemaDialect {
        let known = metaschema.trim_end_matches('#');
        if let Some(draft) = metaschemas::draft_of(known) {
            return SchemaDialect { draft, lenient: false, validation: true };
        }
        // A meta-schema of the caller has the draft of its own meta-schema and its own vocabularies.
        let Some((_, text)) =
            self.options.resources.iter().find(|(uri, _)| uri.trim_end_matches('#') == known)
        else {
            return default;
        };
        let Ok(document) = Document::parse(without_byte_order_mark(text)) else { return default };
        let base = document
            .text_member(document.root(), "$schema")
            .and_then(|uri| metaschemas::draft_of(uri.trim_end_matches('#')));
        let mut dialect =
            base.map_or(default, |draft| SchemaDialect { draft, lenient: false, validation: true });
        if let Some(vocabularies) = document.member(document.root(), "$vocabulary")
            && let Value::Object(members) = document.get(vocabularies)
        {
            dialect.validation = members.iter().any(|(uri, _)| uri.ends_with("/vocab/validation"));
        }
        dialect
    }

    /// Indexes all schemas at and below `from`, which belongs to `resource`.
    fn index_schemas(&mut self, from: Location, resource: ResourceId) {
        let mut stack = vec![(from.value, resource)];
        while let Some((value, resource)) = stack.pop() {
            let location = Location { value, ..from };
            let slot = &mut self.documents[from.document.0 as usize].resource_of[value.index()];
            if slot.is_some() {
                continue;
            }
            *slot = Some(resource);
            if !matches!(self.get(location), Value::Object(_)) {
                continue;
            }
            let resource = self.index_identifiers(location, resource);
            self.documents[from.document.0 as usize].resource_of[value.index()] = Some(resource);
            let document = self.document(location);
            let mut children = Vec::new();
            subschemas(document, value, &mut children);
            stack.extend(children.into_iter().rev().map(|child| (child, resource)));
        }
    }

    /// Records the URI and the anchors of a schema; returns its resource.
    fn index_identifiers(&mut self, location: Location, outer: ResourceId) -> ResourceId {
        let dialect = self.resources[outer.0 as usize].dialect;
        let old = dialect.draft <= Draft::Draft7;
        if old && self.member(location, "$ref").is_some() {
            // Up to draft 7, `$ref` overrides all other keywords of its schema.
            return outer;
        }
        let keyword = if dialect.draft == Draft::Draft4 { "id" } else { "$id" };
        let mut resource = outer;
        let mut anchors = Vec::new();
        let id = self.text_member(location, keyword).or_else(|| {
            let fallback = self.text_member(location, "id").filter(|id| id.starts_with('#'));
            fallback.filter(|_| dialect.lenient)
        });
        if let Some(id) = id.map(str::to_owned) {
            let absolute = uri::resolve(&self.resources[outer.0 as usize].uri, &id);
            let (document, fragment) = uri::split_fragment(&absolute);
            if id.starts_with('#') {
                anchors.push((fragment.into_boxed_str(), false));
            } else if self.resources[outer.0 as usize].root == location {
                // The root of a document, under the URI of its own `$id`.
                self.resources[outer.0 as usize].uri = document.to_owned();
                self.by_uri.entry(document.to_owned()).or_insert(outer);
            } else {
                resource = self.add_resource(document.to_owned(), location, Some(outer));
            }
        }
        for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            if let Some(name) = self.text_member(location, keyword) {
                anchors.push((name.into(), dynamic));
            }
        }
        let entry = &mut self.resources[resource.0 as usize];
        for (name, dynamic) in anchors {
            if dynamic {
                entry.dynamic_anchors.push((name.clone(), location));
            }
            entry.anchors.entry(name).or_insert(location);
        }
        let recursive = self
            .member(location, "$recursiveAnchor")
            .is_some_and(|flag| self.get(flag) == &Value::Boolean(true));
        let entry = &mut self.resources[resource.0 as usize];
        if recursive && entry.root == location {
            entry.dynamic_anchors.push(("".into(), location));
        }
        resource
    }

    /// The target of the reference at `place`, a keyword of the schema at `from`. Memoised.
    pub(crate) fn resolve(
        &mut self,
        from: Location,
        place: Location,
        reference: &str,
    ) -> Result<Location, ReferenceError> {
        if let Some(&known) = self.resolved.get(&place) {
            return Ok(known);
        }
        let target = self.resolve_uncached(from, reference)?;
        self.resolved.insert(place, target);
        Ok(target)
    }

    fn resolve_uncached(&mut self, from: Location, reference: &str) -> Result<Location, ReferenceError> {
        let resource = self.resource(from);
        let absolute = uri::resolve(&self.resources[resource.0 as usize].uri, reference);
        let (document, fragment) = uri::split_fragment(&absolute);
        let resource = self.find_resource(document)?;
        let root = self.resources[resource.0 as usize].root;
        if fragment.is_empty() || fragment.starts_with('/') {
            let Some(value) = self.document(root).follow(root.value, &fragment) else {
                let similar = self.document(root).similar_pointer(root.value, &fragment);
                return Err(ReferenceError::Place { reference: without_default_base(&absolute), similar });
            };
            let target = Location { value, ..root };
            if self.resource_of(target).is_none() {
                let around = self.resource(target);
                self.index_schemas(target, around);
            }
            return Ok(target);
        }
        let anchor = self.resources[resource.0 as usize].anchors.get(&*fragment).copied();
        anchor.ok_or_else(|| ReferenceError::Place {
            reference: without_default_base(&absolute),
            similar: None,
        })
    }

    /// The target of a `$dynamicRef` under `scope`, or `None` if it behaves as a plain reference.
    pub(crate) fn resolve_dynamic(
        &self,
        target: Location,
        reference: &str,
        scope: Id<Scope>,
    ) -> Option<Location> {
        let anchor = reference.rsplit_once('#').map_or("", |(_, fragment)| fragment);
        let resource = &self.resources[self.resource(target).0 as usize];
        resource.dynamic_anchors.iter().find(|(name, at)| &**name == anchor && *at == target)?;
        self.scopes.get(scope).iter().find(|(name, _)| &**name == anchor).map(|&(_, location)| location)
    }

    /// The initial dynamic scope.
    pub(crate) fn first_scope(&mut self) -> Id<Scope> {
        let empty = self.scopes.intern(Scope::new());
        self.enter(self.root(), empty)
    }

    /// The dynamic scope inside `location`, which is entered under `scope`.
    pub(crate) fn enter(&mut self, location: Location, scope: Id<Scope>) -> Id<Scope> {
        let resource = &self.resources[self.resource(location).0 as usize];
        let current = self.scopes.get(scope);
        let new: Vec<_> = resource
            .dynamic_anchors
            .iter()
            .filter(|(name, _)| !current.iter().any(|(known, _)| known == name))
            .cloned()
            .collect();
        if new.is_empty() {
            return scope;
        }
        let mut extended = current.clone();
        extended.extend(new);
        self.scopes.intern(extended)
    }

    fn find_resource(&mut self, uri: &str) -> Result<ResourceId, ReferenceError> {
        if let Some(&resource) = self.by_uri.get(uri) {
            return Ok(resource);
        }
        let given = self.options.resources.iter().find(|(known, _)| known.trim_end_matches('#') == uri);
        let text = given.map(|(_, text)| text.as_str()).or_else(|| metaschemas::text_of(uri));
        let Some(text) = text else { return Err(ReferenceError::Document(uri.to_owned())) };
        let document = Document::parse(without_byte_order_mark(text))
            .map_err(|_| ReferenceError::NotJson(uri.to_owned()))?;
        self.add(document, uri);
        self.by_uri.get(uri).copied().ok_or_else(|| ReferenceError::Document(uri.to_owned()))
    }

    /// The URIs of referenced documents that are not available.
    pub(crate) fn missing(&mut self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut next = 0;
        // Resolving a reference may load documents, which the loop then visits as well.
        while next < self.documents.len() {
            let document = DocumentId(u32::try_from(next).unwrap_or(u32::MAX));
            next += 1;
            let count = self.documents[document.0 as usize].resource_of.len();
            for index in 0..count {
                let location = Location { document, value: ValueId::at(index) };
                if self.resource_of(location).is_none() {
                    continue;
                }
                for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                    let Some(reference) = self.text_member(location, keyword).map(str::to_owned) else {
                        continue;
                    };
                    if let Err(ReferenceError::Document(uri)) = self.resolve_uncached(location, &reference)
                        && !missing.contains(&uri)
                    {
                        missing.push(uri);
                    }
                }
                if let Some(metaschema) =
                    self.text_member(location, "$schema").map(|uri| uri.trim_end_matches('#').to_owned())
                    && metaschemas::draft_of(&metaschema).is_none()
                    && !self.options.resources.iter().any(|(uri, _)| uri.trim_end_matches('#') == metaschema)
                    && !missing.contains(&metaschema)
                {
                    missing.push(metaschema);
                }
            }
        }
        missing
    }
}

/// Pushes the direct subschemas of the schema `value`.
pub(crate) fn subschemas(document: &Document, value: ValueId, children: &mut Vec<ValueId>) {
    let Value::Object(members) = document.get(value) else { return };
    for (keyword, child) in members {
        match (&**keyword, document.get(*child)) {
            (
                "not"
                | "if"
                | "then"
                | "else"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema"
                | "items",
                Value::Object(_) | Value::Boolean(_),
            ) => children.push(*child),
            ("allOf" | "anyOf" | "oneOf" | "items" | "prefixItems", Value::Array(items)) => {
                children.extend(items)
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(members),
            ) => children.extend(members.iter().map(|(_, child)| *child)),
            _ => {}
        }
    }
}
