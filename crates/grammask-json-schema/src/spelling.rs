//! Turns sets of texts into the languages of their spellings inside a JSON string.
//!
//! A character may have several spellings (`/`, `\/`, `\u002f`), and a schema constrains the text that is meant,
//! however it is spelled. So decoding is a function from spellings to texts (RFC 8259, section 7), and every
//! language made here is the inverse image of a set of texts within one *universe* of spellings, which
//! [`Universe`] names. Inverse images commute with union, intersection and complement, so an escape never evades
//! a constraint. In the plain universe, of texts outside JSON, a text is its own spelling. Code points are Unicode scalar values: halves of surrogate pairs are never spelled.
//!
//! The spellings of a set of characters are a finite language; its minimal automaton is built from ranges of
//! code points, digit by digit, with equal subtrees shared. A set costs time in the number of its ranges.

use rustc_hash::FxHashMap;

use super::lengths::PieceTable;
use super::options::Escapes;
use grammask_automata::{TableBuilder, TableState, TermId, Terms};

/// The first and the last of a range of characters.
pub(super) type CharRange = (char, char);

/// Which spellings there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Universe {
    /// Those inside a JSON string, with these escapes.
    Json(Escapes),
    /// Every text is written as it is, in UTF-8.
    Plain,
}

/// Makes languages of spellings, for one arena of terms.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    universe: Universe,
    classes: FxHashMap<Vec<CharRange>, TermId>,
    trees: Trees,
    /// Of terms that go on with any text, the same going on with any bytes.
    open: FxHashMap<TermId, TermId>,
    /// What terms are made of, for bounds of length.
    pub(super) pieces: PieceTable,
}

impl Spelling {
    /// The universe of spellings that `escapes` allows.
    #[cfg(test)]
    pub(super) fn new(escapes: Escapes) -> Self {
        Self::within(Universe::Json(escapes))
    }

    /// Spellings of a universe.
    pub(super) fn within(universe: Universe) -> Self {
        Self {
            universe,
            classes: FxHashMap::default(),
            trees: Trees::new(),
            open: FxHashMap::default(),
            pieces: PieceTable::default(),
        }
    }

    /// Which spellings there are.
    pub(super) fn universe(&self) -> Universe {
        self.universe
    }

    /// One character of `ranges`, in any order.
    pub(super) fn class(&mut self, terms: &mut Terms, ranges: &[CharRange]) -> TermId {
        let ranges = normalized(ranges);
        if let Some(&known) = self.classes.get(&ranges) {
            return known;
        }
        let arms: Vec<Arm> = ranges
            .iter()
            .map(|&(first, last)| Arm { first: first.into(), last: last.into(), target: NodeId::END })
            .collect();
        let root = self.trees.character(self.universe, false, &arms);
        let term = self.trees.term(terms, root);
        self.classes.insert(ranges, term);
        term
    }

    /// Any one character.
    pub(super) fn any(&mut self, terms: &mut Terms) -> TermId {
        self.class(terms, &[('\0', char::MAX)])
    }

    /// Every text: the universe. One term for all schemas, so that what is known about it is shared.
    pub(super) fn texts(&mut self, terms: &mut Terms) -> TermId {
        let any = self.any(terms);
        terms.repeat(any, 0, None)
    }

    /// Exactly `word`.
    pub(super) fn word(&mut self, terms: &mut Terms, word: &str) -> TermId {
        let mut parts = Vec::new();
        let mut plain = 0;
        for (at, character) in word.char_indices() {
            if !self.is_plain(character) {
                parts.push(terms.literal(&word.as_bytes()[plain..at]));
                parts.push(self.class(terms, &[(character, character)]));
                plain = at + character.len_utf8();
            }
        }
        parts.push(terms.literal(&word.as_bytes()[plain..]));
        terms.concat(&parts)
    }

