//! Delimited terminals: those whose texts end with a delimiter that they begin with, such as `r##"..."##` and
//! here-documents.
//!
//! Such a terminal is defined by a grammar that binds texts to names. Its language is not regular, so the lexer cannot
//! look for whole texts. It looks for the *opening*, a regular language: the shortest beginning of the grammar's sequence
//! that has all its `bind!` and of whose words none is a prefix of another one. Where the lexer has found the opening, the
//! terminal is chosen. The context-free engine reads the rest, with the bound texts as values, and the lexeme ends where
//! its text is first complete.
//!
//! ```text
//! "r" bind!(h, "#"*) '"'   #"(?s:.)*" '"' same!(h)
//! \_____ the opening ___/
//! ```
//!
//! Each word of the opening must have a completion, whatever it binds, since the lexer chooses the terminal by the opening
//! alone.

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::encoded_terminals::is_text;
use crate::definition::terminal_automaton::{self, AutomatonState};
use grammask_automata::encoding::CharacterEncoding;
use grammask_automata::{Automata, TermId};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, Limits};
use grammask_earley::lowering::{NormalForm, lower, resolve_bindings};
use grammask_grammar::{
    Binding, BindingKind, Grammar, GrammarBuilder, Node, NodeId, NonterminalId, RuleLanguages, Terminal,
};

/// The texts of a delimited terminal. Equal ones are the same object.
#[derive(Clone, Debug)]
pub struct DelimitedTexts {
    grammar: Arc<Grammar>,
    opening: Arc<[AutomatonState]>,
}

impl PartialEq for DelimitedTexts {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.grammar, &other.grammar)
    }
}

impl Eq for DelimitedTexts {}

impl Hash for DelimitedTexts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.grammar).hash(state);
    }
}

impl DelimitedTexts {
    /// The texts of a grammar with bindings.
    ///
    /// # Errors
    /// If it has no opening; if a word of the opening may have no completion; if it has tokens, maxima of tokens or
    /// embedded grammars; as [`lower`]; if a limit is exceeded.
    pub(super) fn new(grammar: &Grammar, limits: &Limits, deadline: &Deadline) -> Result<Self, GrammarError> {
        check_terminals(grammar)?;
        normal_form(grammar, limits)?;
        let rules = DelimitedRules::of(grammar);
        let items = rules.items();
        let (opening, length) = rules.opening(&items, limits, deadline)?;
        rules.check_completions(&items, length)?;
        Ok(Self { grammar: Arc::new(grammar.clone()), opening: opening.into() })
    }

    /// The automaton of the opening.
    pub(super) fn opening(&self) -> &[AutomatonState] {
        &self.opening
    }

    /// The grammar of the texts that decode to texts of the terminal, the innermost encoding first, in the form that the
    /// context-free engine reads.
    ///
    /// # Errors
    /// If a string or pattern cuts characters; if a limit is exceeded.
    pub(super) fn encoded(
        &self,
        encodings: &[CharacterEncoding],
        limits: &Limits,
    ) -> Result<NormalForm, GrammarError> {
        let mut grammar = resolve_bindings(&self.grammar, limits)
            .map_err(|diagnostics| GrammarError::new(diagnostics, "".into()))?;
        for definition in &grammar.terminals {
            if let Terminal::Literal(text) = &definition.terminal
                && std::str::from_utf8(text).is_ok()
            {
                continue;
            }
            let Terminal::Regular(term) = definition.terminal else {
                return Err(cut_characters(&definition.label));
            };
            if !is_text(&mut grammar.terms, term, limits).map_err(|limit| limit.diagnostic())? {
                return Err(cut_characters(&definition.label));
            }
        }
        for encoding in encodings {
            grammar = grammar.encoded(encoding, Vec::new(), limits)?;
        }
        normal_form(&grammar, limits)
    }

    /// The grammar in the form that the context-free engine reads.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub(super) fn normal_form(&self, limits: &Limits) -> Result<NormalForm, GrammarError> {
        normal_form(&self.grammar, limits)
    }
}

