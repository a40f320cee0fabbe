//! Token spanner tables: for a configuration of the lexer, the terminals that each token emits and the configuration
//! where it ends.
//!
//! After K. Park, T. Zhou and L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (ICML 2025),
//! GreatGramma. The table of a configuration is a prefix tree over emitted terminals. A node has the tokens that emit
//! exactly the terminals on its path, grouped by their end configuration, as ranges of the sorted vocabulary; and for
//! each next terminal a branch with the positions in the token trie where the terminal is emitted.
//!
//! The tree is lazy: the trie below a branch is walked when the parser first accepts the terminal, in the lexer mode
//! of the resulting parser state. One tree thus serves all parser states, and sequences that no parser accepts are
//! never walked. A subtree of the trie whose bytes and characters are all self-loops of the configuration, such as the
//! inside of a string, is one range, except for tokens that end inside a character. The subtree below a first byte, and
//! every other large subtree, is a node of its own, shared by all nodes that reach it in the same configuration: after
//! `retu` and after `x` the tables differ only in tokens that begin with `r`.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::LexedGrammar;
use crate::definition::source::IndentationMeasure;
use crate::lexer::column_units::{ColumnUnits, UnitState};
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::line_columns::{Column, UnitEffect, WhiteSpaceId, WhiteSpaces};
use crate::masks::exit_nodes::ExitNodes;
use crate::masks::token_set_store::TokenCollector;
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenId, TokenSet, TokenTrie, TrieNode, WhichNodes};

id_type! {
    /// A node of a spanner table.
    SpannerNodeId
}

/// The minimum number of tokens that are stored as a bitset.
const MIN_BITSET_TOKENS: usize = 512;
/// The minimum size of a shared subtree, in trie nodes.
const MIN_SHARED_NODES: usize = 4;
/// A subtree with at least 1/256 of the trie's nodes is shared at any depth.
const SHARED_SUBTREE_DIVISOR: usize = 256;
/// The number of trie nodes between two checks of the deadline.
const NODES_PER_DEADLINE_CHECK: usize = 1 << 14;

/// The column after the last newline of a lexeme, tracked for lexemes that may become the newline terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LexemeColumn {
    /// This white space after the column of the lexeme before the token.
    After(WhiteSpaceId),
    /// An absolute column.
    At(Column),
}

/// A column, and the position inside the spelling of the last unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnState<C = LexemeColumn> {
    pub(crate) column: C,
    pub(crate) unit: UnitState,
}

impl ColumnState<Column> {
    /// Before the first byte of a lexeme.
    pub(crate) const BEFORE_LEXEME: Self = Self { column: Column::NoBreak, unit: UnitState::BOUNDARY };
    /// Of a lexeme without a column.
    pub(crate) const UNTRACKED: Self = Self { column: Column::UNTRACKED, unit: UnitState::BOUNDARY };

    fn in_lexeme(self) -> ColumnState {
        ColumnState { column: LexemeColumn::At(self.column), unit: self.unit }
    }
}

/// The columns of lexemes.
#[derive(Clone, Debug)]
pub(crate) struct ColumnTracker {
    /// The newline terminal, and how white space is measured.
    newline: Option<(TerminalId, IndentationMeasure)>,
    units: Arc<ColumnUnits>,
}

