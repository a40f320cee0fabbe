//! Sets of JSON values: for each type, a language or a formula; derivatives and emptiness of formulas.

pub(crate) mod derivative;
pub(crate) mod emptiness;
pub(crate) mod formula;
pub(crate) mod literals;
pub(crate) mod value_set;
