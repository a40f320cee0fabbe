//! Temporary.
use super::Draft;
use super::pattern::PatternError;
use super::spelling::Spelling;
use crate::Limits;
use crate::automata::*;
pub(super) fn format(
    _: &mut Terms,
    _: &mut Spelling,
    _: &str,
    _: Draft,
    _: &Limits,
) -> Option<Result<TermId, PatternError>> {
    None
}
