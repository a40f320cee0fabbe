//! The states after each legal token, one of each cost where many tokens stay inside a terminal.
//!
//! Most legal tokens of a state stay inside the same terminal, as the tokens of free text inside a string, or white
//! space and digits. The [`DerivativeGroups`] of the terminal, cached with the vocabulary for all grammars, give them at
//! once. States inside a terminal have the same cost if the shortest words that leave it are equal, and end in the same
//! state. Groups are computed for states in which a word ends, and for *reference states*, to which most tokens lead. A
//! state that differs from the reference in few tokens (a name that must not be one of a few others) is walked together
//! with it, where the two differ.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use grammask_collections::byte_set::ByteSet;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{AnonymousValues, BoundTexts, Engine, InsideTerminal, SetId, SuccessorGroups};
use grammask_vocabulary::{DerivativeGroups, LiveTokens, TokenId, TrieNode, Vocabulary};

use super::successors::SuccessorWalk;

/// Tokens with one state after them, or states of one cost.
pub(super) enum VisitedTokens<'a> {
    /// Some of the tokens.
    Listed(&'a [TokenId]),
    /// A shared set.
    Shared(LiveTokens),
}

/// Takes legal tokens, and the state after them.
pub(super) type VisitGroup<'a> = dyn FnMut(SetId, VisitedTokens<'_>) -> Result<(), LimitExceeded> + 'a;

/// Minimum number of nodes of a subtree in which a reference state is looked for, and in which bytes that the state
/// cannot read take no step.
pub(super) const MIN_NODES: usize = 512;
/// The number of nodes of a subtree in which a reference state is looked for, divided by that of one whose tokens are
/// taken in groups if the state is inside a terminal. Smaller ones are walked.
const MIN_NODES_RATIO: usize = 8;

/// Children of a node with at least this part of its subtree are compared first.
const HEAVY_SHARE: usize = 32;

/// Number of new steps between two checks of the deadline.
const STEPS_PER_CHECK: usize = 16;

/// A walk that looks for reference states.
pub(super) struct GroupedWalk<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) deadline: &'a Deadline,
    /// [`MIN_NODES`], or less in tests.
    pub(super) min_nodes: usize,
    pub(super) texts: WalkedTexts<'a>,
    /// The legal tokens of the state, if they are known. Others are not read.
    pub(super) legal: Option<&'a LiveTokens>,
}