impl ColumnTracker {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let indentation = grammar.indentation.as_ref();
        Self {
            newline: indentation.map(|indentation| (indentation.newline, indentation.measure)),
            units: grammar.column_units.clone(),
        }
    }

    /// The column before the first byte of a lexeme.
    pub(crate) fn before_lexeme(&self) -> Column {
        if self.newline.is_some() { Column::NoBreak } else { Column::UNTRACKED }
    }

    /// The column after a byte, where the lexeme is in `configuration` after the byte.
    pub(crate) fn step(
        &self,
        lexer: &Lexer,
        configuration: ConfigurationId,
        from: ColumnState<Column>,
        byte: u8,
    ) -> ColumnState<Column> {
        let Some((unit, effect)) = self.unit(lexer, configuration, from.unit, byte) else {
            return ColumnState::UNTRACKED;
        };
        let column = match effect {
            UnitEffect::LineBreak => Column::LINE_START,
            UnitEffect::WhiteSpace(run) => from.column.after(run),
            UnitEffect::None => from.column,
        };
        ColumnState { column, unit }
    }

    /// As [`step`](Self::step) inside a token, with the white space of the token that precedes its first line break.
    fn step_in_token(
        &self,
        lexer: &Lexer,
        configuration: ConfigurationId,
        from: ColumnState,
        byte: u8,
        white_spaces: &mut WhiteSpaces,
    ) -> ColumnState {
        let before = match from.column {
            LexemeColumn::At(column) => {
                let from = ColumnState { column, unit: from.unit };
                return self.step(lexer, configuration, from, byte).in_lexeme();
            }
            LexemeColumn::After(before) => before,
        };
        let Some((unit, effect)) = self.unit(lexer, configuration, from.unit, byte) else {
            return ColumnState::UNTRACKED.in_lexeme();
        };
        let column = match effect {
            UnitEffect::LineBreak => LexemeColumn::At(Column::LINE_START),
            UnitEffect::WhiteSpace(run) => LexemeColumn::After(white_spaces.extended(before, run)),
            UnitEffect::None => from.column,
        };
        ColumnState { column, unit }
    }

    /// The position inside a unit after a byte, and the effect of the unit that it completes; `None` if the lexeme
    /// cannot become a newline.
    fn unit(
        &self,
        lexer: &Lexer,
        configuration: ConfigurationId,
        from: UnitState,
        byte: u8,
    ) -> Option<(UnitState, UnitEffect)> {
        let (newline, measure) = self.newline?;
        lexer.live(configuration).any(|terminal| terminal == newline).then(|| {
            let (unit, effect) = self.units.step(from, byte);
            (unit, UnitEffect::of(effect, measure))
        })
    }

    /// The column to record with an emitted terminal, if it is the newline.
    fn emitted(&self, terminal: TerminalId, column: LexemeColumn) -> LexemeColumn {
        match self.newline {
            Some((newline, _)) if newline == terminal => column,
            _ => LexemeColumn::At(Column::UNTRACKED),
        }
    }

    /// Whether the column of a lexeme in a configuration matters.
    pub(crate) fn is_tracked(&self, lexer: &Lexer, configuration: ConfigurationId) -> bool {
        self.newline.is_some_and(|(newline, _)| lexer.live(configuration).any(|terminal| terminal == newline))
    }
}

/// A set of tokens.
#[derive(Clone, Debug)]
pub(crate) enum SpannerTokens {
    /// Ranges of the trie's sorted tokens, for small sets.
    Ranges(Box<[(u32, u32)]>),
    /// A bitset, from [`MIN_BITSET_TOKENS`] tokens on.
    Set(TokenSet),
    /// Ranges of ids.
    Ids(Box<[(u32, u32)]>),
}

impl SpannerTokens {
    /// Adds the tokens to a mask.
    pub(crate) fn add_to(&self, mask: &mut TokenSet, trie: &TokenTrie) {
        match self {
            Self::Set(set) => mask.union_with(set),
            Self::Ranges(ranges) => {
                for &(start, end) in ranges {
                    mask.extend(trie.sorted_ids()[start as usize..end as usize].iter().copied());
                }
            }
            Self::Ids(ranges) => {
                for &(start, end) in ranges {
                    mask.extend((start..end).map(TokenId));
                }
            }
        }
    }

