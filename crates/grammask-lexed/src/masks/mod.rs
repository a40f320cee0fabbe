//! Masks: from the configuration of the lexer and the stack of the parser to a set of tokens.
//!
//! | file | contents |
//! |---|---|
//! | `spanner_table` | tokens by the terminals that they emit, as a lazily grown prefix tree per lexer configuration |
//! | `exit_nodes` | the ends of the text within tokens, where another text surrounds it |
//! | `spanner_subset` | the nodes of the table that are active together: a subset construction |
//! | `follow_cache` | static legality of terminals, which removes tokens from subsets in advance |
//! | `token_partition` | the context-independent and the context-dependent tokens of a subset below a top state |
//! | `stack_automaton` | the lazy automaton that reads the stack from the top and yields a mask |
//! | `token_set_store`, `terminal_lists` | interned sets of tokens and lists of terminals, the alphabet of the above |
//! | `delimited_masks` | tokens that reach into the text of a delimited terminal |
//! | `successor_groups` | the legal tokens by the set of runs after them |
//! | `mask_tables` | these tables, for the tokens with or without exits |
//! | `precompute` | the construction of the automaton ahead of time |

pub(crate) mod delimited_masks;
pub(crate) mod exit_nodes;
pub(crate) mod follow_cache;
pub(crate) mod mask_tables;
pub(crate) mod precompute;
pub(crate) mod spanner_subset;
pub(crate) mod spanner_table;
pub(crate) mod stack_automaton;
pub(crate) mod successor_groups;
pub(crate) mod terminal_lists;
pub(crate) mod token_partition;
pub(crate) mod token_set_store;
