//! Lexical rules: nonterminals whose texts the lexer reads as it reads terminals.
//!
//! Between two symbols of a lexical rule there is no ignored text, and the lexer tries only the terminals that the
//! parser can take there. A nested comment or a template literal is such a rule. The distinction is that between
//! lexical and context-free syntax in SDF (J. Heering et al., "The Syntax Definition Formalism SDF", 1989).
//!
//! The reading of a position belongs to the position and not to the nonterminal: what follows a comment is read as
//! usual after the outermost comment, and lexically after a nested one. Every lexical rule is therefore split into two
//! nonterminals, one for its occurrences in other rules ([`RuleReading::Lexeme`]) and one for those in lexical rules
//! ([`RuleReading::InsideLexeme`]), so that each state of the LR automaton has one reading.
//!
//! A lexical rule may contain a nonterminal of the usual kind, such as the expression of `${...}`, between two
//! terminals. From the end of the first terminal to the end of the second one the lexer reads as usual.

use rustc_hash::FxHashMap;

use crate::definition::checks::DefinitionCheck;
use crate::definition::grammar::{LexedProduction, LexedSymbol};
use crate::definition::source::{LexedDefinition, LexerKind, ParserKind};
use grammask_diagnostics::{Code, Diagnostic};
use grammask_grammar::NonterminalId;

/// How the lexer reads the texts of a nonterminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RuleReading {
    /// With ignored text, and with the terminals of the lexer mode.
    Usual,
    /// A lexical rule in a rule of the usual kind.
    Lexeme,
    /// A lexical rule in a lexical rule.
    InsideLexeme,
}

/// The lexical rules of a checked grammar.
#[derive(Clone, Debug, Default)]
pub(crate) struct LexicalRules {
    /// The reading of each nonterminal; empty without lexical rules.
    pub(crate) readings: Vec<RuleReading>,
    /// The lexical rules whose texts are allowed between all lexemes and dropped.
    pub(crate) ignored: Vec<NonterminalId>,
}

impl LexicalRules {
    /// Whether there are no lexical rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }

    /// Whether the lexer reads lexically at the dot of a production.
    pub(crate) fn is_lexical_position(&self, lhs: NonterminalId, rhs: &[LexedSymbol], dot: usize) -> bool {
        let is_usual = |symbol: Option<&LexedSymbol>| matches!(symbol, Some(LexedSymbol::Nonterminal(next)) if self.readings[next.index()] == RuleReading::Usual);
        let reading = match self.readings.get(lhs.index()) {
            Some(&reading) => reading,
            // The start production has a left side of its own.
            None => match rhs.first() {
                Some(LexedSymbol::Nonterminal(start)) => self.readings[start.index()],
                _ => RuleReading::Usual,
            },
        };
        match reading {
            RuleReading::Usual => false,
            RuleReading::Lexeme if dot == rhs.len() => false,
            RuleReading::Lexeme | RuleReading::InsideLexeme => {
                !is_usual(rhs.get(dot)) && !dot.checked_sub(1).is_some_and(|before| is_usual(rhs.get(before)))
            }
        }
    }
}

