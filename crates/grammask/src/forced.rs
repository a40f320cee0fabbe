//! Forced text: the bytes that every continuation has in common, and the tokens that spell them.
//!
//! It is separate from masks, which never prefer one legal token to another. Forced text has many spellings, and the
//! right one is that of the model's tokenizer, because the model was trained on it.
//!
//! Tokenizing the forced text F alone is not enough, since the text after F may change the split of its end. Consider
//! the tokens of F with any continuation: either a boundary is at the end of F, or one token crosses it. If that token
//! begins at position p of F, the tokens before it are those of F[..p] (in byte pair encoding, tokens before a boundary
//! do not depend on the text after it). So the stable tokens are the longest common prefix of the tokens of F and those
//! of F[..p], for all p from which the grammar lets a token of the vocabulary cross the end of F.

use std::sync::PoisonError;

use crate::{GrammarCache, Matcher};
use grammask_diagnostics::{Code, GrammarError, LimitExceeded};
use grammask_engine::SetId;
use grammask_vocabulary::{TokenId, TrieNode};

/// Maximum number of states whose forced byte a grammar caches.
const MAX_CACHED_STATES: usize = 1 << 18;
/// Maximum length of the text in one call of a tokenizer, in bytes.
const MAX_TOKENIZED_BYTES: usize = 4096;

/// The error of [`Matcher::forced_tokens_with`].
#[derive(Clone, Debug)]
pub enum TokenizeError<E> {
    /// An error of the grammar, such as an exceeded limit.
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
    /// The forced bytes: those with which every continuation begins, at most `limit`. Empty if the text is complete.
    ///
    /// They end at the boundary of a character, unless the grammar admits texts that end inside one.
    ///
    /// Cost: a lookup per byte whose state is cached.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn forced_bytes(&self, limit: usize) -> Result<Vec<u8>, GrammarError> {
        Ok(self.forced_run(limit)?.text)
    }

    /// The forced tokens, at most `limit`: they continue while the mask has a single token that is not an end token.
    ///
    /// # Errors
    /// As [`Matcher::mask`]; a dead end is not an error and ends the list.
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

    /// As [`Matcher::forced_tokens`], with the tokens into which `encode` splits forced text, as far as they are
    /// stable: no continuation changes them. At most `limit` tokens, which are legal one after the other.
    ///
    /// `encode` is the tokenizer of the model, without special tokens. Tokens that do not spell their input, as those
    /// of a tokenizer that normalises text, are ignored.
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
            let mut next = ahead.stable_tokens(limit - forced.len(), &mut encode)?;
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

    /// The only token of the mask, if it has a single one and that is not an end token.
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

    /// The stable tokens of the forced text.
    fn stable_tokens<E>(
        &self,
        limit: usize,
        encode: &mut impl FnMut(&str) -> Result<Vec<TokenId>, E>,
    ) -> Result<Vec<TokenId>, TokenizeError<E>> {
        let vocabulary = self.compiled().vocabulary();
        let longest = vocabulary.trie().max_depth();
        // The text of one token more than requested, because the last one is seldom stable.
        let run =
            self.forced_run(longest.saturating_mul(limit.saturating_add(1)).min(MAX_TOKENIZED_BYTES))?;
        let text = match std::str::from_utf8(&run.text) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&run.text[..error.valid_up_to()]).unwrap_or_default(),
        };
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let mut stable = encode(text).map_err(TokenizeError::Tokenizer)?;
        let mut remaining = text.as_bytes();
        let misspelled = stable.iter().position(|&token| {
            match vocabulary.token(token).and_then(|spelling| remaining.strip_prefix(spelling)) {
                Some(after) => remaining = after,
                None => return true,
            }
            false
        });
        stable.truncate(misspelled.unwrap_or(stable.len()));
        let mut last_cut = None;
        for begin in text.len().saturating_sub(longest)..text.len() {
            if stable.is_empty() {
                break;
            }
            let cut = (0..=begin).rev().find(|&cut| text.is_char_boundary(cut)).unwrap_or(0);
            if last_cut == Some(cut) || !self.can_cross(&text.as_bytes()[begin..], run.sets[text.len()])? {
                continue;
            }
            last_cut = Some(cut);
            let other =
                if cut == 0 { Vec::new() } else { encode(&text[..cut]).map_err(TokenizeError::Tokenizer)? };
            let common = stable.iter().zip(&other).take_while(|(left, right)| left == right).count();
            stable.truncate(common);
        }
        Ok(stable)
    }

    /// Whether some token begins with `text` and continues with a viable prefix from `set`, the state after `text`.
    fn can_cross(&self, text: &[u8], set: SetId) -> Result<bool, GrammarError> {
        let (engine, trie) = (self.cache().engine(), self.compiled().vocabulary().trie());
        let Some(node) = trie.find(text) else { return Ok(false) };
        let first_depth = usize::from(trie.depth(node));
        let mut path = vec![set];
        let mut current = TrieNode(node.0 + 1);
        while current < trie.subtree_end(node) {
            let depth = usize::from(trie.depth(current)) - first_depth;
            let step = engine.step(path[depth - 1], trie.byte(current));
            match step.map_err(|limit| self.cache().limit_error(limit))? {
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
            let next = self.cache().forced_byte(set);
            let Some((byte, after)) = next.map_err(|limit| self.cache().limit_error(limit))? else {
                break;
            };
            set = after;
            run.text.push(byte);
            run.sets.push(set);
        }
        if !self.cache().engine().is_complete(set) {
            let before = self.tail();
            let end = [before.bytes(), &run.text[run.text.len().saturating_sub(3)..]].concat();
            run.text.truncate(run.text.len().saturating_sub(incomplete_character_len(&end)));
        }
        Ok(run)
    }
}

