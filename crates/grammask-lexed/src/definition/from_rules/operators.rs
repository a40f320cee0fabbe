//! Operators of rules as alternatives and shared rules.
//!
//! Repetitions up to [`MAX_INLINE_COPIES`] copies become alternatives, those of choices only up to
//! [`MAX_INLINE_SYMBOLS`] symbols; larger ones become chains of rules. The size of an expansion is counted before its
//! symbols are written, and bounded by [`Limits::grammar_size`](grammask_diagnostics::Limits::grammar_size).

use std::ops::RangeInclusive;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedSymbol;
use grammask_diagnostics::{Diagnostic, LimitExceeded};
use grammask_grammar::{Node, NodeId, NonterminalId};

use super::RuleTranslation;

/// The number of copies from which a repetition is expanded to a chain of rules, as in lark.
const MAX_INLINE_COPIES: u32 = 50;

/// The maximum number of symbols of an expanded repetition of a choice; a larger choice becomes a rule.
const MAX_INLINE_SYMBOLS: usize = 1 << 12;

/// Distinct right-hand sides.
pub(super) type Alternatives = Vec<Vec<LexedSymbol>>;

/// The key of a rule for an operator. Equal operands share one rule.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum SharedRule {
    /// One of the alternatives.
    Choice(Alternatives),
    /// One or more copies of the alternatives.
    OneOrMore(Alternatives),
    /// One to `n` copies of the symbol.
    UpTo(LexedSymbol, u32),
}