    /// Adds the tokens to a collector.
    pub(crate) fn collect(&self, collector: &mut TokenCollector, trie: &TokenTrie) {
        match self {
            Self::Set(set) => collector.add_set(set),
            Self::Ranges(ranges) => {
                for &(start, end) in ranges {
                    collector.add_tokens(trie.sorted_ids()[start as usize..end as usize].iter().copied());
                }
            }
            Self::Ids(ranges) => {
                for &(start, end) in ranges {
                    collector.add_tokens((start..end).map(TokenId));
                }
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Ranges(ranges) | Self::Ids(ranges) => size_of_val(&ranges[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }
}

/// Tokens that emit no further terminal and end in one configuration.
#[derive(Clone, Debug)]
pub(crate) struct SpannerEnd {
    pub(crate) configuration: ConfigurationId,
    pub(crate) tokens: SpannerTokens,
}

/// Exits at which a lexeme of a terminal ends the text.
#[derive(Clone, Debug)]
pub(crate) struct SpannerExit {
    pub(crate) terminal: TerminalId,
    pub(crate) column: LexemeColumn,
    pub(crate) exits: SpannerTokens,
}

/// The branch for a next terminal.
#[derive(Clone, Debug)]
pub(crate) struct SpannerBranch {
    pub(crate) terminal: TerminalId,
    pub(crate) column: LexemeColumn,
    /// The trie nodes whose byte emits the terminal, with the guards of the commit.
    commits: Box<[(TrieNode, GuardsId)]>,
    children: Vec<(LexModeId, SpannerNodeId)>,
}

#[derive(Clone, Debug)]
pub(crate) struct SpannerNode {
    pub(crate) ends: Box<[SpannerEnd]>,
    pub(crate) exits: Box<[SpannerExit]>,
    pub(crate) branches: Box<[SpannerBranch]>,
    /// Shared subtrees of the trie that are reached without emitting a terminal.
    pub(crate) links: Box<[TriePosition]>,
}

/// The spanner tables of a grammar for a vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct SpannerTable {
    nodes: Vec<SpannerNode>,
    /// The nodes of single positions.
    by_position: FxHashMap<TriePosition, SpannerNodeId>,
    /// The nodes of several positions.
    by_walk_start: FxHashMap<WalkStart, SpannerNodeId>,
    columns: ColumnTracker,
    white_spaces: WhiteSpaces,
    exits: Arc<ExitNodes>,
    vocabulary_size: usize,
    memory_bytes: usize,
}

/// The result of a walk along the trie, from which a node is made.
#[derive(Default)]
struct SpannerWalk {
    /// By configuration, the ranges of tokens that end in it.
    ends: FxHashMap<ConfigurationId, Vec<(u32, u32)>>,
    /// By emitted terminal and its column, where the next lexeme begins.
    branches: FxHashMap<(TerminalId, LexemeColumn), Vec<(TrieNode, GuardsId)>>,
    /// By emitted terminal and its column, the ranges of exits.
    exits: FxHashMap<(TerminalId, LexemeColumn), Vec<(u32, u32)>>,
    links: Vec<TriePosition>,
}

impl SpannerWalk {
    /// Adds a range of tokens that end in a configuration.
    fn end_in(&mut self, configuration: ConfigurationId, range: (u32, u32)) {
        if range.0 == range.1 {
            return;
        }
        let ranges = self.ends.entry(configuration).or_default();
        match ranges.last_mut() {
            Some(last) if last.1 == range.0 => last.1 = range.1,
            _ => ranges.push(range),
        }
    }
}

/// The positions that one node is computed from: those to walk, and shared ones to link to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WalkStart {
    positions: Box<[TriePosition]>,
    links: Box<[TriePosition]>,
}

/// A branch of a node, and the lexer mode of the lexeme after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpannerStep {
    pub(crate) node: SpannerNodeId,
    pub(crate) branch: usize,
    pub(crate) mode: LexModeId,
}

/// A position of a walk: the bytes on the path to `node` have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TriePosition {
    node: TrieNode,
    configuration: ConfigurationId,
    column: ColumnState,
}

impl TriePosition {
    /// The position before a token.
    pub(crate) fn before_token(configuration: ConfigurationId, unit: UnitState) -> Self {
        let column = ColumnState { column: LexemeColumn::After(WhiteSpaceId::EMPTY), unit };
        Self { node: TrieNode::ROOT, configuration, column }
    }

    /// Whether the subtree below is a node of its own.
    fn is_shared(&self, trie: &TokenTrie) -> bool {
        let nodes = trie.subtree_end(self.node).index() - self.node.index();
        let min_nodes =
            if trie.depth(self.node) == 1 { MIN_SHARED_NODES } else { trie.len() / SHARED_SUBTREE_DIVISOR };
        nodes >= min_nodes.max(MIN_SHARED_NODES)
    }
}

impl SpannerTable {
    /// Tables of the tokens and of exits, which are numbered from the size of the vocabulary on.
    pub(crate) fn new(columns: ColumnTracker, exits: Arc<ExitNodes>, vocabulary_size: usize) -> Self {
        Self {
            nodes: Vec::new(),
            by_position: FxHashMap::default(),
            by_walk_start: FxHashMap::default(),
            columns,
            white_spaces: WhiteSpaces::default(),
            vocabulary_size: vocabulary_size + exits.len(),
            exits,
            memory_bytes: 0,
        }
    }

    pub(crate) fn columns(&self) -> &ColumnTracker {
        &self.columns
    }

    pub(crate) fn get(&self, id: SpannerNodeId) -> &SpannerNode {
        &self.nodes[id.index()]
    }

    /// The absolute column of a lexeme, given the column `before` of the lexeme before the token.
    pub(crate) fn resolve(&self, column: LexemeColumn, before: Column) -> Column {
        match column {
            LexemeColumn::After(white_space) => self.white_spaces.column_after(before, white_space),
            LexemeColumn::At(column) => column,
        }
    }

