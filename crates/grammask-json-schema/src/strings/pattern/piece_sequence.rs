//! Patterns whose only assertions are `^` at the start and `$` at the end, as sequences of pieces with known lengths.
//!
//! The search for such a pattern needs no set operation, and bounds on the length of a string apply to the pieces.

use crate::strings::lengths::{LengthRange, RepeatedUnit, SizedPiece};
use grammask_automata::TermId;

use super::assertion_free::AssertionFree;
use super::ast::PatternNode;
use super::translate::PatternTranslator;

/// A pattern as a concatenation of nodes without assertions.
pub(super) struct PieceSequence {
    /// Whether a `^` precedes the pieces.
    starts: bool,
    pub(super) pieces: Vec<SizedPiece>,
    /// Whether a `$` follows the pieces.
    ends: bool,
}

impl<'a> PatternTranslator<'a> {
    /// The pattern as a sequence of pieces, or `None` if it has an assertion other than a leading `^` and a trailing
    /// `$`.
    pub(super) fn sequence(&self) -> Option<PieceSequence> {
        let (mut starts, mut ends) = (false, false);
        let mut pieces = Vec::new();
        let mut stack = vec![self.pattern.root()];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                PatternNode::Concat(parts) => stack.extend(parts.iter().rev()),
                PatternNode::Start if pieces.is_empty() && !ends => starts = true,
                PatternNode::End => ends = true,
                _ if ends => return None,
                node => {
                    let assertion_free = self.assertion_free(id)?;
                    let mut unit = None;
                    if let &PatternNode::Repeat { body, min, max } = node
                        && let AssertionFree {
                            term,
                            length: Some(LengthRange { min: shortest, max: longest }),
                            ..
                        } = self.assertion_free(body)?
                        && longest == Some(shortest)
                        && shortest > 0
                    {
                        unit =
                            Some(RepeatedUnit { term, length: shortest, counts: LengthRange { min, max } });
                    }
                    pieces.push(SizedPiece {
                        term: assertion_free.term,
                        length: assertion_free.length?,
                        unit,
                    });
                }
            }
        }
        Some(PieceSequence { starts, pieces, ends })
    }

    /// The search for a pattern that needs no set operation, or `None` if the pattern is not of that form.
    pub(super) fn simple_search(&mut self) -> Option<TermId> {
        let PieceSequence { starts, mut pieces, ends } = self.sequence()?;
        let any = self.encoding.any(self.terms);
        let term = self.encoding.texts(self.terms);
        let unit = Some(RepeatedUnit { term: any, length: 1, counts: LengthRange { min: 0, max: None } });
        let texts = SizedPiece { term, length: LengthRange { min: 0, max: None }, unit };
        let is_fixed = pieces.iter().all(|piece| piece.length.is_exact());
        match (starts, ends) {
            (true, true) => {}
            (false, true) => pieces.insert(0, texts),
            // The end of the match is at a fixed position, so any text may follow.
            (true, false) if is_fixed => pieces.push(texts),
            _ => return None,
        }
        let mut terms: Vec<TermId> = pieces.iter().map(|piece| piece.term).collect();
        let term = self.terms.concat(&terms);
        if !ends && let Some(last) = terms.last_mut() {
            *last = self.terms.anything();
            let open = self.terms.concat(&terms);
            self.encoding.record_open_ended(term, open);
        }
        self.encoding.pieces.insert(term, pieces);
        Some(term)
    }
}
