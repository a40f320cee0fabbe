//! `OrderedPattern`: patterns of Python's `re`, node by node; and the languages of their leftmost-first matches.

use std::sync::Arc;

use grammask::automata::leftmost_first::{
    CodePointAutomaton, CodePointSet, FirstMatches, LookCondition, LookDirection, OrderedNodeId,
    OrderedPattern, RepetitionOrder, TrailingLooks,
};
use grammask::frontends::regex_grammar;
use grammask::lexing::AutomatonState;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::grammar_error;
use crate::forks::OutsideForks;
use crate::grammar::PyGrammar;
use crate::limits::{PyLimits, or_default};

/// First and last code point of each range.
type Ranges = Vec<(u32, u32)>;

/// A pattern of a backtracking matcher, such as Python's ``re``.
///
/// Nodes are numbered, and added after the nodes that they contain; the last one is the pattern.
#[pyclass(name = "OrderedPattern", module = "grammask._grammask")]
#[derive(Default)]
pub(crate) struct PyOrderedPattern {
    pattern: OrderedPattern,
}

impl PyOrderedPattern {
    fn node(&self, number: u32) -> PyResult<OrderedNodeId> {
        let index = number as usize;
        if index >= self.pattern.len() {
            return Err(PyValueError::new_err(format!("there is no node {number}")));
        }
        Ok(OrderedNodeId::new(index))
    }

    fn nodes(&self, numbers: &[u32]) -> PyResult<Vec<OrderedNodeId>> {
        numbers.iter().map(|&number| self.node(number)).collect()
    }
}

#[pymethods]
impl PyOrderedPattern {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Add one character of a set, given by ranges of code points, or one that is not in it.
    fn characters(&mut self, ranges: Ranges, negated: bool) -> u32 {
        let set = CodePointSet::from_ranges(ranges);
        self.pattern.characters(if negated { set.complement() } else { set }).as_u32()
    }

    /// Add a concatenation.
    fn sequence(&mut self, items: Vec<u32>) -> PyResult<u32> {
        let items = self.nodes(&items)?;
        Ok(self.pattern.sequence(&items).as_u32())
    }

    /// Add alternatives, the preferred one first.
    fn choice(&mut self, items: Vec<u32>) -> PyResult<u32> {
        let items = self.nodes(&items)?;
        Ok(self.pattern.choice(&items).as_u32())
    }

    /// Add a repetition, unbounded without ``max_count``. A greedy one prefers more copies, a lazy one fewer.
    #[pyo3(signature = (item, min_count, max_count, greedy))]
    fn repeat(&mut self, item: u32, min_count: u32, max_count: Option<u32>, greedy: bool) -> PyResult<u32> {
        let item = self.node(item)?;
        let order = if greedy { RepetitionOrder::Greedy } else { RepetitionOrder::Lazy };
        Ok(self.pattern.repeat(item, min_count, max_count, order).as_u32())
    }

    /// Add a look-ahead or look-behind at an item that must match, or must not match if ``negated``.
    fn look(&mut self, item: u32, ahead: bool, negated: bool) -> PyResult<u32> {
        let item = self.node(item)?;
        let direction = if ahead { LookDirection::Ahead } else { LookDirection::Behind };
        let condition = if negated { LookCondition::NoMatch } else { LookCondition::Match };
        Ok(self.pattern.look(item, direction, condition).as_u32())
    }

    /// Add an atomic group, for :meth:`full_match_grammar` only.
    fn atomic(&mut self, item: u32) -> PyResult<u32> {
        let item = self.node(item)?;
        Ok(self.pattern.atomic(item).as_u32())
    }

    /// The pattern in the syntax of the Rust crate ``regex``; None with look-around or an atomic group.
    #[getter]
    fn unordered_regex(&self) -> Option<String> {
        self.pattern.unordered_text()
    }

    /// Return the grammar of the texts that the pattern matches from start to end, as ``re.fullmatch`` does.
    ///
    /// Args:
    ///     source: The pattern as it is written.
    ///     limits: Limits of reading.
    ///
    /// Raises:
    ///     UnsupportedGrammar: An atomic group contains look-around, an atomic group, or a bounded repetition with a
    ///         nullable body.
    ///     LimitExceeded: The pattern is too long or too deep, or the automaton of its look-around is too large.
    #[pyo3(signature = (source, limits=None))]
    fn full_match_grammar(
        &self,
        py: Python<'_>,
        source: &str,
        limits: Option<&PyLimits>,
    ) -> PyResult<PyGrammar> {
        let limits = or_default(limits);
        let grammar = py.outside_forks(|| regex_grammar::full_match_grammar(&self.pattern, source, &limits));
        Ok(PyGrammar::new(grammar.map_err(|error| grammar_error(py, &error))?, Vec::new()))
    }

