//! Token spanner tables: for a configuration of the lexer, which tokens emit which terminals and where they end.
//!
//! After K. Park, T. Zhou and L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (2025). The table of
//! a configuration is a prefix tree of the terminals that tokens emit. A node holds the tokens that emit just these
//! and nothing more, grouped by the configuration where they end, as ranges of the sorted tokens; and for each next
//! terminal a branch with the places in the token trie where that terminal is emitted.
//!
//! The tree grows as it is used: what is behind a branch is walked when a parser takes the terminal for the first
//! time, in the class of terminals that the parser expects then. So one tree serves all states of the parser, and what
//! the parser never takes is never walked. A subtree of the trie in which all bytes leave the configuration as it is,
//! such as the inside of a string, is one range. What is below the first byte of a token, and other large subtrees, are
//! nodes of their own, which all nodes share that come there in the same configuration: after `retu` and after `x` the
//! tokens differ in those that begin with `r` only.

use rustc_hash::FxHashMap;

use crate::definition::grammar::LexedGrammar;
use crate::lexer::lexer_automaton::{ClassId, ConfigurationId, GuardsId, Lexer};
use crate::masks::token_set_store::Collector;
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenSet, TokenTrie, TrieNode};

id_type! {
    /// A node of a spanner table.
    SpannerId
}

/// Tokens above which a group keeps them as a bitset.
const MANY_TOKENS: usize = 512;
/// Nodes of a shared subtree at the least.
const LEAST_NODES: usize = 4;
/// A subtree with at least this part of the trie's nodes is shared wherever it is.
const SMALLEST_PART: usize = 256;
/// Nodes of the trie between two looks at the clock.
const NODES_PER_LOOK: usize = 1 << 14;

/// The column after the last newline of a lexeme. Kept for lexemes that may become the terminal for newlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Column {
    /// So many columns after that of the lexeme's part before the token.
    After(u32),
    /// This one.
    At(u32),
}

impl Column {
    /// Of a lexeme without a line break so far.
    pub(crate) const NO_BREAK: u32 = u32::MAX;

    /// The column where the lexeme's part before the token ended in column `before`.
    pub(crate) fn resolve(self, before: u32) -> u32 {
        match self {
            Self::After(_) if before == Self::NO_BREAK => before,
            Self::After(more) => Self::add(before, more),
            Self::At(column) => column,
        }
    }

    fn add(column: u32, more: u32) -> u32 {
        column.saturating_add(more).min(Self::NO_BREAK - 1)
    }
}

/// How bytes move the column.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    newline: Option<(TerminalId, u32)>,
}

impl Columns {
    pub(crate) fn of(grammar: &LexedGrammar) -> Self {
        let indentation = grammar.indentation.as_ref();
        Self { newline: indentation.map(|indentation| (indentation.newline, indentation.tab_length)) }
    }

    /// The column after a byte, in a lexeme that is in `configuration` after it.
    pub(crate) fn step(
        self,
        lexer: &Lexer,
        configuration: ConfigurationId,
        column: Column,
        byte: u8,
    ) -> Column {
        let Some((newline, tab_length)) = self.newline else { return Column::At(0) };
        if !lexer.live(configuration).any(|terminal| terminal == newline) {
            return Column::At(0);
        }
        let more = match byte {
            b'\n' => return Column::At(0),
            b' ' => 1,
            b'\t' => tab_length,
            _ => 0,
        };
        match column {
            Column::At(Column::NO_BREAK) => column,
            Column::After(columns) => Column::After(Column::add(columns, more)),
            Column::At(columns) => Column::At(Column::add(columns, more)),
        }
    }

    /// The column that is emitted with a terminal.
    fn emitted(self, terminal: TerminalId, column: Column) -> Column {
        match self.newline {
            Some((newline, _)) if newline == terminal => column,
            _ => Column::At(0),
        }
    }

    fn are_tracked(self, lexer: &Lexer, configuration: ConfigurationId) -> bool {
        self.newline.is_some_and(|(newline, _)| lexer.live(configuration).any(|terminal| terminal == newline))
    }
}

/// Some tokens.
#[derive(Clone, Debug)]
pub(crate) enum Tokens {
    /// Ranges of the trie's sorted tokens.
    Ranges(Box<[(u32, u32)]>),
    /// Many.
    Set(TokenSet),
}

