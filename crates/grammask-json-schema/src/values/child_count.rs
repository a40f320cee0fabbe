//! Bounds on the number of children of an array or object.

/// `min` to `max` children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ChildCount {
    pub(crate) min: u32,
    /// `None` without an upper bound.
    pub(crate) max: Option<u32>,
}

impl ChildCount {
    /// Adds a lower bound.
    pub(crate) fn require_at_least(&mut self, count: u32) {
        self.min = self.min.max(count);
    }

    /// Adds an upper bound.
    pub(crate) fn require_at_most(&mut self, count: u32) {
        self.max = Some(self.max.map_or(count, |max| max.min(count)));
    }

    /// Whether some number satisfies the bounds.
    pub(crate) fn is_satisfiable(self) -> bool {
        self.max.is_none_or(|max| self.min <= max)
    }

    /// Whether no child is allowed.
    pub(crate) fn is_full(self) -> bool {
        self.max == Some(0)
    }

    /// The bounds on the children after the next one.
    pub(crate) fn after_one(self) -> Self {
        Self { min: self.min.saturating_sub(1), max: self.max.map(|max| max.saturating_sub(1)) }
    }
}
