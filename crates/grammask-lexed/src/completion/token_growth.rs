//! How much the completion of a parser stack grows by each token of a vocabulary.
//!
//! The lexemes that end in a token pay for the steps of the plan that complete them
//! ([`LexemeGrowth`](crate::completion::plan_costs::LexemeGrowth)). The token may begin inside a lexeme, so a lexeme may
//! begin at each of its bytes. The lexer reads from all of these positions together, in all modes: its sets of
//! configurations are the states of an automaton, whose steps have the weight of the heaviest lexeme that can end there.
//! Guards only exclude lexemes, so none are needed. Mostly brackets have weights, so lexemes that can only become terminals
//! without a weight are left out, and there are few sets. The columns of blocks that the token begins are at most those of
//! all of its bytes.

use rustc_hash::FxHashMap;

use crate::completion::plan_costs::LexemeGrowth;
use crate::completion::separable_lexemes::ColumnCosts;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::prepared::PreparedGrammar;
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{TokenGrowth, TokenGrowths};
use grammask_vocabulary::{TrieNode, Vocabulary};

id_type! {
    /// A set of open lexemes.
    OpenLexemesId
}

/// What the columns of blocks that a token begins cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenColumns {
    pub(crate) costs: ColumnCosts,
    /// The maximum number of newlines of a block.
    pub(crate) newlines: u64,
}

/// The automaton of the lexemes that begin at each byte of a text, and can become a terminal with a weight.
struct LexemesAnywhere<'a> {
    lexer: &'a mut Lexer,
    modes: usize,
    /// By terminal.
    weights: Vec<u32>,
    sets: Vec<Box<[ConfigurationId]>>,
    ids: FxHashMap<Box<[ConfigurationId]>, OpenLexemesId>,
    /// By byte class, the lexemes that begin with the byte in any mode; `None` until they are needed.
    begun: Vec<Option<Box<[ConfigurationId]>>>,
    /// For each set a row with a cell per byte class: the set after the byte, and the weight of the heaviest lexeme that
    /// ends before it; `None` until it is needed.
    steps: Vec<Option<(OpenLexemesId, u32)>>,
}

/// The growths of all tokens.
///
/// Cost: a step of the automaton for each node of the trie.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn token_growths(
    prepared: &PreparedGrammar,
    lexer: &mut Lexer,
    growth: &LexemeGrowth,
    columns: TokenColumns,
    vocabulary: &Vocabulary,
    deadline: &Deadline,
) -> Result<TokenGrowths, LimitExceeded> {
    let grammar = &prepared.grammar;
    let mut lexemes = LexemesAnywhere::new(prepared, lexer, growth);
    let columns_of_byte: Vec<u32> = match &grammar.indentation {
        Some(indentation) => {
            let tab_length = indentation.measure.max_tab_length();
            (0..=u8::MAX).map(|byte| grammar.column_units.max_columns(byte, tab_length)).collect()
        }
        None => vec![0; 256],
    };
    let trie = vocabulary.trie();
    let mut growths = Vec::new();
    // After each prefix of the text of a node: the open lexemes, the weight of those that ended, and the columns.
    let mut path: Vec<(OpenLexemesId, u32, u32)> = vec![(lexemes.none(), 0, 0)];
    for node in (1..trie.len() as u32).map(TrieNode) {
        let depth = usize::from(trie.depth(node));
        path.truncate(depth);
        let (open, ended, white_space) = path[depth - 1];
        let byte = trie.byte(node);
        let (open, weight) = match lexemes.known(open, byte) {
            Some(known) => known,
            None => {
                deadline.check()?;
                lexemes.compute(open, byte)?
            }
        };
        let ended = ended.saturating_add(weight);
        let white_space = white_space.saturating_add(columns_of_byte[usize::from(byte)]);
        path.push((open, ended, white_space));
        let of_columns = columns.newlines.saturating_mul(columns.costs.steps(white_space));
        let bytes = u32::try_from(u64::from(ended).saturating_add(of_columns)).unwrap_or(u32::MAX);
        if bytes == 0 {
            continue;
        }
        growths.extend(trie.tokens(node).iter().map(|&token| TokenGrowth { token, bytes }));
    }
    Ok(TokenGrowths::new(growths))
}

impl<'a> LexemesAnywhere<'a> {
    fn new(prepared: &PreparedGrammar, lexer: &'a mut Lexer, growth: &LexemeGrowth) -> Self {
        let mut weights = vec![0; prepared.grammar.terminals.len()];
        for &(terminal, weight) in &growth.weights {
            weights[terminal.index()] = weight;
        }
        let classes = lexer.byte_of_class().len();
        Self {
            lexer,
            modes: prepared.lex_modes.terminals.len(),
            weights,
            sets: Vec::new(),
            ids: FxHashMap::default(),
            begun: vec![None; classes],
            steps: Vec::new(),
        }
    }

    /// Before the first byte.
    fn none(&mut self) -> OpenLexemesId {
        self.intern(Vec::new())
    }

    /// The index of a step, and the class of its byte.
    fn cell(&self, open: OpenLexemesId, byte: u8) -> (usize, usize) {
        let class = usize::from(self.lexer.class_of_byte()[usize::from(byte)]);
        (open.index() * self.begun.len() + class, class)
    }

    fn known(&self, open: OpenLexemesId, byte: u8) -> Option<(OpenLexemesId, u32)> {
        self.steps[self.cell(open, byte).0]
    }

    fn compute(&mut self, open: OpenLexemesId, byte: u8) -> Result<(OpenLexemesId, u32), LimitExceeded> {
        let (cell, class) = self.cell(open, byte);
        let mut next = Vec::new();
        let mut heaviest = 0;
        for configuration in self.sets[open.index()].clone() {
            let step = self.lexer.step(configuration, byte)?;
            next.extend(step.extended.filter(|&extended| self.has_weight(extended)));
            if let (Some(_), Some(terminal)) = (step.commit, self.lexer.label(configuration)) {
                heaviest = self.weights[terminal.index()].max(heaviest);
            }
        }
        match &self.begun[class] {
            Some(begun) => next.extend_from_slice(begun),
            None => {
                let mut begun = Vec::new();
                for mode in (0..self.modes).map(LexModeId::new) {
                    begun.extend(self.lexer.enter(mode, byte, GuardsId::NONE)?);
                }
                begun.sort_unstable();
                begun.dedup();
                begun.retain(|&configuration| self.has_weight(configuration));
                next.extend_from_slice(&begun);
                self.begun[class] = Some(begun.into());
            }
        }
        next.sort_unstable();
        next.dedup();
        let step = (self.intern(next), heaviest);
        self.steps[cell] = Some(step);
        Ok(step)
    }

    /// Whether the lexeme can become a terminal with a weight.
    fn has_weight(&self, configuration: ConfigurationId) -> bool {
        self.lexer.live(configuration).any(|terminal| self.weights[terminal.index()] > 0)
    }

    fn intern(&mut self, set: Vec<ConfigurationId>) -> OpenLexemesId {
        let set: Box<[ConfigurationId]> = set.into();
        if let Some(&known) = self.ids.get(&set) {
            return known;
        }
        let id = OpenLexemesId::new(self.sets.len());
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        self.steps.resize(self.sets.len() * self.begun.len(), None);
        id
    }
}