impl Tokens {
    /// Adds the tokens to a mask.
    pub(crate) fn add_to(&self, mask: &mut TokenSet, trie: &TokenTrie) {
        match self {
            Self::Set(set) => mask.union_with(set),
            Self::Ranges(ranges) => {
                for &(start, end) in ranges {
                    mask.extend(trie.sorted_ids()[start as usize..end as usize].iter().copied());
                }
            }
        }
    }

    /// Adds the tokens to what is collected.
    pub(crate) fn collect(&self, collector: &mut Collector, trie: &TokenTrie) {
        match self {
            Self::Set(set) => collector.add_set(set),
            Self::Ranges(ranges) => {
                for &(start, end) in ranges {
                    collector.add_tokens(&trie.sorted_ids()[start as usize..end as usize]);
                }
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Ranges(ranges) => size_of_val(&ranges[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }
}

/// Tokens that emit nothing more.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) configuration: ConfigurationId,
    pub(crate) tokens: Tokens,
}

/// A next terminal of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) terminal: TerminalId,
    pub(crate) column: Column,
    /// The nodes over whose byte the terminal is emitted, and the guards behind it.
    points: Box<[(TrieNode, GuardsId)]>,
    children: Vec<(ClassId, SpannerId)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Spanner {
    pub(crate) ends: Box<[End]>,
    pub(crate) branches: Box<[Branch]>,
    /// Large subtrees of the trie that are entered without emitting anything.
    pub(crate) links: Box<[Place]>,
}

/// The spanner tables of a grammar on a vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct Spanners {
    nodes: Vec<Spanner>,
    /// The nodes of places.
    shared: FxHashMap<Place, SpannerId>,
    /// The nodes of several places.
    together: FxHashMap<Places, SpannerId>,
    columns: Columns,
    vocabulary_size: usize,
    memory_bytes: usize,
}

/// Places that are walked together, and those that are linked to.
type Places = (Box<[Place]>, Box<[Place]>);

/// A place of a walk: the text of `node` was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    node: TrieNode,
    configuration: ConfigurationId,
    column: Column,
}

impl Place {
    /// Before a token.
    pub(crate) fn before_token(configuration: ConfigurationId) -> Self {
        Self { node: TrieNode::ROOT, configuration, column: Column::After(0) }
    }

    /// Whether what is below is worth a node of its own.
    fn is_shared(&self, trie: &TokenTrie) -> bool {
        let nodes = trie.subtree_end(self.node).index() - self.node.index();
        let least = if trie.depth(self.node) == 1 { LEAST_NODES } else { trie.len() / SMALLEST_PART };
        nodes >= least.max(LEAST_NODES)
    }
}

impl Spanners {
    pub(crate) fn new(columns: Columns, vocabulary_size: usize) -> Self {
        Self {
            nodes: Vec::new(),
            shared: FxHashMap::default(),
            together: FxHashMap::default(),
            columns,
            vocabulary_size,
            memory_bytes: 0,
        }
    }

    pub(crate) fn get(&self, id: SpannerId) -> &Spanner {
        &self.nodes[id.index()]
    }

    /// The node of a place.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn at(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        place: Place,
        deadline: &Deadline,
    ) -> Result<SpannerId, LimitExceeded> {
        if let Some(&known) = self.shared.get(&place) {
            return Ok(known);
        }
        let id = self.walk(lexer, trie, (vec![place], Vec::new()), deadline)?;
        self.shared.insert(place, id);
        Ok(id)
    }

