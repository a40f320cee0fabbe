//! The options of a caller: the draft, the encoding of values, and the treatment of unsupported keywords.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::whitespace_pattern::WhitespacePattern;
use grammask_automata::encoding::{CharacterEncoding, JsonEscapes};
use grammask_diagnostics::NamedOption;
use grammask_grammar::Grammar;

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

/// The white space between the tokens of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Whitespace {
    /// Wherever JSON allows it, except around the text: nothing, one space, or a line end and up to 64 spaces or tabs.
    Natural,
    /// Nothing.
    Compact,
    /// Up to a number of spaces, tabs and line ends wherever JSON allows them, except around the text.
    Flexible {
        /// Maximum number of characters between two tokens. Without a bound, a model may emit spaces without end.
        max: u32,
    },
    /// Exactly these separators between items and between a name and its value.
    Separators {
        /// Between items or members, for example `", "`: a comma with white space around it.
        item: Separator,
        /// Between a name and its value, for example `": "`: a colon with white space around it.
        key: Separator,
    },
    /// A text of this pattern wherever JSON allows white space, except around the text.
    Pattern(WhitespacePattern),
    /// Each item and member on its own line, indented by this number of spaces relative to its container. Empty arrays
    /// and objects are `[]` and `{}`.
    Indent(u32),
}

/// A comma or colon with white space around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// This text.
    Text(Box<str>),
    /// A text of this pattern, see [`WhitespacePattern::around`].
    Pattern(WhitespacePattern),
}

/// The order of the members of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// First the names that the schema declares, in the order of their declarations, then all others.
    #[default]
    Declared,
    /// Any order. Members are selections, whose states are made when texts reach them; formulas that are no selections
    /// cost time and memory exponential in the number of declared names, within the limits.
    Any,
}

/// The characters of a string that may be written as escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Escapes {
    /// ASCII characters that need no escape represent themselves (`\/` is admitted as well). Others represent
    /// themselves, where JSON allows it, or are written as any escape.
    #[default]
    Natural,
    /// Every character may also be written as `\uXXXX`.
    Any,
    /// Like `Natural`, but characters beyond ASCII are always escaped.
    Ascii,
    /// Like `Natural`, but characters beyond ASCII are never escaped.
    Raw,
}

impl Escapes {
    /// The encoding of strings.
    #[must_use]
    pub fn encoding(self) -> CharacterEncoding {
        CharacterEncoding::JsonString(match self {
            Self::Natural => JsonEscapes::Natural,
            Self::Any => JsonEscapes::Any,
            Self::Ascii => JsonEscapes::Ascii,
            Self::Raw => JsonEscapes::Raw,
        })
    }
}

/// The encodings of numbers. A schema constrains the value, in any encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// Those that programs write: decimals with at most 20 digits on each side of the point, integers without a point
    /// or an exponent, and normalised scientific notation of finite doubles. A number that the schema writes with more
    /// digits admits as many; if no value has such an encoding, the bound on digits is raised until one has.
    #[default]
    Natural,
    /// Decimals and, where the constraints of the schema can be decided on it, normalised scientific notation; an
    /// integer may be written `1.0` or `1e3`.
    Any,
    /// Decimals without an exponent; integers without a decimal point.
    Plain,
}

impl Numbers {
    /// The notation in which constraints are decided: that of [`Numbers::Natural`] is a subset of [`Numbers::Any`].
    pub(crate) fn classified(self) -> Self {
        match self {
            Self::Natural | Self::Any => Self::Any,
            Self::Plain => Self::Plain,
        }
    }
}

/// The treatment of keywords that cannot be enforced exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnUnsupported {
    /// The schema is an error that lists all such keywords.
    #[default]
    Refuse,
    /// The constraint is dropped and listed as a relaxation.
    Relax,
}

/// Whether `format` constrains strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Formats {
    /// The formats of the standards are enforced; unknown ones are reported as annotations.
    #[default]
    Enforce,
    /// No format is enforced.
    Annotate,
}

/// Whether `contentMediaType`, `contentEncoding` and `contentSchema` constrain strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ContentKeywords {
    /// They are annotations, as in the standard.
    #[default]
    Annotate,
    /// They are enforced.
    Enforce,
}

/// The grammar of the texts of a media type.
#[derive(Clone, Debug)]
pub struct MediaGrammar {
    /// The media type in lower case, with parameters as `;name=value`.
    pub media_type: String,
    /// The grammar, if it may be regular: regular contents can be combined with other constraints and encodings.
    pub grammar: Option<Arc<Grammar>>,
}

