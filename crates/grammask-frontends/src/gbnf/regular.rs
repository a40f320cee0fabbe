//! The regular languages of rules, which limits on their texts need to know.
//!
//! A rule is made a term by its right-hand side. It may stand for itself at the end of an alternative, which is how
//! XGrammar prints repetitions: `x ::= a x | b` is `a* b` (Arden's lemma). Any other recursion, and tokens, have no
//! regular language, or none that is looked for. The work is a stack; each rule is visited once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::options::{OptionedRule, Options};
use grammask_automata::TermId;
use grammask_grammar::{GrammarBuilder, Node, NodeId, NonterminalId, Terminal};

/// Why a rule is no regular language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Irregular {
    Recursive,
    Tokens,
    /// Parts of a schema, which texts of this front end do not have.
    Selections,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Languages {
    bodies: FxHashMap<NonterminalId, Vec<NodeId>>,
    options: FxHashMap<NonterminalId, Options>,
    known: FxHashMap<NonterminalId, TermId>,
}

/// Work on the stack: things to visit, and things to make of what was visited.
enum Task {
    Visit(NodeId),
    /// All but the last part of a sequence.
    VisitBeginning(NodeId),
    Sequence(usize),
    Choice(usize),
    Repeat(u32, Option<u32>),
    Enter(NonterminalId),
    /// A rule: how many alternatives end with itself, and how many do not; the latter are on top.
    Leave(NonterminalId, usize, usize),
}

impl Languages {
    /// Of all rules that are defined in `builder`, and those with options, which are not yet.
    pub(super) fn new(builder: &GrammarBuilder, optioned: &[OptionedRule]) -> Self {
        let mut bodies: FxHashMap<NonterminalId, Vec<NodeId>> = FxHashMap::default();
        for definition in builder.definitions() {
            bodies.entry(definition.lhs).or_default().push(definition.body);
        }
        for rule in optioned {
            bodies.entry(rule.lhs).or_default().push(rule.body);
        }
        let options = optioned.iter().map(|rule| (rule.lhs, rule.options)).collect();
        Self { bodies, options, known: FxHashMap::default() }
    }

    /// The language of `rule` with its options, but for the most tokens.
    pub(super) fn of_rule(
        &mut self,
        builder: &mut GrammarBuilder,
        rule: NonterminalId,
    ) -> Result<TermId, Irregular> {
        let mut tasks = vec![Task::Enter(rule)];
        let mut made: Vec<TermId> = Vec::new();
        let mut open: FxHashSet<NonterminalId> = FxHashSet::default();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Enter(inner) => {
                    if let Some(&term) = self.known.get(&inner) {
                        made.push(term);
                    } else if !open.insert(inner) {
                        return Err(Irregular::Recursive);
                    } else if inner != rule
                        && self.options.get(&inner).is_some_and(|options| options.most_tokens.is_some())
                    {
                        return Err(Irregular::Tokens);
                    } else {
                        self.enter(builder, inner, &mut tasks);
                    }
                }
                Task::Visit(node) => visit(builder, node, &mut tasks, &mut made)?,
                Task::VisitBeginning(node) => {
                    if let Node::Sequence(parts) = builder.node_at(node) {
                        let parts = &parts[..parts.len() - 1];
                        tasks.push(Task::Sequence(parts.len()));
                        tasks.extend(parts.iter().rev().map(|&part| Task::Visit(part)));
                    }
                }
                Task::Sequence(count) => {
                    let parts = made.split_off(made.len() - count);
                    made.push(builder.terms().concat(&parts));
                }
                Task::Choice(count) => {
                    let parts = made.split_off(made.len() - count);
                    made.push(builder.terms().union(&parts));
                }
                Task::Repeat(min, max) => {
                    let last = made.len() - 1;
                    made[last] = builder.terms().repeat(made[last], min, max);
                }
                Task::Leave(inner, loops, others) => {
                    let terms = builder.terms();
                    let others = made.split_off(made.len() - others);
                    let loops = made.split_off(made.len() - loops);
                    let (again, end) = (terms.union(&loops), terms.union(&others));
                    let again = terms.repeat(again, 0, None);
                    let term = terms.concat(&[again, end]);
                    let term = self.limited(builder, inner, term);
                    open.remove(&inner);
                    self.known.insert(inner, term);
                    made.push(term);
                }
            }
        }
        // One rule was entered, so one language was made.
        made.pop().ok_or(Irregular::Recursive)
    }

    /// Pushes the alternatives of a rule: those that end with the rule itself, then the others.
    fn enter(&self, builder: &GrammarBuilder, rule: NonterminalId, tasks: &mut Vec<Task>) {
        let mut pending: Vec<NodeId> = self.bodies.get(&rule).cloned().unwrap_or_default();
        let (mut loops, mut others) = (Vec::new(), Vec::new());
        let is_rule = |node: NodeId| *builder.node_at(node) == Node::Nonterminal(rule);
        while let Some(node) = pending.pop() {
            match builder.node_at(node) {
                Node::Choice(parts) => pending.extend(parts.iter().copied()),
                Node::Sequence(parts) if parts.last().is_some_and(|&last| is_rule(last)) => loops.push(node),
                // A rule that is itself says nothing.
                _ if is_rule(node) => {}
                _ => others.push(node),
            }
        }
        tasks.push(Task::Leave(rule, loops.len(), others.len()));
        tasks.extend(others.into_iter().map(Task::Visit));
        tasks.extend(loops.into_iter().map(Task::VisitBeginning));
    }

    fn limited(&self, builder: &mut GrammarBuilder, rule: NonterminalId, mut term: TermId) -> TermId {
        let options = self.options.get(&rule).copied().unwrap_or_default();
        let terms = builder.terms();
        if options.is_lazy {
            term = if terms.is_nullable(term) { terms.epsilon() } else { terms.first_match(term) };
        }
        if let Some(most) = options.most_characters {
            let character = terms.characters(&[('\0', char::MAX)]);
            let short = terms.repeat(character, 0, Some(most));
            term = terms.intersection(&[term, short]);
        }
        term
    }
}

/// Makes the language of a node, or pushes what it is made of.
fn visit(
    builder: &mut GrammarBuilder,
    node: NodeId,
    tasks: &mut Vec<Task>,
    made: &mut Vec<TermId>,
) -> Result<(), Irregular> {
    match builder.node_at(node).clone() {
        Node::Terminal(id) => made.push(match builder.terminal_at(id).clone() {
            Terminal::Literal(bytes) => builder.terms().literal(&bytes),
            Terminal::Regular(term) => term,
            _ => return Err(Irregular::Tokens),
        }),
        Node::Nonterminal(rule) => tasks.push(Task::Enter(rule)),
        Node::Sequence(parts) => {
            tasks.push(Task::Sequence(parts.len()));
            tasks.extend(parts.iter().rev().map(|&part| Task::Visit(part)));
        }
        Node::Choice(parts) => {
            tasks.push(Task::Choice(parts.len()));
            tasks.extend(parts.iter().rev().map(|&part| Task::Visit(part)));
        }
        Node::Repeat { node, min, max } => {
            tasks.push(Task::Repeat(min, max));
            tasks.push(Task::Visit(node));
        }
        Node::Selection { .. } => return Err(Irregular::Selections),
    }
    Ok(())
}