/// The normal form of a grammar all of whose texts are finite.
fn normal_form(grammar: &Grammar, limits: &Limits) -> Result<NormalForm, GrammarError> {
    let lowered = lower(grammar, limits)?;
    match lowered.warnings.iter().find(|warning| warning.code == Code::EndlessRule) {
        Some(endless) => {
            let diagnostic = Diagnostic::error(Code::NeverEnds, endless.message.clone());
            Err(Diagnostic { help: endless.help.clone(), ..diagnostic }.into())
        }
        None => Ok(lowered.normal_form),
    }
}

fn cut_characters(label: &str) -> GrammarError {
    let message = format!("`{label}` matches parts of characters, which have no spelling in an encoding");
    Diagnostic::error(Code::UnsupportedGrammar, message).into()
}

fn unsupported(message: impl Into<String>, help: &str) -> GrammarError {
    Diagnostic::error(Code::UnsupportedGrammar, message).help(help).into()
}

/// Reports terminals that are not languages over bytes.
fn check_terminals(grammar: &Grammar) -> Result<(), GrammarError> {
    let is_regular = |terminal: &Terminal| matches!(terminal, Terminal::Literal(_) | Terminal::Regular(_));
    match grammar.terminals().iter().find(|definition| !is_regular(&definition.terminal)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("it has bindings, and `{}`, which is no string or pattern", other.label);
            Err(unsupported(message, "leave out tokens, maxima of tokens and grammars with a lexer"))
        }
    }
}

/// The right-hand sides of a grammar by rule.
struct DelimitedRules<'a> {
    grammar: &'a Grammar,
    bodies: FxHashMap<NonterminalId, Vec<NodeId>>,
}

impl<'a> DelimitedRules<'a> {
    fn of(grammar: &'a Grammar) -> Self {
        let mut bodies: FxHashMap<NonterminalId, Vec<NodeId>> = FxHashMap::default();
        for definition in grammar.definitions() {
            bodies.entry(definition.lhs).or_default().push(definition.body);
        }
        Self { grammar, bodies }
    }

