//! Languages of leftmost-first matches: the texts that a backtracking matcher such as Python's `re` matches.
//!
//! A backtracking matcher tries alternatives in their order and stops at the first match: `a|ab` never matches `ab`,
//! and `/\*.*?\*/` stops at the first `*/`. Its match at a position is the longest prefix of the remaining text among
//! the words that it matches as a whole, and the language of these words is regular.
//!
//! | file | contents |
//! |---|---|
//! | `pattern` | patterns with ordered alternatives, greedy and lazy repetition, look-ahead and look-behind |
//! | `program` | Thompson's construction with priorities |
//! | `threads` | simulation of the matcher's threads, subset construction |
//! | `trailing` | negative look-aheads that inspect the text after a match |
//! | `full_match` | the texts that a matcher matches from start to end, with look-around anywhere |
//! | `automaton` | automata over code points, inclusion and overlap of their languages, translation to UTF-8 |
//! | `code_points` | sets of code points, and the partition that labels transitions |
//!
//! Look-around inside of a lexeme is exact. A positive look-ahead after the end and a look-behind before the start are
//! refused. A negative look-ahead after the end is reported in [`FirstMatches::trailing`]: the effect of its failure
//! depends on the other terminals.
//!
//! Time and memory are bounded by fixed numbers of instructions and states. Nothing recurses on the call stack in
//! proportion to the pattern.

mod automaton;
mod code_points;
mod full_match;
mod interner;
mod pattern;
mod program;
mod threads;
mod trailing;

pub use automaton::{CodePointAutomaton, ViolationRelation};
pub use code_points::CodePointSet;
pub use full_match::{FullMatchError, full_match};
pub use pattern::{LookCondition, LookDirection, OrderedNodeId, OrderedPattern, RepetitionOrder};
pub use trailing::TrailingLooks;

use grammask_diagnostics::{Code, Diagnostic};

use program::ThreadProgram;
use threads::ThreadSimulation;

/// The matches of an [`OrderedPattern`].
#[derive(Clone, Debug)]
pub struct FirstMatches {
    /// The words that a backtracking matcher matches as a whole.
    pub automaton: CodePointAutomaton,
    /// Whether they are the words of the pattern without order, and the pattern has no look-around.
    pub is_unordered: bool,
    /// The negative look-aheads that inspect the text after a match, if there are any that can fail.
    pub trailing: Option<TrailingLooks>,
}

impl FirstMatches {
    /// Determinises the matcher of a pattern.
    ///
    /// # Errors
    /// If the pattern inspects text outside of its matches in an unsupported way, or is too large.
    pub fn new(pattern: &OrderedPattern) -> Result<Self, FirstMatchError> {
        Self::of_node(pattern, pattern.root())
    }

    /// The matches of a part of a pattern, with transitions by the partition of the whole pattern.
    fn of_node(pattern: &OrderedPattern, node: Option<OrderedNodeId>) -> Result<Self, FirstMatchError> {
        let program = ThreadProgram::new(pattern, node)?;
        let mut simulation = ThreadSimulation::new(&program);
        let ordered = simulation.determinize()?;
        let has_trailing = ordered.obligations.iter().any(|&set| set != threads::ObligationSet::EMPTY);
        let trailing = if has_trailing { Some(TrailingLooks::new(&mut simulation, &ordered)?) } else { None };
        // The order of preferences can exclude what a look-ahead excludes: after `a+` there is no `a`.
        let trailing = trailing.filter(|looks| !looks.violations.is_empty());
        let is_unordered = ordered.is_unordered;
        Ok(Self { automaton: ordered.automaton.minimized(), is_unordered, trailing })
    }
}

/// The reason for which a pattern has no automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstMatchError {
    /// The pattern has too many instructions.
    ProgramTooLarge,
    /// The automaton has too many states.
    AutomatonTooLarge,
    /// A look-behind has too many alternatives.
    LookBehindTooLarge,
    /// The look-aheads after the end have too many states.
    TrailingLooksTooLarge,
    /// A bounded repetition has a nullable item.
    NullableBoundedRepetition,
    /// A look-around contains a look-around.
    NestedLook,
    /// A positive look-ahead inspects the text after a match.
    LookAheadAfterEnd,
    /// A look-behind inspects the text before a match.
    LookBehindBeforeStart,
    /// An atomic group.
    AtomicGroup,
}

impl FirstMatchError {
    /// The error as a diagnostic about the terminal called `name`.
    #[must_use]
    pub fn diagnostic(self, name: &str) -> Diagnostic {
        let limit = |message: String| Diagnostic::error(Code::LimitExceeded, message);
        let unsupported = |message: String, help: &str| {
            Diagnostic::error(Code::UnsupportedGrammar, message).help(help.to_owned())
        };
        match self {
            Self::ProgramTooLarge => {
                limit(format!("the terminal `{name}` is too large: its counted repetitions multiply"))
            }
            Self::AutomatonTooLarge => limit(format!("the automaton of the terminal `{name}` is too large")),
            Self::LookBehindTooLarge => limit(format!("a look behind in the terminal `{name}` is too large")),
            Self::TrailingLooksTooLarge => {
                limit(format!("the looks ahead of the terminal `{name}` are too large"))
            }
            Self::NullableBoundedRepetition => unsupported(
                format!("the terminal `{name}` has a bounded repetition whose body may be empty"),
                "make the body match at least one character",
            ),
            Self::NestedLook => unsupported(
                format!("the terminal `{name}` has a look-around inside a look-around"),
                "override the terminal with an equivalent one without it",
            ),
            Self::LookAheadAfterEnd => unsupported(
                format!("the terminal `{name}` looks at what comes after its end"),
                "override the terminal with an equivalent one without a look-ahead at its end",
            ),
            Self::AtomicGroup => unsupported(
                format!("the terminal `{name}` has an atomic group"),
                "override the terminal with an equivalent one without it",
            ),
            Self::LookBehindBeforeStart => unsupported(
                format!("the terminal `{name}` looks at what comes before its beginning"),
                "override the terminal with one without that look-behind",
            ),
        }
    }
}