/// Which texts of values a walk distinguishes.
#[derive(Clone, Copy)]
pub(super) enum WalkedTexts<'a> {
    /// All.
    Known,
    /// Those of anonymous values are the same. Tokens with conditional steps are left out.
    Anonymous(&'a dyn AnonymousValues),
    /// Those that are being bound to names are unknown. Tokens that end one are left out.
    Unknown(&'a dyn BoundTexts),
}

/// A subtree of the trie whose tokens are still to be visited.
struct PendingSubtree {
    /// The state at the node; the tokens are those below.
    set: SetId,
    node: TrieNode,
    /// Tokens to be left out, ascending.
    removed: Rc<[TokenId]>,
}

/// Calls `visit` with some tokens except the removed ones, which are ascending.
fn visit_except(
    removed: &[TokenId],
    set: SetId,
    tokens: VisitedTokens<'_>,
    size: usize,
    visit: &mut VisitGroup<'_>,
) -> Result<(), LimitExceeded> {
    match tokens {
        VisitedTokens::Listed(tokens) => {
            let kept: Vec<TokenId> =
                tokens.iter().copied().filter(|token| removed.binary_search(token).is_err()).collect();
            visit(set, VisitedTokens::Listed(&kept))
        }
        VisitedTokens::Shared(tokens) if tokens.is_list() => {
            let tokens: Vec<TokenId> = tokens.iter().collect();
            visit_except(removed, set, VisitedTokens::Listed(&tokens), size, visit)
        }
        VisitedTokens::Shared(tokens) => {
            visit(set, VisitedTokens::Shared(tokens.but(removed.to_vec(), size)))
        }
    }
}

/// The nodes below a node, in the order of their numbers, to which the path does not leave a state.
struct StateRegion {
    set: SetId,
    /// The bytes that the state reads, and possibly others.
    possible: ByteSet,
    /// Bytes on which the state is known to loop to itself.
    loops: ByteSet,
    /// The tokens of the nodes before this one were visited.
    visited: usize,
    /// The nodes before this one are in the region, or below the edges that leave it.
    next: usize,
    end: usize,
}

impl StateRegion {
    /// Skips the nodes up to the first one whose edge is not known to be a loop.
    fn skip_loops(&mut self, bytes: &[u8]) {
        let loops = self.loops;
        self.next += bytes[self.next..self.end].iter().take_while(|&&byte| loops.contains(byte)).count();
    }
}

impl GroupedWalk<'_> {
    /// Calls `visit` with the legal tokens of a state, and the state after them or one with the same spelling cost,
    /// several times for a state that several groups of tokens lead to. End tokens are visited only if
    /// `reads_end_tokens`, and then as any other token.
    ///
    /// Cost: a lookup per derivative inside a terminal whose groups are cached, and a step per node of the trie where a
    /// state differs from its reference. Elsewhere a step per node that leaves a state; where a state loops to itself, as
    /// in names, comments and strings of programs, a node costs a comparison.
    pub(super) fn visit(
        &self,
        set: SetId,
        reads_end_tokens: bool,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let Self { engine, vocabulary, deadline, .. } = *self;
        if !engine.token_matches(set)?.is_empty() {
            let visit_listed = &mut |next, tokens: &[TokenId]| visit(next, VisitedTokens::Listed(tokens));
            return SuccessorWalk { engine, vocabulary, deadline, max_size: None }.visit(
                set,
                reads_end_tokens,
                visit_listed,
            );
        }
        let mut pending = vec![PendingSubtree { set, node: TrieNode::ROOT, removed: Rc::default() }];
        while let Some(subtree) = pending.pop() {
            let removed = &*subtree.removed;
            let visit_kept: &mut VisitGroup<'_> = &mut |next, tokens| match removed.is_empty() {
                true => visit(next, tokens),
                false => visit_except(removed, next, tokens, vocabulary.size(), visit),
            };
            if !self.visit_grouped(&subtree, &mut pending, visit_kept)? {
                self.walk_below(&subtree, &mut pending, visit_kept)?;
            }
        }
        Ok(())
    }

    /// Visits the legal tokens below a node, except those below nodes that are added to `pending`.
    fn walk_below(
        &self,
        subtree: &PendingSubtree,
        pending: &mut Vec<PendingSubtree>,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let trie = self.vocabulary.trie();
        let bytes = trie.columns().bytes;
        let mut loops: FxHashMap<SetId, ByteSet> = FxHashMap::default();
        let (next, end) = (subtree.node.index() + 1, trie.subtree_end(subtree.node).index());
        let possible = self.possible_bytes(subtree.set, end - next)?;
        let mut regions =
            vec![StateRegion { set: subtree.set, possible, loops: ByteSet::EMPTY, visited: next, next, end }];
        let mut checked_steps = self.engine.new_steps();
        while let Some(region) = regions.last_mut() {
            self.check_deadline(&mut checked_steps)?;
            region.skip_loops(bytes);
            let StateRegion { set, possible, visited, next: node, end, .. } = *region;
            let byte = bytes.get(node).copied().filter(|_| node < end);
            let is_possible =
                |&byte: &u8| possible.contains(byte) && self.may_be_legal(TrieNode(node as u32));
            let after = match byte.filter(is_possible) {
                Some(byte) => self.step(set, byte)?,
                None => None,
            };
            if let Some(byte) = byte
                && after == Some(set)
            {
                region.loops.insert(byte);
                loops.insert(set, region.loops);
                continue;
            }
            let tokens = &trie.sorted_ids()[trie.token_positions(visited..node)];
            if !tokens.is_empty() {
                self.visit_ended(set, VisitedTokens::Listed(tokens), visit)?;
            }
            if byte.is_none() {
                regions.pop();
                continue;
            }
            let node = TrieNode(node as u32);
            let end = trie.subtree_end(node).index();
            (region.visited, region.next) = (end, end);
            let Some(after) = after else { continue };
            self.visit_node(after, node, visit)?;
            if !trie.has_children(node) {
                continue;
            }
            let below = PendingSubtree { set: after, node, removed: subtree.removed.clone() };
            if !self.visit_grouped(&below, pending, visit)? {
                let next = node.index() + 1;
                let loops = loops.get(&after).copied().unwrap_or_default();
                let possible = self.possible_bytes(after, end - next)?;
                regions.push(StateRegion { set: after, possible, loops, visited: next, next, end });
            }
        }
        Ok(())
    }

    /// Visits the tokens of a state that reads no tokens as such, given all of its legal tokens. End tokens are left out.
    ///
    /// Cost: a step per byte of the tokens that is not common to the one before, in the order of their texts.
    pub(super) fn visit_few(
        &self,
        set: SetId,
        tokens: &LiveTokens,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let text = |token| Some((self.vocabulary.token(token)?, token));
        let mut texts: Vec<(&[u8], TokenId)> = tokens.iter().filter_map(text).collect();
        texts.sort_unstable();
        self.deadline.check()?;
        // The state after each prefix of the text before.
        let mut path: Vec<SetId> = vec![set];
        let mut before: &[u8] = &[];
        for (text, token) in texts {
            let shared = before.iter().zip(text).take_while(|(left, right)| left == right).count();
            path.truncate(shared + 1);
            while let Some(&byte) = text.get(path.len() - 1) {
                let Some(next) = self.engine.step(path[path.len() - 1], byte)? else { break };
                path.push(next);
            }
            before = &text[..path.len() - 1];
            if before.len() == text.len() {
                self.visit_ended(path[path.len() - 1], VisitedTokens::Listed(&[token]), visit)?;
            }
        }
        Ok(())
    }

    /// Visits the legal tokens of a state that reads no tokens as such, given in groups. End tokens are left out.
    pub(super) fn visit_groups(
        &self,
        set: SetId,
        groups: SuccessorGroups,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        for (next, tokens) in groups.groups {
            self.visit_ended(next, VisitedTokens::Shared(tokens), visit)?;
        }
        self.visit_few(set, &LiveTokens::new(groups.others, self.vocabulary.size()), visit)
    }

    /// Checks the deadline after a number of steps that were new.
    fn check_deadline(&self, checked_steps: &mut usize) -> Result<(), LimitExceeded> {
        let new_steps = self.engine.new_steps();
        if new_steps.wrapping_sub(*checked_steps) < STEPS_PER_CHECK {
            return Ok(());
        }
        *checked_steps = new_steps;
        self.deadline.check()
    }

    /// The bytes that a state reads, and possibly others. They are not looked for in small subtrees.
    fn possible_bytes(&self, set: SetId, nodes: usize) -> Result<ByteSet, LimitExceeded> {
        let possible = match nodes < self.min_nodes {
            true => None,
            false => self.engine.possible_bytes(set)?,
        };
        Ok(possible.unwrap_or(ByteSet::ALL))
    }

    /// Whether a token at or below a node may be legal. The tokens of large subtrees are not looked up.
    fn may_be_legal(&self, node: TrieNode) -> bool {
        let trie = self.vocabulary.trie();
        self.legal.is_none_or(|legal| {
            trie.subtree_len(node) >= self.min_nodes
                || trie.subtree_tokens(node).iter().any(|&token| legal.contains(token))
        })
    }

    /// The state after a byte; `None` too if the token is left out.
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        let Some(next) = self.engine.step(set, byte)? else { return Ok(None) };
        match self.texts {
            WalkedTexts::Known => Ok(Some(next)),
            WalkedTexts::Anonymous(values) => Ok((!values.is_conditional_step(set, byte)?).then_some(next)),
            WalkedTexts::Unknown(texts) => texts.inside_token(next, self.vocabulary).map(Some),
        }
    }

    /// Visits the tokens at a node.
    fn visit_node(
        &self,
        set: SetId,
        node: TrieNode,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let tokens = self.vocabulary.trie().tokens(node);
        match tokens.is_empty() {
            true => Ok(()),
            false => self.visit_ended(set, VisitedTokens::Listed(tokens), visit),
        }
    }

    /// Visits tokens with the state after their bytes.
    fn visit_ended(
        &self,
        set: SetId,
        tokens: VisitedTokens<'_>,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        match self.engine.end_token(set)? {
            Some(after) => visit(after, tokens),
            None => Ok(()),
        }
    }

    /// Visits the tokens below a node, if there are groups for them, except those below nodes that are added to `pending`;
    /// returns whether there are groups.
    fn visit_grouped(
        &self,
        subtree: &PendingSubtree,
        pending: &mut Vec<PendingSubtree>,
        visit: &mut VisitGroup<'_>,
    ) -> Result<bool, LimitExceeded> {
        let PendingSubtree { set, node, ref removed } = *subtree;
        let nodes = self.vocabulary.trie().subtree_len(node);
        if nodes < self.min_nodes_of_groups() {
            return Ok(false);
        }
        // Steps may be conditional, or change what is known, in places that groups do not show.
        let inside = match self.texts {
            WalkedTexts::Known => self.inside(set)?,
            WalkedTexts::Anonymous(_) | WalkedTexts::Unknown(_) => None,
        };
        if let Some(inside) = inside
            && let Some(groups) = self.known_groups(self.key_of_groups(inside)?, node)
        {
            self.visit_groups_of(&groups, set, &[], removed, pending, visit)?;
            return Ok(true);
        }
        let reference = if nodes >= self.min_nodes { self.reference(set, node)? } else { None };
        let of_reference = |reference| Ok(self.inside(reference)?.map(|inside| (reference, inside)));
        let grouped: Option<(SetId, InsideTerminal)> = match reference {
            Some(reference) => of_reference(reference)?,
            None => inside.filter(|inside| inside.may_end).map(|inside| (set, inside)),
        };
        let Some((reference, inside)) = grouped else { return Ok(false) };
        let groups = self.groups(reference, inside, node)?;
        if reference == set {
            self.visit_groups_of(&groups, set, &[], removed, pending, visit)?;
            return Ok(true);
        }
        let differing = self.visit_differences(set, reference, node, visit)?;
        let mut removed = [&**removed, &*differing].concat();
        removed.sort_unstable();
        self.visit_groups_of(&groups, reference, &differing, &removed.into(), pending, visit)?;
        Ok(true)
    }

    /// Minimum number of nodes of a subtree whose tokens are taken in groups.
    fn min_nodes_of_groups(&self) -> usize {
        (self.min_nodes / MIN_NODES_RATIO).max(1)
    }

    /// Visits the tokens of groups of a state, except the differing ones, which are sorted. The subtrees of tokens that
    /// leave the terminal are added to `pending`, with the tokens to be left out there.
    fn visit_groups_of(
        &self,
        groups: &DerivativeGroups,
        reference: SetId,
        differing: &[TokenId],
        removed: &Rc<[TokenId]>,
        pending: &mut Vec<PendingSubtree>,
        visit: &mut VisitGroup<'_>,
    ) -> Result<(), LimitExceeded> {
        let mut checked_steps = self.engine.new_steps();
        let mut after = |path: &[u8]| -> Result<Option<SetId>, LimitExceeded> {
            self.check_deadline(&mut checked_steps)?;
            let mut set = reference;
            for &byte in path {
                let Some(next) = self.step(set, byte)? else { return Ok(None) };
                set = next;
            }
            Ok(Some(set))
        };
        let size = self.vocabulary.size();
        let visit_kept: &mut VisitGroup<'_> = &mut |set, tokens| match differing.is_empty() {
            true => self.visit_ended(set, tokens, visit),
            false => visit_except(differing, set, tokens, size, &mut |set, tokens| {
                self.visit_ended(set, tokens, visit)
            }),
        };
        for group in groups.inside() {
            let Some(next) = after(&group.path)? else { continue };
            visit_kept(next, VisitedTokens::Shared(group.tokens.clone()))?;
        }
        for leaving in groups.leaving() {
            let Some(next) = after(&leaving.path)? else { continue };
            leaving.for_each(
                next,
                |token| self.legal.is_none_or(|legal| legal.contains(token)),
                |set, byte| self.step(set, byte),
                |set, tokens| visit_kept(set, VisitedTokens::Listed(tokens)),
            )?;
        }
        for subtree in groups.subtrees().iter().filter(|subtree| self.may_be_legal(subtree.node)) {
            let (node, Some(set)) = (subtree.node, after(&subtree.path)?) else { continue };
            visit_kept(set, VisitedTokens::Listed(self.vocabulary.trie().tokens(node)))?;
            pending.push(PendingSubtree { set, node, removed: removed.clone() });
        }
        Ok(())
    }

    /// A state to which most bytes lead, from itself too. Otherwise the state itself, if most bytes are legal.
    fn reference(&self, set: SetId, node: TrieNode) -> Result<Option<SetId>, LimitExceeded> {
        let Some(reference) = self.majority(set, node)? else { return Ok(None) };
        let loops = reference == set || self.majority(reference, node)? == Some(reference);
        Ok(Some(if loops { reference } else { set }))
    }

    /// Another state to which most bytes lead, from itself too.
    pub(super) fn other_reference(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        let Some(reference) = self.majority(set, TrieNode::ROOT)?.filter(|&reference| reference != set)
        else {
            return Ok(None);
        };
        Ok((self.majority(reference, TrieNode::ROOT)? == Some(reference)).then_some(reference))
    }

    /// The state after most of the nodes below a node, if they are enough.
    fn majority(&self, set: SetId, node: TrieNode) -> Result<Option<SetId>, LimitExceeded> {
        let trie = self.vocabulary.trie();
        let total = trie.subtree_len(node);
        let min_weight = self.min_nodes.max(total.div_ceil(4));
        let possible = self.possible_bytes(set, total)?;
        let children = || trie.children(node).filter(|&child| possible.contains(trie.byte(child)));
        let is_heavy = |child: &TrieNode| trie.subtree_len(*child) >= total / HEAVY_SHARE;
        let heavy = children().filter(is_heavy);
        let light = children().filter(|child| !is_heavy(child));
        let mut weights: Vec<(SetId, usize)> = Vec::new();
        let mut rest: usize = children().map(|child| trie.subtree_len(child)).sum();
        if rest < min_weight {
            return Ok(None);
        }
        let mut heaviest: Option<(SetId, usize)> = None;
        for child in heavy.chain(light) {
            let weight = trie.subtree_len(child);
            rest -= weight;
            if let Some(next) = self.engine.step(set, trie.byte(child))? {
                let sum = match weights.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, sum)) => {
                        *sum += weight;
                        *sum
                    }
                    None => {
                        weights.push((next, weight));
                        weight
                    }
                };
                if heaviest.is_none_or(|(_, most)| sum > most) {
                    heaviest = Some((next, sum));
                }
            }
            let most = heaviest.map_or(0, |(_, most)| most);
            // No state is heavy enough, or none is heavier. Each step takes time if it is new.
            if most + rest < min_weight || 2 * most > total {
                break;
            }
        }
        Ok(heaviest.filter(|&(_, weight)| weight >= min_weight).map(|(set, _)| set))
    }

    /// Visits the legal tokens below a node after which the states are different, and returns the tokens that are to be
    /// left out of the reference state's groups, ascending.
    pub(super) fn visit_differences(
        &self,
        set: SetId,
        reference: SetId,
        start: TrieNode,
        visit: &mut VisitGroup<'_>,
    ) -> Result<Vec<TokenId>, LimitExceeded> {
        let trie = self.vocabulary.trie();
        let first_depth = usize::from(trie.depth(start));
        let mut path: Vec<(SetId, Option<SetId>)> = vec![(set, Some(reference))];
        let mut removed = Vec::new();
        let mut node = TrieNode(start.0 + 1);
        let mut checked_steps = self.engine.new_steps();
        while node < trie.subtree_end(start) {
            self.check_deadline(&mut checked_steps)?;
            let depth = usize::from(trie.depth(node)) - first_depth;
            let (own, other) = path[depth - 1];
            let byte = trie.byte(node);
            let own = self.step(own, byte)?;
            let other = match other {
                Some(other) => self.step(other, byte)?,
                None => None,
            };
            if own == other {
                node = trie.subtree_end(node);
                continue;
            }
            let Some(own) = own else {
                removed.extend_from_slice(trie.subtree_tokens(node));
                node = trie.subtree_end(node);
                continue;
            };
            if other.is_some() {
                removed.extend_from_slice(trie.tokens(node));
            }
            self.visit_node(own, node, visit)?;
            path.truncate(depth);
            path.push((own, other));
            node = TrieNode(node.0 + 1);
        }
        removed.sort_unstable();
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use grammask_diagnostics::Limits;
    use grammask_vocabulary::TokenTexts;

    use super::*;
    use crate::{CompileOptions, CompiledGrammar, frontends};

    const GRAMMARS: [&str; 17] = [
        // Free text, with escapes and characters of several bytes.
        r##"start ::= #'"([^"\\\\]|\\\\["nu])*"' ":" start | "x" | "[" start "]";"##,
        // A name that must not be one of others, next to these.
        r##"start ::= "{" member ("," member)* "}"; member ::= "\"ab\":" #'[0-9]{1,4}' | "\"cd\":[" start "]" | except!(name) ":x" | #'"[^"a-d][^"]*"' ":y"; name ::= "ab" | "q";"##,
        // Bounded text.
        r##"start ::= #'"[^"]{2,9}"' ";" | #'"[^"]{0,40}"' "," start;"##,
        // Words that may end at every character, and alternatives with the same terminal.
        r##"start ::= #'[a-z ]+' "!" | #'"[^"]*"' "-" | #'"[^"]*"' "+" start;"##,
        r##"start ::= #'[^a]*' "a" start "bbbb" | "c";"##,
        r##"start ::= #'"[^"]*zz[^"]*"' start | ".";"##,
        // Copies that the recogniser counts, with several bounds, and with different texts after them.
        r##"start ::= "\"" c{0,9} "\"" start | "x"; c ::= #'[^"\\\\]|\\\\.';"##,
        r##"start ::= "\"" c{2,300} "\"," start | "x"; c ::= #'[^"\\\\]|\\\\.';"##,
        r##"start ::= "\"" c{2,400} ("\":" start | "\"]"); c ::= #'[^"\\\\]|\\\\.';"##,
        r##"start ::= "," c{3,} ("a" start | "b" "bb"{1,4} "z"); c ::= #'[a-z1]|é';"##,
        r##"start ::= "[" c{1,5} c{2,} tail; c ::= #'[ab1]|é'; tail ::= "z" | "a" tail | "b" c{1,3} tail;"##,
        // The same copies, where different bytes of theirs may begin what follows.
        r##"start ::= "[" c{1,200} ("zzzz" | "ay" start | "ay"); c ::= #'[^yz]';"##,
        r##"start ::= "[" c{1,200} ("zzzz" | "by" start | "by"); c ::= #'[^yz]';"##,
        r##"start ::= "\"" text; text ::= #'[^"]' text | "\"" ;"##,
        // Words that longer words begin with, before other texts, some of which begin like the rest of a longer word.
        r##"start ::= #'[1 ]{1,9}' "]" start | #'[1 ]{1,9}' "," start | "z";"##,
        r##"start ::= #'1{1,6}(,1{1,3})?' tail; tail ::= "]" start | "1a" tail | ",b" start | ": z";"##,
        r##"start ::= spaces #'1{1,8}' spaces (":" start | "]" | "," start); spaces ::= #'( |  [ a]{0,12})?';"##,
    ];

    fn vocabulary() -> Arc<Vocabulary> {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let parts = ["a", "b", "z", "\"", "\\", "é", ",", ":", "1", "\u{20ac}", "]", " "];
        for first in parts {
            for second in parts {
                tokens.push([first, second].concat().into_bytes());
                tokens.extend(parts.iter().map(|third| [first, second, third].concat().into_bytes()));
            }
        }
        tokens.extend(["\",\"ab\":12", "\":x,\"cd\":["].map(|text| text.as_bytes().to_vec()));
        tokens.push(b"\xe2\x82".to_vec());
        tokens.push(b"a\xc3".to_vec());
        let texts: TokenTexts = tokens.iter().map(|text| Some(text.as_slice())).chain([None]).collect();
        let end = u32::try_from(texts.len() - 1).expect("a small vocabulary");
        Arc::new(Vocabulary::new(texts, vec![], vec![end], None).expect("a valid vocabulary"))
    }

    type Costs = Vec<(TokenId, Option<u32>)>;

    /// Number of compared states at the end of a word that longer words begin with.
    static AFTER_WORDS: AtomicUsize = AtomicUsize::new(0);
    /// Number of compared states that may read few bytes.
    static FILTERED: AtomicUsize = AtomicUsize::new(0);
    /// Number of shared groups that the compared walks visited.
    static SHARED: AtomicUsize = AtomicUsize::new(0);

    /// The costs after each token, by a walk without groups and by one with them.
    fn both(cache: &crate::GrammarCache, set: SetId, min_nodes: usize) -> [Costs; 2] {
        let (engine, vocabulary, deadline) = (cache.engine(), cache.vocabulary(), &cache.deadline());
        let (mut plain, mut grouped): (Costs, Costs) = (Vec::new(), Vec::new());
        SuccessorWalk { engine, vocabulary, deadline, max_size: None }
            .visit(set, false, &mut |next, tokens| {
                let cost = cache.spelling_cost(next, deadline)?;
                plain.extend(tokens.iter().map(|&token| (token, cost)));
                Ok(())
            })
            .expect("no limit");
        // Half of the walks have the legal tokens.
        let legal = cache.mask(set).ok().filter(|_| set.index().is_multiple_of(2));
        let legal = legal.as_ref().map(|mask| mask.live_tokens());
        let walk = GroupedWalk { engine, vocabulary, deadline, min_nodes, texts: WalkedTexts::Known, legal };
        let after = walk.inside(set).expect("no limit").and_then(|inside| inside.after);
        if after.is_some_and(|after| after.first_bytes.is_some()) {
            AFTER_WORDS.fetch_add(1, Ordering::Relaxed);
        }
        let possible = engine.possible_bytes(set).expect("no limit").unwrap_or(ByteSet::ALL);
        for byte in 0..=u8::MAX {
            assert!(possible.contains(byte) || engine.step(set, byte).expect("no limit").is_none());
        }
        if possible.len() < 8 {
            FILTERED.fetch_add(1, Ordering::Relaxed);
        }
        walk.visit(set, false, &mut |next, tokens| {
            let cost = cache.spelling_cost(next, deadline)?;
            match tokens {
                VisitedTokens::Listed(tokens) => grouped.extend(tokens.iter().map(|&token| (token, cost))),
                VisitedTokens::Shared(tokens) => {
                    SHARED.fetch_add(1, Ordering::Relaxed);
                    grouped.extend(tokens.iter().map(|token| (token, cost)));
                }
            }
            Ok(())
        })
        .expect("no limit");
        plain.sort_unstable();
        grouped.sort_unstable();
        let mut few: Costs = Vec::new();
        let legal = LiveTokens::new(plain.iter().map(|&(token, _)| token).collect(), vocabulary.size());
        walk.visit_few(set, &legal, &mut |next, tokens| {
            let VisitedTokens::Listed(tokens) = tokens else { unreachable!("they are read one by one") };
            let cost = cache.spelling_cost(next, deadline)?;
            few.extend(tokens.iter().map(|&token| (token, cost)));
            Ok(())
        })
        .expect("no limit");
        few.sort_unstable();
        assert_eq!(few, plain);
        [plain, grouped]
    }

    #[test]
    fn costs_equal_those_of_a_walk_without_groups() {
        let mut compared = 0;
        for min_nodes in [1, 20, 600] {
            // Shared by the grammars, in several orders.
            let vocabulary = vocabulary();
            for index in 0..2 * GRAMMARS.len() {
                let source = GRAMMARS[index * 3 % GRAMMARS.len()];
                let (grammar, _) =
                    frontends::kbnf::grammar(source.as_bytes(), "start", &Limits::default()).expect(source);
                let compile = || {
                    CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default())
                        .expect("a valid grammar")
                };
                let mut matcher = compile().matcher();
                // Its costs are those of spellings that are read token by token.
                let mut reader = compile().matcher();
                let mut seed = index as u64 + 1;
                for _ in 0..60 {
                    let [plain, grouped] = both(matcher.cache(), matcher.set(), min_nodes);
                    assert_eq!(plain, grouped, "{source} after {:?}", matcher.tokens());
                    compared += 1;
                    let [cost, by_tokens] = [
                        matcher.cache().spelling_cost(matcher.set(), &matcher.cache().deadline()),
                        reader.cache().cost_by_tokens(reader.set(), &reader.cache().deadline()),
                    ];
                    assert_eq!(cost, by_tokens, "{source} after {:?}", matcher.tokens());
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if plain.is_empty() {
                        break;
                    }
                    let (token, _) = plain[(seed >> 33) as usize % plain.len()];
                    assert!(matcher.accept(token).expect("no limit"));
                    assert!(reader.accept(token).expect("no limit"));
                }
            }
        }
        assert!(compared > 800, "only {compared} states");
        let shared = SHARED.load(Ordering::Relaxed);
        assert!(shared > 800, "only {shared} shared groups");
        let filtered = FILTERED.load(Ordering::Relaxed);
        assert!(filtered > 200, "only {filtered} states that may read few bytes");
        let after_words = AFTER_WORDS.load(Ordering::Relaxed);
        assert!(after_words > 200, "only {after_words} states after words");
    }
}
