//! What must come next whatever the model says: bytes, and the tokens that a tokenizer would spell them with.
//!
//! Forcing is apart from masks: a mask never leaves out a token because another one is preferred. Which tokens spell
//! forced text is a choice, and the right one is the tokenizer's own, because it is what the model was trained on.
//!
//! Tokenizing the forced text F alone is not enough: what comes after may change how its end is split. Let the
//! tokenizer split F and what follows. Exactly one token of that holds the end of F, or there is a boundary at it.
//! If that token begins at position p of F, the tokens before it are those of F[..p] alone (in byte pair encoding the
//! tokens before a boundary never depend on what is after it). So the tokens that are certain are the common beginning
//! of those of F and of F[..p] for all p from which the grammar lets a token of the vocabulary reach beyond F.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::{Matcher, Tables};
use grammask_diagnostics::{Code, GrammarError, LimitExceeded};
use grammask_earley::recognizer::SetId;
use grammask_vocabulary::{TokenId, TrieNode};

/// Most sets that a grammar remembers the forced byte of.
const MOST_SETS: usize = 1 << 18;
/// Most bytes of forced text that are given to a tokenizer at once.
const MOST_BYTES: usize = 4096;

/// The forced byte of each set that was asked for, and the set after it. Reading takes a shared lock for one lookup.
#[derive(Debug, Default)]
pub(crate) struct ForcedMemo {
    known: RwLock<FxHashMap<SetId, Option<(u8, SetId)>>>,
}

/// Forced tokens could not be found.
#[derive(Clone, Debug)]
pub enum TokenizeError<E> {
    /// A limit was passed.
    Grammar(GrammarError),
    /// The tokenizer failed.
    Tokenizer(E),
}

impl<E> From<GrammarError> for TokenizeError<E> {
    fn from(error: GrammarError) -> Self {
        Self::Grammar(error)
    }
}

impl<E: std::fmt::Display> std::fmt::Display for TokenizeError<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Grammar(error) => error.fmt(f),
            Self::Tokenizer(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for TokenizeError<E> {}

impl Matcher {
    /// The bytes that must come next whatever the model says: as long as there is one way to go on. At most `limit`
    /// bytes; empty where the text could end.
    ///
    /// They end where a character ends, unless the grammar lets the text end inside one.
    ///
    /// Cost: a lookup per byte where it was asked before.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn forced_bytes(&self, limit: usize) -> Result<Vec<u8>, GrammarError> {
        Ok(self.forced_run(limit)?.text)
    }

    /// The tokens that must come next whatever the model says: as long as the mask has a single token that is
    /// not an end token. At most `limit` tokens.
    ///
    /// # Errors
    /// As [`Matcher::mask`], except that a dead end only ends the list.
    pub fn forced_tokens(&self, limit: usize) -> Result<Vec<TokenId>, GrammarError> {
        let mut ahead = self.without_history();
        let mut forced = Vec::new();
        while forced.len() < limit {
            let Some(only) = ahead.only_token()? else { break };
            ahead.accept(only)?;
            forced.push(only);
        }
        Ok(forced)
    }

    /// As [`Matcher::forced_tokens`], and also the tokens into which `encode` splits forced text, as far as nothing
    /// that can come after it changes them. At most `limit` tokens, each of which can be accepted.
    ///
    /// `encode` is the tokenizer of the model, without special tokens. Where its tokens do not spell the text that it
    /// was given, as with tokenizers that normalise, they are not used.
    ///
    /// # Errors
    /// As [`Matcher::forced_tokens`], and when `encode` fails.
    pub fn forced_tokens_with<E>(
        &self,
        limit: usize,
        mut encode: impl FnMut(&str) -> Result<Vec<TokenId>, E>,
    ) -> Result<Vec<TokenId>, TokenizeError<E>> {
        let mut ahead = self.without_history();
        let mut forced = Vec::new();
        'more: while forced.len() < limit {
            let mut next = ahead.certain_tokens(limit - forced.len(), &mut encode)?;
            if next.is_empty() {
                next.extend(ahead.only_token()?);
            }
            if next.is_empty() {
                break;
            }
            next.truncate(limit - forced.len());
            for token in next {
                if !ahead.accept(token)? {
                    break 'more;
                }
                forced.push(token);
            }
        }
        Ok(forced)
    }

    /// The token that is alone in the mask, if it is not an end token.
    fn only_token(&self) -> Result<Option<TokenId>, GrammarError> {
        if self.is_finished() {
            return Ok(None);
        }
        let mask = match self.mask() {
            Ok(mask) => mask,
            Err(error) if error.code() == Code::DeadEnd => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut tokens = mask.iter();
        let (Some(only), None) = (tokens.next(), tokens.next()) else { return Ok(None) };
        Ok((!self.compiled().vocabulary().is_eos(only)).then_some(only))
    }

    /// The tokens of the forced text here that nothing after it can change.
    fn certain_tokens<E>(
        &self,
        limit: usize,
        encode: &mut impl FnMut(&str) -> Result<Vec<TokenId>, E>,
    ) -> Result<Vec<TokenId>, TokenizeError<E>> {
        let vocabulary = self.compiled().vocabulary();
        let longest = vocabulary.trie().max_depth();
        // One token more than asked for, because the last one is seldom certain.
        let run = self.forced_run(longest.saturating_mul(limit.saturating_add(1)).min(MOST_BYTES))?;
        let text = match std::str::from_utf8(&run.text) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&run.text[..error.valid_up_to()]).unwrap_or_default(),
        };
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let mut certain = encode(text).map_err(TokenizeError::Tokenizer)?;
        let mut rest = text.as_bytes();
        let spelled = certain.iter().position(|&token| {
            match vocabulary.token(token).and_then(|spelling| rest.strip_prefix(spelling)) {
                Some(after) => rest = after,
                None => return true,
            }
            false
        });
        certain.truncate(spelled.unwrap_or(certain.len()));
        let mut last_cut = None;
        for begin in text.len().saturating_sub(longest)..text.len() {
            if certain.is_empty() {
                break;
            }
            let cut = (0..=begin).rev().find(|&cut| text.is_char_boundary(cut)).unwrap_or(0);
            if last_cut == Some(cut) || !self.can_cross(&text.as_bytes()[begin..], run.sets[text.len()])? {
                continue;
            }
            last_cut = Some(cut);
            let other =
                if cut == 0 { Vec::new() } else { encode(&text[..cut]).map_err(TokenizeError::Tokenizer)? };
            let common = certain.iter().zip(&other).take_while(|(left, right)| left == right).count();
            certain.truncate(common);
        }
        Ok(certain)
    }

    /// Whether some token begins with `text` and goes on as texts can from `set`, to which `text` led.
    fn can_cross(&self, text: &[u8], set: SetId) -> Result<bool, GrammarError> {
        let (recognizer, trie) = (self.tables().recognizer(), self.compiled().vocabulary().trie());
        let Some(node) = trie.find(text) else { return Ok(false) };
        let first_depth = usize::from(trie.depth(node));
        let mut path = vec![set];
        let mut current = TrieNode(node.0 + 1);
        while current < trie.subtree_end(node) {
            let depth = usize::from(trie.depth(current)) - first_depth;
            let step = recognizer.step(path[depth - 1], trie.byte(current));
            match step.map_err(|limit| self.tables().limit_error(limit))? {
                Some(_) if !trie.tokens(current).is_empty() => return Ok(true),
                Some(next) => {
                    path.truncate(depth);
                    path.push(next);
                    current.0 += 1;
                }
                None => current = trie.subtree_end(current),
            }
        }
        Ok(false)
    }

    fn forced_run(&self, limit: usize) -> Result<ForcedRun, GrammarError> {
        let mut run = ForcedRun { text: Vec::new(), sets: vec![self.set()] };
        if self.is_finished() {
            return Ok(run);
        }
        let mut set = self.set();
        while run.text.len() < limit {
            let next = self.tables().forced_memo().next(self.tables(), set);
            let Some((byte, after)) = next.map_err(|limit| self.tables().limit_error(limit))? else {
                break;
            };
            set = after;
            run.text.push(byte);
            run.sets.push(set);
        }
        if !self.tables().recognizer().is_complete(set) {
            let before = self.tail();
            let end = [before.bytes(), &run.text[run.text.len().saturating_sub(3)..]].concat();
            run.text.truncate(run.text.len().saturating_sub(unfinished_character(&end)));
        }
        Ok(run)
    }
}