    /// The node of a position.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn node_at(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        position: TriePosition,
        deadline: &Deadline,
    ) -> Result<SpannerNodeId, LimitExceeded> {
        if let Some(&cached) = self.by_position.get(&position) {
            return Ok(cached);
        }
        let id = self.walk(
            lexer,
            trie,
            WalkStart { positions: Box::new([position]), links: Box::default() },
            deadline,
        )?;
        self.by_position.insert(position, id);
        Ok(id)
    }

    /// The node after a branch.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn child(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        SpannerStep { node: parent, branch, mode }: SpannerStep,
        deadline: &Deadline,
    ) -> Result<SpannerNodeId, LimitExceeded> {
        let children = &self.nodes[parent.index()].branches[branch].children;
        if let Some(&(_, cached)) = children.iter().find(|&&(of, _)| of == mode) {
            return Ok(cached);
        }
        let commits = self.nodes[parent.index()].branches[branch].commits.clone();
        let (mut positions, mut links) = (Vec::with_capacity(commits.len()), Vec::new());
        for &(node, guards) in commits.iter().rev() {
            let byte = trie.byte(node);
            for configuration in lexer.enter(mode, byte, guards)? {
                if lexer.is_refused(configuration) {
                    continue;
                }
                let column = self.columns.step(lexer, configuration, ColumnState::BEFORE_LEXEME, byte);
                let position = TriePosition { node, configuration, column: column.in_lexeme() };
                if position.is_shared(trie) { links.push(position) } else { positions.push(position) }
            }
        }
        let start = WalkStart { positions: positions.into(), links: links.into() };
        let id = match self.by_walk_start.get(&start) {
            Some(&cached) => cached,
            None => {
                let id = self.walk(lexer, trie, start.clone(), deadline)?;
                self.memory_bytes += size_of_val(&start.positions[..]) + size_of_val(&start.links[..]);
                self.by_walk_start.insert(start, id);
                id
            }
        };
        self.nodes[parent.index()].branches[branch].children.push((mode, id));
        Ok(id)
    }

    /// Walks the trie below the start positions until terminals are emitted or links are reached. The walk is depth
    /// first; the last position comes first.
    fn walk(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        start: WalkStart,
        deadline: &Deadline,
    ) -> Result<SpannerNodeId, LimitExceeded> {
        let mut found = SpannerWalk { links: start.links.into_vec(), ..SpannerWalk::default() };
        let mut positions = start.positions.into_vec();
        let token_starts = trie.columns().token_starts;
        let mut visited = 0;
        while let Some(TriePosition { node, configuration, column }) = positions.pop() {
            visited += 1;
            if visited % NODES_PER_DEADLINE_CHECK == 0 {
                deadline.check()?;
            }
            let looping = self.looping_nodes(lexer, trie, node, configuration)?;
            let end = if looping.is_some() { trie.subtree_end(node) } else { TrieNode(node.0 + 1) };
            match looping {
                Some(WhichNodes::WholeCharacters) => {
                    self.take_characters(
                        lexer,
                        trie,
                        TriePosition { node, configuration, column },
                        &mut found,
                    )?;
                }
                _ => found.end_in(configuration, (token_starts[node.index()], token_starts[end.index()])),
            }
            if let Some(terminal) = self.last_terminal(lexer, configuration) {
                let range = self.exits.between(node, end);
                if range.0 < range.1 {
                    let key = (terminal, self.columns.emitted(terminal, column.column));
                    found.exits.entry(key).or_default().push(range);
                }
            }
            // Tokens that continue after the opening of a delimited terminal are read by its engine.
            if looping.is_some() || lexer.opened(configuration).is_some() {
                continue;
            }
            let first = positions.len();
            for child in trie.children(node) {
                let byte = trie.byte(child);
                let step = lexer.step(configuration, byte)?;
                if let (Some(guards), Some(terminal)) = (step.commit, lexer.label(configuration)) {
                    let key = (terminal, self.columns.emitted(terminal, column.column));
                    found.branches.entry(key).or_default().push((child, guards));
                }
                if let Some(next) = step.extended.filter(|&next| !lexer.is_refused(next)) {
                    let column =
                        self.columns.step_in_token(lexer, next, column, byte, &mut self.white_spaces);
                    let position = TriePosition { node: child, configuration: next, column };
                    let is_link =
                        position.is_shared(trie) && self.looping_nodes(lexer, trie, child, next)?.is_none();
                    if is_link { found.links.push(position) } else { positions.push(position) }
                }
            }
            positions[first..].reverse();
        }
        Ok(self.add_node(found, trie))
    }

    /// Takes the tokens of a subtree whose characters all lead back to the configuration of its position: those that end
    /// after a character end there, the others in configurations inside the character.
    fn take_characters(
        &self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        TriePosition { node, configuration, column }: TriePosition,
        found: &mut SpannerWalk,
    ) -> Result<(), LimitExceeded> {
        let token_starts = trie.columns().token_starts;
        let end = trie.subtree_end(node);
        let mut rest = token_starts[node.index()];
        // The nodes inside a character from its first byte on, by depth.
        let mut inside: Vec<(u16, ConfigurationId)> = Vec::new();
        let mut commit = None;
        for node in trie.nodes_inside_characters(node.index()..end.index()) {
            let (byte, depth) = (trie.byte(node), trie.depth(node));
            inside.retain(|&(above, _)| (0x80..0xc0).contains(&byte) && above < depth);
            let from = inside.last().map_or(configuration, |&(_, above)| above);
            let step = lexer.step(from, byte)?;
            if inside.is_empty() {
                commit = lexer.label(configuration).zip(step.commit.map(|guards| (node, guards)));
            }
            let Some(to) = step.extended else { continue };
            inside.push((depth, to));
            let range = (token_starts[node.index()], token_starts[node.index() + 1]);
            if range.0 == range.1 {
                continue;
            }
            found.end_in(configuration, (rest, range.0));
            found.end_in(to, range);
            rest = range.1;
            // A lexeme that ended before the character survives only in tokens that end inside it.
            if let Some((terminal, begun)) = commit.take() {
                let key = (terminal, self.columns.emitted(terminal, column.column));
                found.branches.entry(key).or_default().push(begun);
            }
        }
        found.end_in(configuration, (rest, token_starts[end.index()]));
        Ok(())
    }

    /// The nodes of a subtree at which a walk from `node` is in the same configuration: all, if all bytes below are
    /// self-loops, or those after whole characters, if all characters are. `None` if neither is so, or if the subtree is
    /// small.
    fn looping_nodes(
        &self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        node: TrieNode,
        configuration: ConfigurationId,
    ) -> Result<Option<WhichNodes>, LimitExceeded> {
        let Some(bytes) = trie.bytes_below(node) else { return Ok(None) };
        if self.columns.is_tracked(lexer, configuration) {
            return Ok(None);
        }
        if lexer.self_loops_on(configuration, bytes)? {
            return Ok(Some(WhichNodes::All));
        }
        let groups = trie.columns().groups_below[node.index()];
        let is_looping = !groups.is_broken()
            && lexer.opened(configuration).is_none()
            // Exits are inside characters too.
            && self.last_terminal(lexer, configuration).is_none()
            && groups.is_within(lexer.character_loops(configuration)?);
        Ok(is_looping.then_some(WhichNodes::WholeCharacters))
    }

    /// The terminal of the lexeme if it ended here and the text could end with it, provided that there are exits.
    fn last_terminal(&self, lexer: &Lexer, configuration: ConfigurationId) -> Option<TerminalId> {
        let terminal = lexer.label(configuration)?;
        (self.exits.len() > 0 && self.exits.is_last(terminal)).then_some(terminal)
    }

    /// Adds the node that a walk found.
    fn add_node(&mut self, walk: SpannerWalk, trie: &TokenTrie) -> SpannerNodeId {
        let SpannerWalk { ends, branches, exits, links } = walk;
        let mut ends: Vec<SpannerEnd> = ends
            .into_iter()
            .map(|(configuration, ranges)| SpannerEnd { configuration, tokens: self.tokens(ranges, trie) })
            .collect();
        ends.sort_unstable_by_key(|end| end.configuration);
        let mut branches: Vec<SpannerBranch> = branches
            .into_iter()
            .map(|((terminal, column), commits)| SpannerBranch {
                terminal,
                column,
                commits: commits.into(),
                children: Vec::new(),
            })
            .collect();
        branches.sort_unstable_by_key(|branch| (branch.terminal, branch.column));
        let mut exits: Vec<SpannerExit> = exits
            .into_iter()
            .map(|((terminal, column), ranges)| SpannerExit {
                terminal,
                column,
                exits: SpannerTokens::Ids(ranges.into()),
            })
            .collect();
        exits.sort_unstable_by_key(|exit| (exit.terminal, exit.column));
        self.memory_bytes += exits.iter().map(|exit| 48 + exit.exits.memory_bytes()).sum::<usize>();
        self.memory_bytes += ends.iter().map(|end| 48 + end.tokens.memory_bytes()).sum::<usize>()
            + branches.iter().map(|branch| 96 + size_of_val(&branch.commits[..])).sum::<usize>()
            + size_of_val(&links[..]);
        self.nodes.push(SpannerNode {
            ends: ends.into(),
            exits: exits.into(),
            branches: branches.into(),
            links: links.into(),
        });
        SpannerNodeId::new(self.nodes.len() - 1)
    }

    fn tokens(&self, ranges: Vec<(u32, u32)>, trie: &TokenTrie) -> SpannerTokens {
        let count: usize = ranges.iter().map(|&(start, end)| (end - start) as usize).sum();
        let tokens = SpannerTokens::Ranges(ranges.into());
        if count < MIN_BITSET_TOKENS {
            return tokens;
        }
        let mut set = TokenSet::new(self.vocabulary_size);
        tokens.add_to(&mut set, trie);
        SpannerTokens::Set(set)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
            + self.white_spaces.memory_bytes()
            + self.nodes.len() * size_of::<SpannerNode>()
            + self.by_position.capacity() * 32
            + self.by_walk_start.capacity() * 40
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::figure_1::{self, TOKENS};

    /// Figure 1 of the paper: the lexer states by a text that reaches them, with the terminals that each token emits.
    const FIGURE_1: [(&str, &str); 4] = [
        ("", "a:B,C ab:B ac:C aba:BB,BC"),
        ("a", "b:B c:C"),
        ("ab", "a:BB,BC b:B ab:BB ac:BC aba:BBB,BBC"),
        ("ac", "a:CB,CC c:C ab:CB ac:CC aba:CBB,CBC"),
    ];

    #[test]
    fn reproduces_figure_1() {
        let prepared = figure_1::grammar();
        let (mut lexer, open_terminals) = prepared.lexer_and_open_terminals();
        let vocabulary = figure_1::vocabulary();
        let deadline = Deadline::after(Duration::from_secs(60));
        let mode = LexModeId::new(0);
        let columns = ColumnTracker { newline: None, units: Arc::default() };
        let mut spanners = SpannerTable::new(columns, Arc::default(), vocabulary.size());
        for (text, expected) in FIGURE_1 {
            let mut configuration = lexer.starts(mode).expect("no limit")[0];
            for byte in text.bytes() {
                let step = lexer.step(configuration, byte).expect("no limit");
                configuration = step.extended.expect("the text is a beginning of a lexeme");
            }
            let root = spanners
                .node_at(
                    &mut lexer,
                    vocabulary.trie(),
                    TriePosition::before_token(configuration, UnitState::BOUNDARY),
                    &deadline,
                )
                .expect("no limit");
            let mut table: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            let mut pending = vec![(root, String::new())];
            while let Some((node, emitted)) = pending.pop() {
                for position in spanners.get(node).links.clone() {
                    let link = spanners
                        .node_at(&mut lexer, vocabulary.trie(), position, &deadline)
                        .expect("no limit");
                    pending.push((link, emitted.clone()));
                }
                for end in spanners.get(node).ends.clone() {
                    let mut of_end = TokenSet::new(vocabulary.size());
                    end.tokens.add_to(&mut of_end, vocabulary.trie());
                    for token in &of_end {
                        let open = open_terminals.of(end.configuration, mode).expect("texts lead there");
                        for terminal in open_terminals.get(open).outside.iter() {
                            let name = prepared.grammar.terminal_name(terminal);
                            table.entry(token.index()).or_default().push(format!("{emitted}{name}"));
                        }
                    }
                }
                for index in 0..spanners.get(node).branches.len() {
                    let terminal = spanners.get(node).branches[index].terminal;
                    let child = spanners
                        .child(
                            &mut lexer,
                            vocabulary.trie(),
                            SpannerStep { node, branch: index, mode },
                            &deadline,
                        )
                        .expect("no limit");
                    pending.push((child, format!("{emitted}{}", prepared.grammar.terminal_name(terminal))));
                }
            }
            let rows = table.into_iter().map(|(token, mut sequences)| {
                sequences.sort();
                format!("{}:{}", TOKENS[token], sequences.join(","))
            });
            assert_eq!(rows.collect::<Vec<_>>().join(" "), expected, "after {text:?}");
        }
    }
}
