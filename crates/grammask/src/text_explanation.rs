//! Why a text is refused: the first byte that does not fit, and what the grammar expects there.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::matcher::MatcherStep;
use crate::{CompiledGrammar, Matcher};
use grammask_diagnostics::{Deadline, GrammarError};
use grammask_engine::Expectation;
use grammask_grammar::TextPlace;

/// Bytes of a line that a message shows on each side of an error.
const EXCERPT_BYTES: usize = 40;

/// Maximum number of expected terminals in a message.
const MAX_EXPECTED: usize = 8;

/// Why a text is refused. Its display is a message with the line, a caret and the expected terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRefusal {
    text: Box<[u8]>,
    position: usize,
    ends_early: bool,
    could_end: bool,
    expected: Vec<Expectation>,
    place: Option<TextPlace>,
}

impl TextRefusal {
    /// The first byte that does not fit; the end of the text if it ends too early.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The line of the position, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.text[..self.position].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// The column of the position, in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        String::from_utf8_lossy(&self.text[self.line_begin()..self.position]).chars().count() + 1
    }

    /// The terminals that the grammar expects at the position.
    #[must_use]
    pub fn expected(&self) -> &[Expectation] {
        &self.expected
    }

    /// Whether the text before the position is complete.
    #[must_use]
    pub fn could_end(&self) -> bool {
        self.could_end
    }

    /// The place in the source of the grammar that describes the text at the position, if the grammar knows it: for a
    /// schema a JSON pointer.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        self.place.as_ref().map(|place| &*place.place)
    }

    /// What the author of the text or of the grammar can do.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.place.as_ref()?.help.as_deref()
    }

    /// What the rules of all expected terminals are called, if that is one.
    fn only_rule(&self) -> Option<&str> {
        let mut rules = self.expected.iter().map(Expectation::shown_rule).filter(|rule| !rule.is_empty());
        let first = rules.next()?;
        rules.all(|rule| rule == first).then_some(first)
    }

    fn line_begin(&self) -> usize {
        self.text[..self.position].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line of the position.
    fn line_end(&self) -> usize {
        let rest = &self.text[self.position..];
        self.position + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
    }
}

impl fmt::Display for TextRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, position, .. } = self;
        match self.ends_early {
            true => writeln!(f, "the text ends too early, at byte {position}")?,
            false => writeln!(f, "byte {position} does not fit")?,
        }
        let begin = self.line_begin().max(position.saturating_sub(EXCERPT_BYTES));
        let end = self.line_end().min(position + EXCERPT_BYTES);
        let shown = |bytes: &[u8]| {
            let replaced = |c: char| if c.is_control() { ' ' } else { c };
            String::from_utf8_lossy(bytes).chars().map(replaced).collect::<String>()
        };
        let (before, after) = (shown(&text[begin..*position]), shown(&text[*position..end]));
        let number = self.line().to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "  {margin}--> line {number}, column {}", self.column())?;
        writeln!(f, "  {number} | {before}{after}")?;
        writeln!(f, "  {margin} | {}^", " ".repeat(before.chars().count()))?;
        write!(f, "  expected: ")?;
        write_expected(f, &self.expected, self.could_end)?;
        match self.only_rule() {
            Some(rule) if self.place.is_none() => write!(f, " in {rule}"),
            _ => write_place(f, self.place.as_ref()),
        }
    }
}

/// Writes the distinct terminals, and whether the text could end.
fn write_expected(f: &mut fmt::Formatter<'_>, expected: &[Expectation], could_end: bool) -> fmt::Result {
    let mut listed: Vec<String> = Vec::new();
    listed.extend(could_end.then(|| "the end of the text".to_owned()));
    for expectation in expected {
        let shown = expectation.shown_terminal();
        let terminal = match expectation.has_begun {
            true if is_punctuation(expectation) => "white space".to_owned(),
            true => format!("more of {shown}"),
            false => shown.to_owned(),
        };
        if !listed.contains(&terminal) {
            listed.push(terminal);
        }
    }
    if listed.len() > MAX_EXPECTED {
        let others = listed.len() - MAX_EXPECTED;
        listed.truncate(MAX_EXPECTED);
        listed.push(format!("and {others} more"));
    }
    f.write_str(if listed.is_empty() { "nothing" } else { "" })?;
    f.write_str(&listed.join(", "))
}

/// Whether a terminal is one byte in quotes, with white space around it: more of it is white space.
fn is_punctuation(expectation: &Expectation) -> bool {
    let inner = expectation.terminal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    expectation.terminal_label.is_none() && inner.is_some_and(|inner| inner.len() == 1)
}

