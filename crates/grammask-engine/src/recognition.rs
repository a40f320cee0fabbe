//! Steps of an engine over bytes and tokens.

use std::fmt;
use std::sync::Arc;

use grammask_diagnostics::{Deadline, LimitExceeded};

use grammask_vocabulary::Vocabulary;

use crate::{
    AnonymousValues, BoundTexts, InsideTerminal, LexerReading, Reach, SetId, ShortestCompletion, TokenEvent,
    TokenGrowths, TokenMatch, UnboundedText,
};

/// A terminal that can come next or has begun.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expectation {
    /// The terminal as written in the grammar.
    pub terminal: String,
    /// The rule in which it occurs.
    pub rule: String,
    /// Whether part of it has been read.
    pub has_begun: bool,
}

/// The terminals with which some texts begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstTerminals {
    /// The terminals, without repetitions.
    pub terminals: Vec<Expectation>,
    /// For each text, ascending indices of its terminals.
    pub of_text: Vec<Vec<u32>>,
}

impl FirstTerminals {
    /// The index of a terminal, which is added if it is new.
    pub fn index_of(&mut self, terminal: Expectation) -> u32 {
        let known = self.terminals.iter().position(|known| *known == terminal);
        let index = known.unwrap_or_else(|| {
            self.terminals.push(terminal);
            self.terminals.len() - 1
        });
        index as u32
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.has_begun { "more of " } else { "" };
        write!(f, "{more}{} in {}", self.terminal, self.rule)
    }
}

/// A recogniser with interned states, shared by all texts under one grammar.
///
/// Every state can be completed to a text of the language: an engine returns `None` in place of a dead state. Methods
/// that return [`LimitExceeded`] leave the engine usable.
pub trait Engine: fmt::Debug + Send + Sync {
    /// The state before any text.
    fn start(&self) -> SetId;

    /// Whether the text of a state is complete.
    fn is_complete(&self, set: SetId) -> bool;

    /// Whether the engine is made when it is first used, and was not used yet.
    fn is_pending(&self) -> bool {
        false
    }

    /// Number of states so far.
    fn set_count(&self) -> usize;

    /// The class of each byte; bytes of one class are interchangeable in every text.
    fn class_of_byte(&self) -> &[u8; 256];

    /// One byte of each class.
    fn byte_of_class(&self) -> &[u8];

    /// Estimated memory of the engine, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Number of steps computed so far; memoised steps are not counted. Only computed steps take time, so a loop over
    /// many steps checks its deadline when the number has changed.
    fn new_steps(&self) -> usize;

    /// The state after one more byte; `None` if the byte is illegal.
    ///
    /// Cost: one table lookup if the step is memoised.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded>;

    /// The state whose continuations are those of either state.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded>;

    /// The terminals that can come next, once per rule; those that have begun first.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded>;

    /// For texts that can come next, the terminals with which they begin: terminals that contain the text, and those of
    /// which a beginning of the text is a word. A terminal inside a value that must differ from others counts for every
    /// text.
    ///
    /// Cost: a step of the automaton per terminal and byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded>;

