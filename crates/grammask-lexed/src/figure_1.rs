//! The grammar and the vocabulary of Figure 1 of K. Park, T. Zhou and L. D'Antoni (2025), for tests.

use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{
    LexedDefinition, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use crate::prepared::PreparedGrammar;
use grammask_diagnostics::Limits;
use grammask_vocabulary::Vocabulary;

/// The texts of the tokens by id.
pub(crate) const TOKENS: [&str; 6] = ["a", "b", "c", "ab", "ac", "aba"];

/// The grammar: one or more pairs of the terminals B and C.
pub(crate) fn grammar() -> PreparedGrammar {
    let terminal = |name: &str, pattern: &str| TerminalSource {
        name: name.to_owned(),
        pattern: TerminalPattern::Regex(pattern.to_owned()),
        priority: 0,
        role: TerminalRole::Parsed,
    };
    let production = |rhs: &[&str]| ProductionSource {
        lhs: "S".to_owned(),
        rhs: rhs.iter().map(|&name| name.to_owned()).collect(),
        priority: 0,
    };
    let definition = LexedDefinition {
        terminals: vec![terminal("B", "ab+"), terminal("C", "ac+")],
        productions: vec![production(&["B", "C"]), production(&["B", "C", "S"])],
        start: "S".to_owned(),
        ..LexedDefinition::default()
    };
    let limits = Limits::default();
    let grammar = LexedGrammar::new(&definition, &limits).expect("a good grammar");
    PreparedGrammar::new(grammar, &limits).expect("nothing is refused")
}

/// The vocabulary.
pub(crate) fn vocabulary() -> Vocabulary {
    Vocabulary::new(TOKENS.iter().map(Some).collect(), vec![], vec![], None).expect("a good vocabulary")
}
