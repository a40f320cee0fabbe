//! The facts about the place of a text that its rule depends on.

/// The facts about the place of a value that its texts depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ValuePosition {
    /// The depth, if values are indented; otherwise 0.
    pub(crate) depth: u32,
    /// Whether the value belongs to an item that is compared with others.
    pub(crate) is_compared: bool,
}

/// The text that a rule of a residual derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MemberPosition {
    /// One or more members, and the closing bracket.
    BeforeMember,
    /// A comma and one or more members, and the closing bracket; or the closing bracket alone.
    AfterMember,
}