    /// The ways to read a text as lexemes; none if it is no viable prefix, or the grammar has no lexer. A text mostly
    /// has one way; it has several while the end of a lexeme is undecided. Of those that lead to equal futures the
    /// first counts.
    ///
    /// Cost: that of all steps along the text, and a list entry per lexeme.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn readings(&self, text: &[u8]) -> Result<Vec<LexerReading>, LimitExceeded> {
        let _ = text;
        Ok(Vec::new())
    }

    /// A state as text, for debugging.
    fn describe(&self, set: SetId) -> String;

    /// The state after several bytes; `Err` holds the position of the first illegal byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step_all(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<SetId, usize>, LimitExceeded> {
        let mut set = set;
        let mut new_steps = self.new_steps();
        for (position, &byte) in bytes.iter().enumerate() {
            match self.step(set, byte)? {
                Some(next) => set = next,
                None => return Ok(Err(position)),
            }
            if new_steps != self.new_steps() {
                new_steps = self.new_steps();
                deadline.check()?;
            }
        }
        Ok(Ok(set))
    }

    /// The state after the end of a token, given the state `set` after its bytes. It differs from `set` only if the
    /// grammar counts tokens.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        Ok(Some(set))
    }

    /// Whether the grammar counts tokens: whether the end of a token can change a state.
    fn counts_tokens(&self) -> bool {
        false
    }

    /// The states with unknown bound texts of a grammar that binds texts to names, or why some state has no known upper
    /// bound of the tokens that finish its text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn bound_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Result<&dyn BoundTexts, UnboundedText>, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(Err(UnboundedText::InsidePart))
    }

    /// The states with anonymous values, if states depend on the values that a text has.
    fn anonymous_values(&self) -> Option<&dyn AnonymousValues> {
        None
    }

    /// Whether some values of a text cannot be anonymous: those of scopes with bound names, or with values that must
    /// repeat others, and those inside embedded grammars. Then each text inside one has its own state and its own cost.
    fn depends_on_all_values(&self) -> bool {
        false
    }

    /// Whether from each state at most `max` prefixes of tokens are texts inside values that cannot be anonymous, as far as
    /// that can be told from the beginnings of these values.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        let _ = (vocabulary, max);
        Ok(!self.depends_on_all_values())
    }

    /// The state after a token, read by a token terminal; `None` if no token terminal that matches it comes next.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn step_token(&self, set: SetId, event: TokenEvent) -> Result<Option<SetId>, LimitExceeded> {
        let _ = (set, event);
        Ok(None)
    }

    /// The tokens that token terminals can match next.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        let _ = set;
        Ok(Vec::new())
    }

    /// The state after the bytes of a token and its end.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn read_bytes(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Option<SetId>, LimitExceeded> {
        match self.step_all(set, bytes, deadline)? {
            Ok(next) => self.end_token(next),
            Err(_) => Ok(None),
        }
    }

    /// The state after a token, read by its bytes if it has text, by a token terminal, or in both ways.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn read_token(
        &self,
        set: SetId,
        event: TokenEvent,
        bytes: Option<&[u8]>,
        deadline: &Deadline,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let by_bytes = match bytes {
            Some(bytes) => self.read_bytes(set, bytes, deadline)?,
            None => None,
        };
        match (by_bytes, self.step_token(set, event)?) {
            (by_bytes, None) => Ok(by_bytes),
            (None, by_token) => Ok(by_token),
            (Some(by_bytes), Some(by_token)) => self.union(by_bytes, by_token).map(Some),
        }
    }

    /// What a state reads, if it is inside one terminal or inside the copies of one. No token of the vocabulary has
    /// more than `reach` bytes.
    ///
    /// Engines without such knowledge return `None`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn inside_terminal(&self, set: SetId, reach: u32) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let _ = (set, reach);
        Ok(None)
    }

    /// The bytes that a state reads, and possibly others, as a bitset; `None` if steps have to show them.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn possible_bytes(&self, set: SetId) -> Result<Option<[u64; 4]>, LimitExceeded> {
        let _ = set;
        Ok(None)
    }

    /// The byte with which every continuation begins, if there is one.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn only_byte(&self, set: SetId) -> Result<Option<u8>, LimitExceeded> {
        let mut only = None;
        for (class, &byte) in self.byte_of_class().iter().enumerate() {
            if self.step(set, byte)?.is_some() {
                let members = self.class_of_byte().iter().filter(|&&of| usize::from(of) == class).count();
                if members > 1 || only.replace(byte).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(only)
    }

    /// The number of items of a state, those that wait for their ends included. The cost of a new step is proportional.
    fn state_size(&self, set: SetId) -> usize;

    /// The shortest completion of a state whose bytes are all tokens of the vocabulary by themselves, or named by the
    /// grammar; `None` if there is none, or if the search for it gives up. Of several shortest ones it is the same in
    /// every process, and so is giving up. The vocabulary is that for which the engine was made.
    ///
    /// Cost: results are memoised by state, and by the parts that states share.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded>;

    /// Whether the length of each shortest completion is an upper bound of the tokens that spell it: from every state
    /// that a token led to, some token leads to a state of a shorter completion.
    ///
    /// Each byte of a completion is a token, so it is one, unless the grammar counts tokens and a part cannot be ended
    /// along its shortest text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn length_bounds_tokens(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(true)
    }

    /// An upper bound of the length of the shortest completion of every state, and of the tokens that spell it; `None`
    /// if there is no bound, or it is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn longest_shortest_completion(&self, vocabulary: &Vocabulary) -> Result<Option<u32>, LimitExceeded> {
        let _ = vocabulary;
        Ok(None)
    }

    /// An upper bound of the length of the shortest completion of every state within reach of a state, and of the tokens
    /// that spell it; `None` if it is not known, or if one of these states may have no completion.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let _ = (set, reach, vocabulary, deadline);
        Ok(None)
    }

    /// How much each token adds to [`longest_completion_after`](Self::longest_completion_after) within the reach of a
    /// token; `None` if it is not known. Cost: a pass over the bytes of all tokens at first use.
    ///
    /// # Errors
    /// When a limit is exceeded.
    fn token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        let _ = (vocabulary, deadline);
        Ok(None)
    }
}
