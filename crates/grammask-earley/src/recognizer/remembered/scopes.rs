//! The scopes of a grammar: which values are ahead of a position in a production.

use std::sync::Arc;

use crate::lowering::{DotId, NormalForm, Production, RightHandSide, SelectionNext, Symbol};
use grammask_grammar::{
    NonterminalId, PartId, Selection, SelectionState, ValueCondition, ValueEquality, ValueKind,
};

/// The values ahead of a position, up to the end of its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ahead {
    /// The numbers of the values that can be ahead, sorted.
    pub(super) values: Arc<[u32]>,
    /// The least number of fresh values ahead whose symbols may run out of values. Abundant symbols take nothing away
    /// from others.
    pub(super) fresh: u32,
}

impl Ahead {
    /// Both, one after the other.
    pub(super) fn then(&self, other: &Self) -> Self {
        let fresh = self.fresh.saturating_add(other.fresh);
        // In most scopes all positions are before the same values.
        let values = match (&*self.values, &*other.values) {
            (_, []) => self.values.clone(),
            ([], _) => other.values.clone(),
            (own, more) if own == more => self.values.clone(),
            (own, more) => {
                let mut values = [own, more].concat();
                values.sort_unstable();
                values.dedup();
                values.into()
            }
        };
        Self { values, fresh }
    }

    /// `least` to any number of copies.
    fn times(&self, least: u32) -> Self {
        Self { values: self.values.clone(), fresh: self.fresh.saturating_mul(least) }
    }
}

/// The parts of a selection.
#[derive(Clone, Copy)]
struct SelectedParts<'a> {
    selection: &'a Selection,
    parts: &'a [Symbol],
    separator: Symbol,
}

/// For each nonterminal the values in its texts that belong to the scope around it.
#[derive(Debug)]
pub(super) struct Scopes {
    of_nonterminal: Vec<Ahead>,
    /// Whether each value, by its number, is fresh and may run out of values.
    is_scarce: Box<[bool]>,
    /// Whether values have names.
    has_names: bool,
}

