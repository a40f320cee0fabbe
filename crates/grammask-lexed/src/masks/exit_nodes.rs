//! Exits: trie nodes at which the text of an embedded grammar may end within a token.
//!
//! A mask of the surrounding grammar needs the tokens that stay inside the embedded one, and the nodes where its text
//! is complete and a next byte can follow. The nodes before such a byte are numbered after the tokens of the
//! vocabulary, and masks are computed for both together: an exit is legal if and only if the text may end there. So
//! exits share the tables of tokens, and none of them needs a step of its own.

use grammask_automata::ByteSet;
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenTrie, TrieNode};

/// The trie nodes before an edge over one of some bytes, numbered in preorder.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExitNodes {
    nodes: Box<[TrieNode]>,
    /// A bit for each trie node.
    bits: Box<[u64]>,
    /// The number of exits before each word of `bits`.
    ranks: Box<[u32]>,
    /// The number of the first exit.
    first: u32,
    /// Whether a text can end with a lexeme of each terminal.
    may_end_text: Box<[bool]>,
}

impl ExitNodes {
    /// The exits before some bytes; they are numbered from `first` on.
    pub(crate) fn new(bytes: ByteSet, trie: &TokenTrie, first: usize, may_end_text: Box<[bool]>) -> Self {
        let mut bits = vec![0_u64; trie.len() / 64 + 1].into_boxed_slice();
        for byte in bytes.iter() {
            for edge in trie.edges_over(byte) {
                bits[edge.parent.index() / 64] |= 1 << (edge.parent.index() % 64);
            }
        }
        // Before a token the text does not end within it.
        bits[0] &= !1;
        let mut nodes = Vec::new();
        let mut ranks = Vec::with_capacity(bits.len());
        for (word, &set) in bits.iter().enumerate() {
            ranks.push(nodes.len() as u32);
            let members = (0..64).filter(|bit| set >> bit & 1 == 1);
            nodes.extend(members.map(|bit| TrieNode((word * 64 + bit) as u32)));
        }
        Self { nodes: nodes.into(), bits, ranks: ranks.into(), first: first as u32, may_end_text }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a text can end with a lexeme of a terminal.
    pub(crate) fn is_last(&self, terminal: TerminalId) -> bool {
        self.may_end_text[terminal.index()]
    }

    /// The numbers of the exits from a node to another.
    pub(crate) fn between(&self, start: TrieNode, end: TrieNode) -> (u32, u32) {
        (self.number(start), self.number(end))
    }

    /// The number of the first exit that is not before a node.
    fn number(&self, node: TrieNode) -> u32 {
        let (word, bit) = (node.index() / 64, node.index() % 64);
        let Some(&set) = self.bits.get(word) else { return self.first + self.len() as u32 };
        self.first + self.ranks[word] + (set & ((1 << bit) - 1)).count_ones()
    }

    /// The exit with a number.
    pub(crate) fn node(&self, number: usize) -> TrieNode {
        self.nodes[number - self.first as usize]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + size_of_val(&self.bits[..]) + size_of_val(&self.ranks[..])
    }
}
