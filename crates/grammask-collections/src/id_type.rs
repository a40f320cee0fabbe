//! Id newtypes: an index into one table cannot be used as an index into another.

/// Declares a newtype over `u32` for indices into a table.
#[macro_export]
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id of the element at `index`.
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids are bounded by Limits::grammar_size"))
            }

            /// Index into the table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id as a number.
            #[must_use]
            #[allow(dead_code, reason = "not every id is used as a number")]
            pub fn as_u32(self) -> u32 {
                self.0
            }
        }
    };
}