impl Scopes {
    /// Analyses a grammar: the least fixpoint of both parts of [`Ahead`]. The rules with values are few or form no long
    /// chains, so rounds over all of them suffice.
    pub(super) fn new(form: &NormalForm, abundant: &[bool]) -> Self {
        let is_fresh = form.values().iter().map(|(_, condition)| condition.kind == ValueKind::Fresh);
        let is_scarce =
            is_fresh.zip(abundant).map(|(is_fresh, is_abundant)| is_fresh && !is_abundant).collect();
        let count = if form.values().is_empty() { 0 } else { form.nonterminal_count() };
        let has_name =
            |(_, condition): &(DotId, ValueCondition)| matches!(condition.equality, ValueEquality::Named(_));
        let has_names = form.values().iter().any(has_name);
        let with_values = nonterminals_with_values(form, count);
        let mut of_nonterminal = vec![Ahead::default(); count];
        for &index in &with_values {
            of_nonterminal[index].fresh = u32::MAX;
        }
        let mut scopes = Self { of_nonterminal, is_scarce, has_names };
        loop {
            let mut is_stable = true;
            for &index in &with_values {
                let mut own = Ahead { fresh: u32::MAX, ..Ahead::default() };
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

    /// Whether values have names.
    pub(super) fn has_names(&self) -> bool {
        self.has_names
    }

    /// Whether some fresh value may run out of values.
    pub(super) fn have_scarce_values(&self) -> bool {
        self.is_scarce.contains(&true)
    }

    /// Whether a value, by its number, is fresh and may run out of values.
    pub(super) fn is_scarce(&self, number: u32) -> bool {
        self.is_scarce[number as usize]
    }

    /// The value with this number.
    pub(super) fn value(&self, number: u32) -> Ahead {
        Ahead { values: [number].into(), fresh: u32::from(self.is_scarce(number)) }
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
            RightHandSide::Selection { selection, parts, separator } => {
                let parts = SelectedParts { selection, parts, separator: *separator };
                self.of_selection(parts, || form.selection_next(dot))
            }
            RightHandSide::Scope(_) => Ahead::default(),
            RightHandSide::Value { .. } => self.of_production(form, production),
        }
    }

    fn of_production(&self, form: &NormalForm, production: &Production) -> Ahead {
        match &production.rhs {
            RightHandSide::Value { .. } => {
                let dot = production.first_dot;
                self.value(form.values().partition_point(|&(other, _)| other < dot) as u32)
            }
            RightHandSide::Repeat { symbol, min, .. } => self.of_symbol(*symbol).times(*min),
            RightHandSide::Sequence(symbols) => self.of_symbols(symbols),
            RightHandSide::Selection { selection, parts, separator } => {
                let parts = SelectedParts { selection, parts, separator: *separator };
                self.of_selection(parts, || SelectionNext::AnyPart(selection.start()))
            }
            RightHandSide::Scope(_) => Ahead::default(),
        }
    }

    /// The values ahead in a selection. Those of parts that can no longer occur are among them.
    fn of_selection(&self, selected: SelectedParts<'_>, next: impl FnOnce() -> SelectionNext) -> Ahead {
        let SelectedParts { parts, separator, .. } = selected;
        let values = self.of_symbols(parts).then(&self.of_symbol(separator)).values;
        if values.is_empty() {
            return Ahead::default();
        }
        let first_of = |state: &SelectionState| {
            let first = selected.selection.choices(state);
            first.map(|part| self.fresh_from(selected, part, state)).min().unwrap_or(u32::MAX)
        };
        let fresh = match next() {
            SelectionNext::Part(part, after) => {
                let first = self.of_symbol(parts[part.index()]).fresh;
                first.saturating_add(self.fresh_after(selected, &after))
            }
            SelectionNext::AnyPart(state) => first_of(&state),
            SelectionNext::Separator(state) => {
                self.of_symbol(separator).fresh.saturating_add(first_of(&state))
            }
        };
        Ahead { values, fresh }
    }

    /// The least number of fresh values in a part and those that follow it.
    fn fresh_from(&self, selected: SelectedParts<'_>, part: PartId, state: &SelectionState) -> u32 {
        let first = self.of_symbol(selected.parts[part.index()]).fresh;
        first.saturating_add(self.fresh_after(selected, &selected.selection.after(state, part)))
    }

    /// The least number of fresh values after a part.
    fn fresh_after(&self, selected: SelectedParts<'_>, state: &SelectionState) -> u32 {
        let SelectedParts { selection, parts, separator } = selected;
        let cost = |part: PartId| {
            let part = self.of_symbol(parts[part.index()]).fresh;
            (part != u32::MAX).then(|| u64::from(part.saturating_add(self.of_symbol(separator).fresh)))
        };
        selection.min_cost(state, cost).and_then(|fresh| u32::try_from(fresh).ok()).unwrap_or(u32::MAX)
    }

    fn of_symbols(&self, symbols: &[Symbol]) -> Ahead {
        symbols.iter().fold(Ahead::default(), |ahead, &symbol| match self.of_symbol(symbol) {
            more if more == Ahead::default() => ahead,
            more => ahead.then(&more),
        })
    }

    /// The values in the texts of a symbol that belong to the scope around it.
    pub(super) fn of_symbol(&self, symbol: Symbol) -> Ahead {
        match symbol {
            Symbol::Terminal(_) => Ahead::default(),
            Symbol::Nonterminal(id) => self.of_nonterminal[id.index()].clone(),
        }
    }
}

/// The nonterminals that reach a value without entering a scope.
fn nonterminals_with_values(form: &NormalForm, count: usize) -> Vec<usize> {
    let mut has_values = vec![false; count];
    let mut with_values = Vec::new();
    loop {
        let before = with_values.len();
        for index in (0..count).rev() {
            let has_value = |symbol: Symbol| match symbol {
                Symbol::Terminal(_) => false,
                Symbol::Nonterminal(id) => has_values[id.index()],
            };
            let reaches_value = |production: &Production| match &production.rhs {
                RightHandSide::Value { .. } => true,
                RightHandSide::Scope(_) => false,
                rhs => rhs.symbols().any(has_value),
            };
            if !has_values[index] && form.productions_of(NonterminalId::new(index)).iter().any(reaches_value)
            {
                has_values[index] = true;
                with_values.push(index);
            }
        }
        if with_values.len() == before {
            return with_values;
        }
    }
}
