//! Repetitions of one character with lookaheads before or after it, as in the "tempered" `((?!foo).)*`.
//!
//! They are supported at the end of the text, where all suffixes of the repeated text must satisfy the lookaheads.

use crate::strings::lengths::LengthRange;

use super::ast::{PatternNode, PatternNodeId, Polarity};
use super::error::PatternError;
use super::translate::{PatternTranslator, SuffixLanguage, SuffixLanguages, TranslationTask};

/// The repetition of one character with lookaheads before or after it, as in the "tempered" `((?!foo).)*`.
pub(super) struct TemperedRepeat {
    repeat: PatternNodeId,
    character: PatternNodeId,
    counts: LengthRange,
    pub(super) lookaheads: Vec<(LookAheadSide, Polarity)>,
}

/// The position of a lookahead relative to the repeated character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LookAheadSide {
    Before,
    After,
}

impl<'a> PatternTranslator<'a> {
    /// Recognises the repetition of one character with adjacent lookaheads, and adds the agenda entries for them.
    pub(super) fn parse_tempered(
        &mut self,
        repeat: PatternNodeId,
        body: PatternNodeId,
        counts: LengthRange,
        suffixes: SuffixLanguages,
        tasks: &mut Vec<TranslationTask>,
    ) -> Result<SuffixLanguages, PatternError> {
        let unsupported = || {
            let message = "a repeated lookahead over more than one character is supported only before a single character";
            PatternError::unsupported(self.pattern.offset(repeat), message)
        };
        let (mut character, mut lookaheads, mut bodies) = (None, Vec::new(), Vec::new());
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                PatternNode::Concat(parts) => stack.extend(parts.iter().rev()),
                PatternNode::LookAhead(polarity, body) => {
                    lookaheads.push((
                        if character.is_none() { LookAheadSide::Before } else { LookAheadSide::After },
                        *polarity,
                    ));
                    bodies.push(*body);
                }
                _ => match self.assertion_free(id) {
                    Some(assertion_free)
                        if assertion_free.length == Some(LengthRange::exactly(1)) && character.is_none() =>
                    {
                        character = Some(id);
                    }
                    _ => return Err(unsupported()),
                },
            }
        }
        let character = character.ok_or_else(unsupported)?;
        let open = vec![self.any_text(); self.contexts.len()];
        tasks.push(TranslationTask::RepeatTempered(
            TemperedRepeat { repeat, character, counts, lookaheads },
            suffixes,
        ));
        let (first, others) = bodies.split_first().ok_or_else(unsupported)?;
        for &body in others.iter().rev() {
            tasks.push(TranslationTask::Translate(body));
            tasks.push(TranslationTask::Push(open.clone()));
        }
        tasks.push(TranslationTask::Translate(*first));
        Ok(open)
    }

    /// Translates a tempered repetition at the end of the text: all suffixes of the repeated text must satisfy the
    /// lookaheads.
    pub(super) fn translate_tempered(
        &mut self,
        temper: &TemperedRepeat,
        bodies: &[SuffixLanguages],
        suffixes: &SuffixLanguages,
    ) -> Result<SuffixLanguages, PatternError> {
        let suffix = suffixes[0];
        let is_uniform = |suffixes: &SuffixLanguages| suffixes.iter().all(|other| *other == suffixes[0]);
        let is_end = suffix.term == self.terms.epsilon() && is_uniform(suffixes);
        if !is_end || !bodies.iter().all(is_uniform) {
            let message = "a repeated lookahead over more than one character is supported only at the end of the \
                           text, followed by `$`";
            return Err(PatternError::unsupported(self.pattern.offset(temper.repeat), message));
        }
        let character =
            self.assertion_free(temper.character).expect("a tempered character has no assertion").term;
        let mut parts = vec![self.terms.repeat(character, temper.counts.min, temper.counts.max)];
        let texts = self.encoding.texts(self.terms);
        let nonempty = self.encoding.length(self.terms, 1, None);
        for (&(side, polarity), body) in temper.lookaheads.iter().zip(bodies) {
            let refused = match polarity {
                Polarity::Positive => self.terms.complement(body[0].term),
                Polarity::Negative => body[0].term,
            };
            let wrong = match side {
                LookAheadSide::Before => {
                    let refused = self.terms.intersection(&[refused, nonempty]);
                    self.terms.concat(&[texts, refused])
                }
                LookAheadSide::After => self.terms.concat(&[nonempty, refused]),
            };
            parts.push(self.terms.complement(wrong));
        }
        let before = SuffixLanguage { term: self.terms.intersection(&parts), closed: true };
        Ok(vec![before; suffixes.len()])
    }
}