    /// Return the leftmost-first matches of the pattern.
    ///
    /// Args:
    ///     name: The terminal, for messages.
    ///
    /// Raises:
    ///     UnsupportedGrammar: A look-around inspects text outside of the match, or contains a look-around; or a
    ///         bounded repetition has a nullable body.
    ///     LimitExceeded: The automaton is too large.
    fn first_matches(&self, py: Python<'_>, name: &str) -> PyResult<PyFirstMatches> {
        let result = py.outside_forks(|| {
            FirstMatches::new(&self.pattern).map(|matches| PyFirstMatches {
                language: Arc::new(matches.automaton),
                unordered: if matches.is_unordered { self.pattern.unordered_text() } else { None },
                trailing: matches.trailing,
            })
        });
        result.map_err(|error| grammar_error(py, &error.diagnostic(name).into()))
    }
}

/// The leftmost-first matches of a pattern.
#[pyclass(name = "FirstMatches", module = "grammask._grammask", frozen)]
pub(crate) struct PyFirstMatches {
    language: Arc<CodePointAutomaton>,
    unordered: Option<String>,
    trailing: Option<TrailingLooks>,
}

#[pymethods]
impl PyFirstMatches {
    /// The texts that the matcher matches as a whole.
    #[getter]
    fn language(&self) -> PyMatchLanguage {
        PyMatchLanguage { automaton: Arc::clone(&self.language) }
    }

    /// The language as a regular expression in the syntax of the Rust crate ``regex``.
    ///
    /// None if the order of alternatives and repetitions excludes texts, or with look-around.
    #[getter]
    fn unordered_regex(&self) -> Option<&str> {
        self.unordered.as_deref()
    }

    /// The violations of negative look-aheads at the end: a match, and the text that must not follow it.
    ///
    /// None without such look-aheads that can fail.
    #[getter]
    fn violations(&self) -> Option<PyMatchLanguage> {
        let violations = &self.trailing.as_ref()?.violations;
        Some(PyMatchLanguage { automaton: Arc::new(violations.clone()) })
    }

    /// Ranges of characters of violations that can follow a shorter match whose look-aheads hold to their end.
    ///
    /// The match may take any alternatives, in any order of preference.
    #[getter]
    fn can_match_inside(&self) -> Ranges {
        self.trailing.as_ref().map_or_else(Vec::new, |looks| looks.can_match_inside.ranges().to_vec())
    }

    /// Whether the pattern can match a violation or a text that begins with one, with any alternatives.
    #[getter]
    fn can_match_beyond(&self) -> bool {
        self.trailing.as_ref().is_some_and(|looks| looks.can_match_beyond)
    }
}

/// The language of a terminal, as a deterministic automaton over code points.
#[pyclass(name = "MatchLanguage", module = "grammask._grammask", frozen)]
pub(crate) struct PyMatchLanguage {
    automaton: Arc<CodePointAutomaton>,
}

#[pymethods]
impl PyMatchLanguage {
    /// Whether a text of the language begins with a shorter one.
    #[getter]
    fn has_shorter_texts(&self) -> bool {
        self.automaton.has_shorter_words()
    }

    /// Return whether a text is in the language.
    fn accepts(&self, text: &str) -> bool {
        self.automaton.accepts(text)
    }

    /// Return whether all texts of another language are in this one.
    fn includes(&self, other: &Self) -> bool {
        self.automaton.includes(&other.automaton)
    }

    /// Return whether both languages can match at one position.
    ///
    /// That is, whether a text of one of them is, or begins with, a text of the other.
    fn overlaps(&self, other: &Self) -> bool {
        self.automaton.overlaps(&other.automaton)
    }

    /// Return whether a text begins with a character of some ranges.
    fn begins_with(&self, ranges: Ranges) -> bool {
        self.automaton.begins_with(&CodePointSet::from_ranges(ranges))
    }

    /// Compare the language with violations.
    ///
    /// Returns:
    ///     Whether a text is a violation or begins with one; whether all texts do; and ranges of the characters of
    ///     violations that follow a text of the language which is a shorter part of the violation.
    fn relation_to(&self, violations: &Self) -> (bool, bool, Ranges) {
        let relation = self.automaton.relation_to(&violations.automaton);
        let following = relation.following_characters.ranges().to_vec();
        (relation.has_words_beyond, relation.has_only_words_beyond, following)
    }

    /// Return the language over UTF-8, as the pattern of an ``"automaton"`` terminal of :class:`LexedGrammar`.
    fn to_bytes(&self) -> Vec<u8> {
        AutomatonState::automaton_to_bytes(&AutomatonState::of_table(&self.automaton.utf8_table()))
    }
}
