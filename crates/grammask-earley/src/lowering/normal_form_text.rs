//! The normal form as text, for diagnostics and golden tests.

use std::fmt;

use grammask_grammar::NonterminalId;

use super::normal_form::{DotId, NormalForm, RightHandSide};
use super::productions::Symbol;

impl NormalForm {
    /// The name of a nonterminal, or the label of a terminal.
    #[must_use]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Terminal(id) => &self.terminals[id.index()].label,
            Symbol::Nonterminal(id) => &self.names[id.index()],
        }
    }

    /// A dotted production as text: `list -> item • list`.
    #[must_use]
    pub fn dot_text(&self, dot: DotId) -> String {
        let production = self.production_of(dot);
        let position = dot.0.saturating_sub(production.first_dot.0);
        let mut text = format!("{} ->", self.names[production.lhs.index()]);
        match &production.rhs {
            RightHandSide::Sequence(symbols) => {
                for (index, &symbol) in symbols.iter().enumerate() {
                    text.push_str(if index == position as usize { " • " } else { " " });
                    text.push_str(self.symbol_name(symbol));
                }
            }
            RightHandSide::Repeat { symbol, min, max } => {
                let suffix = grammask_grammar::repetition_suffix(*min, *max);
                text.push_str(&format!(" {}{suffix} •{position}", self.symbol_name(*symbol)));
            }
            RightHandSide::Scope(symbol) => {
                let name = self.symbol_name(*symbol);
                text.push_str(&if position == 0 {
                    format!(" scope(• {name})")
                } else {
                    format!(" scope({name}) •")
                });
            }
            RightHandSide::Value { symbol, condition } => {
                text.push_str(&format!(" {}(• {})", condition.kind.name(), self.symbol_name(*symbol)));
            }
            RightHandSide::Selection { parts, .. } => {
                let dots = self.expanded(dot).into_iter().flatten();
                let next: Vec<&str> = dots.map(|dot| self.symbol_name(self.symbol_after(dot))).collect();
                text.push_str(&format!(" some of {} parts • {}", parts.len(), next.join(" or ")));
            }
        }
        text
    }
}

impl fmt::Display for NormalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.names.len() - usize::from(self.start.is_some());
        for (index, name) in self.names[..shown].iter().enumerate() {
            write!(f, "{name} ::= ")?;
            for (position, production) in self.productions_of(NonterminalId::new(index)).iter().enumerate() {
                f.write_str(if position > 0 { " | " } else { "" })?;
                match &production.rhs {
                    RightHandSide::Sequence(symbols) => {
                        let names: Vec<&str> =
                            symbols.iter().map(|&symbol| self.symbol_name(symbol)).collect();
                        f.write_str(&names.join(" "))?;
                    }
                    RightHandSide::Repeat { symbol, min, max } => {
                        let suffix = grammask_grammar::repetition_suffix(*min, *max);
                        write!(f, "{}{suffix}", self.symbol_name(*symbol))?;
                    }
                    RightHandSide::Scope(symbol) => write!(f, "scope({})", self.symbol_name(*symbol))?,
                    RightHandSide::Value { symbol, condition } => {
                        write!(f, "{}({})", condition.kind.name(), self.symbol_name(*symbol))?;
                    }
                    RightHandSide::Selection { parts, separator, .. } => {
                        let names: Vec<&str> = parts.iter().map(|&part| self.symbol_name(part)).collect();
                        write!(f, "({}) % {}", names.join(" & "), self.symbol_name(*separator))?;
                    }
                }
            }
            f.write_str(";\n")?;
        }
        if self.start_is_nullable {
            f.write_str("(* and the empty text *)\n")?;
        }
        Ok(())
    }
}