    /// Exactly `words`. Cost: sorting them, and then linear in their text.
    pub(super) fn words<'w>(
        &mut self,
        terms: &mut Terms,
        words: impl IntoIterator<Item = &'w str>,
    ) -> TermId {
        let (plain, mut others): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| word.chars().all(|character| self.is_plain(character)));
        let plain = terms.literals(&plain);
        // Bytes of UTF-8 sort as the code points do.
        others.sort_unstable();
        others.dedup();
        let others = match others[..] {
            [] => return plain,
            [only] => self.word(terms, only),
            _ => self.sorted_words(terms, &others),
        };
        terms.union(&[plain, others])
    }

    /// The texts of `min` to `max` characters.
    pub(super) fn length(&mut self, terms: &mut Terms, min: u32, max: Option<u32>) -> TermId {
        let any = self.any(terms);
        terms.repeat(any, min, max)
    }

    /// The texts that are not in `term`.
    pub(super) fn complement(&mut self, terms: &mut Terms, term: TermId) -> TermId {
        let texts = self.texts(terms);
        if term == terms.nothing() {
            return texts;
        }
        if term == texts {
            return terms.nothing();
        }
        let outside = self.outside(terms, term);
        terms.intersection(&[texts, outside])
    }

    /// All that is not in `term`, and any byte strings that are no spellings: for intersection with spellings.
    ///
    /// Where `term` goes on with any text, this has no words left, so that dead ends are seen at once.
    pub(super) fn outside(&self, terms: &mut Terms, term: TermId) -> TermId {
        let term = self.open.get(&term).copied().unwrap_or(term);
        terms.complement(term)
    }

    /// Remembers that `term` holds the spellings in `open`, which goes on with any bytes where `term` goes on with
    /// any text.
    pub(super) fn remember_open(&mut self, term: TermId, open: TermId) {
        self.open.insert(term, open);
    }

    /// Whether a character has one spelling, itself.
    fn is_plain(&self, character: char) -> bool {
        let Universe::Json(escapes) = self.universe else { return true };
        match character {
            _ if escapes == Escapes::Any => false,
            '"' | '\\' | '/' => false,
            ' '..='~' => true,
            _ => escapes == Escapes::Raw && !character.is_ascii(),
        }
    }

    /// Builds the minimal automaton of sorted words as it goes, as Daciuk, Mihov, Watson and Watson do
    /// ("Incremental construction of minimal acyclic finite-state automata", 2000), with characters for symbols.
    fn sorted_words(&mut self, terms: &mut Terms, words: &[&str]) -> TermId {
        #[derive(Default)]
        struct Open {
            accepting: bool,
            arms: Vec<Arm>,
        }
        let mut path = vec![Open::default()];
        let mut previous: Vec<char> = Vec::new();
        let ends = words.iter().map(|word| word.chars().collect::<Vec<_>>());
        // A last word, which is not added, closes all that is open.
        for (word, is_word) in ends.map(|word| (word, true)).chain([(Vec::new(), false)]) {
            let common = previous.iter().zip(&word).take_while(|(one, other)| one == other).count();
            while path.len() > common + 1 {
                let open = path.pop().expect("the root stays");
                let target = self.trees.character(self.universe, open.accepting, &open.arms);
                let code = u32::from(previous[path.len() - 1]);
                let parent = path.last_mut().expect("the root stays");
                match parent.arms.last_mut() {
                    Some(arm) if arm.last + 1 == code && arm.target == target => arm.last = code,
                    _ => parent.arms.push(Arm { first: code, last: code, target }),
                }
            }
            path.resize_with(word.len() + 1, Open::default);
            if is_word {
                path[word.len()].accepting = true;
            }
            previous = word;
        }
        let root = self.trees.character(self.universe, path[0].accepting, &path[0].arms);
        self.trees.term(terms, root)
    }
}

