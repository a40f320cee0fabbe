//! The tokens with which a spelling of a shortest completion begins.
//!
//! A shortest completion consists of bytes that are tokens by themselves, so it can always be spelled. After each token
//! the completion of the new state is used, so a spelling follows what the engine reads.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_vocabulary::{TokenId, TrieNode, Vocabulary};

use crate::{CompletionStep, Engine, SetId, TokenEvent};

/// A token with which a spelling of a completion begins, and the state after it.
#[derive(Clone, Copy, Debug)]
pub struct FirstToken {
    /// The token.
    pub token: TokenId,
    /// The state after it.
    pub next: SetId,
    /// Length of the completion of that state, less than that of the state before.
    pub rest: u32,
}

impl FirstToken {
    /// The token that leaves the shortest rest.
    ///
    /// The state after several tokens depends on their boundaries if the grammar names or counts tokens, and there may
    /// be exponentially many. Then only this token is considered.
    #[must_use]
    pub fn of_shortest_rest(tokens: &[Self]) -> Option<Self> {
        tokens.iter().copied().min_by_key(|first| (first.rest, first.token))
    }
}

/// The tokens with which a spelling of a state's completion begins, shorter ones first. A token is left out if the
/// completion after it is not shorter, which bounds the number of tokens of a spelling.
///
/// # Errors
/// When a limit is exceeded.
pub fn first_tokens(
    engine: &dyn Engine,
    vocabulary: &Vocabulary,
    set: SetId,
    deadline: &Deadline,
) -> Result<Vec<FirstToken>, LimitExceeded> {
    let trie = vocabulary.trie();
    let completion_of = |set| engine.shortest_completion(set, vocabulary, deadline);
    let mut first_tokens = Vec::new();
    let Some(completion) = completion_of(set)? else { return Ok(first_tokens) };
    let mut add = |token, next: Option<SetId>| -> Result<(), LimitExceeded> {
        if let Some(next) = next
            && let Some(rest) = completion_of(next)?
            && rest.length < completion.length
        {
            first_tokens.push(FirstToken { token, next, rest: rest.length });
        }
        Ok(())
    };
    let read = |token| {
        let text = vocabulary.token(token);
        engine.read_token(set, TokenEvent { id: token, has_text: text.is_some() }, text, deadline)
    };
    // Tokens with the same text differ only to token terminals.
    let names_tokens = !engine.token_matches(set)?.is_empty();
    let (mut here, mut step, mut node) = (set, completion.first, TrieNode::ROOT);
    while let Some(next_step) = step {
        let byte = match next_step {
            CompletionStep::Byte(byte) => byte,
            CompletionStep::Token(token) => {
                if here == set && node == TrieNode::ROOT {
                    add(token, read(token)?)?;
                }
                break;
            }
        };
        let (Some(child), Some(next)) = (trie.child(node, byte), engine.step(here, byte)?) else { break };
        (node, here) = (child, next);
        let tokens = trie.tokens(node);
        if names_tokens {
            for &token in tokens {
                add(token, read(token)?)?;
            }
        } else if let Some(&token) = tokens.first() {
            add(token, engine.end_token(here)?)?;
        }
        if !trie.has_children(node) {
            break;
        }
        step = completion_of(here)?.and_then(|rest| rest.first);
    }
    Ok(first_tokens)
}
