//! Random grammars with bindings.

use grammask_diagnostics::{Limits, Span};
use grammask_grammar::{BindingKind, Grammar, GrammarBuilder, NodeId, Terminal};

use super::Random;

/// Builds random grammars.
pub struct BindingSketch {
    builder: GrammarBuilder,
    random: Random,
    /// The names that are certainly bound, in the scope that is being built.
    bound: Vec<&'static str>,
}

const OPERANDS: &[&str] = &[
    "a+",
    "[ab]+",
    "a*",
    "[ab]*",
    "a|b",
    "a|ab|abb",
    "1*",
    "(ab)*",
    "a?",
    "[ab1]{0,2}",
    "[a:]*",
    "aa?",
    "b|,",
];

impl BindingSketch {
    pub fn grammar(seed: u64) -> Grammar {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.below(2));
        let mut sketch = Self { builder: GrammarBuilder::new(""), random, bound: Vec::new() };
        let start = sketch.builder.nonterminal("start", Span::default());
        let body = match sketch.random.below(4) {
            0 => sketch.recursive_rule(),
            _ => sketch.scope(1),
        };
        let end = sketch.literal(".");
        let body = sketch.builder.sequence(vec![body, end], Span::default());
        sketch.builder.define(start, body, Span::default());
        sketch.builder.finish(start)
    }

    fn literal(&mut self, text: &str) -> NodeId {
        self.builder.literal(text.as_bytes(), Span::default())
    }

    fn operand(&mut self) -> NodeId {
        let pattern = self.random.one_of(OPERANDS);
        let term = grammask_automata::regex::term(self.builder.terms(), pattern, &Limits::default());
        let term = term.expect("a valid pattern");
        self.builder.terminal(Terminal::Regular(term), pattern, Span::default())
    }

    fn bind(&mut self) -> NodeId {
        let name = self.random.one_of(&["x", "x", "y"]);
        let operand = self.operand();
        if !self.bound.contains(&name) {
            self.bound.push(name);
        }
        self.builder.binding(BindingKind::Bind, name, Some(operand), Span::default())
    }

    /// A binding that refers to a name.
    fn reference(&mut self, name: &str) -> NodeId {
        let kind = self.random.one_of(&BindingKind::ALL[1..]);
        let operand = (kind != BindingKind::Same).then(|| self.operand());
        self.builder.binding(kind, name, operand, Span::default())
    }

    fn scope(&mut self, depth: usize) -> NodeId {
        let outer = std::mem::take(&mut self.bound);
        let open = self.literal("[");
        let bind = self.bind();
        let mut parts = vec![open, bind];
        for _ in 0..=self.random.below(3) {
            parts.push(self.item(depth, 1));
        }
        let name = self.bound[self.random.below(self.bound.len())];
        parts.push(self.builder.binding(BindingKind::Same, name, None, Span::default()));
        self.bound = outer;
        let body = self.builder.sequence(parts, Span::default());
        self.builder.scope(body, Span::default())
    }

    /// `r ::= scope("[" bind(x, ...) ":" (r | ...)* "]" same(x))`, nested scopes of one rule.
    fn recursive_rule(&mut self) -> NodeId {
        let span = Span::default();
        let rule = self.builder.fresh_nonterminal("nested", span);
        let (open, colon, close) = (self.literal("["), self.literal(":"), self.literal("]"));
        self.bound.clear();
        let bind = self.bind();
        let inner = self.builder.reference(rule, span);
        let other = self.item(0, 0);
        let parts = self.builder.choice(vec![inner, other], span);
        let parts = self.builder.repeat(parts, 0, self.random.one_of(&[None, Some(2)]), span);
        let name = self.bound[0];
        let same = self.builder.binding(BindingKind::Same, name, None, span);
        let body = self.builder.sequence(vec![open, bind, colon, parts, close, same], span);
        let body = self.builder.scope(body, span);
        self.builder.define(rule, body, span);
        self.builder.reference(rule, span)
    }

    fn item(&mut self, depth: usize, nesting: usize) -> NodeId {
        let span = Span::default();
        let separator = self.random.one_of(&[",", ":", "]", "\"", "a"]);
        match self.random.below(if nesting > 0 { 10 } else { 4 }) {
            0..3 => {
                let name = match self.bound[..] {
                    [] => "x",
                    _ => self.bound[self.random.below(self.bound.len())],
                };
                let reference = self.reference(name);
                let separator = self.literal(separator);
                self.builder.sequence(vec![separator, reference], span)
            }
            3 => self.literal(separator),
            4 => self.bind(),
            5 | 6 => {
                // A repetition. What it binds may stay unbound.
                let bound = self.bound.clone();
                let parts = (0..=self.random.below(2)).map(|_| self.item(depth, nesting - 1)).collect();
                let separator = self.literal(separator);
                let body = self.builder.sequence(parts, span);
                let body = self.builder.sequence(vec![separator, body], span);
                let (min, max) = self.random.one_of(&[(0, None), (0, Some(1)), (1, Some(3)), (0, Some(2))]);
                if min == 0 {
                    self.bound = bound;
                }
                self.builder.repeat(body, min, max, span)
            }
            7 => {
                let bound = self.bound.clone();
                let first = self.item(depth, nesting - 1);
                let of_first = std::mem::replace(&mut self.bound, bound);
                let second = self.item(depth, nesting - 1);
                self.bound.retain(|name| of_first.contains(name));
                self.builder.choice(vec![first, second], span)
            }
            8 => {
                // Through a rule.
                let rule = self.builder.fresh_nonterminal("part", span);
                let body = self.item(depth, nesting - 1);
                self.builder.define(rule, body, span);
                let first = self.builder.reference(rule, span);
                let second = self.builder.reference(rule, span);
                let separator = self.literal(separator);
                self.builder.sequence(vec![first, separator, second], span)
            }
            _ if depth > 0 => self.scope(depth - 1),
            _ => self.literal(separator),
        }
    }
}
