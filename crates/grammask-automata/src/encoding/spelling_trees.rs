//! Automata for the spellings of ranges of characters, built digit by digit with equal subtrees shared.
//!
//! The spellings of a set of characters are a regular language whose minimal automaton is a tree of digits with shared
//! nodes. Cost: linear in the number of ranges, times the number of digits.

use rustc_hash::FxHashMap;

use crate::encoding::CharacterEncoding;
use crate::{TableBuilder, TableState, TermId, Terms};

/// The id of a node of [`SpellingTrees`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TreeNodeId(u32);

impl TreeNodeId {
    /// Accepts only the empty word.
    pub const END: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition on a range of code points, both ends included.
#[derive(Clone, Copy, Debug)]
pub struct CharTransition {
    /// The first code point.
    pub first: u32,
    /// The last code point.
    pub last: u32,
    /// The node after a spelling of any of them.
    pub target: TreeNodeId,
}

/// A transition on a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ByteTransition {
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) target: TreeNodeId,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct TreeNode {
    accepting: bool,
    edges: Vec<ByteTransition>,
    /// A byte with a transition to the node itself, such as a leading zero.
    repeated: Option<u8>,
    /// The state of a table that the node stands for, for trees between the states of a table.
    exit: Option<TableState>,
}

/// Whether characters beyond ASCII that represent themselves are read as whole characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralSpellings {
    /// They are part of the tree of each character.
    WholeCharacters,
    /// They are left out: the caller adds their bytes one by one.
    BytesByCaller,
}

/// One digit in the notation of a code point.
#[derive(Clone, Copy, Debug)]
enum Digit {
    /// Constantly this byte.
    Fixed(u8),
    /// A continuation byte of UTF-8: six bits.
    Continuation,
    /// A hexadecimal digit in an inclusive range.
    Hex(u8, u8),
    /// An octal digit in an inclusive range.
    Octal(u8, u8),
}

impl Digit {
    fn radix(self) -> u32 {
        match self {
            Self::Fixed(_) => 1,
            Self::Continuation => 64,
            Self::Hex(first, last) | Self::Octal(first, last) => u32::from(last - first) + 1,
        }
    }
}

const ANY_HEX: Digit = Digit::Hex(0, 15);

/// The notations of code points as sequences of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Notation {
    /// The bytes of UTF-8 after the first.
    Utf8,
    /// The last digits of a hexadecimal escape.
    Hex,
    /// The digits after `\uD8` to `\uDB`: the remainder of a surrogate pair.
    Pair,
    /// Three octal digits up to 377.
    Octal,
}

impl Notation {
    fn digits(self) -> &'static [Digit] {
        match self {
            Self::Utf8 => &[Digit::Continuation; 3],
            Self::Hex => &[ANY_HEX; 4],
            Self::Pair => &[
                ANY_HEX,
                ANY_HEX,
                Digit::Fixed(b'\\'),
                Digit::Fixed(b'u'),
                Digit::Hex(13, 13),
                Digit::Hex(12, 15),
                ANY_HEX,
                ANY_HEX,
            ],
            Self::Octal => &[Digit::Octal(0, 3), Digit::Octal(0, 7), Digit::Octal(0, 7)],
        }
    }
}

/// The base of a number of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Base {
    /// Decimal digits.
    Decimal,
    /// Hexadecimal digits of either case.
    Hexadecimal,
}

impl Base {
    fn radix(self) -> u32 {
        match self {
            Self::Decimal => 10,
            Self::Hexadecimal => 16,
        }
    }
}

/// The largest code point.
const MAX_CODE: u32 = 0x10_ffff;

