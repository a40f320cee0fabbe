//! A part of a grammar that is being built as a grammar of its own.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    EmbeddedId, Grammar, GrammarBuilder, Node, NodeId, NonterminalId, NotRegular, Span, Terminal,
    TerminalDefinition,
};
use grammask_automata::TermId;

/// A part as a grammar.
#[derive(Debug)]
pub struct ExtractedGrammar {
    /// The grammar, whose start symbol derives the texts of the part.
    pub grammar: Grammar,
    /// The number in the builder of each grammar that it embeds.
    pub embedded: Vec<EmbeddedId>,
}

impl GrammarBuilder {
    /// The texts of a node as a grammar, with the rules that it refers to. Cost: linear in the builder.
    ///
    /// # Errors
    /// [`NotRegular::Undefined`] if it refers to a rule without a definition.
    pub fn extract(&self, node: NodeId) -> Result<ExtractedGrammar, NotRegular> {
        let (reached, rules) = self.reachable(node)?;
        let mut extracted = Self::new("");
        let start = extracted.fresh_nonterminal("start", Span::default());
        let rules: FxHashMap<NonterminalId, NonterminalId> = rules
            .into_iter()
            .map(|rule| (rule, extracted.fresh_nonterminal(self.rule_name(rule), Span::default())))
            .collect();
        let mut embedded: Vec<EmbeddedId> = Vec::new();
        let mut copies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        // Children precede their parents.
        for node in reached {
            let copy_of = |node: &NodeId| copies[node];
            let span = Span::default();
            let copy = match self.node_at(node) {
                Node::Terminal(id) => {
                    let TerminalDefinition { terminal, label } = self.definition_of(*id);
                    let terminal = match *terminal {
                        Terminal::Regular(term) => Terminal::Regular(extracted.import(self, term)),
                        Terminal::Limited { term, tokens } => {
                            Terminal::Limited { term: extracted.import(self, term), tokens }
                        }
                        Terminal::Embedded { grammar, tokens } => {
                            let known = embedded.iter().position(|&other| other == grammar);
                            let grammar = match known {
                                Some(known) => EmbeddedId::new(known),
                                None => {
                                    embedded.push(grammar);
                                    extracted.embed(self.texts_of(grammar))
                                }
                            };
                            Terminal::Embedded { grammar, tokens }
                        }
                        _ => terminal.clone(),
                    };
                    extracted.terminal(terminal, label, span)
                }
                Node::Nonterminal(rule) => extracted.reference(rules[rule], span),
                Node::Sequence(parts) => extracted.sequence(parts.iter().map(copy_of).collect(), span),
                Node::Choice(parts) => extracted.choice(parts.iter().map(copy_of).collect(), span),
                Node::Repeat { node, min, max } => extracted.repeat(copy_of(node), *min, *max, span),
                Node::Scope(node) => extracted.scope(copy_of(node), span),
                Node::Value { node, condition } => extracted.value(copy_of(node), condition.clone(), span),
                Node::Binding(binding) => {
                    let node = binding.node.as_ref().map(copy_of);
                    extracted.binding(binding.kind, &binding.name, node, span)
                }
                Node::Selection { selection, parts, separator } => {
                    let parts = parts.iter().map(copy_of).collect();
                    extracted.selection(selection.clone(), parts, copy_of(separator), span)
                }
            };
            copies.insert(node, copy);
        }
        for definition in self.definitions() {
            if let Some(&lhs) = rules.get(&definition.lhs) {
                extracted.define(lhs, copies[&definition.body], Span::default());
            }
        }
        extracted.define(start, copies[&node], Span::default());
        Ok(ExtractedGrammar { grammar: extracted.finish(start), embedded })
    }

    /// The nodes that a node refers to, sorted, with itself and those in the rules that it refers to, and these rules.
    fn reachable(&self, node: NodeId) -> Result<(Vec<NodeId>, Vec<NonterminalId>), NotRegular> {
        let mut bodies: FxHashMap<NonterminalId, Vec<NodeId>> = FxHashMap::default();
        for definition in self.definitions() {
            bodies.entry(definition.lhs).or_default().push(definition.body);
        }
        let mut reached: FxHashSet<NodeId> = FxHashSet::from_iter([node]);
        let mut rules: Vec<NonterminalId> = Vec::new();
        let mut reached_rules: FxHashSet<NonterminalId> = FxHashSet::default();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let node = self.node_at(node);
            let mut of_rule = &[][..];
            if let Node::Nonterminal(rule) = node
                && reached_rules.insert(*rule)
            {
                rules.push(*rule);
                of_rule = bodies.get(rule).ok_or(NotRegular::Undefined)?;
            }
            pending
                .extend(node.children().chain(of_rule.iter().copied()).filter(|&node| reached.insert(node)));
        }
        let mut reached: Vec<NodeId> = reached.into_iter().collect();
        reached.sort_unstable();
        Ok((reached, rules))
    }

    /// A term of another builder in this one's arena.
    fn import(&mut self, other: &Self, term: TermId) -> TermId {
        self.terms().import_terms(other.terms_so_far(), &[term])[&term]
    }
}
