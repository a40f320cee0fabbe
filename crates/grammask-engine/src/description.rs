//! States in the words of the grammar.

use std::fmt;

use grammask_diagnostics::LimitExceeded;

use crate::{LexerReading, SetId};

/// What states expect, and what they have read.
pub trait Descriptions {
    /// The terminals that can come next, once per rule; those that have begun first.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded>;

    /// For texts that can come next, the terminals with which they begin: terminals that contain the text, and those of
    /// which a beginning of the text is a word. A terminal inside a value that must differ from others counts for every
    /// text.
    ///
    /// Cost: a step of the automaton per terminal and byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded>;

    /// The ways to read a text as lexemes; none if it is no viable prefix, or the grammar has no lexer. A text mostly
    /// has one way; it has several while the end of a lexeme is undecided. Of those that lead to equal futures the
    /// first counts.
    ///
    /// Cost: that of all steps along the text, and a list entry per lexeme.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn readings(&self, text: &[u8]) -> Result<Vec<LexerReading>, LimitExceeded> {
        let _ = text;
        Ok(Vec::new())
    }

    /// A state as text, for debugging.
    fn describe(&self, set: SetId) -> String;
}

/// A terminal that can come next or has begun.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expectation {
    /// The terminal as written in the grammar.
    pub terminal: String,
    /// What messages call the terminal, if that is not its notation: the only text of a terminal that the grammar names,
    /// in quotes, or a description.
    pub terminal_label: Option<String>,
    /// The rule in which it occurs.
    pub rule: String,
    /// What messages call the rule, if that is not its name; empty if they do not name it.
    pub rule_label: Option<String>,
    /// Whether part of it has been read.
    pub has_begun: bool,
}

/// The terminals with which some texts begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstTerminals {
    /// The terminals, without repetitions.
    pub terminals: Vec<Expectation>,
    /// For each text, ascending indices of its terminals.
    pub of_text: Vec<Vec<u32>>,
}

impl FirstTerminals {
    /// The index of a terminal, which is added if it is new.
    pub fn index_of(&mut self, terminal: Expectation) -> u32 {
        let known = self.terminals.iter().position(|known| *known == terminal);
        let index = known.unwrap_or_else(|| {
            self.terminals.push(terminal);
            self.terminals.len() - 1
        });
        index as u32
    }
}

impl Expectation {
    /// What a message calls the terminal.
    #[must_use]
    pub fn shown_terminal(&self) -> &str {
        self.terminal_label.as_deref().unwrap_or(&self.terminal)
    }

    /// What a message calls the rule; empty if it does not name it.
    #[must_use]
    pub fn shown_rule(&self) -> &str {
        self.rule_label.as_deref().unwrap_or(&self.rule)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.has_begun { "more of " } else { "" };
        write!(f, "{more}{}", self.shown_terminal())?;
        match self.shown_rule() {
            "" => Ok(()),
            rule => write!(f, " in {rule}"),
        }
    }
}
