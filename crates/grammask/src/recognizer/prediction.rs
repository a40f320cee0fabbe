//! Prediction: from the items before a symbol to all terminals that can come next, with their continuations.
//!
//! The result depends only on the set of fresh items (those before a symbol, not inside a terminal), so it is
//! memoised by it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::grammar::{NonterminalId, TerminalId};
use crate::lowering::{NormalForm, Symbol};

use super::continuation::{Content, ContinuationId, Continuations, Entry};
use super::effort::Effort;
use super::kernel::{Item, ItemState};
use super::left_corner::LeftCorners;

/// Predicts, and remembers what it predicted.
#[derive(Debug)]
pub(crate) struct Predictor {
    left_corners: LeftCorners,
    /// State in which each terminal begins.
    starts: Vec<ItemState>,
    memo: FxHashMap<Box<[Entry]>, Arc<[Item]>>,
    /// Scratch: what follows each nonterminal, as far as it comes from outside its component.
    follow: Vec<Content>,
    /// Scratch: the continuation of each nonterminal, valid where `follow` is filled.
    ids: Vec<ContinuationId>,
    max_items: usize,
    memory_bytes: usize,
}

impl Predictor {
    pub(crate) fn new(left_corners: LeftCorners, starts: Vec<ItemState>, max_items: usize) -> Self {
        let count = left_corners.component_of.len();
        Self {
            left_corners,
            starts,
            memo: FxHashMap::default(),
            follow: vec![Content::default(); count],
            ids: vec![ContinuationId(0); count],
            max_items,
            memory_bytes: 0,
        }
    }

    /// The left-corner relation, and the state in which each terminal begins.
    pub(crate) fn parts(&self) -> (&LeftCorners, &[ItemState]) {
        (&self.left_corners, &self.starts)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// All items before or inside a terminal that the fresh items stand for.
    pub(crate) fn predict(
        &mut self,
        form: &NormalForm,
        continuations: &mut Continuations,
        fresh: &[Entry],
        effort: &mut Effort,
    ) -> Result<Arc<[Item]>, LimitExceeded> {
        if let Some(known) = self.memo.get(fresh) {
            return Ok(known.clone());
        }
        let mut visited = Vec::new();
        let predicted = self.items_of(form, continuations, fresh, effort, &mut visited);
        for component in visited {
            for &member in &self.left_corners.components[component].members {
                self.follow[member].clear();
            }
        }
        let mut items = predicted?;
        items.sort_unstable();
        items.dedup();
        let items: Arc<[Item]> = items.into();
        self.memory_bytes += items.len() * size_of::<Item>() + size_of_val(fresh) + 64;
        self.memo.insert(fresh.into(), items.clone());
        Ok(items)
    }

    /// The items, with repetition. `touched` gets the components whose `follow` was used.
    fn items_of(
        &mut self,
        form: &NormalForm,
        continuations: &mut Continuations,
        fresh: &[Entry],
        effort: &mut Effort,
        touched: &mut Vec<usize>,
    ) -> Result<Vec<Item>, LimitExceeded> {
        effort.spend(fresh.len())?;
        let mut items: Vec<Item> = Vec::new();
        // Symbols that end their production, with what follows it: many items may say the same.
        let mut tails: Vec<(NonterminalId, ContinuationId)> = Vec::new();
        // Components that something in them is predicted of, as a max-heap: parents come out before children.
        let mut pending: std::collections::BinaryHeap<usize> = std::collections::BinaryHeap::new();
        for &(dot, continuation) in fresh {
            match form.symbol_after(dot) {
                Symbol::Terminal(id) => items.push(self.start_item(dot, id, continuation)),
                Symbol::Nonterminal(id) => {
                    let advance = form.advance(dot);
                    if advance.completes {
                        tails.push((id, continuation));
                    }
                    self.follow[id.index()].entries.extend(advance.next.map(|next| (next, continuation)));
                    let component = self.left_corners.component_of[id.index()];
                    touched.push(component);
                    pending.push(component);
                }
            }
        }
        tails.sort_unstable();
        tails.dedup();
        for (id, continuation) in tails {
            effort.spend(continuations.get(continuation).entries.len())?;
            continuations.add_to(&mut self.follow[id.index()], continuation);
        }
        let mut last = None;
        while let Some(component) = pending.pop() {
            if last.replace(component) == Some(component) {
                continue;
            }
            self.close_component(component, continuations, effort)?;
            for &member in &self.left_corners.components[component].members {
                let continuation = self.ids[member];
                for &(dot, terminal) in &self.left_corners.terminals[member] {
                    items.push(Item { dot, state: self.starts[terminal.index()], continuation });
                }
                for edge in &self.left_corners.outer_edges[member] {
                    let follow = &mut self.follow[edge.child];
                    if edge.is_tail {
                        effort.spend(continuations.get(continuation).entries.len())?;
                        continuations.add_to(follow, continuation);
                    }
                    follow.entries.extend(edge.next.map(|next| (next, continuation)));
                    let component = self.left_corners.component_of[edge.child];
                    touched.push(component);
                    pending.push(component);
                }
            }
            if items.len() > self.max_items {
                return Err(LimitExceeded::new("set_items", self.max_items));
            }
        }
        Ok(items)
    }

    fn start_item(
        &self,
        dot: crate::lowering::DotId,
        terminal: TerminalId,
        continuation: ContinuationId,
    ) -> Item {
        Item { dot, state: self.starts[terminal.index()], continuation }
    }

    /// Finds the continuations of a component whose `follow` from outside is complete.
    fn close_component(
        &mut self,
        component: usize,
        continuations: &mut Continuations,
        effort: &mut Effort,
    ) -> Result<(), LimitExceeded> {
        let component = &self.left_corners.components[component];
        for &member in &component.members {
            self.follow[member].normalize();
        }
        for knot in &component.knots {
            let mut contents: Vec<Content> = Vec::with_capacity(knot.members.len());
            for (&member, across) in knot.members.iter().zip(&knot.across) {
                let mut content = Content::default();
                for &source in &component.tail_sources[member] {
                    let follow = &self.follow[component.members[source]];
                    effort.spend(follow.entries.len() + 1)?;
                    content.ends |= follow.ends;
                    content.entries.extend_from_slice(&follow.entries);
                }
                for reference in across {
                    content.entries.push((reference.dot, self.ids[component.members[reference.member]]));
                }
                content.normalize();
                contents.push(content);
            }
            let ids = if knot.is_cyclic() {
                continuations.intern_knot(knot.number, &mut contents, &knot.inside, effort)?
            } else {
                contents.iter().map(|content| continuations.intern(content)).collect()
            };
            for (&member, id) in knot.members.iter().zip(ids) {
                self.ids[component.members[member]] = id;
            }
        }
        Ok(())
    }
}