/// Writes a place and its help after the expected terminals.
pub(crate) fn write_place(f: &mut impl fmt::Write, place: Option<&TextPlace>) -> fmt::Result {
    let Some(TextPlace { place, help }) = place else { return Ok(()) };
    write!(f, " at {place}")?;
    help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
}

impl CompiledGrammar {
    /// Why a part of a text is not in the language; `None` if it is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use grammask::frontends::json_schema::{self, SchemaOptions};
    /// use grammask::vocabulary::{TokenTexts, Vocabulary};
    /// use grammask::{CompileOptions, CompiledGrammar, Limits};
    ///
    /// let schema = r#"{"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}}"#;
    /// let made = json_schema::grammar(schema, &SchemaOptions::default(), &Limits::default())?;
    /// let tokens: TokenTexts = [Some("a"), None].into_iter().collect();
    /// let vocabulary = Arc::new(Vocabulary::new(tokens, vec![], vec![1], None)?);
    /// let compiled = CompiledGrammar::new(&made.grammar, vocabulary, CompileOptions::default())?;
    /// let text = br#"{"colour": "blue"}"#;
    /// let refusal = compiled.explain_text(text, 0..text.len())?.expect("blue is no colour of the schema");
    /// assert_eq!((refusal.position(), refusal.place()), (12, Some("#/properties/colour")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a limit is exceeded.
    ///
    /// # Panics
    /// If the range is not one of the text.
    pub fn explain_text(
        self: &Arc<Self>,
        text: &[u8],
        part: Range<usize>,
    ) -> Result<Option<TextRefusal>, GrammarError> {
        let begin = part.start;
        let read = &text[part];
        let Some(position) = self.first_error(read)? else { return Ok(None) };
        let cache = self.cache();
        let engine = cache.engine();
        let deadline = Deadline::of(cache.limits());
        let over = |limit| cache.limit_error(limit);
        let after = engine.step_all(engine.start(), &read[..position], &deadline).map_err(over)?;
        let (mut expected, mut could_end) = (Vec::new(), false);
        if let Ok(set) = after {
            expected = engine.expectations(set).map_err(over)?;
            could_end = engine.is_complete(set);
        }
        Ok(Some(TextRefusal {
            text: text.into(),
            position: begin + position,
            ends_early: position == read.len(),
            could_end,
            expected,
            place: self.place_of(read, position),
        }))
    }

    /// The place in the source of the grammar for a position of a text.
    pub(crate) fn place_of(&self, text: &[u8], position: usize) -> Option<TextPlace> {
        self.places()?.place(text, position)
    }
}

impl Matcher {
    /// Why bytes cannot follow the text; `None` if they can. The text of the refusal is the whole text, of the bytes of its
    /// tokens.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn explain_bytes(&self, bytes: &[u8]) -> Result<Option<TextRefusal>, GrammarError> {
        let (engine, deadline) = (self.cache().engine(), Deadline::of(self.cache().limits()));
        let over = |limit| self.cache().limit_error(limit);
        let read = match self.is_finished() {
            true => Err(0),
            false => engine.step_all(self.set(), bytes, &deadline).map_err(over)?,
        };
        let position = match read {
            Err(position) if !bytes.is_empty() => position,
            Ok(_) | Err(_) => return Ok(None),
        };
        let mut expected = Vec::new();
        let before = engine.step_all(self.set(), &bytes[..position], &deadline).map_err(over)?;
        let set = before.unwrap_or_else(|_| self.set());
        if !self.is_finished() {
            expected = engine.expectations(set).map_err(over)?;
        }
        let mut text = self.text_so_far();
        let position = text.len() + position;
        text.extend_from_slice(bytes);
        Ok(Some(TextRefusal {
            place: self.compiled().place_of(&text, position),
            text: text.into(),
            position,
            ends_early: false,
            could_end: engine.is_complete(set),
            expected,
        }))
    }

    /// The bytes of the text so far, without those of a dropped history.
    pub(crate) fn text_so_far(&self) -> Vec<u8> {
        let vocabulary = self.compiled().vocabulary();
        let mut text = Vec::new();
        for step in self.steps().unwrap_or_default() {
            match step {
                MatcherStep::Token(token) => {
                    text.extend_from_slice(vocabulary.token(token).unwrap_or_default());
                }
                MatcherStep::Bytes(bytes) => text.extend_from_slice(bytes),
            }
        }
        text
    }
}