/// Forced text.
struct ForcedRun {
    text: Vec<u8>,
    /// The set after each number of bytes of the text; it may go on beyond it.
    sets: Vec<SetId>,
}

impl ForcedMemo {
    /// The only byte that can follow the text that led to `set`, and the set after it; `None` if the text can end
    /// there, if several bytes can follow or if a token can be read as a whole.
    fn next(&self, tables: &Tables, set: SetId) -> Result<Option<(u8, SetId)>, LimitExceeded> {
        if let Some(&known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&set) {
            return Ok(known);
        }
        let recognizer = tables.recognizer();
        let mut forced = None;
        if !recognizer.is_complete(set)
            && recognizer.token_matches(set)?.is_empty()
            && let Some(byte) = recognizer.only_byte(set)?
        {
            forced = recognizer.step(set, byte)?.map(|next| (byte, next));
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_SETS {
            known.insert(set, forced);
        }
        Ok(forced)
    }
}

/// How many bytes at the end of a text begin a character in UTF-8 and do not finish it.
fn unfinished_character(text: &[u8]) -> usize {
    for (length, &byte) in (1..=3).zip(text.iter().rev()) {
        let needed = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 0,
        };
        return if length < needed { length } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::unfinished_character;

    #[test]
    fn finds_unfinished_characters() {
        for text in ["", "a", "é", "你", "😀", "a你"] {
            assert_eq!(unfinished_character(text.as_bytes()), 0, "{text}");
            for length in 1..text.chars().last().map_or(0, char::len_utf8) {
                let keep = text.len() - text.chars().last().map_or(0, char::len_utf8) + length;
                assert_eq!(unfinished_character(&text.as_bytes()[..keep]), length, "{text} cut to {keep}");
            }
        }
        assert_eq!(unfinished_character(b"\x80\x80\x80\x80"), 0);
        assert_eq!(unfinished_character(b"a\xc0"), 0);
    }
}
