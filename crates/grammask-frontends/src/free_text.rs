//! Free text as part of a grammar: any text, up to a word or without some words, within bounds.
//!
//! "Text until a tag" is the text before the first place where the tag ends, and then the tag. Both are told apart
//! exactly, also where a beginning of the tag is at the end of the text (see
//! [`Terms::text_before`](grammask_automata::Terms::text_before)). What is free is one terminal, which grammars of one
//! vocabulary share.

use grammask_diagnostics::Span;
use grammask_grammar::{GrammarBuilder, NodeId, Terminal, quote_bytes};

/// Which texts are meant.
#[derive(Clone, Debug, Default)]
pub struct FreeText {
    /// The words at the first of which the text stops; they are no part of it.
    pub ends: Vec<Vec<u8>>,
    /// Words that are not in the text.
    pub excludes: Vec<Vec<u8>>,
    /// The most characters.
    pub most_characters: Option<u32>,
    /// The most tokens of the model.
    pub most_tokens: Option<u32>,
}

impl FreeText {
    /// The text before the `index`-th of the ends, which must follow; before none, where there is no such end.
    pub fn before(&self, builder: &mut GrammarBuilder, index: usize) -> NodeId {
        let ends: Vec<&[u8]> = self.ends.iter().map(Vec::as_slice).collect();
        let excludes: Vec<&[u8]> = self.excludes.iter().map(Vec::as_slice).collect();
        let end = ends.get(index).copied().unwrap_or_default();
        let terms = builder.terms();
        let mut term = terms.text_before(end, &ends, &excludes);
        if let Some(most) = self.most_characters {
            let character = terms.characters(&[('\0', char::MAX)]);
            let short = terms.repeat(character, 0, Some(most));
            term = terms.intersection(&[term, short]);
        }
        let terminal = match self.most_tokens {
            None => Terminal::Regular(term),
            Some(tokens) => Terminal::Limited { term, tokens },
        };
        builder.terminal(terminal, &self.label(), Span::default())
    }

    /// The same for all ends, since the language often is.
    fn label(&self) -> String {
        let mut label = String::from("text");
        let words: Vec<String> =
            self.ends.iter().chain(&self.excludes).map(|word| quote_bytes(word)).collect();
        if !words.is_empty() {
            label.push_str(&format!(" without {}", words.join(", ")));
        }
        if let Some(most) = self.most_characters {
            label.push_str(&format!(" of at most {most} characters"));
        }
        if let Some(most) = self.most_tokens {
            label.push_str(&format!(" in at most {most} tokens"));
        }
        label
    }
}
