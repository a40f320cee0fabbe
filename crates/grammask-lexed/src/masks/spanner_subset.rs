//! Nodes of spanner tables that a parser walks together, as one.
//!
//! Spanner tables share what is below a byte between all places that come there, so behind a terminal there are many
//! small nodes, and many of their tokens emit the same terminals. A *bundle* is a set of nodes that one parse is at,
//! with everything that they link to: the subset construction on the tables. It holds the tokens that emit nothing more
//! by what can come out behind them, and each next terminal once; so a mask feeds a sequence of terminals once, as with
//! the subterminal trees of L. Beurer-Kellner, M. Fischer and M. Vechev, "Guiding LLMs The Right Way" (2024).
//!
//! Bundles are made when a parser comes to them, and equal ones are one. The class of the parser's state belongs
//! to them: it says what the futures of configurations are, and the lexeme that is being read began in it. So does the
//! terminal that was read last, where it is known: what never follows it is left out, and tokens that can always follow
//! it are kept together, so that only the others need the parser (`pairs`).

use rustc_hash::FxHashMap;

use crate::lexer::lexer_automaton::{ClassId, Lexer};
use crate::lexer::open_lexemes::{FutureId, Futures};
use crate::masks::follow_cache::Pairs;
use crate::masks::spanner_table::{Column, Place, SpannerId, Spanners, Tokens};
use crate::masks::token_set_store::{Collector, Part};
use crate::streamlining::legality::Legality;
use grammask_collections::id_type;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_grammar::TerminalId;
use grammask_vocabulary::TokenTrie;

id_type! {
    /// A bundle.
    BundleId
}

/// A next terminal of tokens.
#[derive(Debug)]
pub(crate) struct BundleBranch {
    pub(crate) terminal: TerminalId,
    pub(crate) column: Column,
    /// The branches of nodes that it is made of.
    parts: Box<[(SpannerId, usize)]>,
    children: Vec<(ClassId, BundleId)>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// The terminal that the parser read last, if it is known.
    last: Option<TerminalId>,
    /// Tokens that are legal on every stack.
    pub(crate) always: Option<Part>,
    /// Tokens that emit nothing more, by what can come out behind them.
    pub(crate) ends: Box<[(FutureId, Part)]>,
    pub(crate) branches: Box<[BundleBranch]>,
}

/// What bundles are made with.
pub(crate) struct Tables<'a> {
    pub(crate) spanners: &'a mut Spanners,
    pub(crate) lexer: &'a mut Lexer,
    pub(crate) futures: &'a Futures,
    pub(crate) pairs: &'a mut Pairs,
    pub(crate) trie: &'a TokenTrie,
    pub(crate) vocabulary_size: usize,
    pub(crate) deadline: &'a Deadline,
}

/// The nodes of a bundle, its class, and the terminal that was read last.
type BundleKey = (Box<[SpannerId]>, ClassId, Option<TerminalId>);

/// All bundles.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    bundles: Vec<Bundle>,
    ids: FxHashMap<BundleKey, BundleId>,
    roots: FxHashMap<(Place, ClassId), BundleId>,
    memory_bytes: usize,
    /// Empty between two bundles.
    collector: Option<Collector>,
}

impl Bundles {
    pub(crate) fn get(&self, id: BundleId) -> &Bundle {
        &self.bundles[id.index()]
    }

