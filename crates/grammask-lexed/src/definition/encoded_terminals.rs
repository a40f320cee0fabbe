//! The terminals of a grammar under encodings of its text.

use std::sync::Arc;

use crate::definition::grammar::LexedGrammar;
use crate::lexer::column_units::ColumnUnits;
use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_automata::{Automata, ByteSet, ShortestWords, TermId, Terms};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};

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
        for terminal in &self.terminals {
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
        for encoding in encodings {
            let mut encoder = TermEncoder::new(encoding.clone(), limits);
            beginning = encoder.image(&mut self.terms, beginning).map_err(exceeded)?;
            for terminal in &mut self.terminals {
                if let Some(term) = &mut terminal.term {
                    *term = encoder.image(&mut self.terms, *term).map_err(exceeded)?;
                }
            }
        }
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
        if self.indentation.is_some() {
            self.column_units = Arc::new(ColumnUnits::encoded(encodings, limits).map_err(exceeded)?);
        }
        Ok(())
    }
}

/// The shortest word of a language that is not empty.
fn shortest_word(automata: &mut Automata, term: TermId, limits: &Limits) -> Result<Vec<u8>, LimitExceeded> {
    let deadline = Deadline::after(limits.time);
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
fn is_text(terms: &mut Terms, term: TermId, limits: &Limits) -> Result<bool, LimitExceeded> {
    let text = terms.text();
    let others = terms.complement(text);
    let faulty = terms.intersection(&[term, others]);
    let mut automata = Automata::new(terms.clone(), limits.automaton_states);
    Ok(automata.start(faulty)?.is_none())
}