/// Automata with hash-consed nodes.
#[derive(Clone, Debug)]
pub struct SpellingTrees {
    nodes: Vec<TreeNode>,
    ids: FxHashMap<TreeNode, TreeNodeId>,
    /// Memo table: the node from which all values of the digits at this depth reach one node.
    uniform_nodes: FxHashMap<(Notation, usize, TreeNodeId), TreeNodeId>,
    /// Memo table: the node from which all numbers of at most this many further digits reach one node.
    uniform_numbers: FxHashMap<(Base, u32, TreeNodeId), TreeNodeId>,
}

impl Default for SpellingTrees {
    fn default() -> Self {
        Self::new()
    }
}

impl SpellingTrees {
    /// Trees with the node [`TreeNodeId::END`].
    #[must_use]
    pub fn new() -> Self {
        let mut trees = Self {
            nodes: Vec::new(),
            ids: FxHashMap::default(),
            uniform_nodes: FxHashMap::default(),
            uniform_numbers: FxHashMap::default(),
        };
        let end = trees.intern(true, Vec::new());
        debug_assert_eq!(end, TreeNodeId::END);
        trees
    }

    /// The node from which each spelling of a character reaches the target of its transition. Transitions ascend and
    /// do not overlap.
    pub fn character(
        &mut self,
        encoding: &CharacterEncoding,
        accepting: bool,
        transitions: &[CharTransition],
    ) -> TreeNodeId {
        let edges = self.character_edges(encoding, LiteralSpellings::WholeCharacters, transitions);
        self.intern(accepting, edges)
    }

    pub(super) fn intern(&mut self, accepting: bool, edges: Vec<ByteTransition>) -> TreeNodeId {
        self.intern_node(TreeNode { accepting, edges, ..TreeNode::default() })
    }

    /// The leaf that stands for a state of a table.
    pub(super) fn exit(&mut self, state: TableState) -> TreeNodeId {
        self.intern_node(TreeNode { exit: Some(state), ..TreeNode::default() })
    }

