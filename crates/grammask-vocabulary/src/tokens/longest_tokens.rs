//! A tokenizer that needs nothing but the vocabulary: the longest token at each position.

use crate::{TokenId, TrieNode, Vocabulary};

impl Vocabulary {
    /// The tokens of `text`, from left to right the longest that fits, the one with the smallest id among equal ones;
    /// `Err` holds the position where none fits. The tokenizer of a model may cut the text otherwise.
    ///
    /// ```
    /// use grammask_vocabulary::{TokenId, TokenTexts, Vocabulary};
    ///
    /// let tokens: TokenTexts = [Some("a"), Some("b"), Some("ab")].into_iter().collect();
    /// let vocabulary = Vocabulary::new(tokens, vec![], vec![], None)?;
    /// assert_eq!(vocabulary.longest_tokens(b"aab"), Ok(vec![TokenId(0), TokenId(2)]));
    /// assert_eq!(vocabulary.longest_tokens(b"abc"), Err(2));
    /// # Ok::<(), grammask_vocabulary::VocabularyError>(())
    /// ```
    ///
    /// # Errors
    /// The position of the first byte that no token begins with.
    pub fn longest_tokens(&self, text: &[u8]) -> Result<Vec<TokenId>, usize> {
        let trie = self.trie();
        let (mut tokens, mut position) = (Vec::new(), 0);
        while position < text.len() {
            let (mut node, mut longest) = (TrieNode::ROOT, None);
            for (length, &byte) in text[position..].iter().enumerate() {
                let Some(child) = trie.child(node, byte) else { break };
                node = child;
                longest = trie.tokens(node).first().map(|&id| (id, length + 1)).or(longest);
            }
            let (id, length) = longest.ok_or(position)?;
            tokens.push(id);
            position += length;
        }
        Ok(tokens)
    }
}
