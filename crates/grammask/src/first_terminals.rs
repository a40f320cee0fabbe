//! The legal tokens by the terminals with which they begin, for people who look at a grammar.

use crate::Matcher;
use grammask_diagnostics::GrammarError;
use grammask_engine::Expectation;
use grammask_vocabulary::TokenId;

/// Legal tokens that begin with one terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalTokens {
    /// The terminal; `None` for tokens that begin with no terminal: end tokens, and those that the grammar names.
    pub terminal: Option<Expectation>,
    /// The number of tokens.
    pub count: usize,
    /// The first of them.
    pub tokens: Vec<TokenId>,
}

impl Matcher {
    /// The legal tokens by the terminals with which they begin, at most `limit` tokens of each. A token is counted at each
    /// terminal with which a reading of it can begin, so the counts may add up to more than the mask has.
    ///
    /// Cost: a step of the automaton per terminal and byte of the legal tokens.
    ///
    /// # Errors
    /// As of [`Matcher::mask`].
    pub fn tokens_by_terminal(&self, limit: usize) -> Result<Vec<TerminalTokens>, GrammarError> {
        let mask = self.mask()?;
        let vocabulary = self.compiled().vocabulary();
        let (tokens, texts): (Vec<TokenId>, Vec<&[u8]>) =
            mask.iter().filter_map(|id| Some((id, vocabulary.token(id)?))).unzip();
        let engine = self.cache().engine();
        let found = if self.is_finished() {
            Default::default()
        } else {
            engine.first_terminals(self.set(), &texts).map_err(|limit| self.cache().limit_error(limit))?
        };
        let of_terminal = |terminal| TerminalTokens { terminal, count: 0, tokens: Vec::new() };
        let mut groups: Vec<TerminalTokens> =
            found.terminals.into_iter().map(Some).map(of_terminal).collect();
        let others = groups.len();
        groups.push(of_terminal(None));
        let mut add = |group: usize, token| {
            groups[group].count += 1;
            if groups[group].tokens.len() < limit {
                groups[group].tokens.push(token);
            }
        };
        for (&token, terminals) in tokens.iter().zip(&found.of_text) {
            terminals.iter().for_each(|&terminal| add(terminal as usize, token));
            if terminals.is_empty() {
                add(others, token);
            }
        }
        mask.iter().filter(|&id| vocabulary.token(id).is_none()).for_each(|id| add(others, id));
        groups.retain(|group| group.count > 0);
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        Ok(groups)
    }
}