    fn node(&self, node: NodeId) -> &'a Node {
        &self.grammar.nodes()[node.index()]
    }

    fn bodies(&self, rule: NonterminalId) -> &[NodeId] {
        self.bodies.get(&rule).map_or(&[], |bodies| bodies)
    }

    /// The sequence of the start symbol. Groups, its first scope, and rules with one definition are replaced by their parts.
    fn items(&self) -> Vec<NodeId> {
        let mut items = Vec::new();
        let mut replaced: FxHashSet<NonterminalId> = FxHashSet::from_iter([self.grammar.start()]);
        let mut pending: Vec<NodeId> = self.bodies(self.grammar.start()).to_vec();
        // Alternatives of the start symbol are no sequence.
        if pending.len() != 1 {
            return items;
        }
        let mut is_scope_open = false;
        while let Some(node) = pending.pop() {
            match self.node(node) {
                Node::Sequence(parts) => pending.extend(parts.iter().rev()),
                &Node::Nonterminal(rule) if self.bodies(rule).len() == 1 && replaced.insert(rule) => {
                    pending.push(self.bodies(rule)[0]);
                }
                &Node::Scope(inner) if !is_scope_open => {
                    is_scope_open = true;
                    pending.push(inner);
                }
                _ => items.push(node),
            }
        }
        items
    }

    /// The bindings below a node that belong to the scope around it.
    fn free_bindings(&self, node: NodeId) -> Vec<&'a Binding> {
        let mut found = Vec::new();
        let mut reached = FxHashSet::from_iter([node]);
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let node = self.node(node);
            let of_rule = match node {
                Node::Scope(_) => continue,
                Node::Nonterminal(rule) => self.bodies(*rule),
                Node::Binding(binding) => {
                    found.push(binding);
                    &[]
                }
                _ => &[],
            };
            pending
                .extend(of_rule.iter().copied().chain(node.children()).filter(|&part| reached.insert(part)));
        }
        found
    }

    /// The automaton of the opening, and the number of its items.
    fn opening(
        &self,
        items: &[NodeId],
        limits: &Limits,
        deadline: &Deadline,
    ) -> Result<(Vec<AutomatonState>, usize), GrammarError> {
        let binds =
            |&item: &NodeId| self.free_bindings(item).iter().any(|binding| binding.kind == BindingKind::Bind);
        let least = items.iter().rposition(binds).map_or(1, |last| last + 1);
        let mut languages = OpeningLanguages::of(self.grammar);
        for (index, &item) in items.iter().enumerate() {
            let Some(term) = languages.with_item(item) else { break };
            if index + 1 < least {
                continue;
            }
            let states = terminal_automaton::states(
                languages.builder.terms_so_far(),
                term,
                limits.automaton_states,
                deadline,
            )
            .map_err(|limit| limit.diagnostic())?;
            let is_prefix_code = |states: &[AutomatonState]| {
                let is_last = |state: &AutomatonState| !state.accepting || state.edges.is_empty();
                !states[0].accepting && states.iter().all(is_last)
            };
            if let Some(states) = states.filter(|states| is_prefix_code(states)) {
                return Ok((states, index + 1));
            }
        }
        let message = "it has bindings, and no opening: it does not begin with strings and patterns that have all of its \
             `bind!` and of whose texts none is a prefix of another one";
        let help = "write a sequence whose beginning has each `bind!(name, ...)` and then a string that ends the bound text";
        Err(unsupported(message, help))
    }

    /// Reports that a word of the opening may have no completion, or is a text.
    ///
    /// The check is sufficient: it counts bound texts only where the name is certainly bound.
    fn check_completions(&self, items: &[NodeId], length: usize) -> Result<(), GrammarError> {
        let (opening, rest) = items.split_at(length);
        let names = opening.iter().flat_map(|&item| self.free_bindings(item));
        let names: FxHashSet<&str> = names.map(|binding| &*binding.name).collect();
        let mut automata = Automata::new(self.grammar.terms().clone(), usize::MAX);
        let mut has_word = |node: &Node| match node {
            Node::Terminal(id) => Some(match &self.grammar.terminals()[id.index()].terminal {
                &Terminal::Regular(term) => matches!(automata.start(term), Ok(Some(_))),
                _ => true,
            }),
            _ => None,
        };
        // A name is bound in each word of the opening if there is none without a text for it.
        let is_bound = |name: &&str| {
            !self.derive(opening, |node, _| match node {
                Node::Binding(binding) if *binding.name == **name => Some(false),
                _ => has_word(node),
            })
        };
        let bound: FxHashSet<&str> = names.into_iter().filter(is_bound).collect();
        let may_be_bound_to_nothing: FxHashSet<&str> = opening
            .iter()
            .flat_map(|&item| self.free_bindings(item))
            .filter(|binding| binding.node.is_some_and(|part| self.may_be_empty(&[part])))
            .map(|binding| &*binding.name)
            .collect();
        let is_certain = self.derive(rest, |node, place| match node {
            Node::Binding(Binding { kind, name, node: part }) if *kind != BindingKind::Bind => {
                let is_bound = place == Place::OwnScope && bound.contains(&**name);
                // Lowering refuses operands of which a bound text that is not empty may leave no text.
                Some(match kind {
                    BindingKind::WithoutPrefix => is_bound && !may_be_bound_to_nothing.contains(&**name),
                    BindingKind::Other => {
                        let is_empty_other = may_be_bound_to_nothing.contains(&**name)
                            && part.is_none_or(|part| self.may_be_empty(&[part]));
                        is_bound && !is_empty_other
                    }
                    BindingKind::Bind | BindingKind::Same => is_bound,
                })
            }
            _ => has_word(node),
        });
        if !is_certain {
            let message = "a text of its opening may have no completion: what follows needs `same!(name)` or `other!(name, ...)` \
                 of a name that may be unbound, or `without_prefix!(name, ...)` where the bound text may be empty";
            return Err(unsupported(
                message,
                "make such a part optional, and bind names in every alternative",
            ));
        }
        if self.may_be_empty(rest) {
            let message = "a text may be complete where its opening ends";
            return Err(unsupported(message, "let a string follow the opening"));
        }
        Ok(())
    }

    /// Whether a sequence may derive the empty text for some bound texts.
    fn may_be_empty(&self, parts: &[NodeId]) -> bool {
        self.derive(parts, |node, _| match node {
            Node::Binding(Binding { kind: BindingKind::Same, .. }) => Some(true),
            Node::Terminal(id) => Some(match &self.grammar.terminals()[id.index()].terminal {
                &Terminal::Regular(term) => self.grammar.terms().is_nullable(term),
                Terminal::Literal(text) => text.is_empty(),
                _ => false,
            }),
            _ => None,
        })
    }

    /// Whether each root derives a text, where `leaf` decides some nodes. Cost: linear in the grammar.
    fn derive(&self, roots: &[NodeId], mut leaf: impl FnMut(&'a Node, Place) -> Option<bool>) -> bool {
        let mut numbers: FxHashMap<(NodeId, Place), usize> = FxHashMap::default();
        let mut reached: Vec<(NodeId, Place)> = Vec::new();
        let mut number_of = |reached: &mut Vec<(NodeId, Place)>, key| match numbers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                reached.push(key);
                *new.insert(reached.len() - 1)
            }
        };
        let roots: Vec<usize> =
            roots.iter().map(|&root| number_of(&mut reached, (root, Place::OwnScope))).collect();
        // The number of parts that are still to derive a text; the nodes that have a node as a part.
        let (mut missing, mut users): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let mut derived: Vec<usize> = Vec::new();
        while let Some(&(node, place)) = reached.get(missing.len()) {
            let (node, user) = (self.node(node), missing.len());
            let (needed, parts, inside) = match (leaf(node, place), node) {
                (Some(true), _) => (Some(0), Vec::new(), place),
                (Some(false), _) | (None, Node::Terminal(_)) => (None, Vec::new(), place),
                (None, Node::Sequence(parts)) => (Some(parts.len()), parts.to_vec(), place),
                (None, Node::Choice(parts)) => (Some(1), parts.to_vec(), place),
                (None, Node::Nonterminal(rule)) => (Some(1), self.bodies(*rule).to_vec(), place),
                (None, &Node::Repeat { node, min, .. }) => (Some(min.min(1) as usize), vec![node], place),
                (None, Node::Selection { parts, separator, .. }) => {
                    let parts = parts.iter().copied().chain([*separator]).collect::<Vec<_>>();
                    (Some(parts.len()), parts, place)
                }
                (None, &Node::Scope(inner)) => (Some(1), vec![inner], Place::InnerScope),
                (None, &Node::Value { node, .. }) => (Some(1), vec![node], place),
                (None, Node::Binding(binding)) => (Some(1), binding.node.into_iter().collect(), place),
            };
            missing.push(needed.unwrap_or(usize::MAX));
            derived.extend((needed == Some(0)).then_some(user));
            for part in parts {
                let part = number_of(&mut reached, (part, inside));
                users.resize_with(users.len().max(part + 1), Vec::new);
                users[part].push(user);
            }
        }
        users.resize_with(reached.len(), Vec::new);
        while let Some(node) = derived.pop() {
            for &user in &users[node] {
                // A node that has derived a text has nothing missing.
                if let Some(less) = missing[user].checked_sub(1) {
                    missing[user] = less;
                    derived.extend((less == 0).then_some(user));
                }
            }
        }
        roots.iter().all(|&root| missing[root] == 0)
    }
}

/// The scope to which the names at a node belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// That of the terminal.
    OwnScope,
    /// One inside it.
    InnerScope,
}

/// The languages of beginnings of a sequence, in which a bound text is any one of its part.
struct OpeningLanguages {
    builder: GrammarBuilder,
    languages: RuleLanguages,
    term: TermId,
}

impl OpeningLanguages {
    fn of(grammar: &Grammar) -> Self {
        let mut plain = grammar.clone();
        for node in &mut plain.nodes {
            if let Node::Binding(Binding { kind: BindingKind::Bind, node: Some(part), .. }) = *node {
                *node = Node::Sequence([part].into());
            }
        }
        let mut builder = GrammarBuilder::new("");
        // Nodes keep their numbers: those of the first grafted grammar are the first.
        builder.graft(&plain);
        let languages = RuleLanguages::new(&builder);
        let term = builder.terms().epsilon();
        Self { builder, languages, term }
    }

    /// The language with one more item; `None` if that is not regular.
    fn with_item(&mut self, item: NodeId) -> Option<TermId> {
        let item = self.languages.of_node(&mut self.builder, item).ok()?;
        self.term = self.builder.terms().concat(&[self.term, item]);
        Some(self.term)
    }
}
