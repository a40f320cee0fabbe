//! The regular languages of rules and nodes, on which limits of their texts operate.
//!
//! The term of a rule is computed from its right-hand side. A rule may refer to itself at the end of an alternative,
//! which is how XGrammar prints repetitions: `x ::= a x | b` is `a* b` (Arden's lemma). Other recursion is not
//! supported, and tokens are not regular. The traversal uses an explicit stack and visits each rule once.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{GrammarBuilder, Node, NodeId, NonterminalId, Terminal};
use grammask_automata::TermId;

/// The reasons why a node has no regular language here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRegular {
    /// A rule refers to itself other than at the end of an alternative.
    Recursive,
    /// It refers to a rule without a definition.
    Undefined,
    /// It contains tokens, or a terminal that counts them.
    Tokens,
    /// It contains a selection, as schemas do.
    Selections,
    /// It contains an embedded grammar, as compositions with a lexed grammar do.
    Embedded,
    /// It contains values that must not be repeated, as schemas do.
    Values,
    /// It binds a text to a name, or compares one with it.
    Bindings,
}

impl NotRegular {
    /// The reason as a clause about the rule or part.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Recursive => "it refers to itself other than at the end of an alternative",
            Self::Undefined => "it refers to a rule that is not defined there",
            Self::Tokens => "it contains tokens, or a part with `max_tokens`",
            Self::Selections => "it has parts that are selected by a schema",
            Self::Embedded => {
                "it contains a grammar with a lexer, or a part with `max_tokens` that is not regular"
            }
            Self::Values => "it has values that must differ",
            Self::Bindings => "it binds a text to a name, or refers to one that is bound",
        }
    }
}

/// Memo table of the languages of rules.
///
/// ```
/// use grammask_diagnostics::Span;
/// use grammask_grammar::{GrammarBuilder, RuleLanguages};
/// let mut builder = GrammarBuilder::new("");
/// let (a, b) = (builder.literal(b"a", Span::default()), builder.literal(b"b", Span::default()));
/// let either = builder.choice(vec![a, b], Span::default());
/// let term = RuleLanguages::new(&builder).of_node(&mut builder, either).unwrap();
/// assert!(builder.terms_so_far().word(term).is_none());
/// ```
#[derive(Debug)]
pub struct RuleLanguages {
    bodies: FxHashMap<NonterminalId, Vec<NodeId>>,
    memo: FxHashMap<NonterminalId, TermId>,
}

/// Completes the language of a rule from that of its right-hand sides.
pub type CompleteRule<'a> =
    &'a mut dyn FnMut(&mut GrammarBuilder, NonterminalId, TermId) -> Result<TermId, NotRegular>;

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
    /// For all rules that are defined in `builder`.
    #[must_use]
    pub fn new(builder: &GrammarBuilder) -> Self {
        let mut languages = Self { bodies: FxHashMap::default(), memo: FxHashMap::default() };
        for definition in builder.definitions() {
            languages.add_body(definition.lhs, definition.body);
        }
        languages
    }

    /// Adds a right-hand side of a rule that is not defined in the builder.
    pub fn add_body(&mut self, rule: NonterminalId, body: NodeId) {
        self.bodies.entry(rule).or_default().push(body);
    }

    /// The language of a node.
    ///
    /// # Errors
    /// When it has no regular language here.
    pub fn of_node(&mut self, builder: &mut GrammarBuilder, node: NodeId) -> Result<TermId, NotRegular> {
        self.run(builder, LanguageTask::Visit(node), &mut |_, _, term| Ok(term))
    }

    /// The language of a rule, where `complete` adapts the language of each rule.
    ///
    /// # Errors
    /// When it has no regular language here, and as `complete`.
    pub fn of_rule(
        &mut self,
        builder: &mut GrammarBuilder,
        rule: NonterminalId,
        complete: CompleteRule<'_>,
    ) -> Result<TermId, NotRegular> {
        self.run(builder, LanguageTask::Enter(rule), complete)
    }

    fn run(
        &mut self,
        builder: &mut GrammarBuilder,
        first: LanguageTask,
        complete: CompleteRule<'_>,
    ) -> Result<TermId, NotRegular> {
        let mut agenda = vec![first];
        let mut term_stack: Vec<TermId> = Vec::new();
        let mut in_progress: FxHashSet<NonterminalId> = FxHashSet::default();
        while let Some(entry) = agenda.pop() {
            match entry {
                LanguageTask::Enter(inner) => {
                    if let Some(&term) = self.memo.get(&inner) {
                        term_stack.push(term);
                    } else if !in_progress.insert(inner) {
                        return Err(NotRegular::Recursive);
                    } else if !self.bodies.contains_key(&inner) {
                        return Err(NotRegular::Undefined);
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
                    let term = complete(builder, inner, term)?;
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
            Terminal::Embedded { .. } => return Err(NotRegular::Embedded),
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
        // What makes the scope irregular is in it.
        Node::Scope(inner) => agenda.push(LanguageTask::Visit(inner)),
        Node::Value { .. } => return Err(NotRegular::Values),
        Node::Binding(_) => return Err(NotRegular::Bindings),
    }
    Ok(())
}
