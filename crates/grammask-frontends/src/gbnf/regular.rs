//! The regular languages of rules, on which limits of their texts operate.
//!
//! The term of a rule is computed from its right-hand side. A rule may refer to itself at the end of an alternative,
//! which is how XGrammar prints repetitions: `x ::= a x | b` is `a* b` (Arden's lemma). Other recursion is not
//! supported, and tokens are not regular. The traversal uses an explicit stack and visits each rule once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::options::{RuleOptions, RuleWithOptions};
use grammask_automata::TermId;
use grammask_grammar::{GrammarBuilder, Node, NodeId, NonterminalId, Terminal};

/// The reasons why a rule has no regular language here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRegular {
    Recursive,
    Tokens,
    /// Selections are parts of a schema, and do not occur in this notation.
    Selections,
}

/// Memo table of the languages of rules.
#[derive(Debug)]
pub(super) struct RuleLanguages {
    bodies: FxHashMap<NonterminalId, Vec<NodeId>>,
    options: FxHashMap<NonterminalId, RuleOptions>,
    memo: FxHashMap<NonterminalId, TermId>,
}

/// An entry of the agenda: visit a node, or combine the terms of its parts.
enum LanguageTask {
    Visit(NodeId),
    /// Visits all parts of a sequence except the last.
    VisitBeginning(NodeId),
    Sequence(usize),
    Choice(usize),
    Repeat(u32, Option<u32>),
    Enter(NonterminalId),
    /// Ends a rule: the number of alternatives that end with the rule itself, and of the others, which are on
    /// top.
    Leave(NonterminalId, usize, usize),
}

impl RuleLanguages {
    /// For all rules that are defined in `builder`, and the rules with options, which are not defined yet.
    pub(super) fn new(builder: &GrammarBuilder, with_options: &[RuleWithOptions]) -> Self {
        let mut bodies: FxHashMap<NonterminalId, Vec<NodeId>> = FxHashMap::default();
        for definition in builder.definitions() {
            bodies.entry(definition.lhs).or_default().push(definition.body);
        }
        for rule in with_options {
            bodies.entry(rule.lhs).or_default().push(rule.body);
        }
        let options = with_options.iter().map(|rule| (rule.lhs, rule.options)).collect();
        Self { bodies, options, memo: FxHashMap::default() }
    }

    /// The language of `rule` under its options, except for the maximum number of tokens.
    pub(super) fn of_rule(
        &mut self,
        builder: &mut GrammarBuilder,
        rule: NonterminalId,
    ) -> Result<TermId, NotRegular> {
        let mut agenda = vec![LanguageTask::Enter(rule)];
        let mut term_stack: Vec<TermId> = Vec::new();
        let mut in_progress: FxHashSet<NonterminalId> = FxHashSet::default();
        while let Some(entry) = agenda.pop() {
            match entry {
                LanguageTask::Enter(inner) => {
                    if let Some(&term) = self.memo.get(&inner) {
                        term_stack.push(term);
                    } else if !in_progress.insert(inner) {
                        return Err(NotRegular::Recursive);
                    } else if inner != rule
                        && self.options.get(&inner).is_some_and(|options| options.max_tokens.is_some())
                    {
                        return Err(NotRegular::Tokens);
                    } else {
                        self.enter(builder, inner, &mut agenda);
                    }
                }
                LanguageTask::Visit(node) => visit(builder, node, &mut agenda, &mut term_stack)?,
                LanguageTask::VisitBeginning(node) => {
                    if let Node::Sequence(parts) = builder.node_at(node) {
                        let parts = &parts[..parts.len() - 1];
                        agenda.push(LanguageTask::Sequence(parts.len()));
                        agenda.extend(parts.iter().rev().map(|&part| LanguageTask::Visit(part)));
                    }
                }
                LanguageTask::Sequence(count) => {
                    let parts = term_stack.split_off(term_stack.len() - count);
                    term_stack.push(builder.terms().concat(&parts));
                }
                LanguageTask::Choice(count) => {
                    let parts = term_stack.split_off(term_stack.len() - count);
                    term_stack.push(builder.terms().union(&parts));
                }
                LanguageTask::Repeat(min, max) => {
                    let last = term_stack.len() - 1;
                    term_stack[last] = builder.terms().repeat(term_stack[last], min, max);
                }
                LanguageTask::Leave(inner, recursive, non_recursive) => {
                    let terms = builder.terms();
                    let non_recursive = term_stack.split_off(term_stack.len() - non_recursive);
                    let recursive = term_stack.split_off(term_stack.len() - recursive);
                    let (repeated, end) = (terms.union(&recursive), terms.union(&non_recursive));
                    let repeated = terms.repeat(repeated, 0, None);
                    let term = terms.concat(&[repeated, end]);
                    let term = self.apply_options(builder, inner, term);
                    in_progress.remove(&inner);
                    self.memo.insert(inner, term);
                    term_stack.push(term);
                }
            }
        }
        // Each entered rule pushes one term.
        term_stack.pop().ok_or(NotRegular::Recursive)
    }

