//! The facts about an object that all its residuals share.

use crate::emit::positions::ValuePosition;
use crate::emit::punctuation::Punctuation;
use crate::emit::shared_residuals::DeclaredMember;
use crate::members::name_classes::NameClass;
use crate::members::unique_names::OtherNames;

/// The members that an object may have, and its punctuation.
#[derive(Clone, Copy)]
pub(super) struct ObjectShape<'a> {
    /// The position of the members.
    pub(super) position: ValuePosition,
    pub(super) punctuation: Punctuation,
    /// The declared members, in order.
    pub(super) declared: &'a [DeclaredMember],
    /// The classes of other names.
    pub(super) classes: &'a [NameClass],
    /// How these are kept different.
    pub(super) others: &'a OtherNames,
}
