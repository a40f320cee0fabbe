//! Options with a fixed set of named values, as bindings and front ends read them.

use std::fmt;

/// A type whose values have names in the public interfaces.
pub trait NamedOption: Copy + PartialEq + 'static {
    /// The name of the option.
    const OPTION: &'static str;
    /// The values with their names.
    const NAMES: &'static [(&'static str, Self)];

    /// The value with a name.
    ///
    /// # Errors
    /// If no value has it.
    fn of_name(name: &str) -> Result<Self, UnknownName> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, value)| value).ok_or_else(|| UnknownName {
            option: Self::OPTION,
            name: name.to_owned(),
            known: Self::NAMES.iter().map(|&(known, _)| known).collect(),
        })
    }

    /// The name of the value; `None` if it has none.
    fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(_, value)| *value == self).map(|&(name, _)| name)
    }
}

/// The error of a name that no value of an option has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The option.
    pub option: &'static str,
    /// The name.
    pub name: String,
    /// The names that exist.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = self.known.iter().map(|known| format!("{known:?}")).collect();
        write!(f, "{}={:?} is not one of {}", self.option, self.name, known.join(", "))
    }
}

impl std::error::Error for UnknownName {}
