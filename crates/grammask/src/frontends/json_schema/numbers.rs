//! Temporary.
use super::Numbers;
use crate::automata::*;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberSet {
    pub(super) yes: TermId,
    pub(super) no: TermId,
}
#[derive(Clone, Debug)]
pub(super) struct Decimal(f64);
impl Decimal {
    pub(super) fn parse(t: &str) -> Option<Self> {
        t.parse().ok().map(Self)
    }
    pub(super) fn to_count(&self) -> Option<u32> {
        (self.0 >= 0.0 && self.0.fract() == 0.0).then_some(self.0 as u32)
    }
    pub(super) fn is_positive(&self) -> bool {
        self.0 > 0.0
    }
}
fn re(terms: &mut Terms, p: &str) -> TermId {
    crate::frontends::regex::term(terms, p, &crate::Limits::default()).unwrap()
}
pub(super) fn any(terms: &mut Terms, _: Numbers) -> NumberSet {
    NumberSet { yes: re(terms, r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"), no: terms.nothing() }
}
pub(super) fn integer(terms: &mut Terms, _: Numbers) -> NumberSet {
    NumberSet { yes: re(terms, r"-?(0|[1-9][0-9]*)"), no: re(terms, r"-?(0|[1-9][0-9]*)\.[0-9]*[1-9]") }
}
pub(super) fn one_of(terms: &mut Terms, _: Numbers, d: &[Decimal]) -> NumberSet {
    let w: Vec<String> = d.iter().map(|d| d.0.to_string()).collect();
    NumberSet { yes: terms.literals(&w), no: terms.nothing() }
}
pub(super) fn at_least(terms: &mut Terms, n: Numbers, _: &Decimal) -> NumberSet {
    any(terms, n)
}
pub(super) fn greater(terms: &mut Terms, n: Numbers, _: &Decimal) -> NumberSet {
    any(terms, n)
}
pub(super) fn at_most(terms: &mut Terms, n: Numbers, _: &Decimal) -> NumberSet {
    any(terms, n)
}
pub(super) fn less(terms: &mut Terms, n: Numbers, _: &Decimal) -> NumberSet {
    any(terms, n)
}
pub(super) fn multiple_of(terms: &mut Terms, n: Numbers, _: &Decimal) -> Result<NumberSet, String> {
    Ok(any(terms, n))
}
