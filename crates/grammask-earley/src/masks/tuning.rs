//! The tuning constants of the context-free masks.
//!
//! None of them changes a mask: they bound the work of a strategy, or decide which of two exact strategies runs. Work
//! is counted in visited trie nodes, about 2 ns each. The benchmarks are those of `benches/`: the comparison
//! (`compare.py`), MaskBench (`maskbench.py`) and `growth.py`; `docs/internals/ablation.md` has the gain of each
//! strategy.

// Composing a mask.

/// Maximum nesting of nonterminals within one token, which bounds the recursion. A token of 128 brackets nests 128
/// deep.
pub(super) const MAX_NESTING: usize = 200;
/// Maximum work for one mask, about 10 ms; a walk along the trie is faster for masks beyond it (`growth.py`, ambiguous
/// sums).
pub(super) const MAX_WORK: usize = 4_000_000;
/// Maximum work for a mask that is computed in the calling thread, about 20 us: the cost of handing it to another
/// thread.
pub(super) const MAX_IMMEDIATE_WORK: usize = 1 << 13;
/// How often [`MAX_WORK`] may be halved for a grammar whose masks keep exceeding it.
pub(super) const MAX_SETBACKS: u32 = 6;
/// Work between two checks of the deadline.
pub(super) const WORK_PER_DEADLINE_CHECK: usize = 1 << 16;
/// Work of looking up a summary, or of visiting a nonterminal in a left-corner closure.
pub(super) const WORK_PER_LOOKUP: usize = 32;
/// Work of adding a node set to another.
pub(super) const WORK_PER_UNION: usize = 64;
/// Sequences up to this length are searched linearly, longer ones by a hash table.
pub(super) const MAX_LINEAR_SEARCH: usize = 16;
/// Entries of a scratch buffer above which it is freed after use.
pub(super) const MAX_SCRATCH: usize = 1 << 11;

// Choosing a walk.

/// Trie nodes below the entries of a walk from which dense transitions pay for their setup (MaskBench).
pub(super) const MIN_DENSE_NODES: usize = 1 << 12;
/// Maximum number of first bytes of a narrow state: it is dead in most of the subtrees, so a sparse walk is faster.
pub(super) const MAX_NARROW_BYTES: usize = 12;
/// Trie nodes below a node up to which all of them are scanned; above, children are looked up by byte. Also the maximum
/// number of start nodes of a long repetition.
pub(super) const MAX_SCANNED_NODES: usize = 16;
/// Self-loop bytes from which a state counts as free text; letters, digits and some punctuation are fewer.
pub(super) const MIN_FREE_TEXT_BYTES: usize = 80;
/// Summaries of states with many live tokens that are kept for comparison with new states (addresses and URLs of the
/// comparison).
pub(super) const MAX_WIDE_SUMMARIES: usize = 8;
/// Nodes and tokens that a walk meant to be small may visit before an ordinary walk replaces it.
pub(super) const MAX_SMALL_WALK: usize = 1 << 14;
/// The part of all nodes ahead, as its inverse, below which two states with different transitions are not compared
/// further.
pub(super) const SIMILAR_PART: usize = 16;
/// Pairs of states, and new states of the automaton, that a comparison of two states may visit.
pub(super) const MAX_PAIRS: usize = 32;
/// Maximum number of bytes that distinguish two similar states.
pub(super) const MAX_DIFFERING_BYTES: usize = 48;
/// Changed tokens above which a summary gets a bit set of its own in place of a delta.
pub(super) const MAX_DELTA_TOKENS: usize = 256;

/// Work from which the summary of a table is shared with other masks; walking a shorter one again is about as fast as
/// looking it up (2,000 and 200,000 words of the comparison).
pub(super) const MIN_SHARED_WORK: usize = 64;

// Skipping subtrees.

/// Nodes of a subtree from which testing whether it can be skipped is cheaper than visiting it.
pub(super) const MIN_SKIPPED_NODES: usize = 4;
/// Nodes of a subtree from which searching a closed alphabet of a state pays.
pub(super) const MIN_ALPHABET_NODES: usize = 64;
/// Failed searches for closed alphabets in one walk after which no other is tried.
pub(super) const MAX_ALPHABET_FAILURES: usize = 2;
/// Maximum number of examined states that texts over a closed alphabet reach; twice as many may be reached.
pub(super) const MAX_ALPHABET_STATES: usize = 24;
/// Removals of bytes from a candidate for a closed alphabet, and copies of one byte that reveal a counting state.
pub(super) const MAX_ALPHABET_STEPS: usize = 12;
/// Minimum number of ASCII bytes in a closed alphabet.
pub(super) const MIN_ALPHABET_BYTES: usize = 8;
/// Pairs of a state and a position inside a character that are visited for one group of characters; plain text has
/// three.
pub(super) const MAX_CHARACTER_STATES: usize = 64;

// Counting.

/// States visited by an analysis of an automaton: whether it is a prefix code, the longest shortest completion, the
/// states of an intersection without its limit. Beyond that the automaton counts by itself, and removing a bound gains
/// nothing.
pub(super) const MAX_ANALYSED_STATES: usize = 96;
/// New states of the automaton that one walk of an intersection without its limit may create.
pub(super) const MAX_INTERSECTION_STATES: usize = 512;
/// Copies of a unit, such as a word of text, that few tokens exceed; limits below are cheap to walk as they are.
pub(super) const FEW_COPIES: u32 = 6;