    fn intern_node(&mut self, node: TreeNode) -> TreeNodeId {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let id = TreeNodeId(u32::try_from(self.nodes.len()).expect("memory ends before four billion nodes"));
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    /// Adds the ASCII characters that represent themselves.
    pub(super) fn push_ascii(
        edges: &mut Vec<ByteTransition>,
        transitions: &[CharTransition],
        is_literal: impl Fn(u8) -> bool,
    ) {
        for transition in overlapping(transitions, 0, 0x7f) {
            let CharTransition { first, last, target } = clipped(*transition, 0, 0x7f);
            for code in first as u8..=last as u8 {
                if is_literal(code) {
                    push_transition(edges, code, code, target);
                }
            }
        }
    }

    /// Adds the characters beyond ASCII as UTF-8.
    pub(super) fn push_utf8(&mut self, edges: &mut Vec<ByteTransition>, transitions: &[CharTransition]) {
        // Per length: the first lead byte, the number of lead bytes, the number of continuation bytes, and the code
        // points.
        const LENGTHS: [(u8, u8, usize, u32, u32); 3] =
            [(0xc0, 32, 1, 0x80, 0x7ff), (0xe0, 16, 2, 0x800, 0xffff), (0xf0, 5, 3, 0x1_0000, MAX_CODE)];
        for (lead, leads, continuations, first, last) in LENGTHS {
            let transitions = scalars_within(transitions, first, last);
            if transitions.is_empty() {
                continue;
            }
            let span = 1 << (6 * continuations);
            for digit in 0..leads {
                let depth = Notation::Utf8.digits().len() - continuations;
                if let Some(target) = self.block(Notation::Utf8, depth, u32::from(digit) * span, &transitions)
                {
                    push_transition(edges, lead + digit, lead + digit, target);
                }
            }
        }
    }

    /// The trie of spellings, which are a prefix code. The recursion is as deep as the longest spelling: use it for
    /// spellings of constant length.
    pub(super) fn words(&mut self, mut words: Vec<(Vec<u8>, TreeNodeId)>) -> Vec<ByteTransition> {
        words.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        self.words_after(&words, 0)
    }

    fn words_after(&mut self, words: &[(Vec<u8>, TreeNodeId)], depth: usize) -> Vec<ByteTransition> {
        let mut edges = Vec::new();
        for group in words.chunk_by(|(left, _), (right, _)| left[depth] == right[depth]) {
            let byte = group[0].0[depth];
            let target = match group {
                [(word, target)] if word.len() == depth + 1 => *target,
                _ => {
                    let inner = self.words_after(group, depth + 1);
                    self.intern(false, inner)
                }
            };
            push_transition(&mut edges, byte, byte, target);
        }
        edges
    }

    /// The node from which `word` reaches `target`.
    pub(super) fn chain(&mut self, word: &[u8], target: TreeNodeId) -> TreeNodeId {
        word.iter().rev().fold(target, |target, &byte| {
            self.intern(false, vec![ByteTransition { low: byte, high: byte, target }])
        })
    }

    /// The node after `\u`, or `None` if no digits may follow. Characters beyond the first plane are surrogate pairs.
    pub(super) fn after_u(&mut self, transitions: &[CharTransition]) -> Option<TreeNodeId> {
        if transitions.is_empty() {
            return None;
        }
        let mut edges = Vec::new();
        for digit in 0..16 {
            let target = if digit == 13 {
                self.after_ud(transitions)
            } else {
                self.block(Notation::Hex, 1, u32::from(digit) << 12, transitions)
            };
            if let Some(target) = target {
                push_hex(&mut edges, digit, target);
            }
        }
        self.sorted_node(edges)
    }

    /// The node after `\ud`, where surrogate pairs diverge from other characters.
    fn after_ud(&mut self, transitions: &[CharTransition]) -> Option<TreeNodeId> {
        let mut edges = Vec::new();
        for digit in 0..12 {
            let target = if digit < 8 {
                self.block(Notation::Hex, 2, 0xd000 + (u32::from(digit) << 8), transitions)
            } else {
                self.block(Notation::Pair, 0, 0x1_0000 + (u32::from(digit - 8) << 18), transitions)
            };
            if let Some(target) = target {
                push_hex(&mut edges, digit, target);
            }
        }
        self.sorted_node(edges)
    }

    /// The node before the last `digits` digits, at most four, of a hexadecimal number whose other digits are `base`.
    pub(super) fn hex_digits(
        &mut self,
        digits: usize,
        base: u32,
        transitions: &[CharTransition],
    ) -> Option<TreeNodeId> {
        self.block(Notation::Hex, Notation::Hex.digits().len() - digits, base, transitions)
    }

    /// The transitions from the first of three octal digits.
    pub(super) fn octal_digits(&mut self, transitions: &[CharTransition]) -> Vec<ByteTransition> {
        let node = self.block(Notation::Octal, 0, 0, transitions);
        node.map_or_else(Vec::new, |node| self.nodes[node.index()].edges.clone())
    }

    /// The node with these edges in ascending order; `None` if there are none.
    pub(super) fn sorted_node(&mut self, mut edges: Vec<ByteTransition>) -> Option<TreeNodeId> {
        edges.sort_unstable_by_key(|edge| edge.low);
        (!edges.is_empty()).then(|| self.intern(false, edges))
    }

    /// The node from which the digits of the code points from `base` on reach the targets of their transitions;
    /// `None` if no transition intersects them. The recursion is as deep as the notation has digits.
    fn block(
        &mut self,
        notation: Notation,
        depth: usize,
        base: u32,
        transitions: &[CharTransition],
    ) -> Option<TreeNodeId> {
        let span: u32 = notation.digits()[depth..].iter().map(|digit| digit.radix()).product();
        let transitions = overlapping(transitions, base, base + span - 1);
        let &[first, ..] = transitions else { return None };
        let is_full = first.first <= base && first.last >= base + span - 1;
        if is_full && let Some(&node) = self.uniform_nodes.get(&(notation, depth, first.target)) {
            return Some(node);
        }
        let Some(&digit) = notation.digits().get(depth) else { return Some(first.target) };
        let step = span / digit.radix();
        let mut edges = Vec::new();
        for value in 0..digit.radix() {
            let Some(target) = self.block(notation, depth + 1, base + value * step, transitions) else {
                continue;
            };
            match digit {
                Digit::Fixed(byte) => push_transition(&mut edges, byte, byte, target),
                Digit::Continuation => {
                    push_transition(&mut edges, 0x80 + value as u8, 0x80 + value as u8, target)
                }
                Digit::Hex(lowest, _) => push_hex(&mut edges, lowest + value as u8, target),
                Digit::Octal(lowest, _) => {
                    let byte = b'0' + lowest + value as u8;
                    push_transition(&mut edges, byte, byte, target);
                }
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        let node = self.intern(false, edges);
        if is_full {
            self.uniform_nodes.insert((notation, depth, first.target), node);
        }
        Some(node)
    }

    /// The node before a number with any leading zeros that ends with `;`, or `None` if no number may follow.
    pub(super) fn number(&mut self, base: Base, transitions: &[CharTransition]) -> Option<TreeNodeId> {
        let mut edges = Vec::new();
        for digit in 1..base.radix() {
            if let Some(target) = self.number_after(base, digit, transitions) {
                push_digit(&mut edges, base, digit as u8, target);
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        // The number 0 is no character of XML, so zeros do not end a number.
        let node = TreeNode { edges, repeated: Some(b'0'), ..TreeNode::default() };
        (!node.edges.is_empty()).then(|| self.intern_node(node))
    }

    /// The transitions of a number that begin at a node with other transitions.
    pub(super) fn number_edges(&self, number: TreeNodeId) -> Vec<ByteTransition> {
        let zeros = ByteTransition { low: b'0', high: b'0', target: number };
        std::iter::once(zeros).chain(self.nodes[number.index()].edges.iter().copied()).collect()
    }

    /// The node after the digits of `value`. The recursion is as deep as the largest number has digits.
    fn number_after(&mut self, base: Base, value: u32, transitions: &[CharTransition]) -> Option<TreeNodeId> {
        let (mut first, mut span, mut levels) = (value, 1, 0);
        let mut uniform = Some(None);
        let mut is_empty = true;
        while first <= MAX_CODE {
            let found = overlapping(transitions, first, first + span - 1);
            is_empty &= found.is_empty();
            let covering = match found {
                [only] if only.first <= first && only.last >= first + span - 1 => Some(only.target),
                _ => None,
            };
            uniform = match (uniform, covering) {
                (Some(None), Some(target)) => Some(Some(target)),
                (Some(Some(before)), Some(target)) if before == target => uniform,
                _ => None,
            };
            (first, span, levels) = (first * base.radix(), span * base.radix(), levels + 1);
        }
        if is_empty {
            return None;
        }
        let uniform = uniform.flatten().map(|target| (base, levels, target));
        if let Some(key) = uniform
            && let Some(&node) = self.uniform_numbers.get(&key)
        {
            return Some(node);
        }
        let mut edges = Vec::new();
        for digit in 0..base.radix() {
            let next = value * base.radix() + digit;
            if next <= MAX_CODE
                && let Some(target) = self.number_after(base, next, transitions)
            {
                push_digit(&mut edges, base, digit as u8, target);
            }
        }
        if let [transition] = overlapping(transitions, value, value) {
            edges.push(ByteTransition { low: b';', high: b';', target: transition.target });
        }
        let node = self.sorted_node(edges)?;
        if let Some(key) = uniform {
            self.uniform_numbers.insert(key, node);
        }
        Some(node)
    }

    /// The language accepted from `root`, whose tree has no exits.
    pub fn term(&self, terms: &mut Terms, root: TreeNodeId) -> TermId {
        let mut builder = TableBuilder::new();
        let start = builder.add_state();
        self.build(&mut builder, &FxHashMap::default(), &[(root, start)]);
        terms.table(builder.finish(start))
    }

    /// Adds the trees of `roots` to an automaton; exits lead to the states of `exits`.
    pub(super) fn build(
        &self,
        builder: &mut TableBuilder,
        exits: &FxHashMap<TableState, TableState>,
        roots: &[(TreeNodeId, TableState)],
    ) {
        let mut states: FxHashMap<TreeNodeId, TableState> = FxHashMap::default();
        let mut stack = roots.to_vec();
        if exits.is_empty() {
            states.extend(roots.iter().copied());
        }
        while let Some((id, from)) = stack.pop() {
            let node = &self.nodes[id.index()];
            if node.accepting {
                builder.accept(from);
            }
            if let Some(byte) = node.repeated {
                builder.transition(from, byte, byte, from);
            }
            for edge in &node.edges {
                let to = match self.nodes[edge.target.index()].exit {
                    Some(exit) => exits[&exit],
                    None => *states.entry(edge.target).or_insert_with(|| {
                        let state = builder.add_state();
                        stack.push((edge.target, state));
                        state
                    }),
                };
                builder.transition(from, edge.low, edge.high, to);
            }
        }
    }
}

/// The transitions that intersect the code points from `first` to `last`.
pub(super) fn overlapping(transitions: &[CharTransition], first: u32, last: u32) -> &[CharTransition] {
    let start = transitions.partition_point(|transition| transition.last < first);
    let end = transitions.partition_point(|transition| transition.first <= last);
    &transitions[start.min(end)..end]
}

fn clipped(transition: CharTransition, first: u32, last: u32) -> CharTransition {
    CharTransition {
        first: transition.first.max(first),
        last: transition.last.min(last),
        target: transition.target,
    }
}

/// The parts of transitions within ascending ranges of code points, without surrogates.
pub(super) fn scalars_within_ranges(
    transitions: &[CharTransition],
    ranges: &[(u32, u32)],
) -> Vec<CharTransition> {
    ranges.iter().flat_map(|&(first, last)| scalars_within(transitions, first, last)).collect()
}

/// The parts of transitions between `first` and `last`, without surrogates.
fn scalars_within(transitions: &[CharTransition], first: u32, last: u32) -> Vec<CharTransition> {
    let mut parts = Vec::new();
    for transition in overlapping(transitions, first, last) {
        let transition = clipped(*transition, first, last);
        for (first, last) in [(0, 0xd7ff), (0xe000, MAX_CODE)] {
            parts.extend(
                overlapping(&[transition], first, last)
                    .iter()
                    .map(|transition| clipped(*transition, first, last)),
            );
        }
    }
    parts
}

pub(super) fn push_transition(edges: &mut Vec<ByteTransition>, low: u8, high: u8, target: TreeNodeId) {
    match edges.last_mut() {
        Some(edge) if edge.target == target && u32::from(edge.high) + 1 == u32::from(low) => edge.high = high,
        _ => edges.push(ByteTransition { low, high, target }),
    }
}

/// Adds transitions for both cases of a hexadecimal digit.
pub(super) fn push_hex(edges: &mut Vec<ByteTransition>, digit: u8, target: TreeNodeId) {
    if digit < 10 {
        edges.push(ByteTransition { low: b'0' + digit, high: b'0' + digit, target });
    } else {
        edges.push(ByteTransition { low: b'A' + digit - 10, high: b'A' + digit - 10, target });
        edges.push(ByteTransition { low: b'a' + digit - 10, high: b'a' + digit - 10, target });
    }
}

fn push_digit(edges: &mut Vec<ByteTransition>, base: Base, digit: u8, target: TreeNodeId) {
    match base {
        Base::Decimal => edges.push(ByteTransition { low: b'0' + digit, high: b'0' + digit, target }),
        Base::Hexadecimal => push_hex(edges, digit, target),
    }
}
