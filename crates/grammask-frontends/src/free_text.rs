//! Free text as part of a grammar: any text up to a delimiter, without excluded literals, and within bounds.
//!
//! "Text until a tag" is the text before the first occurrence of the tag, followed by the tag. The boundary is exact,
//! also where the text ends in a prefix of the tag (see [`Terms::text_before`](grammask_automata::Terms::text_before)).
//! Free text is one terminal, whose summaries all grammars of a vocabulary share.

use grammask_diagnostics::Span;
use grammask_grammar::{GrammarBuilder, NodeId, Terminal, quote_bytes};

/// A language of free texts.
#[derive(Clone, Debug, Default)]
pub struct FreeText {
    /// Delimiters; the text ends before the first occurrence of any of them.
    pub ends: Vec<Vec<u8>>,
    /// Literals that the text does not contain.
    pub excludes: Vec<Vec<u8>>,
    /// Maximum number of characters.
    pub max_characters: Option<u32>,
    /// Maximum number of model tokens.
    pub max_tokens: Option<u32>,
}

impl FreeText {
    /// The text before the delimiter `ends[index]`, which must follow. Without such a delimiter: the text up to its
    /// end.
    pub fn before(&self, builder: &mut GrammarBuilder, index: usize) -> NodeId {
        let ends: Vec<&[u8]> = self.ends.iter().map(Vec::as_slice).collect();
        let excludes: Vec<&[u8]> = self.excludes.iter().map(Vec::as_slice).collect();
        let end = ends.get(index).copied().unwrap_or_default();
        let terms = builder.terms();
        let mut term = terms.text_before(end, &ends, &excludes);
        if let Some(max) = self.max_characters {
            let character = terms.characters(&[('\0', char::MAX)]);
            let short = terms.repeat(character, 0, Some(max));
            term = terms.intersection(&[term, short]);
        }
        let terminal = match self.max_tokens {
            None => Terminal::Regular(term),
            Some(tokens) => Terminal::Limited { term, tokens },
        };
        builder.terminal(terminal, &self.label(), Span::default())
    }

    /// The label is equal for all delimiters, since the language often is.
    fn label(&self) -> String {
        let mut label = String::from("text");
        let literals: Vec<String> =
            self.ends.iter().chain(&self.excludes).map(|literal| quote_bytes(literal)).collect();
        if !literals.is_empty() {
            label.push_str(&format!(" without {}", literals.join(", ")));
        }
        if let Some(max) = self.max_characters {
            label.push_str(&format!(" of at most {max} characters"));
        }
        if let Some(max) = self.max_tokens {
            label.push_str(&format!(" in at most {max} tokens"));
        }
        label
    }
}
