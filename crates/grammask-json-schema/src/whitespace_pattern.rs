//! White space given as a regular expression.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use grammask_automata::{Automata, ByteSet, StateId, Table, TermId, Terms, regex};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use rustc_hash::FxHashMap;

/// Maximum number of states of the automaton of a pattern: every place of white space in a text runs it.
const MAX_STATES: usize = 1 << 12;

/// A regular expression, in the syntax of the Rust crate `regex`, that matches only white space of JSON: spaces, tabs,
/// line feeds and carriage returns. It matches the white space of one place as a whole. That of a separator also matches
/// the comma or colon.
///
/// Two patterns are equal if their texts are.
#[derive(Clone, Debug)]
pub struct WhitespacePattern {
    pattern: Box<str>,
    table: Arc<Table>,
}

impl WhitespacePattern {
    /// The white space that `pattern` matches.
    ///
    /// ```
    /// use grammask_diagnostics::Limits;
    /// use grammask_json_schema::WhitespacePattern;
    ///
    /// assert!(WhitespacePattern::new("[ ]?", &Limits::default()).is_ok());
    /// let error = WhitespacePattern::new("[ x]?", &Limits::default()).unwrap_err();
    /// assert!(error.to_string().contains(r#"the pattern of white space also matches "x""#));
    /// ```
    ///
    /// # Errors
    /// If the pattern is no regular expression, matches nothing or other texts than white space, or is too large.
    pub fn new(pattern: &str, limits: &Limits) -> Result<Self, GrammarError> {
        Self::within(pattern, "the pattern of white space", limits, |_, white_space| white_space)
    }

    /// The separators that `pattern` matches: a comma or colon with white space around it.
    ///
    /// ```
    /// use grammask_diagnostics::Limits;
    /// use grammask_json_schema::WhitespacePattern;
    ///
    /// assert!(WhitespacePattern::around(',', ",[ ]?", &Limits::default()).is_ok());
    /// let error = WhitespacePattern::around(',', ",?", &Limits::default()).unwrap_err();
    /// assert!(error.to_string().contains(r#"the pattern of the separator `,` also matches """#));
    /// ```
    ///
    /// # Errors
    /// As of [`WhitespacePattern::new`].
    pub fn around(mark: char, pattern: &str, limits: &Limits) -> Result<Self, GrammarError> {
        let name = format!("the pattern of the separator `{mark}`");
        Self::within(pattern, &name, limits, |terms, white_space| {
            let mark = terms.literal(mark.encode_utf8(&mut [0; 4]).as_bytes());
            terms.concat(&[white_space, mark, white_space])
        })
    }

    /// The pattern, which `name` calls in messages; `allowed` makes the language of its texts from white space.
    fn within(
        pattern: &str,
        name: &str,
        limits: &Limits,
        allowed: impl FnOnce(&mut Terms, TermId) -> TermId,
    ) -> Result<Self, GrammarError> {
        let fail = |diagnostic| GrammarError::new(vec![diagnostic], Arc::from(pattern));
        let whole = Span::new(0, pattern.len());
        if pattern.len() > limits.grammar_bytes {
            return Err(fail(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic()));
        }
        let mut terms = Terms::new();
        let term = regex::term(&mut terms, pattern, limits).map_err(|error| {
            let help = error.help().unwrap_or("the syntax is that of the Rust crate `regex`");
            fail(Diagnostic::error(error.code(), error.message()).at(error.span()).help(help))
        })?;
        let max_states = MAX_STATES.min(limits.automaton_states);
        let exceeded = |limit: LimitExceeded| fail(limit.diagnostic().at(whole));
        let white_space = terms.bytes(white_space());
        let white_space = terms.repeat(white_space, 0, None);
        let allowed = allowed(&mut terms, white_space);
        let others = terms.complement(allowed);
        let others = terms.intersection(&[term, others]);
        if let Some(text) = shortest_text(&terms, others, max_states).map_err(exceeded)? {
            let text = String::from_utf8_lossy(&text).into_owned();
            let message = format!("{name} also matches {text:?}");
            let help = "white space of JSON is spaces, tabs, line feeds and carriage returns";
            return Err(fail(Diagnostic::error(Code::InvalidRegex, message).at(whole).help(help)));
        }
        if Automata::new(terms.clone(), max_states).start(term).map_err(exceeded)?.is_none() {
            let message = format!("{name} matches nothing, not even the empty text");
            return Err(fail(Diagnostic::error(Code::InvalidRegex, message).at(whole)));
        }
        match terms.determinize(term, max_states) {
            Some(table) => Ok(Self { pattern: pattern.into(), table: Arc::new(table) }),
            None => Err(exceeded(LimitExceeded::new("automaton_states", max_states))),
        }
    }

    /// The pattern.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// The automaton of the pattern.
    pub(crate) fn table(&self) -> Arc<Table> {
        self.table.clone()
    }
}

impl PartialEq for WhitespacePattern {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for WhitespacePattern {}

impl Hash for WhitespacePattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pattern.hash(state);
    }
}

/// The characters of white space in JSON: RFC 8259, section 2.
pub(crate) fn white_space() -> ByteSet {
    b" \t\n\r".iter().fold(ByteSet::EMPTY, |set, &byte| set.union(ByteSet::single(byte)))
}

/// A shortest text of a language, by breadth-first search; `None` if the language is empty.
fn shortest_text(
    terms: &Terms,
    language: TermId,
    max_states: usize,
) -> Result<Option<Vec<u8>>, LimitExceeded> {
    let mut automata = Automata::new(terms.clone(), max_states);
    let Some(start) = automata.start(language)? else { return Ok(None) };
    // The state before each state on a shortest path, and the byte between them.
    let mut paths: FxHashMap<StateId, Option<(StateId, u8)>> = FxHashMap::from_iter([(start, None)]);
    let mut level = vec![start];
    while !level.is_empty() {
        let mut next_level = Vec::new();
        for state in level {
            if automata.is_accepting(state) {
                let mut text = Vec::new();
                let mut at = state;
                while let Some(&Some((before, byte))) = paths.get(&at) {
                    text.push(byte);
                    at = before;
                }
                text.reverse();
                return Ok(Some(text));
            }
            for (bytes, next) in automata.successors(state)? {
                if let (false, Some(byte)) = (paths.contains_key(&next), bytes.iter().next()) {
                    paths.insert(next, Some((state, byte)));
                    next_level.push(next);
                }
            }
        }
        level = next_level;
    }
    Ok(None)
}