    /// Pushes the alternatives of a rule: those that end with the rule itself, then the others.
    fn enter(&self, builder: &GrammarBuilder, rule: NonterminalId, agenda: &mut Vec<LanguageTask>) {
        let mut pending: Vec<NodeId> = self.bodies.get(&rule).cloned().unwrap_or_default();
        let (mut recursive, mut non_recursive) = (Vec::new(), Vec::new());
        let is_rule = |node: NodeId| *builder.node_at(node) == Node::Nonterminal(rule);
        while let Some(node) = pending.pop() {
            match builder.node_at(node) {
                Node::Choice(parts) => pending.extend(parts.iter().copied()),
                Node::Sequence(parts) if parts.last().is_some_and(|&last| is_rule(last)) => {
                    recursive.push(node)
                }
                // An alternative that is only the rule itself adds no text.
                _ if is_rule(node) => {}
                _ => non_recursive.push(node),
            }
        }
        agenda.push(LanguageTask::Leave(rule, recursive.len(), non_recursive.len()));
        agenda.extend(non_recursive.into_iter().map(LanguageTask::Visit));
        agenda.extend(recursive.into_iter().map(LanguageTask::VisitBeginning));
    }

    fn apply_options(&self, builder: &mut GrammarBuilder, rule: NonterminalId, mut term: TermId) -> TermId {
        let options = self.options.get(&rule).copied().unwrap_or_default();
        let terms = builder.terms();
        if options.is_lazy {
            term = if terms.is_nullable(term) { terms.epsilon() } else { terms.first_match(term) };
        }
        if let Some(max) = options.max_characters {
            let character = terms.characters(&[('\0', char::MAX)]);
            let short = terms.repeat(character, 0, Some(max));
            term = terms.intersection(&[term, short]);
        }
        term
    }
}

/// Pushes the term of a node, or the agenda entries that compute it.
fn visit(
    builder: &mut GrammarBuilder,
    node: NodeId,
    agenda: &mut Vec<LanguageTask>,
    term_stack: &mut Vec<TermId>,
) -> Result<(), NotRegular> {
    match builder.node_at(node).clone() {
        Node::Terminal(id) => term_stack.push(match builder.terminal_at(id).clone() {
            Terminal::Literal(bytes) => builder.terms().literal(&bytes),
            Terminal::Regular(term) => term,
            _ => return Err(NotRegular::Tokens),
        }),
        Node::Nonterminal(rule) => agenda.push(LanguageTask::Enter(rule)),
        Node::Sequence(parts) => {
            agenda.push(LanguageTask::Sequence(parts.len()));
            agenda.extend(parts.iter().rev().map(|&part| LanguageTask::Visit(part)));
        }
        Node::Choice(parts) => {
            agenda.push(LanguageTask::Choice(parts.len()));
            agenda.extend(parts.iter().rev().map(|&part| LanguageTask::Visit(part)));
        }
        Node::Repeat { node, min, max } => {
            agenda.push(LanguageTask::Repeat(min, max));
            agenda.push(LanguageTask::Visit(node));
        }
        Node::Selection { .. } => return Err(NotRegular::Selections),
    }
    Ok(())
}
