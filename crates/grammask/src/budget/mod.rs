//! Token budgets: masks under which a text always ends within a number of tokens.
//!
//! With `b` tokens left, a token is legal if it is legal without a budget, and if the text after it can be finished
//! with `b - 1` tokens of the vocabulary. So a text never becomes longer than its budget, and never has to be cut off,
//! whatever is sampled.
//!
//! | module | contents |
//! |---|---|
//! | `tokens_left` | [`TokensLeft`]: the remaining budget, a part of the state of a matcher |
//! | `costs` | the number of tokens that finish the text of a state |
//! | `memo` | memo tables by state |
//! | `search` | the fewest tokens, where the vocabulary lacks the bytes to spell any text |
//! | `spelling` | an upper bound: the fewest tokens that spell the shortest completion in bytes |
//! | `ample` | how long a budget needs no checks |
//! | `successors` | the states after each legal token |
//! | `grouped` | the same, with the tokens that stay inside a terminal in shared groups |
//! | `derivatives` | these groups |
//! | `values` | the groups of tokens inside values that must differ, and inside texts that are bound to names |
//! | `profile` | the legal tokens of a state, grouped by the cost of the state after them |
//! | `budgeted` | the methods of a [`Matcher`](crate::Matcher) that set and read its budget |

mod ample;
#[cfg(test)]
mod bound_texts_tests;
mod budgeted;
mod costs;
mod derivatives;
mod grouped;
mod memo;
mod profile;
mod search;
mod spelling;
mod successors;
mod tokens_left;
mod values;

pub use budgeted::{BudgetError, Completion};
pub use costs::BudgetStatistics;
pub(crate) use costs::CostCache;
pub(crate) use tokens_left::TokensLeft;
