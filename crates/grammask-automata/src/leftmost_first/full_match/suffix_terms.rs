//! Plain parts of a pattern as terms, and look-aheads as set operations on the term of the remaining text.

use super::super::code_points::CodePointSet;
use super::super::pattern::{LookCondition, LookDirection, OrderedNode, OrderedNodeId, OrderedPattern};
use crate::{TermId, Terms};

/// Number of literal alternatives from which a choice becomes one word list instead of a union.
const MIN_WORD_LIST_LITERALS: usize = 16;

/// Maximum number of prepended parts: alternatives before look-aheads multiply them.
const MAX_STEPS: usize = 1 << 14;

pub(super) struct SuffixTerms<'a> {
    terms: &'a mut Terms,
    pattern: &'a OrderedPattern,
    /// The language of each node without look-around and atomic groups.
    plain: Vec<Option<TermId>>,
    steps_left: usize,
}

impl<'a> SuffixTerms<'a> {
    pub(super) fn new(terms: &'a mut Terms, pattern: &'a OrderedPattern) -> Self {
        let mut suffixes =
            Self { terms, pattern, plain: Vec::with_capacity(pattern.len()), steps_left: MAX_STEPS };
        for node in pattern.nodes() {
            let term = suffixes.plain_term(node);
            suffixes.plain.push(term);
        }
        suffixes
    }

    /// The texts that the pattern matches from start to end; `None` if it needs an automaton.
    pub(super) fn whole(&mut self, root: OrderedNodeId) -> Option<TermId> {
        let end = self.terms.epsilon();
        self.prepend(root, end, true)
    }

    fn plain_term(&mut self, node: &OrderedNode) -> Option<TermId> {
        match node {
            OrderedNode::Characters(set) => Some(self.characters(set)),
            OrderedNode::Sequence(items) => {
                let items = self.plain_terms(items)?;
                Some(self.terms.concat(&items))
            }
            OrderedNode::Choice(items) => {
                let terms = self.plain_terms(items)?;
                Some(self.union_with_words(terms))
            }
            &OrderedNode::Repeat { item, min, max, .. } => {
                let item = self.plain[item.index()]?;
                Some(self.terms.repeat(item, min, max))
            }
            OrderedNode::Look { .. } | OrderedNode::Atomic(_) => None,
        }
    }

    fn plain_terms(&self, items: &[OrderedNodeId]) -> Option<Vec<TermId>> {
        items.iter().map(|item| self.plain[item.index()]).collect()
    }

    fn characters(&mut self, set: &CodePointSet) -> TermId {
        let ends = |&(first, last): &(u32, u32)| char::from_u32(first).zip(char::from_u32(last));
        let ranges: Vec<(char, char)> = set.ranges().iter().filter_map(ends).collect();
        match ranges[..] {
            [(first, last)] if first == last => self.terms.literal(first.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => self.terms.characters(&ranges),
        }
    }

    fn union_with_words(&mut self, mut parts: Vec<TermId>) -> TermId {
        let words: Vec<Vec<u8>> = parts.iter().filter_map(|&part| self.terms.word(part)).collect();
        if words.len() >= MIN_WORD_LIST_LITERALS {
            parts.retain(|&part| self.terms.word(part).is_none());
            parts.push(self.terms.literals(&words));
        }
        self.terms.union(&parts)
    }

    /// The texts of `node` followed by those of `after`; `at_start` if the node begins at the start of the text.
    fn prepend(&mut self, node: OrderedNodeId, after: TermId, at_start: bool) -> Option<TermId> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        if let Some(term) = self.plain[node.index()] {
            return Some(self.terms.concat(&[term, after]));
        }
        let pattern = self.pattern;
        match pattern.node(node) {
            OrderedNode::Sequence(items) => {
                let is_look = |item: &OrderedNodeId| matches!(pattern.node(*item), OrderedNode::Look { .. });
                let leading = items.iter().take_while(|item| is_look(item)).count();
                let mut after = after;
                for (index, &item) in items.iter().enumerate().rev() {
                    after = self.prepend(item, after, at_start && index <= leading)?;
                }
                Some(after)
            }
            OrderedNode::Choice(items) => {
                let branches = items.iter().map(|&item| self.prepend(item, after, at_start));
                let branches = branches.collect::<Option<Vec<TermId>>>()?;
                Some(self.terms.union(&branches))
            }
            &OrderedNode::Repeat { item, min: 0, max: Some(1), .. } => {
                let with = self.prepend(item, after, at_start)?;
                Some(self.terms.union(&[with, after]))
            }
            &OrderedNode::Look { item, direction: LookDirection::Ahead, condition } => {
                let anything = self.terms.anything();
                let body = self.prepend(item, anything, at_start)?;
                let body = match condition {
                    LookCondition::Match => body,
                    LookCondition::NoMatch => self.terms.complement(body),
                };
                // At the end of the text, as for `$`, the condition is decided here.
                if after == self.terms.epsilon() && !self.terms.is_nullable(body) {
                    return Some(self.terms.nothing());
                }
                Some(if after == self.terms.epsilon() {
                    after
                } else {
                    self.terms.intersection(&[body, after])
                })
            }
            // Nothing precedes the start, so a look-behind at some text cannot match there.
            &OrderedNode::Look { item, direction: LookDirection::Behind, condition }
                if at_start && !pattern.is_nullable(item) =>
            {
                Some(match condition {
                    LookCondition::Match => self.terms.nothing(),
                    LookCondition::NoMatch => after,
                })
            }
            OrderedNode::Characters(_)
            | OrderedNode::Repeat { .. }
            | OrderedNode::Look { .. }
            | OrderedNode::Atomic(_) => None,
        }
    }
}
