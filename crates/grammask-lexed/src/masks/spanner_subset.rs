//! Subsets of spanner nodes that one parse reaches together: the subset construction on spanner tables.
//!
//! Spanner tables share subtrees of the token trie, so one parse is at several small nodes at a time, and many of
//! their branches emit the same terminal. A *subset* is a set of nodes closed under links. It groups the tokens that
//! emit no further terminal by their open terminals, and has one branch per next terminal, so a mask feeds each
//! terminal sequence once, as the subterminal trees of L. Beurer-Kellner, M. Fischer and M. Vechev, "Guiding LLMs The
//! Right Way" (ICML 2024), do.
//!
//! Subsets are constructed on demand and interned. The key contains the lexer mode in which the current lexeme began,
//! which determines open terminals, and the last terminal that the parser read, if known: by [`FollowCache`], tokens
//! that can never follow it are dropped, and tokens that can always follow it are accepted without the parser.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lexer::lexer_automaton::{ConfigurationId, LexModeId, Lexer};
use crate::lexer::open_lexemes::{OpenTerminalsId, OpenTerminalsTable};
use crate::masks::follow_cache::FollowCache;
use crate::masks::spanner_table::{
    LexemeColumn, SpannerNodeId, SpannerStep, SpannerTable, SpannerTokens, TriePosition,
};
use crate::masks::token_set_store::{TokenCollector, TokenGroup};
use crate::streamlining::legality::Legality;
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{LiveTokens, TokenTrie};

id_type! {
    /// An interned subset.
    SubsetId
}

/// The branch for a next terminal.
#[derive(Debug)]
pub(crate) struct SubsetBranch {
    pub(crate) terminal: TerminalId,
    pub(crate) column: LexemeColumn,
    /// The branches of nodes that it unites.
    members: Box<[(SpannerNodeId, usize)]>,
    children: Vec<(LexModeId, SubsetId)>,
}

/// Exits at which a lexeme of a terminal ends the text.
#[derive(Debug)]
pub(crate) struct SubsetExit {
    pub(crate) terminal: TerminalId,
    pub(crate) column: LexemeColumn,
    pub(crate) exits: TokenGroup,
}

/// Tokens that emit no further terminal and end in one configuration.
#[derive(Clone, Debug)]
pub(crate) struct ConfigurationEnd {
    pub(crate) configuration: ConfigurationId,
    pub(crate) open: OpenTerminalsId,
    pub(crate) tokens: LiveTokens,
}

/// A set of spanner nodes as one node.
#[derive(Debug)]
pub(crate) struct SpannerSubset {
    key: Arc<SubsetKey>,
    /// Tokens that are legal on every stack.
    pub(crate) always: Option<TokenGroup>,
    /// Tokens that emit no further terminal, by their open terminals.
    pub(crate) ends: Box<[(OpenTerminalsId, TokenGroup)]>,
    pub(crate) exits: Box<[SubsetExit]>,
    pub(crate) branches: Box<[SubsetBranch]>,
}

/// The tables that subsets are constructed from.
pub(crate) struct SubsetSources<'a> {
    pub(crate) spanners: &'a mut SpannerTable,
    pub(crate) lexer: &'a mut Lexer,
    pub(crate) open_terminals: &'a OpenTerminalsTable,
    pub(crate) follow_cache: &'a mut FollowCache,
    pub(crate) trie: &'a TokenTrie,
    pub(crate) vocabulary_size: usize,
    pub(crate) deadline: &'a Deadline,
}

/// The key of an interned subset.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SubsetKey {
    nodes: Box<[SpannerNodeId]>,
    mode: LexModeId,
    /// The last terminal that the parser read, if known.
    last: Option<TerminalId>,
}

/// A branch of a subset, and the lexer mode of the lexeme after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubsetStep {
    pub(crate) subset: SubsetId,
    pub(crate) branch: usize,
    pub(crate) mode: LexModeId,
}

/// The interned subsets of a recogniser.
#[derive(Debug, Default)]
pub(crate) struct SpannerSubsets {
    subsets: Vec<SpannerSubset>,
    ids: FxHashMap<Arc<SubsetKey>, SubsetId>,
    roots: FxHashMap<(TriePosition, LexModeId), SubsetId>,
    /// The ends of subsets by configuration, of those that were asked for.
    by_configuration: FxHashMap<SubsetId, Arc<[ConfigurationEnd]>>,
    memory_bytes: usize,
    /// Reused between constructions; empty in between.
    collector: Option<TokenCollector>,
}

