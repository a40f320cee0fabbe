//! Lookbehinds over more than one character, outside of repetitions and lookaheads.
//!
//! Left contexts describe one character, so a text is split at such a lookbehind: what is before it is one language of
//! whole texts, whose elements end, or do not end, with a match of the body. A pattern is read from right to left up to
//! its last such lookbehind; alternations that contain one are distributed over what is before them.

use super::ast::{PatternNode, PatternNodeId, Polarity};
use super::contexts::lookbehind_body;
use super::error::PatternError;
use super::translate::{PatternTranslator, SuffixLanguage, SuffixLanguages};

/// Maximum number of long lookbehinds. The number of distributed branches is exponential in it.
const MAX_LONG_LOOKBEHINDS: usize = 8;

impl<'a> PatternTranslator<'a> {
    /// Whether the node is a lookbehind that left contexts do not decide.
    pub(super) fn is_long_lookbehind(&self, id: PatternNodeId) -> bool {
        match self.pattern.node(id) {
            PatternNode::LookBehind(_, body) => lookbehind_body(self.pattern, *body).is_none(),
            _ => false,
        }
    }

    /// The texts that the pattern matches: from any position if `is_search`, else from the start; up to `suffixes`.
    pub(super) fn texts_of_pattern(
        &mut self,
        suffixes: SuffixLanguages,
        is_search: bool,
    ) -> Result<SuffixLanguage, PatternError> {
        let root = self.pattern.root();
        if self.pattern.ids().filter(|&id| self.is_long_lookbehind(id)).count() > MAX_LONG_LOOKBEHINDS {
            let message = "too many lookbehinds over more than one character";
            return Err(PatternError::unsupported(self.pattern.offset(root), message));
        }
        self.texts_of(vec![root], suffixes, is_search)
    }

    /// The texts that a sequence of nodes matches. The depth of the recursion is at most that of nested groups plus the
    /// number of long lookbehinds.
    fn texts_of(
        &mut self,
        mut parts: Vec<PatternNodeId>,
        mut suffixes: SuffixLanguages,
        is_search: bool,
    ) -> Result<SuffixLanguage, PatternError> {
        while let Some(part) = parts.pop() {
            if !self.traits(part).has_long_lookbehind {
                suffixes = self.translate(part, suffixes)?;
                continue;
            }
            match self.pattern.node(part) {
                PatternNode::Concat(children) => parts.extend(children),
                PatternNode::Alternation(branches) => {
                    let mut texts = self.nothing();
                    for &branch in branches {
                        self.spend(branch, parts.len())?;
                        let parts = [&parts[..], &[branch]].concat();
                        let found = self.texts_of(parts, suffixes.clone(), is_search)?;
                        texts = self.unite_pair(texts, found);
                    }
                    return Ok(texts);
                }
                &PatternNode::Repeat { body, min: 0, max: Some(1) } => {
                    let without = self.texts_of(parts.clone(), suffixes.clone(), is_search)?;
                    parts.push(body);
                    let with = self.texts_of(parts, suffixes, is_search)?;
                    return Ok(self.unite_pair(without, with));
                }
                &PatternNode::LookBehind(polarity, body) => {
                    return self.split_at_lookbehind(part, polarity, body, parts, suffixes, is_search);
                }
                _ => return Err(PatternError::long_lookbehind(self.pattern.offset(part))),
            }
        }
        Ok(if is_search { self.found_anywhere(&suffixes) } else { suffixes[0] })
    }

    /// The texts of `before`, up to the lookbehind, each followed by its suffix.
    fn split_at_lookbehind(
        &mut self,
        id: PatternNodeId,
        polarity: Polarity,
        body: PatternNodeId,
        before: Vec<PatternNodeId>,
        suffixes: SuffixLanguages,
        is_search: bool,
    ) -> Result<SuffixLanguage, PatternError> {
        let is_uniform = suffixes.iter().all(|other| *other == suffixes[0]);
        let is_end = is_uniform && suffixes[0].term == self.terms.epsilon();
        // Before the end of the text, its assertions would take the lookbehind for the end.
        if !is_end && before.iter().chain([&body]).any(|&part| self.traits(part).looks_right) {
            let message = "before a lookbehind over more than one character, a lookahead, `\\b` or `$` is supported \
                           only if the text ends there";
            return Err(PatternError::unsupported(self.pattern.offset(id), message));
        }
        let end = SuffixLanguage { term: self.terms.epsilon(), closed: true };
        let end = vec![end; suffixes.len()];
        let left = self.texts_of(before, end.clone(), is_search)?.term;
        let ending = self.texts_of(vec![body], end, true)?.term;
        let ending = match polarity {
            Polarity::Positive => ending,
            Polarity::Negative => self.terms.complement(ending),
        };
        let left = self.terms.intersection(&[left, ending]);
        if is_uniform {
            return Ok(self.prepend(left, suffixes[0]));
        }
        let mut texts = if self.terms.is_nullable(left) { suffixes[0] } else { self.nothing() };
        for (suffix, atoms) in self.grouped_by_suffix(&suffixes, self.contexts.all_atoms()) {
            let left = self.ending_in(left, atoms);
            let found = self.prepend(left, suffix);
            texts = self.unite_pair(texts, found);
        }
        Ok(texts)
    }
}
