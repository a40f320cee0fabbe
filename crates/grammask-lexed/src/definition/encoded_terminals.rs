//! The terminals of a grammar under encodings of its text.
//!
//! In an indented block the prefix that is dropped after a line feed belongs to the lexeme with the line feed: the longest
//! match takes it. Where a lexeme ends with a line feed and a part of the prefix, the line has to be blank. This is a
//! condition on the next lexeme, so a *refused terminal* of the highest priority matches lines that break it.

use std::sync::Arc;

use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{LexedDefinition, TerminalPattern, TerminalRole, TerminalSource};
use grammask_automata::encoding::{BlockPrefix, CharacterEncoding, TermEncoder};
use grammask_automata::{Automata, ByteSet, ShortestWords, TermId, Terms};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};

impl LexedDefinition {
    /// The terminals of the definition, and a refused one for each encoding as an indented block. The languages of
    /// the latter are those of the text after that encoding.
    pub(crate) fn terminals_with_conditions(&self) -> Vec<TerminalSource> {
        let mut terminals = self.terminals.clone();
        let priority = terminals.iter().map(|terminal| terminal.priority).max().unwrap_or(0);
        for (index, encoding) in self.encodings.iter().enumerate() {
            if let CharacterEncoding::IndentedBlock(prefix) = encoding
                && !prefix.is_empty()
            {
                terminals.push(TerminalSource {
                    name: format!("__BLOCK_{index}"),
                    pattern: TerminalPattern::Regex(format!("(?s:.)*\\n{}", other_beginning(prefix))),
                    priority: priority.saturating_add(1),
                    role: TerminalRole::Refused,
                });
            }
        }
        terminals
    }

    /// The first encoding that applies to each terminal of [`terminals_with_conditions`].
    fn first_encodings(&self) -> Vec<usize> {
        let blocks = self.encodings.iter().enumerate().filter_map(|(index, encoding)| {
            let is_block = matches!(encoding, CharacterEncoding::IndentedBlock(prefix) if !prefix.is_empty());
            is_block.then_some(index + 1)
        });
        std::iter::repeat_n(0, self.terminals.len()).chain(blocks).collect()
    }
}

/// The expression for the beginnings of lines that are neither blank nor begin with the prefix, up to the first byte that
/// shows it. The first byte of a character decides, so no lexeme begins with a character that is refused.
fn other_beginning(prefix: &BlockPrefix) -> String {
    let mut expression = String::new();
    for (read, byte) in prefix.text().bytes().enumerate().rev() {
        let line_feed = if prefix.is_blank_after(read) { "\\n" } else { "" };
        let rest = if expression.is_empty() { expression } else { format!("|\\x{byte:02x}(?:{expression})") };
        expression = format!("[^\\x{byte:02x}{line_feed}]|(?-u:[\\x80-\\xff]){rest}");
    }
    format!("(?:{expression})")
}

impl LexedGrammar {
    /// Replaces the languages of terminals by their inverse images, the innermost encoding first.
    pub(crate) fn encode_terminals(
        &mut self,
        encodings: &[CharacterEncoding],
        limits: &Limits,
    ) -> Result<(), GrammarError> {
        if encodings.is_empty() {
            return Ok(());
        }
        let error = |code, message: String| GrammarError::from(Diagnostic::error(code, message));
        let exceeded = |limit: LimitExceeded| GrammarError::from(limit.diagnostic());
        for terminal in &self.terminals[..self.definition().terminals.len()] {
            if let Some(term) = terminal.term
                && !is_text(&mut self.terms, term, limits).map_err(exceeded)?
            {
                let message = format!(
                    "the terminal `{}` matches parts of characters, which have no spelling in an encoding",
                    terminal.name
                );
                return Err(error(Code::UnsupportedGrammar, message));
            }
        }
        let mut beginning = self.terms.literal(&self.beginning);
        let first_encodings = self.definition().first_encodings();
        for (index, encoding) in encodings.iter().enumerate() {
            let mut encoder = TermEncoder::new(encoding.clone(), limits);
            beginning = match self.definition().beginning[..] {
                // The indentation of the first line is not part of the text, unless it follows a given line feed.
                [] => encoder.separable_image(&mut self.terms, beginning),
                _ => encoder.image(&mut self.terms, beginning),
            }
            .map_err(exceeded)?;
            for (terminal, &first) in self.terminals.iter_mut().zip(&first_encodings) {
                if let Some(term) = &mut terminal.term
                    && index >= first
                {
                    *term = encoder.image(&mut self.terms, *term).map_err(exceeded)?;
                }
            }
        }
        self.encode_delimited(encodings, limits)?;
        let mut automata = Automata::new(self.terms.clone(), limits.automaton_states);
        for terminal in &self.terminals {
            if let Some(term) = terminal.term
                && automata.start(term).map_err(exceeded)?.is_none()
            {
                let message =
                    format!("no text of the terminal `{}` can be spelled in the encoding", terminal.name);
                return Err(error(Code::EmptyLanguage, message));
            }
        }
        self.beginning = shortest_word(&mut automata, beginning, limits).map_err(exceeded)?;
        Ok(())
    }
}

impl LexedGrammar {
    /// Replaces the texts of delimited terminals by their inverse images.
    fn encode_delimited(
        &mut self,
        encodings: &[CharacterEncoding],
        limits: &Limits,
    ) -> Result<(), GrammarError> {
        for index in 0..self.definition().terminals.len() {
            if let TerminalPattern::Delimited(texts) = &self.definition().terminals[index].pattern {
                let form = texts.encoded(encodings, limits)?;
                self.terminals[index].delimited = Some(Arc::new(form));
            }
        }
        Ok(())
    }
}

/// The shortest word of a language that is not empty.
fn shortest_word(automata: &mut Automata, term: TermId, limits: &Limits) -> Result<Vec<u8>, LimitExceeded> {
    let deadline = Deadline::of(limits);
    let mut words = ShortestWords::new(ByteSet::ALL);
    let mut word = Vec::new();
    let mut state = automata.start(term)?;
    while let Some(current) = state.filter(|&state| !automata.is_accepting(state)) {
        let Some(rest) = words.shortest_word(automata, current, &deadline)? else { break };
        word.push(rest.first);
        state = automata.step(current, rest.first)?;
    }
    Ok(word)
}

/// Whether all words are valid UTF-8.
pub(super) fn is_text(terms: &mut Terms, term: TermId, limits: &Limits) -> Result<bool, LimitExceeded> {
    let text = terms.text();
    let others = terms.complement(text);
    let faulty = terms.intersection(&[term, others]);
    let mut automata = Automata::new(terms.clone(), limits.automaton_states);
    Ok(automata.start(faulty)?.is_none())
}