/// The same characters as ascending ranges that neither overlap nor touch.
fn normalized(ranges: &[CharRange]) -> Vec<CharRange> {
    let mut sorted = ranges.to_vec();
    sorted.retain(|(first, last)| first <= last);
    sorted.sort_unstable();
    let mut merged: Vec<CharRange> = Vec::with_capacity(sorted.len());
    for (first, last) in sorted {
        match merged.last_mut() {
            Some(before) if u32::from(first) <= next_code(before.1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// The scalar value after a character; surrogates are none.
fn next_code(character: char) -> u32 {
    if character == '\u{d7ff}' { 0xe000 } else { u32::from(character) + 1 }
}

/// A node of [`Trees`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NodeId(u32);

impl NodeId {
    /// Accepts the empty word only.
    const END: Self = Self(0);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Code points that lead to a node.
#[derive(Clone, Copy, Debug)]
struct Arm {
    first: u32,
    last: u32,
    target: NodeId,
}

/// Bytes that lead to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    low: u8,
    high: u8,
    target: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    accepting: bool,
    edges: Vec<Edge>,
}

/// How one digit of a code point is written.
#[derive(Clone, Copy, Debug)]
enum Digit {
    /// Always this byte.
    Fixed(u8),
    /// A byte that continues UTF-8: six bits.
    Continuation,
    /// A hexadecimal digit between the first and the last.
    Hex(u8, u8),
}

impl Digit {
    fn radix(self) -> u32 {
        match self {
            Self::Fixed(_) => 1,
            Self::Continuation => 64,
            Self::Hex(first, last) => u32::from(last - first) + 1,
        }
    }
}

const ANY_HEX: Digit = Digit::Hex(0, 15);

/// The ways of writing numbers digit by digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Family {
    /// The bytes of UTF-8 after the first.
    Utf8,
    /// The four digits of an escape.
    Escape,
    /// What follows the second digit of the first escape of a surrogate pair.
    Pair,
}

impl Family {
    fn digits(self) -> &'static [Digit] {
        match self {
            Self::Utf8 => &[Digit::Continuation; 3],
            Self::Escape => &[ANY_HEX; 4],
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
        }
    }
}

/// Acyclic automata whose equal nodes are one.
#[derive(Clone, Debug)]
struct Trees {
    nodes: Vec<Node>,
    ids: FxHashMap<Node, NodeId>,
    /// Digits of a family, from a depth on, of which all values lead to one node.
    full: FxHashMap<(Family, usize, NodeId), NodeId>,
}

impl Trees {
    fn new() -> Self {
        let mut trees = Self { nodes: Vec::new(), ids: FxHashMap::default(), full: FxHashMap::default() };
        let end = trees.intern(true, Vec::new());
        debug_assert_eq!(end, NodeId::END);
        trees
    }

    fn intern(&mut self, accepting: bool, edges: Vec<Edge>) -> NodeId {
        let node = Node { accepting, edges };
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).expect("memory ends before four billion nodes"));
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    /// The node from which each spelling of a character leads to the target of its arm. Arms ascend.
    fn character(&mut self, universe: Universe, accepting: bool, arms: &[Arm]) -> NodeId {
        let mut edges = Vec::new();
        let Universe::Json(escapes) = universe else {
            for arm in overlapping(arms, 0, 0x7f) {
                let Arm { first, last, target } = clipped(*arm, 0, 0x7f);
                push_edge(&mut edges, first as u8, last as u8, target);
            }
            self.push_utf8(&mut edges, arms);
            edges.sort_unstable_by_key(|edge: &Edge| edge.low);
            return self.intern(accepting, edges);
        };
        for arm in overlapping(arms, 0x20, 0x7f) {
            let Arm { first, last, target } = clipped(*arm, 0x20, 0x7f);
            for code in first..=last {
                if code != u32::from(b'"') && code != u32::from(b'\\') {
                    push_edge(&mut edges, code as u8, code as u8, target);
                }
            }
        }
        let escaped = self.after_backslash(escapes, arms);
        if let Some(target) = escaped {
            push_edge(&mut edges, b'\\', b'\\', target);
        }
        if escapes != Escapes::Ascii {
            self.push_utf8(&mut edges, arms);
        }
        edges.sort_unstable_by_key(|edge: &Edge| edge.low);
        self.intern(accepting, edges)
    }

    fn push_utf8(&mut self, edges: &mut Vec<Edge>, arms: &[Arm]) {
        // Per length: the first lead byte, how many there are, continuation bytes, and the code points.
        const LENGTHS: [(u8, u8, usize, u32, u32); 3] =
            [(0xc0, 32, 1, 0x80, 0x7ff), (0xe0, 16, 2, 0x800, 0xffff), (0xf0, 5, 3, 0x1_0000, 0x10_ffff)];
        for (lead, leads, continuations, first, last) in LENGTHS {
            let arms = scalars_within(arms, first, last);
            if arms.is_empty() {
                continue;
            }
            let span = 1 << (6 * continuations);
            for digit in 0..leads {
                let depth = Family::Utf8.digits().len() - continuations;
                if let Some(target) = self.block(Family::Utf8, depth, u32::from(digit) * span, &arms) {
                    push_edge(edges, lead + digit, lead + digit, target);
                }
            }
        }
    }

    /// The node after a backslash, if an escape may follow.
    fn after_backslash(&mut self, escapes: Escapes, arms: &[Arm]) -> Option<NodeId> {
        const SHORT: [(u8, u32); 8] = [
            (b'"', 0x22),
            (b'/', 0x2f),
            (b'\\', 0x5c),
            (b'b', 0x08),
            (b'f', 0x0c),
            (b'n', 0x0a),
            (b'r', 0x0d),
            (b't', 0x09),
        ];
        let mut edges = Vec::new();
        for (byte, code) in SHORT {
            if let [arm] = overlapping(arms, code, code) {
                push_edge(&mut edges, byte, byte, arm.target);
            }
        }
        let escapable: &[(u32, u32)] = match escapes {
            Escapes::Any => &[(0, 0x10_ffff)],
            Escapes::Natural | Escapes::Ascii => &[(0, 0x1f), (0x22, 0x22), (0x5c, 0x5c), (0x7f, 0x10_ffff)],
            Escapes::Raw => &[(0, 0x1f), (0x22, 0x22), (0x5c, 0x5c), (0x7f, 0x7f)],
        };
        let arms: Vec<Arm> =
            escapable.iter().flat_map(|&(first, last)| scalars_within(arms, first, last)).collect();
        if let Some(target) = self.after_u(&arms) {
            push_edge(&mut edges, b'u', b'u', target);
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        (!edges.is_empty()).then(|| self.intern(false, edges))
    }

    /// The node after `\u`, if digits may follow.
    fn after_u(&mut self, arms: &[Arm]) -> Option<NodeId> {
        if arms.is_empty() {
            return None;
        }
        let mut edges = Vec::new();
        for digit in 0..16 {
            let target = if digit == 13 {
                self.after_ud(arms)
            } else {
                self.block(Family::Escape, 1, u32::from(digit) << 12, arms)
            };
            if let Some(target) = target {
                push_hex(&mut edges, digit, target);
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        Some(self.intern(false, edges))
    }

    /// The node after `\ud`, where surrogate pairs part from other characters.
    fn after_ud(&mut self, arms: &[Arm]) -> Option<NodeId> {
        let mut edges = Vec::new();
        for digit in 0..12 {
            let target = if digit < 8 {
                self.block(Family::Escape, 2, 0xd000 + (u32::from(digit) << 8), arms)
            } else {
                self.block(Family::Pair, 0, 0x1_0000 + (u32::from(digit - 8) << 18), arms)
            };
            if let Some(target) = target {
                push_hex(&mut edges, digit, target);
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        (!edges.is_empty()).then(|| self.intern(false, edges))
    }

    /// The node from which the digits of the code points from `base` on lead to the targets of their arms; none
    /// if no arm is met. Its calls of itself are as deep as a family has digits.
    fn block(&mut self, family: Family, depth: usize, base: u32, arms: &[Arm]) -> Option<NodeId> {
        let span: u32 = family.digits()[depth..].iter().map(|digit| digit.radix()).product();
        let arms = overlapping(arms, base, base + span - 1);
        let &[first, ..] = arms else { return None };
        let is_full = first.first <= base && first.last >= base + span - 1;
        if is_full && let Some(&known) = self.full.get(&(family, depth, first.target)) {
            return Some(known);
        }
        let Some(&digit) = family.digits().get(depth) else { return Some(first.target) };
        let step = span / digit.radix();
        let mut edges = Vec::new();
        for value in 0..digit.radix() {
            let Some(target) = self.block(family, depth + 1, base + value * step, arms) else { continue };
            match digit {
                Digit::Fixed(byte) => push_edge(&mut edges, byte, byte, target),
                Digit::Continuation => push_edge(&mut edges, 0x80 + value as u8, 0x80 + value as u8, target),
                Digit::Hex(lowest, _) => push_hex(&mut edges, lowest + value as u8, target),
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        let node = self.intern(false, edges);
        if is_full {
            self.full.insert((family, depth, first.target), node);
        }
        Some(node)
    }

    /// What is accepted from `root`.
    fn term(&self, terms: &mut Terms, root: NodeId) -> TermId {
        let mut builder = TableBuilder::new();
        let mut states: FxHashMap<NodeId, TableState> = FxHashMap::default();
        let start = builder.add_state();
        states.insert(root, start);
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            let from = states[&id];
            let node = &self.nodes[id.index()];
            if node.accepting {
                builder.accept(from);
            }
            for edge in &node.edges {
                let to = *states.entry(edge.target).or_insert_with(|| {
                    stack.push(edge.target);
                    builder.add_state()
                });
                builder.transition(from, edge.low, edge.high, to);
            }
        }
        terms.table(builder.finish(start))
    }
}

/// The arms that meet the code points from `first` to `last`.
fn overlapping(arms: &[Arm], first: u32, last: u32) -> &[Arm] {
    let start = arms.partition_point(|arm| arm.last < first);
    let end = arms.partition_point(|arm| arm.first <= last);
    &arms[start.min(end)..end]
}

fn clipped(arm: Arm, first: u32, last: u32) -> Arm {
    Arm { first: arm.first.max(first), last: arm.last.min(last), target: arm.target }
}

/// The parts of arms between `first` and `last`, without surrogates.
fn scalars_within(arms: &[Arm], first: u32, last: u32) -> Vec<Arm> {
    let mut parts = Vec::new();
    for arm in overlapping(arms, first, last) {
        let arm = clipped(*arm, first, last);
        for (first, last) in [(0, 0xd7ff), (0xe000, 0x10_ffff)] {
            parts.extend(overlapping(&[arm], first, last).iter().map(|arm| clipped(*arm, first, last)));
        }
    }
    parts
}

fn push_edge(edges: &mut Vec<Edge>, low: u8, high: u8, target: NodeId) {
    match edges.last_mut() {
        Some(edge) if edge.target == target && u32::from(edge.high) + 1 == u32::from(low) => edge.high = high,
        _ => edges.push(Edge { low, high, target }),
    }
}

/// An edge for both cases of a hexadecimal digit.
fn push_hex(edges: &mut Vec<Edge>, digit: u8, target: NodeId) {
    if digit < 10 {
        edges.push(Edge { low: b'0' + digit, high: b'0' + digit, target });
    } else {
        edges.push(Edge { low: b'A' + digit - 10, high: b'A' + digit - 10, target });
        edges.push(Edge { low: b'a' + digit - 10, high: b'a' + digit - 10, target });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODES: [Escapes; 4] = [Escapes::Natural, Escapes::Any, Escapes::Ascii, Escapes::Raw];

    fn contains(terms: &mut Terms, term: TermId, word: &str) -> bool {
        let end = word.bytes().fold(term, |term, byte| terms.derivative(term, byte));
        terms.is_nullable(end)
    }

    /// All spellings of a character, by the definition of each universe.
    fn spellings(escapes: Escapes, character: char) -> Vec<String> {
        let mut all = Vec::new();
        let control = character < ' ';
        let must = control || character == '"' || character == '\\';
        if !must && (escapes != Escapes::Ascii || character.is_ascii()) {
            all.push(character.to_string());
        }
        let short = match character {
            '"' | '\\' | '/' => Some(character),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        all.extend(short.map(|letter| format!("\\{letter}")));
        let long = match escapes {
            Escapes::Any => true,
            Escapes::Natural | Escapes::Ascii => must || character >= '\u{7f}',
            Escapes::Raw => must || character == '\u{7f}',
        };
        if long {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            let lower: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            all.push(units.iter().map(|unit| format!("\\u{unit:04X}")).collect());
            all.push(lower);
        }
        all
    }

    const EDGES: [char; 36] = [
        '\0',
        '\u{8}',
        '\t',
        '\n',
        '\u{b}',
        '\u{c}',
        '\r',
        '\u{1f}',
        ' ',
        '"',
        '/',
        '0',
        'A',
        'b',
        'u',
        '[',
        '\\',
        ']',
        '~',
        '\u{7f}',
        '\u{80}',
        'é',
        '\u{7ff}',
        '\u{800}',
        '\u{fff}',
        '你',
        '\u{cfff}',
        '\u{d000}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '😀',
        '\u{1ffff}',
        '\u{fffff}',
        '\u{10ffff}',
    ];

    #[test]
    fn a_class_holds_all_spellings_of_its_characters_and_no_others() {
        for escapes in MODES {
            let (mut terms, mut spelling) = (Terms::new(), Spelling::new(escapes));
            let any = spelling.any(&mut terms);
            for class in EDGES {
                let term = spelling.class(&mut terms, &[(class, class)]);
                for character in EDGES {
                    for spelled in spellings(escapes, character) {
                        let expected = class == character;
                        assert_eq!(contains(&mut terms, term, &spelled), expected, "{class:?} {spelled}");
                        assert!(contains(&mut terms, any, &spelled), "{escapes:?} {spelled}");
                    }
                    let raw = character.to_string();
                    let expected = spellings(escapes, character).contains(&raw);
                    assert_eq!(contains(&mut terms, any, &raw), expected, "{escapes:?} {raw:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_spelling_is_in_no_universe() {
        for escapes in MODES {
            let (mut terms, mut spelling) = (Terms::new(), Spelling::new(escapes));
            let texts = spelling.texts(&mut terms);
            for wrong in
                ["\\", "\"", "\\x", "\\u12", "\\u12g4", "\n", "\\ud800", "\\udc00", "\\ud800\\u0041", "\\a"]
            {
                assert!(!contains(&mut terms, texts, wrong), "{escapes:?} {wrong}");
            }
            assert_eq!(contains(&mut terms, texts, "\\u0041"), escapes == Escapes::Any);
            assert_eq!(contains(&mut terms, texts, "\\u00e9"), escapes != Escapes::Raw);
            assert_eq!(contains(&mut terms, texts, "é"), escapes != Escapes::Ascii);
            assert_eq!(contains(&mut terms, texts, "\\uD83d\\uDe00"), escapes != Escapes::Raw);
        }
    }

    #[test]
    fn simple_classes_are_simple_terms() {
        let (mut terms, mut spelling) = (Terms::new(), Spelling::new(Escapes::Natural));
        let letters = terms.bytes(grammask_automata::ByteSet::range(b'a', b'z'));
        assert_eq!(spelling.class(&mut terms, &[('m', 'z'), ('a', 'n')]), letters);
        let word = terms.literal(b"plain word");
        assert_eq!(spelling.word(&mut terms, "plain word"), word);
        let nothing = terms.nothing();
        assert_eq!(spelling.class(&mut terms, &[]), nothing);
        let texts = spelling.texts(&mut terms);
        assert_eq!(spelling.complement(&mut terms, nothing), texts);
        assert_eq!(spelling.complement(&mut terms, texts), nothing);
    }

    #[test]
    fn the_universe_is_one_term_with_few_states() {
        let mut hashes = Vec::new();
        for _ in 0..2 {
            let (mut terms, mut spelling) = (Terms::new(), Spelling::new(Escapes::Natural));
            spelling.word(&mut terms, &"é".repeat(hashes.len()));
            let texts = spelling.texts(&mut terms);
            hashes.push(terms.content_hash(texts));
            let (mut seen, mut stack) = (std::collections::BTreeSet::from([texts]), vec![texts]);
            while let Some(term) = stack.pop() {
                for byte in 0..=u8::MAX {
                    let next = terms.derivative(term, byte);
                    if seen.insert(next) {
                        stack.push(next);
                    }
                }
            }
            assert!(seen.len() < 40, "{}", seen.len());
        }
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn many_words_are_fast_in_every_universe() {
        let words: Vec<String> = (0..20_000).map(|number| format!("é{number:05}/ü")).collect();
        for escapes in MODES {
            let (mut terms, mut spelling) = (Terms::new(), Spelling::new(escapes));
            let term = spelling.words(&mut terms, words.iter().map(String::as_str));
            for spelled in spellings(escapes, 'é') {
                let end = spellings(escapes, 'ü').swap_remove(0);
                assert!(contains(&mut terms, term, &format!("{spelled}01234\\/{end}")));
                assert!(!contains(&mut terms, term, &format!("{spelled}20000\\/{end}")));
            }
        }
    }

    proptest! {
        #[test]
        fn words_and_lengths_are_inverse_images(
            words in prop::collection::vec("[a/\"\\n\u{7f}é😀]{0,3}", 0..4),
            text in "[a/\"\\n\u{7f}é😀]{0,3}",
            choices in prop::collection::vec(0usize..6, 3),
            mode in 0usize..4,
        ) {
            let escapes = MODES[mode];
            let (mut terms, mut spelling) = (Terms::new(), Spelling::new(escapes));
            let spelled: String = text
                .chars()
                .zip(choices)
                .map(|(character, choice)| {
                    let all = spellings(escapes, character);
                    all[choice % all.len()].clone()
                })
                .collect();
            let term = spelling.words(&mut terms, words.iter().map(String::as_str));
            prop_assert_eq!(contains(&mut terms, term, &spelled), words.contains(&text));
            let outside = spelling.complement(&mut terms, term);
            prop_assert_eq!(contains(&mut terms, outside, &spelled), !words.contains(&text));
            let word = spelling.word(&mut terms, &text);
            prop_assert!(contains(&mut terms, word, &spelled));
            let count = text.chars().count() as u32;
            let exact = spelling.length(&mut terms, count, Some(count));
            prop_assert!(contains(&mut terms, exact, &spelled));
            let longer = spelling.length(&mut terms, count + 1, None);
            prop_assert!(!contains(&mut terms, longer, &spelled));
        }
    }
}