    /// The bundle of a place alone.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn at(
        &mut self,
        place: Place,
        class: ClassId,
        tables: &mut Tables<'_>,
    ) -> Result<BundleId, LimitExceeded> {
        if let Some(&known) = self.roots.get(&(place, class)) {
            return Ok(known);
        }
        let node = tables.at(place)?;
        let id = self.intern(vec![node], (class, None), tables)?;
        self.roots.insert((place, class), id);
        Ok(id)
    }

    /// The bundle after a branch, if it is known.
    #[inline]
    pub(crate) fn known_child(
        &self,
        (parent, branch, class): (BundleId, usize, ClassId),
    ) -> Option<BundleId> {
        let children = &self.bundles[parent.index()].branches[branch].children;
        children.iter().find(|&&(of, _)| of == class).map(|&(_, known)| known)
    }

    /// The bundle after a branch, where the next lexeme begins in a class.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn child(
        &mut self,
        (parent, branch, class): (BundleId, usize, ClassId),
        tables: &mut Tables<'_>,
    ) -> Result<BundleId, LimitExceeded> {
        let Bundle { last, branches, .. } = &self.bundles[parent.index()];
        let BundleBranch { terminal, parts, .. } = &branches[branch];
        let last = tables.pairs.last_after(*last, *terminal);
        let mut nodes = Vec::with_capacity(parts.len());
        for &(node, branch) in parts {
            nodes.push(tables.spanners.child(
                tables.lexer,
                tables.trie,
                (node, branch, class),
                tables.deadline,
            )?);
        }
        let id = self.intern(nodes, (class, last), tables)?;
        self.bundles[parent.index()].branches[branch].children.push((class, id));
        Ok(id)
    }

    /// The bundle of some nodes and all that they link to.
    fn intern(
        &mut self,
        mut nodes: Vec<SpannerId>,
        (class, last): (ClassId, Option<TerminalId>),
        tables: &mut Tables<'_>,
    ) -> Result<BundleId, LimitExceeded> {
        nodes.sort_unstable();
        nodes.dedup();
        let mut next = 0;
        while let Some(&node) = nodes.get(next) {
            next += 1;
            for index in 0..tables.spanners.get(node).links.len() {
                let place = tables.spanners.get(node).links[index];
                nodes.push(tables.at(place)?);
            }
        }
        // Places are below each other or apart, but two nodes may link to one place.
        nodes.sort_unstable();
        nodes.dedup();
        let key = (nodes.into_boxed_slice(), class, last);
        if let Some(&known) = self.ids.get(&key) {
            return Ok(known);
        }
        let size = tables.vocabulary_size;
        let collector = self.collector.get_or_insert_with(|| Collector::new(size));
        let bundle = tables.bundle(&key.0, (class, last), collector);
        let ends: usize = bundle.ends.iter().map(|(_, part)| 48 + part.memory_bytes()).sum();
        let branches: usize = bundle.branches.iter().map(|branch| 80 + size_of_val(&branch.parts[..])).sum();
        self.memory_bytes += bundle.always.as_ref().map_or(0, Part::memory_bytes);
        self.memory_bytes += 208 + ends + branches + size_of_val(&key.0[..]);
        let id = BundleId::new(self.bundles.len());
        self.bundles.push(bundle);
        self.ids.insert(key, id);
        Ok(id)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

impl Tables<'_> {
    fn at(&mut self, place: Place) -> Result<SpannerId, LimitExceeded> {
        self.spanners.at(self.lexer, self.trie, place, self.deadline)
    }

    fn bundle(
        &mut self,
        nodes: &[SpannerId],
        (class, last): (ClassId, Option<TerminalId>),
        collector: &mut Collector,
    ) -> Bundle {
        let mut tokens_of: FxHashMap<FutureId, Vec<&Tokens>> = FxHashMap::default();
        let mut branches: FxHashMap<(TerminalId, Column), Vec<(SpannerId, usize)>> = FxHashMap::default();
        for &node in nodes {
            let spanner = self.spanners.get(node);
            for end in &spanner.ends {
                // What has no future is dead whatever the parser does.
                let Some(future) = self.futures.of(end.configuration, class) else { continue };
                tokens_of.entry(future).or_default().push(&end.tokens);
            }
            for (index, branch) in spanner.branches.iter().enumerate() {
                branches.entry((branch.terminal, branch.column)).or_default().push((node, index));
            }
        }
        let mut part_of = |several: Vec<&Tokens>| {
            for tokens in several {
                tokens.collect(collector, self.trie);
            }
            collector.take()
        };
        let mut always: Vec<&Tokens> = Vec::new();
        let mut ends: Vec<(FutureId, Part)> = Vec::with_capacity(tokens_of.len());
        for (future, tokens) in tokens_of {
            let of_future = self.futures.get(future);
            match last.map_or(Legality::Sometimes, |last| self.pairs.future(last, of_future)) {
                Legality::Never => {}
                Legality::Always => always.extend(tokens),
                Legality::Sometimes => {
                    ends.extend(part_of(tokens).map(|part| (future, part)));
                }
            }
        }
        let always = part_of(always);
        ends.sort_unstable_by_key(|&(future, _)| future);
        if let Some(last) = last {
            branches.retain(|&(terminal, _), _| self.pairs.lexeme(last, terminal) != Legality::Never);
        }
        let mut branches: Vec<BundleBranch> = branches
            .into_iter()
            .map(|((terminal, column), parts)| BundleBranch {
                terminal,
                column,
                parts: parts.into(),
                children: Vec::new(),
            })
            .collect();
        branches.sort_unstable_by_key(|branch| (branch.terminal, branch.column));
        Bundle { last, always, ends: ends.into(), branches: branches.into() }
    }
}
