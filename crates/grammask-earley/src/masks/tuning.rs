//! The tuning constants of the context-free masks.
//!
//! None of them changes a mask: they bound the work of a strategy, or decide which of two exact strategies runs. Work
//! is counted in visited trie nodes, about 2 ns each. A constant names the benchmark of `benches/` that chose it
//! (`benches/notes/masks.md` has the figures); those without one were not measured alone. The gain of each strategy is
//! in `benches/notes/ablation.md`.

// Composing a mask.

/// Nonterminals nested within one token, which bounds the recursion. `growth`: a token of 128 brackets nests 128 deep.
pub(super) const MAX_NESTING: usize = 200;
/// Work for one mask, about 10 ms; beyond it a walk along the trie is faster. `growth`: ambiguous sums.
pub(super) const MAX_WORK: usize = 4_000_000;
/// Work for a mask computed under the interpreter lock, about 20 us: the cost of releasing it. `compare`: 2,000 words.
pub(super) const MAX_IMMEDIATE_WORK: usize = 1 << 13;
/// Halvings of [`MAX_WORK`] for a grammar whose masks keep exceeding it.
pub(super) const MAX_SETBACKS: u32 = 6;
/// Work between two checks of the deadline, about 0.1 ms. Precision of the time limit, not speed.
pub(super) const WORK_PER_DEADLINE_CHECK: usize = 1 << 16;
/// Work of looking up a summary, or of visiting a nonterminal in a left-corner closure.
pub(super) const WORK_PER_LOOKUP: usize = 32;
/// Work of adding a node set to another.
pub(super) const WORK_PER_UNION: usize = 64;
/// Entries up to which a sequence is searched linearly, and above by a hash table.
pub(super) const MAX_LINEAR_SEARCH: usize = 16;
/// Entries of a scratch buffer above which it is freed after use. Memory, not speed.
pub(super) const MAX_SCRATCH: usize = 1 << 11;

// Choosing a walk.

/// Trie nodes below the entries of a walk from which dense transitions pay for their setup. `maskbench`.
pub(super) const MIN_DENSE_NODES: usize = 1 << 12;
/// First bytes of a narrow state: it is dead in most subtrees, so a sparse walk is faster.
pub(super) const MAX_NARROW_BYTES: usize = 12;
/// Self-loop bytes from which a state counts as free text; letters, digits and some punctuation are fewer.
pub(super) const MIN_FREE_TEXT_BYTES: usize = 80;
/// Cached summaries that are compared with new states by their first bytes, half of them by their pairs. `compare`:
/// URLs.
pub(super) const MAX_WIDE_SUMMARIES: usize = 8;
/// Work of a walk that is meant to be small, after which an ordinary walk replaces it. `compare`: identifiers.
pub(super) const MAX_SMALL_WALK: usize = 1 << 14;
/// Inverse of the part of all nodes ahead up to which states with different transitions need no lockstep walk.
pub(super) const LOCKSTEP_DIVISOR: usize = 16;
/// Pairs of states that a comparison of two states may visit; half as many new states. `compare`: URLs, tool call.
pub(super) const MAX_PAIRS: usize = 32;
/// Bytes that distinguish two similar states.
pub(super) const MAX_DIFFERING_BYTES: usize = 48;
/// Changed tokens above which a summary gets a bit set of its own in place of a delta.
pub(super) const MAX_DELTA_TOKENS: usize = 256;

// Skipping subtrees.

/// Nodes of a subtree from which testing whether it can be skipped is cheaper than visiting it.
pub(super) const MIN_SKIPPED_NODES: usize = 4;
/// Nodes of a subtree from which searching a closed alphabet of a state pays.
pub(super) const MIN_ALPHABET_NODES: usize = 64;
/// Failed searches for closed alphabets in one walk after which no other is tried. `maskbench`: counted patterns.
pub(super) const MAX_ALPHABET_FAILURES: usize = 2;
/// Examined states that texts over a closed alphabet reach; twice as many may be reached.
pub(super) const MAX_ALPHABET_STATES: usize = 24;
/// Removals of bytes from a candidate for a closed alphabet, and copies of one byte that reveal a counting state.
pub(super) const MAX_ALPHABET_STEPS: usize = 12;
/// ASCII bytes in a closed alphabet.
pub(super) const MIN_ALPHABET_BYTES: usize = 8;
/// Pairs of a state and a position inside a character, for one group of characters; plain text has three.
pub(super) const MAX_CHARACTER_STATES: usize = 64;

// Counting.

/// States of an intersection without its limit that are analysed. Beyond that the automaton itself counts, and removing
/// a bound gains nothing.
pub(super) const MAX_ANALYSED_STATES: usize = 96;
/// New states that one walk of an intersection without its limit may create, and states that other analyses visit:
/// whether a unit is a prefix code (letters of Unicode in JSON strings have 760), and how words without large maxima can
/// be completed (lines, paths and trimmed texts in JSON have 130 to 240).
pub(super) const MAX_UNBOUNDED_STATES: usize = 1024;
/// Maxima of repetitions from which a language without them is tried.
pub(super) const MIN_LARGE_MAXIMUM: u32 = 16;
/// Length of texts up to which a language without its large maxima equals the one with them: few tokens are longer.
pub(super) const MIN_EQUAL_BYTES: usize = 12;
/// Copies of a unit, such as a word of text, that few tokens exceed: lower limits are walked as they are, higher bounds
/// are generalised.
pub(super) const MIN_GENERALISED_COPIES: u32 = 6;