impl DefinitionCheck<'_> {
    /// Splits the lexical rules of a definition. Returns them with the start symbol.
    pub(super) fn split_lexical_rules(
        &mut self,
        definition: &LexedDefinition,
        start: Option<NonterminalId>,
    ) -> (LexicalRules, Option<NonterminalId>) {
        if definition.lexical_rules.is_empty() && definition.ignored_rules.is_empty() {
            return (LexicalRules::default(), start);
        }
        self.check_lexical_options(definition);
        let mut readings = vec![RuleReading::Usual; self.nonterminals.len()];
        let lexical = self.named_rules(&definition.lexical_rules);
        let ignored = self.named_rules(&definition.ignored_rules);
        for nonterminal in lexical.iter().chain(&ignored) {
            readings[nonterminal.index()] = RuleReading::Lexeme;
        }
        for production in 0..self.productions.len() {
            if readings[self.productions[production].lhs.index()] == RuleReading::Lexeme {
                self.check_lexical_production(production, &readings, &ignored);
            }
        }
        let mut split = RuleSplit { readings, inside: FxHashMap::default(), pending: Vec::new() };
        let start = start.map(|start| match split.readings[start.index()] {
            RuleReading::Lexeme => split.inside(&mut self.nonterminals, start),
            RuleReading::Usual | RuleReading::InsideLexeme => start,
        });
        let mut sources: FxHashMap<NonterminalId, Vec<LexedProduction>> = FxHashMap::default();
        for production in &self.productions {
            if split.readings[production.lhs.index()] == RuleReading::Lexeme {
                sources.entry(production.lhs).or_default().push(production.clone());
            }
        }
        for production in &mut self.productions {
            if split.readings[production.lhs.index()] == RuleReading::Lexeme {
                let last = production.rhs.len().saturating_sub(1);
                for symbol in &mut production.rhs[..last] {
                    split.replace(&mut self.nonterminals, symbol);
                }
            }
        }
        while let Some((of, inside)) = split.pending.pop() {
            for source in sources.get(&of).into_iter().flatten() {
                let mut rhs = source.rhs.clone();
                for symbol in &mut rhs {
                    split.replace(&mut self.nonterminals, symbol);
                }
                self.productions.push(LexedProduction { lhs: inside, rhs, priority: source.priority });
            }
        }
        (LexicalRules { readings: split.readings, ignored }, start)
    }

    /// Reports options that lexical rules exclude.
    fn check_lexical_options(&mut self, definition: &LexedDefinition) {
        if definition.parser != ParserKind::Lalr || definition.lexer.is_dynamic() {
            let message = "lexical rules need LALR(1) tables and the basic or the contextual lexer";
            self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message));
        } else if !definition.ignored_rules.is_empty() && definition.lexer != LexerKind::Basic {
            let message = "ignored rules need the basic lexer";
            self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message).help(
                "after an ignored text a contextual lexer reads as before it, which the tables do not tell",
            ));
        }
    }

    /// The nonterminals with these names; reports unknown names.
    fn named_rules(&mut self, names: &[String]) -> Vec<NonterminalId> {
        let mut rules = Vec::with_capacity(names.len());
        for name in names {
            match self.nonterminal_ids.get(&**name) {
                Some(&rule) => rules.push(rule),
                None => {
                    let message = format!("the lexical rule `{name}` is not defined");
                    self.diagnostics.push(Diagnostic::error(Code::UndefinedSymbol, message));
                }
            }
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Reports a production of a lexical rule where the reading of a position is undecided, or that does not begin as
    /// an ignored rule must.
    fn check_lexical_production(
        &mut self,
        production: usize,
        readings: &[RuleReading],
        ignored: &[NonterminalId],
    ) {
        let LexedProduction { lhs, rhs, .. } = &self.productions[production];
        let name = &self.nonterminals[lhs.index()];
        let is_terminal = |index: Option<usize>| {
            index.is_some_and(|index| matches!(rhs.get(index), Some(LexedSymbol::Terminal(_))))
        };
        for (index, symbol) in rhs.iter().enumerate() {
            if let LexedSymbol::Nonterminal(inner) = *symbol
                && readings[inner.index()] == RuleReading::Usual
                && !(is_terminal(index.checked_sub(1)) && is_terminal(Some(index + 1)))
            {
                let inner = &self.nonterminals[inner.index()];
                let message =
                    format!("in the lexical rule `{name}`, `{inner}` does not stand between two terminals");
                let help = format!("make `{inner}` lexical, or write a terminal before and after it");
                self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message).help(help));
                return;
            }
        }
        if !ignored.contains(lhs) {
            return;
        }
        if rhs.is_empty() {
            let message = format!("the ignored rule `{name}` matches the empty text");
            self.diagnostics.push(Diagnostic::error(Code::EmptyTerminal, message));
        } else if !is_terminal(Some(0)) {
            let message =
                format!("an alternative of the ignored rule `{name}` does not begin with a terminal");
            self.diagnostics.push(Diagnostic::error(Code::UnsupportedGrammar, message));
        }
    }
}

/// The nonterminals for lexical rules inside lexical rules, created on first use.
struct RuleSplit {
    readings: Vec<RuleReading>,
    inside: FxHashMap<NonterminalId, NonterminalId>,
    /// Lexical rules whose copies have no productions yet, with the copies.
    pending: Vec<(NonterminalId, NonterminalId)>,
}

impl RuleSplit {
    fn inside(&mut self, nonterminals: &mut Vec<std::sync::Arc<str>>, rule: NonterminalId) -> NonterminalId {
        *self.inside.entry(rule).or_insert_with(|| {
            let inside = NonterminalId::new(nonterminals.len());
            nonterminals.push(nonterminals[rule.index()].clone());
            self.readings.push(RuleReading::InsideLexeme);
            self.pending.push((rule, inside));
            inside
        })
    }

    /// Replaces a lexical rule by its copy for lexical rules.
    fn replace(&mut self, nonterminals: &mut Vec<std::sync::Arc<str>>, symbol: &mut LexedSymbol) {
        if let LexedSymbol::Nonterminal(rule) = *symbol
            && self.readings[rule.index()] == RuleReading::Lexeme
        {
            *symbol = LexedSymbol::Nonterminal(self.inside(nonterminals, rule));
        }
    }
}