    /// What comes after a branch of a node, where the next lexeme begins in a class.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn child(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        (parent, branch, class): (SpannerId, usize, ClassId),
        deadline: &Deadline,
    ) -> Result<SpannerId, LimitExceeded> {
        let children = &self.nodes[parent.index()].branches[branch].children;
        if let Some(&(_, known)) = children.iter().find(|&&(of, _)| of == class) {
            return Ok(known);
        }
        let points = self.nodes[parent.index()].branches[branch].points.clone();
        let (mut places, mut links) = (Vec::with_capacity(points.len()), Vec::new());
        for &(node, guards) in points.iter().rev() {
            let byte = trie.byte(node);
            for configuration in lexer.enter(class, byte, guards)? {
                let first = Column::At(Column::NO_BREAK);
                let column = self.columns.step(lexer, configuration, first, byte);
                let place = Place { node, configuration, column };
                if place.is_shared(trie) { links.push(place) } else { places.push(place) }
            }
        }
        let key = (places.into_boxed_slice(), links.into_boxed_slice());
        let id = match self.together.get(&key) {
            Some(&known) => known,
            None => {
                let id = self.walk(lexer, trie, (key.0.to_vec(), key.1.to_vec()), deadline)?;
                self.memory_bytes += size_of_val(&key.0[..]) + size_of_val(&key.1[..]);
                self.together.insert(key, id);
                id
            }
        };
        self.nodes[parent.index()].branches[branch].children.push((class, id));
        Ok(id)
    }

    /// Walks the trie below some places, as far as nothing is emitted and no link leads on; the place that comes first
    /// is last.
    fn walk(
        &mut self,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        (mut places, mut links): (Vec<Place>, Vec<Place>),
        deadline: &Deadline,
    ) -> Result<SpannerId, LimitExceeded> {
        let mut ends: FxHashMap<ConfigurationId, Vec<(u32, u32)>> = FxHashMap::default();
        let mut branches: FxHashMap<(TerminalId, Column), Vec<(TrieNode, GuardsId)>> = FxHashMap::default();
        let token_starts = trie.columns().token_starts;
        let mut looks = 0;
        while let Some(Place { node, configuration, column }) = places.pop() {
            looks += 1;
            if looks % NODES_PER_LOOK == 0 {
                deadline.check()?;
            }
            let is_loop = match trie.bytes_below(node) {
                Some(bytes) => {
                    lexer.stays(configuration, bytes)? && !self.columns.are_tracked(lexer, configuration)
                }
                None => false,
            };
            let end = if is_loop { trie.subtree_end(node) } else { TrieNode(node.0 + 1) };
            let range = (token_starts[node.index()], token_starts[end.index()]);
            if range.0 < range.1 {
                let ranges = ends.entry(configuration).or_default();
                match ranges.last_mut() {
                    Some(last) if last.1 == range.0 => last.1 = range.1,
                    _ => ranges.push(range),
                }
            }
            if is_loop {
                continue;
            }
            let first = places.len();
            for child in trie.children(node) {
                let byte = trie.byte(child);
                let steps = lexer.step(configuration, byte)?;
                if let (Some(guards), Some(terminal)) = (steps.commit, lexer.label(configuration)) {
                    let key = (terminal, self.columns.emitted(terminal, column));
                    branches.entry(key).or_default().push((child, guards));
                }
                if let Some(next) = steps.go_on {
                    let column = self.columns.step(lexer, next, column, byte);
                    let place = Place { node: child, configuration: next, column };
                    if place.is_shared(trie) { links.push(place) } else { places.push(place) }
                }
            }
            places[first..].reverse();
        }
        let mut ends: Vec<End> = ends
            .into_iter()
            .map(|(configuration, ranges)| End { configuration, tokens: self.tokens(ranges, trie) })
            .collect();
        ends.sort_unstable_by_key(|end| end.configuration);
        let mut branches: Vec<Branch> = branches
            .into_iter()
            .map(|((terminal, column), points)| Branch {
                terminal,
                column,
                points: points.into(),
                children: Vec::new(),
            })
            .collect();
        branches.sort_unstable_by_key(|branch| (branch.terminal, branch.column));
        self.memory_bytes += ends.iter().map(|end| 48 + end.tokens.memory_bytes()).sum::<usize>()
            + branches.iter().map(|branch| 96 + size_of_val(&branch.points[..])).sum::<usize>()
            + size_of_val(&links[..]);
        self.nodes.push(Spanner { ends: ends.into(), branches: branches.into(), links: links.into() });
        Ok(SpannerId::new(self.nodes.len() - 1))
    }

    fn tokens(&self, ranges: Vec<(u32, u32)>, trie: &TokenTrie) -> Tokens {
        let count: usize = ranges.iter().map(|&(start, end)| (end - start) as usize).sum();
        let tokens = Tokens::Ranges(ranges.into());
        if count < MANY_TOKENS {
            return tokens;
        }
        let mut set = TokenSet::new(self.vocabulary_size);
        tokens.add_to(&mut set, trie);
        Tokens::Set(set)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
            + self.nodes.len() * size_of::<Spanner>()
            + self.shared.capacity() * 32
            + self.together.capacity() * 40
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::definition::grammar::{
        LexedDefinition, Pattern, ProductionSource, TerminalRole, TerminalSource,
    };
    use crate::recognizer::PreparedGrammar;
    use grammask_diagnostics::Limits;
    use grammask_vocabulary::Vocabulary;

    /// The lexer states of Figure 1 of the paper by a text that leads there, with what each token emits from there.
    const FIGURE_1: [(&str, &str); 4] = [
        ("", "a:B,C ab:B ac:C aba:BB,BC"),
        ("a", "b:B c:C"),
        ("ab", "a:BB,BC b:B ab:BB ac:BC aba:BBB,BBC"),
        ("ac", "a:CB,CC c:C ab:CB ac:CC aba:CBB,CBC"),
    ];

    #[test]
    fn reproduces_figure_1() {
        let terminal = |name: &str, pattern: &str| TerminalSource {
            name: name.to_owned(),
            pattern: Pattern::Regex(pattern.to_owned()),
            priority: 0,
            role: TerminalRole::Parsed,
        };
        let production = |rhs: &[&str]| ProductionSource {
            lhs: "S".to_owned(),
            rhs: rhs.iter().map(|&name| name.to_owned()).collect(),
            priority: 0,
        };
        let definition = LexedDefinition {
            terminals: vec![terminal("B", "ab+"), terminal("C", "ac+")],
            productions: vec![production(&["B", "C"]), production(&["B", "C", "S"])],
            start: "S".to_owned(),
            ..LexedDefinition::default()
        };
        let limits = Limits::default();
        let grammar = LexedGrammar::new(&definition, &limits).expect("a good grammar");
        let prepared = PreparedGrammar::new(grammar, &limits).expect("nothing is refused");
        let (mut lexer, futures) = prepared.lexer_and_futures();
        let tokens = ["a", "b", "c", "ab", "ac", "aba"];
        let vocabulary = Vocabulary::new(tokens.iter().map(Some).collect(), vec![], vec![], None)
            .expect("a good vocabulary");
        let deadline = Deadline::after(Duration::from_secs(60));
        let class = ClassId::new(0);
        let mut spanners = Spanners::new(Columns { newline: None }, vocabulary.size());
        for (text, expected) in FIGURE_1 {
            let mut configuration = lexer.starts(class).expect("no limit")[0];
            for byte in text.bytes() {
                let steps = lexer.step(configuration, byte).expect("no limit");
                configuration = steps.go_on.expect("the text is a beginning of a lexeme");
            }
            let root = spanners
                .at(&mut lexer, vocabulary.trie(), Place::before_token(configuration), &deadline)
                .expect("no limit");
            let mut table: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            let mut pending = vec![(root, String::new())];
            while let Some((node, emitted)) = pending.pop() {
                for place in spanners.get(node).links.clone() {
                    let link =
                        spanners.at(&mut lexer, vocabulary.trie(), place, &deadline).expect("no limit");
                    pending.push((link, emitted.clone()));
                }
                for end in spanners.get(node).ends.clone() {
                    let mut of_end = TokenSet::new(vocabulary.size());
                    end.tokens.add_to(&mut of_end, vocabulary.trie());
                    for token in &of_end {
                        let future = futures.of(end.configuration, class).expect("texts lead there");
                        for terminal in futures.get(future).outside.iter() {
                            let name = prepared.grammar().terminal_name(terminal);
                            table.entry(token.index()).or_default().push(format!("{emitted}{name}"));
                        }
                    }
                }
                for index in 0..spanners.get(node).branches.len() {
                    let terminal = spanners.get(node).branches[index].terminal;
                    let child = spanners
                        .child(&mut lexer, vocabulary.trie(), (node, index, class), &deadline)
                        .expect("no limit");
                    pending.push((child, format!("{emitted}{}", prepared.grammar().terminal_name(terminal))));
                }
            }
            let rows = table.into_iter().map(|(token, mut sequences)| {
                sequences.sort();
                format!("{}:{}", tokens[token], sequences.join(","))
            });
            assert_eq!(rows.collect::<Vec<_>>().join(" "), expected, "after {text:?}");
        }
    }
}
