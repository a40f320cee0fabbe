//! The legal tokens of a state, in groups with one state after them.

use grammask_vocabulary::{LiveTokens, TokenId};

use crate::SetId;

/// The legal tokens of a state by the state after them.
#[derive(Clone, Debug, Default)]
pub struct SuccessorGroups {
    /// Disjoint groups of legal tokens with the state after them. A state may have several groups.
    pub groups: Vec<(SetId, LiveTokens)>,
    /// All other legal tokens, and possibly some illegal ones: the caller reads them one by one.
    pub others: Vec<TokenId>,
}