impl SpannerSubsets {
    pub(crate) fn get(&self, id: SubsetId) -> &SpannerSubset {
        &self.subsets[id.index()]
    }

    /// The subset of a single position.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn root(
        &mut self,
        position: TriePosition,
        mode: LexModeId,
        sources: &mut SubsetSources<'_>,
    ) -> Result<SubsetId, LimitExceeded> {
        if let Some(&cached) = self.roots.get(&(position, mode)) {
            return Ok(cached);
        }
        let node = sources.node_at(position)?;
        let id = self.intern(vec![node], mode, None, sources)?;
        self.roots.insert((position, mode), id);
        Ok(id)
    }

    /// The subset after a branch, if it was constructed before.
    #[inline]
    pub(crate) fn cached_child(
        &self,
        SubsetStep { subset: parent, branch, mode }: SubsetStep,
    ) -> Option<SubsetId> {
        let children = &self.subsets[parent.index()].branches[branch].children;
        children.iter().find(|&&(of, _)| of == mode).map(|&(_, cached)| cached)
    }

    /// The subset after a branch.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn child(
        &mut self,
        SubsetStep { subset: parent, branch, mode }: SubsetStep,
        sources: &mut SubsetSources<'_>,
    ) -> Result<SubsetId, LimitExceeded> {
        let SpannerSubset { key, branches, .. } = &self.subsets[parent.index()];
        let SubsetBranch { terminal, members, .. } = &branches[branch];
        let last = sources.follow_cache.last_after(key.last, *terminal);
        let mut nodes = Vec::with_capacity(members.len());
        for &(node, branch) in members {
            nodes.push(sources.spanners.child(
                sources.lexer,
                sources.trie,
                SpannerStep { node, branch, mode },
                sources.deadline,
            )?);
        }
        let id = self.intern(nodes, mode, last, sources)?;
        self.subsets[parent.index()].branches[branch].children.push((mode, id));
        Ok(id)
    }

    /// The interned subset of the closure of some nodes.
    fn intern(
        &mut self,
        mut nodes: Vec<SpannerNodeId>,
        mode: LexModeId,
        last: Option<TerminalId>,
        sources: &mut SubsetSources<'_>,
    ) -> Result<SubsetId, LimitExceeded> {
        nodes.sort_unstable();
        nodes.dedup();
        let mut next = 0;
        while let Some(&node) = nodes.get(next) {
            next += 1;
            for index in 0..sources.spanners.get(node).links.len() {
                let position = sources.spanners.get(node).links[index];
                nodes.push(sources.node_at(position)?);
            }
        }
        // Positions are nested or disjoint, but two nodes may link to the same position.
        nodes.sort_unstable();
        nodes.dedup();
        let key = SubsetKey { nodes: nodes.into(), mode, last };
        if let Some(&cached) = self.ids.get(&key) {
            return Ok(cached);
        }
        let key = Arc::new(key);
        let size = sources.vocabulary_size;
        let collector = self.collector.get_or_insert_with(|| TokenCollector::new(size));
        let subset = sources.subset(&key, collector);
        let ends: usize = subset.ends.iter().map(|(_, group)| 48 + group.memory_bytes()).sum();
        let branches: usize =
            subset.branches.iter().map(|branch| 80 + size_of_val(&branch.members[..])).sum();
        self.memory_bytes += subset.always.as_ref().map_or(0, TokenGroup::memory_bytes);
        self.memory_bytes += subset.exits.iter().map(|exit| 48 + exit.exits.memory_bytes()).sum::<usize>();
        self.memory_bytes += 208 + ends + branches + size_of_val(&key.nodes[..]);
        let id = SubsetId::new(self.subsets.len());
        self.subsets.push(subset);
        self.ids.insert(key, id);
        Ok(id)
    }

    /// The tokens of a subset that emit no further terminal, by the configuration where they end, where the vocabulary
    /// has `token_count` tokens. Memoised.
    pub(crate) fn ends_by_configuration(
        &mut self,
        id: SubsetId,
        sources: &SubsetSources<'_>,
        token_count: usize,
    ) -> Arc<[ConfigurationEnd]> {
        if let Some(known) = self.by_configuration.get(&id) {
            return known.clone();
        }
        let key = &self.subsets[id.index()].key;
        let mut tokens_of: FxHashMap<ConfigurationId, Vec<&SpannerTokens>> = FxHashMap::default();
        for &node in key.nodes.iter() {
            for end in &sources.spanners.get(node).ends {
                tokens_of.entry(end.configuration).or_default().push(&end.tokens);
            }
        }
        let size = sources.vocabulary_size;
        let collector = self.collector.get_or_insert_with(|| TokenCollector::new(size));
        let mut ends: Vec<ConfigurationEnd> = Vec::with_capacity(tokens_of.len());
        for (configuration, several) in tokens_of {
            // Without open terminals a token is illegal on every stack.
            let Some(open) = sources.open_terminals.of(configuration, key.mode) else { continue };
            for tokens in several {
                tokens.collect(collector, sources.trie);
            }
            if let Some(group) = collector.take() {
                let tokens = group.live_tokens(token_count);
                self.memory_bytes += 32 + tokens.memory_bytes();
                ends.push(ConfigurationEnd { configuration, open, tokens });
            }
        }
        ends.sort_unstable_by_key(|end| end.configuration);
        let ends: Arc<[ConfigurationEnd]> = ends.into();
        self.by_configuration.insert(id, ends.clone());
        ends
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl SubsetSources<'_> {
    /// Whether the column of a lexeme in a configuration matters.
    pub(crate) fn is_tracked(&self, configuration: ConfigurationId) -> bool {
        self.spanners.columns().is_tracked(self.lexer, configuration)
    }

    fn node_at(&mut self, position: TriePosition) -> Result<SpannerNodeId, LimitExceeded> {
        self.spanners.node_at(self.lexer, self.trie, position, self.deadline)
    }

    fn subset(&mut self, key: &Arc<SubsetKey>, collector: &mut TokenCollector) -> SpannerSubset {
        let SubsetKey { ref nodes, mode, last } = **key;
        let mut tokens_of: FxHashMap<OpenTerminalsId, Vec<&SpannerTokens>> = FxHashMap::default();
        let mut branches: FxHashMap<(TerminalId, LexemeColumn), Vec<(SpannerNodeId, usize)>> =
            FxHashMap::default();
        let mut exits: FxHashMap<(TerminalId, LexemeColumn), Vec<&SpannerTokens>> = FxHashMap::default();
        for &node in nodes.iter() {
            let spanner = self.spanners.get(node);
            for end in &spanner.ends {
                // Without open terminals a token is illegal on every stack.
                let Some(open) = self.open_terminals.of(end.configuration, mode) else { continue };
                tokens_of.entry(open).or_default().push(&end.tokens);
            }
            for exit in &spanner.exits {
                exits.entry((exit.terminal, exit.column)).or_default().push(&exit.exits);
            }
            for (index, branch) in spanner.branches.iter().enumerate() {
                branches.entry((branch.terminal, branch.column)).or_default().push((node, index));
            }
        }
        let mut group_of = |several: Vec<&SpannerTokens>| {
            for tokens in several {
                tokens.collect(collector, self.trie);
            }
            collector.take()
        };
        let mut always: Vec<&SpannerTokens> = Vec::new();
        let mut ends: Vec<(OpenTerminalsId, TokenGroup)> = Vec::with_capacity(tokens_of.len());
        for (open, tokens) in tokens_of {
            let terminals = self.open_terminals.get(open);
            match last.map_or(Legality::Sometimes, |last| {
                self.follow_cache.open_terminals_legality(last, terminals)
            }) {
                Legality::Never => {}
                Legality::Always => always.extend(tokens),
                Legality::Sometimes => {
                    ends.extend(group_of(tokens).map(|group| (open, group)));
                }
            }
        }
        let always = group_of(always);
        ends.sort_unstable_by_key(|&(open, _)| open);
        if let Some(last) = last {
            let mut may_follow =
                |terminal| self.follow_cache.lexeme_legality(last, terminal) != Legality::Never;
            branches.retain(|&(terminal, _), _| may_follow(terminal));
            exits.retain(|&(terminal, _), _| may_follow(terminal));
        }
        let mut exits: Vec<SubsetExit> = exits
            .into_iter()
            .filter_map(|((terminal, column), exits)| {
                Some(SubsetExit { terminal, column, exits: group_of(exits)? })
            })
            .collect();
        exits.sort_unstable_by_key(|exit| (exit.terminal, exit.column));
        let mut branches: Vec<SubsetBranch> = branches
            .into_iter()
            .map(|((terminal, column), members)| SubsetBranch {
                terminal,
                column,
                members: members.into(),
                children: Vec::new(),
            })
            .collect();
        branches.sort_unstable_by_key(|branch| (branch.terminal, branch.column));
        let key = key.clone();
        SpannerSubset { key, always, ends: ends.into(), exits: exits.into(), branches: branches.into() }
    }
}