impl RuleTranslation<'_> {
    /// The alternatives of a rule with all operators expanded.
    pub(super) fn alternatives(
        &mut self,
        rule: NonterminalId,
        roots: &[NodeId],
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let mut of_node: FxHashMap<NodeId, Alternatives> = FxHashMap::default();
        for node in self.subtree(roots) {
            let alternatives = match &self.grammar.nodes()[node.index()] {
                Node::Terminal(id) => self.terminal_alternatives(*id, node),
                Node::Nonterminal(symbol) if self.declared.contains_key(symbol) => self
                    .declared_at(*symbol, node)
                    .map_or_else(Vec::new, |id| vec![vec![LexedSymbol::Terminal(id)]]),
                Node::Nonterminal(symbol) => vec![vec![LexedSymbol::Nonterminal(*symbol)]],
                Node::Sequence(parts) => {
                    let mut joined = vec![Vec::new()];
                    for part in parts {
                        joined = self.concatenations(&joined, &of_node[part], node)?;
                    }
                    joined
                }
                Node::Choice(parts) => distinct(parts.iter().flat_map(|part| of_node[part].iter().cloned())),
                &Node::Repeat { node: part, min, max } => {
                    let inner = of_node[&part].clone();
                    self.repetition(rule, inner, min, max, node)?
                }
                Node::Selection { .. } | Node::Scope(_) | Node::Value { .. } | Node::Binding(_) => {
                    return Err(self.selection_error(node));
                }
            };
            self.count_symbols(&alternatives, node)?;
            of_node.insert(node, alternatives);
        }
        Ok(distinct(roots.iter().flat_map(|root| of_node[root].iter().cloned())))
    }

    fn count_symbols(&mut self, alternatives: &Alternatives, node: NodeId) -> Result<(), Box<Diagnostic>> {
        let size = alternatives.iter().map(|rhs| rhs.len() + 1).sum();
        self.reserve(size, node)
    }

    /// Accounts for symbols before they are written.
    fn reserve(&mut self, size: usize, node: NodeId) -> Result<(), Box<Diagnostic>> {
        self.size = self.size.saturating_add(size);
        if self.size <= self.limits.grammar_size {
            return Ok(());
        }
        let limit = LimitExceeded::new("grammar_size", self.limits.grammar_size).diagnostic();
        let help =
            "options and choices are expanded to alternatives: move a part of them to a rule of its own";
        Err(Box::new(limit.at(self.grammar.span(node)).help(help)))
    }

    fn concatenations(
        &mut self,
        left: &Alternatives,
        right: &Alternatives,
        node: NodeId,
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let size = |side: &Alternatives| side.iter().map(|rhs| rhs.len() + 1).sum::<usize>();
        self.reserve(
            size(left).saturating_mul(right.len()).max(size(right).saturating_mul(left.len())),
            node,
        )?;
        let pairs = left.iter().flat_map(|one| right.iter().map(move |other| [&one[..], other].concat()));
        Ok(distinct(pairs))
    }

    /// `min` to `max` copies of the alternatives.
    pub(super) fn repetition(
        &mut self,
        rule: NonterminalId,
        mut inner: Alternatives,
        min: u32,
        max: Option<u32>,
        node: NodeId,
    ) -> Result<Alternatives, Box<Diagnostic>> {
        let count = inner.len();
        inner.retain(|rhs| !rhs.is_empty());
        let min = if inner.len() < count { 0 } else { min };
        if inner.is_empty() && count == 0 {
            // The operand has no alternatives because of an error that was already reported.
            return Ok(Vec::new());
        }
        if inner.is_empty() || max == Some(0) {
            return Ok(vec![Vec::new()]);
        }
        if max == Some(1) {
            if min == 0 {
                inner.push(Vec::new());
            }
            return Ok(inner);
        }
        if max.is_none() && min <= 1 {
            let many = self.shared_rule(rule, SharedRule::OneOrMore(inner), node)?;
            let mut alternatives = vec![vec![many]];
            if min == 0 {
                alternatives.push(Vec::new());
            }
            return Ok(alternatives);
        }
        let is_inlined = max.is_none_or(|max| max < MAX_INLINE_COPIES);
        if let Some(max) = max.filter(|_| is_inlined && inner.len() > 1)
            && let Some(alternatives) = inline_copies(&inner, min..=max)
        {
            return Ok(alternatives);
        }
        let item = match &inner[..] {
            [only] if is_inlined || only.len() == 1 => only.clone(),
            _ => vec![self.shared_rule(rule, SharedRule::Choice(inner.clone()), node)?],
        };
        let copies = |translation: &mut Self, count: u32| {
            translation.reserve(item.len().saturating_mul(count as usize), node)?;
            Ok(item.repeat(count as usize))
        };
        match max {
            None => {
                let mut rhs = copies(self, min - 1)?;
                rhs.push(self.shared_rule(rule, SharedRule::OneOrMore(inner), node)?);
                Ok(vec![rhs])
            }
            Some(max) if is_inlined => (min..=max).map(|count| copies(self, count)).collect(),
            Some(max) => {
                let required = copies(self, min)?;
                if min == max {
                    return Ok(vec![required]);
                }
                let mut tail = item[0];
                for count in 1..=max - min {
                    tail = self.shared_rule(rule, SharedRule::UpTo(item[0], count), node)?;
                }
                let more = [&required[..], &[tail]].concat();
                Ok(vec![required, more])
            }
        }
    }

    /// The nonterminal of a shared rule; creates its productions on first use.
    fn shared_rule(
        &mut self,
        rule: NonterminalId,
        key: SharedRule,
        node: NodeId,
    ) -> Result<LexedSymbol, Box<Diagnostic>> {
        let is_lexical = self.lexical.contains(&rule);
        let key = (key, is_lexical);
        if let Some(&id) = self.shared_rules.get(&key) {
            return Ok(id);
        }
        let id = NonterminalId::new(self.rules.len());
        let own = LexedSymbol::Nonterminal(id);
        let (name, alternatives) = match &key.0 {
            SharedRule::Choice(parts) => {
                (format!("{}({})", self.rules[rule.index()], id.index()), parts.clone())
            }
            SharedRule::OneOrMore(parts) => {
                let name = match &parts[..] {
                    [only] if only.len() == 1 => format!("{}+", self.symbol_name(only[0])),
                    _ => format!("{}({})+", self.rules[rule.index()], id.index()),
                };
                let more = parts.iter().map(|rhs| [&[own], &rhs[..]].concat());
                (name, parts.iter().cloned().chain(more).collect())
            }
            &SharedRule::UpTo(item, count) => {
                let mut alternatives = vec![vec![item]];
                let fewer = (SharedRule::UpTo(item, count - 1), is_lexical);
                if let Some(&fewer) = self.shared_rules.get(&fewer) {
                    alternatives.push(vec![item, fewer]);
                }
                (format!("{}{{1,{count}}}", self.symbol_name(item)), alternatives)
            }
        };
        self.count_symbols(&alternatives, node)?;
        if is_lexical {
            self.lexical.insert(id);
        }
        self.rules.push(if is_lexical { format!("lexical {name}") } else { name });
        self.productions.extend(alternatives.into_iter().map(|rhs| (id, rhs)));
        self.shared_rules.insert(key, own);
        Ok(own)
    }
}

/// All sequences of copies, or `None` if they exceed [`MAX_INLINE_SYMBOLS`], a bound that lark lacks.
fn inline_copies(inner: &Alternatives, counts: RangeInclusive<u32>) -> Option<Alternatives> {
    let mut copies: Alternatives = vec![Vec::new()];
    let mut alternatives = Vec::new();
    for count in 0..=*counts.end() {
        if count > 0 {
            let size: usize = copies.iter().map(|rhs| rhs.len() + 1).sum();
            if size.saturating_mul(inner.len()) > MAX_INLINE_SYMBOLS {
                return None;
            }
            let pairs =
                copies.iter().flat_map(|one| inner.iter().map(move |other| [&one[..], other].concat()));
            copies = distinct(pairs);
        }
        if counts.contains(&count) {
            alternatives.extend_from_slice(&copies);
        }
    }
    Some(distinct(alternatives.into_iter()))
}

pub(super) fn distinct(alternatives: impl Iterator<Item = Vec<LexedSymbol>>) -> Alternatives {
    let mut seen = FxHashSet::default();
    alternatives.filter(|rhs| seen.insert(rhs.clone())).collect()
}
