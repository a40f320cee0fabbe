//! What a caller can choose: the draft, how values are spelled, and what to do with what cannot be enforced.

/// A version of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4 (2013).
    Draft4,
    /// Draft 6 (2017).
    Draft6,
    /// Draft 7 (2018).
    Draft7,
    /// Draft 2019-09.
    Draft2019,
    /// Draft 2020-12, the newest.
    Draft2020,
}

/// What may stand between the parts of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Whitespace {
    /// Nothing.
    Compact,
    /// Up to so many spaces, tabs and line ends in each place where JSON allows them, except around the text.
    Flexible {
        /// The most characters in one place. Without a bound, a model can go on with spaces for ever.
        most: u32,
    },
    /// Exactly these texts between items and between a name and its value.
    Separators {
        /// Between items or members, for example `", "`: a comma with white space around it.
        item: Box<str>,
        /// Between a name and its value, for example `": "`: a colon with white space around it.
        key: Box<str>,
    },
    /// Each item and member on a line of its own, so many spaces deeper than what it belongs to. Empty arrays and
    /// objects are `[]` and `{}`.
    Indent(u32),
}

/// In which order the members of an object may stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// First the names that the schema declares, as it declares them, then all others.
    #[default]
    Declared,
    /// Any order. Costs time and memory exponential in the number of declared names, within the limits.
    Any,
}

/// Which characters of a string may be written as escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Escapes {
    /// Characters of ASCII that need no escape are written as themselves (but `\/` is allowed); all others as
    /// themselves, where JSON allows it, or as any escape.
    #[default]
    Natural,
    /// Every character may be written as `\uXXXX` too.
    Any,
    /// As `Natural`, but what is not ASCII is always an escape.
    Ascii,
    /// As `Natural`, but what is not ASCII is never an escape.
    Raw,
}

/// How numbers may be written. The value is what a schema constrains, however it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Decimals and, where the schema's constraints can be decided on them, normalised scientific notation;
    /// an integer may be written `1.0` or `1e3`.
    #[default]
    Any,
    /// Decimals without an exponent; an integer has no decimal point either.
    Plain,
}

/// What to do with a keyword that cannot be enforced exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnUnsupported {
    /// Refuse the schema, naming all such keywords.
    #[default]
    Refuse,
    /// Go on without the constraint and list it.
    Relax,
}

/// Whether `format` constrains strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Formats {
    /// The formats of the standards are enforced; unknown ones are listed as annotations.
    #[default]
    Enforce,
    /// No format is enforced.
    Annotate,
}

/// Whether the schema follows OpenAPI 3.0 in what JSON Schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OpenApi {
    /// No.
    #[default]
    Ignore,
    /// `nullable: true` beside `type` allows null too.
    Nullable,
}

/// How a schema is read and how its values are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SchemaOptions {
    /// The draft of schemas that do not say theirs by `$schema`. Without one, such schemas are read as 2020-12,
    /// and older forms that 2020-12 does not know (`items: [...]`, `dependencies`, `exclusiveMinimum: true`, ...)
    /// keep their meaning.
    pub draft: Option<Draft>,
    /// White space.
    pub whitespace: Whitespace,
    /// The order of names.
    pub key_order: KeyOrder,
    /// Escapes in strings.
    pub escapes: Escapes,
    /// The spelling of numbers.
    pub numbers: Numbers,
    /// What to do with what cannot be enforced.
    pub on_unsupported: OnUnsupported,
    /// Whether `format` is a constraint.
    pub formats: Formats,
    /// OpenAPI's `nullable`.
    pub openapi: OpenApi,
    /// Schemas that references may name: absolute URI and JSON text.
    pub resources: Vec<(String, String)>,
    /// Words that no string and no name contains, as they are written: between the quotes, escapes as they stand.
    /// None of them is empty.
    pub excludes: Vec<String>,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            draft: None,
            whitespace: Whitespace::Flexible { most: 32 },
            key_order: KeyOrder::default(),
            escapes: Escapes::default(),
            numbers: Numbers::default(),
            on_unsupported: OnUnsupported::default(),
            formats: Formats::default(),
            openapi: OpenApi::default(),
            resources: Vec::new(),
            excludes: Vec::new(),
        }
    }
}