/// Forced text with the states along it.
struct ForcedRun {
    text: Vec<u8>,
    /// The state after each number of bytes; it may have entries beyond the text, which ends with a whole character.
    sets: Vec<SetId>,
}

impl GrammarCache {
    /// The only byte that can follow in a state, and the state after it; `None` if the text is complete, if several
    /// bytes can follow, or if a token terminal comes next. Memoised: a hit takes a shared lock for one lookup.
    fn forced_byte(&self, set: SetId) -> Result<Option<(u8, SetId)>, LimitExceeded> {
        let cached = self.forced_bytes().read().unwrap_or_else(PoisonError::into_inner).get(&set).copied();
        if let Some(forced) = cached {
            return Ok(forced);
        }
        let engine = self.engine();
        let mut forced = None;
        if !engine.is_complete(set)
            && engine.token_matches(set)?.is_empty()
            && let Some(byte) = engine.only_byte(set)?
        {
            forced = engine.step(set, byte)?.map(|next| (byte, next));
        }
        let mut cache = self.forced_bytes().write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() < MAX_CACHED_STATES {
            cache.insert(set, forced);
        }
        Ok(forced)
    }
}

/// Length of the incomplete UTF-8 character at the end of a text, in bytes.
fn incomplete_character_len(text: &[u8]) -> usize {
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
    use super::incomplete_character_len;

    #[test]
    fn measures_incomplete_characters() {
        for text in ["", "a", "é", "你", "😀", "a你"] {
            assert_eq!(incomplete_character_len(text.as_bytes()), 0, "{text}");
            for length in 1..text.chars().last().map_or(0, char::len_utf8) {
                let keep = text.len() - text.chars().last().map_or(0, char::len_utf8) + length;
                assert_eq!(
                    incomplete_character_len(&text.as_bytes()[..keep]),
                    length,
                    "{text} cut to {keep}"
                );
            }
        }
        assert_eq!(incomplete_character_len(b"\x80\x80\x80\x80"), 0);
        assert_eq!(incomplete_character_len(b"a\xc0"), 0);
    }
}