// Grammars are compared by address.
impl PartialEq for MediaGrammar {
    fn eq(&self, other: &Self) -> bool {
        self.media_type == other.media_type && self.address() == other.address()
    }
}

impl Eq for MediaGrammar {}

impl Hash for MediaGrammar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.media_type.hash(state);
    }
}

impl MediaGrammar {
    fn address(&self) -> Option<*const Grammar> {
        self.grammar.as_ref().map(Arc::as_ptr)
    }
}

/// Whether extensions of OpenAPI 3.0 to JSON Schema apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OpenApi {
    /// No.
    #[default]
    Ignore,
    /// `nullable: true` in addition to `type` admits null.
    Nullable,
}

/// Which names of an object differ, compared decoded. Of members with equal names most readers keep the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UniqueNames {
    /// All of them.
    All,
    /// Those that the schema declares; and all others where the object without some of its members might be invalid, or
    /// equal to another one: under a minimum of members, where some undeclared member must have a certain value, and in
    /// items that must differ. So the value that a reader keeps is valid.
    #[default]
    Counted,
    /// Those that the schema declares; others may be repeated.
    Declared,
}

/// The interpretation of a schema and the encoding of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SchemaOptions {
    /// The draft of schemas without `$schema`. If `None`, such schemas are 2020-12, and keywords of older drafts that
    /// 2020-12 does not have (`items: [...]`, `dependencies`, `exclusiveMinimum: true`, ...) keep their meaning.
    pub draft: Option<Draft>,
    /// White space.
    pub whitespace: Whitespace,
    /// The order of members.
    pub key_order: KeyOrder,
    /// Which names an object must not repeat.
    pub unique_names: UniqueNames,
    /// Escapes in strings.
    pub escapes: Escapes,
    /// The encodings of numbers.
    pub numbers: Numbers,
    /// The treatment of unsupported keywords.
    pub on_unsupported: OnUnsupported,
    /// Whether `format` is a constraint.
    pub formats: Formats,
    /// Whether contents are constraints.
    pub content: ContentKeywords,
    /// The grammars of media types other than those of JSON, which schemas of contents describe.
    pub media_grammars: Vec<MediaGrammar>,
    /// OpenAPI's `nullable`.
    pub openapi: OpenApi,
    /// Schemas that references may name: absolute URI and JSON text.
    pub resources: Vec<(String, String)>,
    /// Byte strings that no string and no name contains, compared with the encoded text between its quotes, where an
    /// escape is its own bytes. None of them is empty.
    pub excludes: Vec<String>,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            draft: None,
            whitespace: Whitespace::Natural,
            key_order: KeyOrder::default(),
            unique_names: UniqueNames::default(),
            escapes: Escapes::default(),
            numbers: Numbers::default(),
            on_unsupported: OnUnsupported::default(),
            formats: Formats::default(),
            content: ContentKeywords::default(),
            media_grammars: Vec::new(),
            openapi: OpenApi::default(),
            resources: Vec::new(),
            excludes: Vec::new(),
        }
    }
}

impl NamedOption for Draft {
    const OPTION: &'static str = "draft";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("4", Self::Draft4),
        ("6", Self::Draft6),
        ("7", Self::Draft7),
        ("2019-09", Self::Draft2019),
        ("2020-12", Self::Draft2020),
    ];
}

impl NamedOption for KeyOrder {
    const OPTION: &'static str = "key_order";
    const NAMES: &'static [(&'static str, Self)] = &[("declared", Self::Declared), ("any", Self::Any)];
}

impl NamedOption for UniqueNames {
    const OPTION: &'static str = "unique_names";
    const NAMES: &'static [(&'static str, Self)] =
        &[("all", Self::All), ("counted", Self::Counted), ("declared", Self::Declared)];
}

impl NamedOption for Numbers {
    const OPTION: &'static str = "numbers";
    const NAMES: &'static [(&'static str, Self)] =
        &[("natural", Self::Natural), ("any", Self::Any), ("plain", Self::Plain)];
}

impl NamedOption for OnUnsupported {
    const OPTION: &'static str = "on_unsupported";
    const NAMES: &'static [(&'static str, Self)] = &[("error", Self::Refuse), ("relax", Self::Relax)];
}

impl NamedOption for ContentKeywords {
    const OPTION: &'static str = "content";
    const NAMES: &'static [(&'static str, Self)] =
        &[("annotation", Self::Annotate), ("enforce", Self::Enforce)];
}

impl NamedOption for Escapes {
    const OPTION: &'static str = "escapes";
    const NAMES: &'static [(&'static str, Self)] =
        &[("natural", Self::Natural), ("any", Self::Any), ("ascii", Self::Ascii), ("raw", Self::Raw)];
}
