//! Shortest completions: the fewest bytes that end a text.
//!
//! A completion closes the open lexeme and then the parser's stack, with separators between lexemes that would fuse.
//! The search is A* over runs with bytes as edges (P. Hart, N. Nilsson and B. Raphael, "A Formal Basis for the Heuristic
//! Determination of Minimum Cost Paths", 1968). Its lower bound is the length of a cheapest sequence of lexemes that
//! closes the stack, which is exact unless lexemes interact in other ways than in pairs.
//!
//! | file | contents |
//! |---|---|
//! | `lexeme_costs` | bytes from each lexer configuration to the end of each terminal; pairs that need a separator |
//! | `sentence_costs` | lengths of the shortest sentences of nonterminals, by the classes of their outer terminals |
//! | `block_levels` | the white space that lines of open blocks need |
//! | `production_rests` | the shortest texts of the rests of productions, and the terminals with which they begin |
//! | `stack_costs` | lengths of the shortest completions of parser stacks: a memoised fold |
//! | `run_bounds` | the lower bound of a run |
//! | `boundaries` | the lexemes that can begin at the end of another one |
//! | `frontier` | the nodes of a search |
//! | `search` | A* over runs, with the bounds that earlier searches raised |
//! | `search_sources` | the tables that a search reads and extends |
//! | `plan_costs` | upper bounds of the completions of parser stacks, and their growth with each byte or lexeme |
//! | `lexeme_weights` | the amount that each lexeme adds to these upper bounds |
//! | `longest_paths` | longest paths in weighted graphs |
//! | `token_growth` | how much completions grow with each token |
//! | `separable_lexemes` | upper bounds of the bytes that end a lexeme and begin another |
//! | `upper_bounds` | upper bounds of the completions of all states within reach |
//!
//! Nothing is computed before the first completion is asked for. All tables depend on the vocabulary only by the set
//! of *spellable* bytes, which are tokens by themselves.

pub(crate) mod block_levels;
pub(crate) mod boundaries;
pub(crate) mod frontier;
pub(crate) mod lexeme_costs;
pub(crate) mod lexeme_weights;
pub(crate) mod longest_paths;
pub(crate) mod plan_costs;
pub(crate) mod production_rests;
pub(crate) mod run_bounds;
pub(crate) mod search;
pub(crate) mod search_sources;
pub(crate) mod sentence_costs;
pub(crate) mod separable_lexemes;
pub(crate) mod stack_costs;
pub(crate) mod token_growth;
pub(crate) mod upper_bounds;

/// The cost where there is no text. Sums of two costs do not overflow.
pub(crate) const UNREACHABLE: u32 = 1 << 30;

/// The sum of two costs.
#[inline]
pub(crate) fn sum(left: u32, right: u32) -> u32 {
    (left + right).min(UNREACHABLE)
}
