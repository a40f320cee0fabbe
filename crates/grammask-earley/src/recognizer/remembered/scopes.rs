//! The scopes of a grammar: which values are ahead of a position in a production.

use crate::lowering::{DotId, NormalForm, Production, RightHandSide, Symbol};
use grammask_grammar::{NonterminalId, ValueKind};

/// The values ahead of a position, up to the end of its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ahead {
    /// The numbers of the values that can be ahead, sorted.
    pub(super) values: Vec<u32>,
    /// The least number of fresh values ahead.
    pub(super) fresh: u32,
}

impl Ahead {
    /// Both, one after the other.
    pub(super) fn then(&self, other: &Self) -> Self {
        let mut values = self.values.clone();
        values.extend_from_slice(&other.values);
        values.sort_unstable();
        values.dedup();
        Self { values, fresh: self.fresh.saturating_add(other.fresh) }
    }

    /// A value before them.
    pub(super) fn after(&self, number: u32, kind: ValueKind) -> Self {
        Self { values: vec![number], fresh: u32::from(kind == ValueKind::Fresh) }.then(self)
    }

    /// `least` to any number of copies.
    fn times(&self, least: u32) -> Self {
        Self { values: self.values.clone(), fresh: self.fresh.saturating_mul(least) }
    }
}

/// For each nonterminal the values in its texts that belong to the scope around it.
#[derive(Debug)]
pub(super) struct Scopes {
    of_nonterminal: Vec<Ahead>,
}

impl Scopes {
    /// Analyses a grammar: the least fixpoint of both parts of [`Ahead`]. The rules with values are few or form no long
    /// chains, so rounds over all of them suffice.
    pub(super) fn new(form: &NormalForm) -> Self {
        let count = form.nonterminal_count();
        let mut scopes = Self { of_nonterminal: vec![Ahead { values: Vec::new(), fresh: u32::MAX }; count] };
        if form.values().is_empty() {
            return Self { of_nonterminal: Vec::new() };
        }
        loop {
            let mut is_stable = true;
            for index in (0..count).rev() {
                let mut own = Ahead { values: Vec::new(), fresh: u32::MAX };
                for production in form.productions_of(NonterminalId::new(index)) {
                    let of_production = scopes.of_production(form, production);
                    let fresh = own.fresh.min(of_production.fresh);
                    own = Ahead { fresh, ..own.then(&of_production) };
                }
                if own != scopes.of_nonterminal[index] {
                    scopes.of_nonterminal[index] = own;
                    is_stable = false;
                }
            }
            if is_stable {
                return scopes;
            }
        }
    }

    /// The values ahead of a dot in its production.
    pub(super) fn ahead(&self, form: &NormalForm, dot: DotId) -> Ahead {
        let production = form.production_of(dot);
        let read = dot.0.saturating_sub(production.first_dot.0);
        match &production.rhs {
            RightHandSide::Sequence(symbols) => self.of_symbols(&symbols[read as usize..]),
            // At a dot, at least one more copy follows.
            RightHandSide::Repeat { symbol, min, .. } => {
                self.of_symbol(*symbol).times(min.saturating_sub(read).max(1))
            }
            RightHandSide::Selection { .. } | RightHandSide::Scope(_) => Ahead::default(),
            RightHandSide::Value { .. } => self.of_production(form, production),
        }
    }

    fn of_production(&self, form: &NormalForm, production: &Production) -> Ahead {
        match &production.rhs {
            RightHandSide::Value { condition, .. } => {
                let dot = production.first_dot;
                let number = form.values().partition_point(|&(other, _)| other < dot);
                Ahead { values: vec![number as u32], fresh: u32::from(condition.kind == ValueKind::Fresh) }
            }
            RightHandSide::Repeat { symbol, min, .. } => self.of_symbol(*symbol).times(*min),
            RightHandSide::Sequence(symbols) => self.of_symbols(symbols),
            RightHandSide::Selection { .. } | RightHandSide::Scope(_) => Ahead::default(),
        }
    }

    fn of_symbols(&self, symbols: &[Symbol]) -> Ahead {
        symbols.iter().fold(Ahead::default(), |ahead, &symbol| match self.of_symbol(symbol) {
            more if more == Ahead::default() => ahead,
            more => ahead.then(&more),
        })
    }

    fn of_symbol(&self, symbol: Symbol) -> Ahead {
        match symbol {
            Symbol::Terminal(_) => Ahead::default(),
            Symbol::Nonterminal(id) => self.of_nonterminal[id.index()].clone(),
        }
    }
}
