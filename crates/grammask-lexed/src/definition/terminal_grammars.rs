//! Terminals that another grammar defines.
//!
//! A regular language becomes the automaton of the terminal, unless that is large. Other rules become [lexical
//! rules](crate::definition::lexical_rules) whose strings and patterns are terminals of their own, the *pieces*. The
//! texts are read piece by piece, by the longest match and one piece of look-ahead, so a grammar is refused unless this
//! reading finds all its texts:
//!
//! 1. The rules are LALR(1) without conflicts.
//! 2. No text is a proper prefix of another one: where the parser can end, it can take no piece.
//! 3. In each state of the parser, the pieces that it can take have no word in common; and where a word of a piece
//!    can be continued to a longer word of one of these pieces by a byte, no piece that can follow begins with this byte.
//! 4. Where the lexer looks for a piece and for another terminal, no word of one is a prefix of a word of the other. So
//!    the choice between terminals depends on the texts of the terminal only, not on how its rules are written. (Under
//!    lark's rule the other terminal may also have a higher priority.)
//!
//! The texts of a grammar with bindings are not read in pieces: the terminal is a
//! [delimited one](crate::definition::delimited_terminals).
//!
//! After the last piece the lexer looks for all terminals that can follow the terminal in any rule, as after a rule whose
//! only symbol is the terminal.
//!
//! By 3, two ways to cut a text into pieces that the parser can take are the same: at the first difference one piece
//! would be a prefix of the other one, and the next byte would both continue and follow it.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::delimited_terminals::DelimitedTexts;
use crate::definition::from_rules::definition_of_terminal;
use crate::definition::grammar::LexedGrammar;
use crate::definition::source::{
    ConflictPolicy, LexedDefinition, LexingRule, ParserKind, ProductionSource, TerminalPattern, TerminalRole,
    TerminalSource,
};
use crate::definition::terminal_automaton::{AutomatonState, terminal_pattern};
use crate::parser::lalr::{LalrTable, ParserAction};
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::lex_modes;
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering::has_bindings;
use grammask_grammar::{Grammar, GrammarBuilder, NotRegular, RuleLanguages, TerminalId};

/// The start symbol with which the rules of a terminal are checked. The name of no other rule is empty.
const CHECKED_START: &str = "";

/// The maximum number of states of the automaton of a terminal. The rules of a regular grammar that needs more are read
/// as those of other grammars are.
const MAX_STATES: usize = 1 << 13;

/// The number of pairs of states that are compared between two checks of the deadline.
const PAIRS_PER_CHECK: usize = 256;

/// The pieces of all terminals that are defined by rules, by name.
#[derive(Default)]
struct Pieces {
    /// The terminal of each piece.
    owners: FxHashMap<String, String>,
    /// The pairs of pieces of a terminal that passed its checks.
    compared: FxHashSet<(String, String)>,
}

/// A terminal that another grammar defines.
#[derive(Clone, Copy, Debug)]
pub struct TerminalGrammar<'a> {
    /// The name of the terminal.
    pub name: &'a str,
    /// The grammar of its texts.
    pub grammar: &'a Grammar,
}

impl LexedDefinition {
    /// Defines declared terminals by the texts of other grammars.
    ///
    /// # Errors
    /// If there is no such terminal; if a grammar is not regular and its texts are not read exactly, piece by piece; if
    /// one with bindings has no opening; if it has tokens, selections or embedded grammars; if a limit is exceeded. If a terminal is defined by
    /// rules, also as [`LexedGrammar::new`] and [`LalrTable::new`].
    pub fn define_terminals(
        &mut self,
        terminals: &[TerminalGrammar<'_>],
        limits: &Limits,
    ) -> Result<(), GrammarError> {
        let deadline = Deadline::of(limits);
        let mut pieces = Pieces::default();
        for &TerminalGrammar { name, grammar } in terminals {
            let index = self.declared_terminal(name)?;
            if let Some(pattern) = regular_pattern(grammar, name, limits, &deadline)? {
                let mut terminal = self.terminals.remove(index);
                terminal.pattern = pattern;
                self.terminals.insert(self.place_of_defined(index), terminal);
                continue;
            }
            if has_bindings(grammar) {
                let texts = DelimitedTexts::new(grammar, limits, &deadline)
                    .map_err(|error| of_terminal(name, &error))?;
                let mut terminal = self.terminals.remove(index);
                terminal.pattern = TerminalPattern::Delimited(texts);
                self.terminals.insert(self.place_of_defined(index), terminal);
                continue;
            }
            self.check_options(index)?;
            let rules = rules_of(name, grammar, self.rule, &mut pieces, limits, &deadline)
                .map_err(|error| of_terminal(name, &error))?;
            self.terminals.remove(index);
            pieces.owners.extend(rules.terminals.iter().map(|piece| (piece.name.clone(), name.to_owned())));
            self.terminals.extend(rules.terminals);
            self.productions.extend(rules.productions);
            self.lexical_rules.extend(rules.lexical_rules);
        }
        if pieces.owners.is_empty() {
            return Ok(());
        }
        self.check_choices(&pieces, limits, &deadline)
    }

    /// The index of a declared terminal that no indentation derives.
    fn declared_terminal(&self, name: &str) -> Result<usize, GrammarError> {
        let is_layout =
            self.indentation.as_ref().is_some_and(|layout| layout.indent == name || layout.dedent == name);
        let mut terminals = self.terminals.iter();
        terminals
            .position(|terminal| terminal.name == name && terminal.pattern == TerminalPattern::Declared)
            .filter(|_| !is_layout)
            .ok_or_else(|| {
                let message = format!("the grammar declares no terminal `{name}`, or no rule uses it");
                let help = format!("write `%declare {name}`, and use it in a rule");
                Diagnostic::error(Code::UndefinedSymbol, message).help(help).into()
            })
    }

    /// The index of a terminal that was declared at `index` and is defined: lark tries terminals without a maximum length
    /// first.
    fn place_of_defined(&self, index: usize) -> usize {
        if self.rule == LexingRule::Lark { 0 } else { index }
    }

    /// Reports options that exclude a terminal that is defined by rules.
    fn check_options(&self, index: usize) -> Result<(), GrammarError> {
        let TerminalSource { name, role, .. } = &self.terminals[index];
        let (reason, help) = if self.parser != ParserKind::Lalr || self.lexer.is_dynamic() {
            ("needs LALR(1) tables and the basic or the contextual lexer", "use `lexer=\"contextual\"`")
        } else if *role != TerminalRole::Parsed {
            ("can be neither ignored nor refused", "use it in rules, or define it by a regular language")
        } else {
            return Ok(());
        };
        let message = format!("the terminal `{name}`, whose grammar is not regular, {reason}");
        Err(Diagnostic::error(Code::UnsupportedGrammar, message).help(help).into())
    }

    /// Reports terminals that the lexer looks for together with a piece, and whose words are prefixes of each other,
    /// unless they are pieces that were compared before. (In a lexical rule the end of a terminal has the look-ahead of
    /// all its uses, so pieces can come together there that cannot in the terminal alone.)
    fn check_choices(
        &self,
        pieces: &Pieces,
        limits: &Limits,
        deadline: &Deadline,
    ) -> Result<(), GrammarError> {
        let grammar = LexedGrammar::new(self, limits)?;
        let tables = ParsingTables::new(&grammar, limits)?;
        let owner = |id: TerminalId| pieces.owners.get(grammar.terminal_name(id));
        let priority = |id: TerminalId| grammar.terminals[id.index()].priority;
        // Under lark's rule a terminal of higher priority is taken wherever it matches.
        let is_taken_first = |one, other| self.rule == LexingRule::Lark && priority(one) > priority(other);
        let mut words = WordRelations::new(&grammar, limits, deadline)?;
        let ids: FxHashMap<&str, TerminalId> = (0..grammar.terminals.len())
            .map(|index| (grammar.terminal_name(TerminalId::new(index)), TerminalId::new(index)))
            .collect();
        let mut compared: FxHashSet<(TerminalId, TerminalId)> =
            pieces.compared.iter().map(|(first, second)| (ids[&**first], ids[&**second])).collect();
        for mode in lex_modes(&grammar, &tables).terminals {
            for piece in mode.iter() {
                let Some(name) = owner(piece) else { continue };
                check(deadline)?;
                let others = mode.iter().filter(|&other| other != piece);
                for other in others.filter(|&other| !is_taken_first(other, piece)) {
                    if compared.insert((piece, other)) && words.have_common_prefix(piece, other)? {
                        let (piece, other) = (grammar.terminal_name(piece), grammar.terminal_name(other));
                        let message = format!(
                            "where the lexer looks for the terminal `{name}` it looks for `{other}` too, and a word of \
                             `{other}` is a prefix of a word of `{piece}`, or the other way round"
                        );
                        return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                            .help(
                                "let the texts of the terminal begin otherwise, or use the contextual lexer and rules in \
                                 which only one of the two can come next",
                            )
                            .into());
                    }
                }
            }
        }
        Ok(())
    }
}

/// The pattern of a terminal with the texts of a grammar; `None` if its rules are recursive, or its automaton is large.
fn regular_pattern(
    grammar: &Grammar,
    name: &str,
    limits: &Limits,
    deadline: &Deadline,
) -> Result<Option<TerminalPattern>, GrammarError> {
    let mut builder = GrammarBuilder::new("");
    let start = builder.graft(grammar);
    match RuleLanguages::new(&builder).of_node(&mut builder, start) {
        Ok(term) => {
            let max_states = limits.automaton_states.min(MAX_STATES);
            match terminal_pattern(builder.terms_so_far(), term, name, max_states, deadline) {
                Ok(pattern) => Ok(Some(pattern)),
                Err(error) if error.code == Code::LimitExceeded => check(deadline).map(|()| None),
                Err(error) => Err((*error).into()),
            }
        }
        Err(NotRegular::Recursive | NotRegular::Bindings) => Ok(None),
        Err(other) => {
            let message =
                format!("the terminal `{name}` cannot have the texts of its grammar: {}", other.reason());
            Err(Diagnostic::error(Code::UnsupportedGrammar, message).into())
        }
    }
}

/// Reports a deadline that has passed.
fn check(deadline: &Deadline) -> Result<(), GrammarError> {
    Ok(deadline.check().map_err(|limit| limit.diagnostic())?)
}

/// An error about the grammar of a terminal, without places, which are in another text.
fn of_terminal(name: &str, error: &GrammarError) -> GrammarError {
    let diagnostics = error.diagnostics().iter().map(|diagnostic| Diagnostic {
        message: format!("the grammar of the terminal `{name}`: {}", diagnostic.message),
        span: None,
        ..diagnostic.clone()
    });
    GrammarError::new(diagnostics.collect(), "".into())
}

/// The rules and the pieces of a terminal, which pass the checks of the [module](self). Under lark's rule the pieces
/// are in an order in which longer words come first.
fn rules_of(
    name: &str,
    grammar: &Grammar,
    rule: LexingRule,
    pieces: &mut Pieces,
    limits: &Limits,
    deadline: &Deadline,
) -> Result<LexedDefinition, GrammarError> {
    let mut rules = definition_of_terminal(grammar, name, limits)?;
    drop_unproductive(&mut rules)?;
    inline_short_rules(&mut rules, deadline)?;
    for terminal in &mut rules.terminals {
        // A literal would be compared with the patterns of other terminals under lark's rule.
        if let TerminalPattern::Literal(text) = &terminal.pattern {
            terminal.pattern = TerminalPattern::Automaton(word_automaton(text));
        }
    }
    let mut checked = rules.clone();
    checked.conflicts = ConflictPolicy::Refuse;
    checked.start = CHECKED_START.to_owned();
    checked.productions.push(ProductionSource {
        lhs: CHECKED_START.to_owned(),
        rhs: vec![rules.start.clone()],
        priority: 0,
    });
    let checked = LexedGrammar::new(&checked, limits)?;
    check(deadline)?;
    let table = LalrTable::new(&checked, limits)?;
    let words = WordRelations::new(&checked, limits, deadline)?;
    let mut checks = PieceCheck { grammar: &checked, table: &table, words };
    checks.check_ends()?;
    let compared = checks.check_pieces()?;
    let name_of = |piece| checked.terminal_name(piece).to_owned();
    pieces.compared.extend(compared.keys().map(|&(first, second)| (name_of(first), name_of(second))));
    if rule == LexingRule::Lark {
        let order = longest_first(&checked, &compared, deadline)?;
        rules.terminals = order.iter().map(|&piece| rules.terminals[piece].clone()).collect();
    }
    Ok(rules)
}

/// Drops productions that derive no text: they would enlarge the terminals that the parser accepts.
///
/// # Errors
/// If the start symbol derives no text.
fn drop_unproductive(rules: &mut LexedDefinition) -> Result<(), GrammarError> {
    // The terminals, and the rules that derive a text.
    let mut productive: FxHashSet<String> =
        rules.terminals.iter().map(|terminal| terminal.name.clone()).collect();
    let mut uses: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut missing_symbols = vec![0; rules.productions.len()];
    for (index, production) in rules.productions.iter().enumerate() {
        for symbol in production.rhs.iter().filter(|&symbol| !productive.contains(symbol)) {
            uses.entry(symbol).or_default().push(index);
            missing_symbols[index] += 1;
        }
    }
    let mut pending: Vec<usize> =
        (0..rules.productions.len()).filter(|&index| missing_symbols[index] == 0).collect();
    while let Some(index) = pending.pop() {
        let rule = &rules.productions[index].lhs;
        if !productive.insert(rule.clone()) {
            continue;
        }
        for &index in uses.get(&**rule).into_iter().flatten() {
            missing_symbols[index] -= 1;
            if missing_symbols[index] == 0 {
                pending.push(index);
            }
        }
    }
    if !productive.contains(&rules.start) {
        return Err(Diagnostic::error(Code::EmptyLanguage, "it has no text").into());
    }
    let is_productive =
        |production: &ProductionSource| production.rhs.iter().all(|symbol| productive.contains(symbol));
    rules.productions.retain(is_productive);
    rules.lexical_rules.retain(|rule| productive.contains(rule));
    let used: FxHashSet<&String> = rules.productions.iter().flat_map(|production| &production.rhs).collect();
    rules.terminals.retain(|terminal| used.contains(&terminal.name));
    Ok(())
}

/// Replaces rules that stand for one symbol, or for nothing, by that.
///
/// In LALR(1) tables the state after the brace of a rule `open: "{"` has the look-ahead of all uses of the rule, so the
/// lexer would look for the names of all objects there. Before a rule that stands for nothing the end of a text would be
/// read as its inside.
fn inline_short_rules(rules: &mut LexedDefinition, deadline: &Deadline) -> Result<(), GrammarError> {
    loop {
        check(deadline)?;
        let mut alternatives: FxHashMap<&str, usize> = FxHashMap::default();
        for production in &rules.productions {
            *alternatives.entry(&production.lhs).or_default() += 1;
        }
        let is_short = |production: &&ProductionSource| {
            production.rhs.len() <= 1 && alternatives[&*production.lhs] == 1 && production.lhs != rules.start
        };
        let short: FxHashMap<String, Option<String>> = rules
            .productions
            .iter()
            .filter(is_short)
            .map(|production| (production.lhs.clone(), production.rhs.first().cloned()))
            .collect();
        if short.is_empty() {
            return Ok(());
        }
        rules.productions.retain(|production| !short.contains_key(&production.lhs));
        rules.lexical_rules.retain(|rule| !short.contains_key(rule));
        for production in &mut rules.productions {
            let inlined = production.rhs.drain(..).filter_map(|mut symbol| {
                // A cycle of short rules would have no text, so the chain ends.
                while let Some(next) = short.get(&symbol) {
                    symbol.clone_from(next.as_ref()?);
                }
                Some(symbol)
            });
            production.rhs = inlined.collect();
        }
        let mut distinct = FxHashSet::default();
        rules.productions.retain(|production| distinct.insert(production.clone()));
    }
}

/// The automaton of one word.
fn word_automaton(word: &[u8]) -> Vec<AutomatonState> {
    let edge = |(index, &byte): (usize, &u8)| (byte, byte, index as u32 + 1);
    let mut states: Vec<AutomatonState> = word
        .iter()
        .enumerate()
        .map(|byte| AutomatonState { accepting: false, edges: vec![edge(byte)] })
        .collect();
    states.push(AutomatonState { accepting: true, edges: Vec::new() });
    states
}

/// The relation of the words of two terminals.
#[derive(Clone, Copy, Debug)]
struct WordRelation {
    /// Whether they have a word in common.
    is_shared: bool,
    /// The bytes by which a word of the first terminal is continued to a longer word of the second one.
    continuing: ByteSet,
}

/// Relations of the words of terminals, with a memo table.
struct WordRelations<'a> {
    deadline: &'a Deadline,
    automata: Automata,
    /// The start states; `None` for terminals without a pattern.
    starts: Vec<Option<StateId>>,
    memo: FxHashMap<(TerminalId, TerminalId), WordRelation>,
}

impl<'a> WordRelations<'a> {
    fn new(grammar: &LexedGrammar, limits: &Limits, deadline: &'a Deadline) -> Result<Self, GrammarError> {
        check(deadline)?;
        let mut automata = Automata::new(grammar.terms.clone(), limits.automaton_states);
        let starts: Result<_, LimitExceeded> = grammar
            .terminals
            .iter()
            .map(|terminal| terminal.term.map_or(Ok(None), |term| automata.start(term)))
            .collect();
        let starts = starts.map_err(|limit| limit.diagnostic())?;
        Ok(Self { deadline, automata, starts, memo: FxHashMap::default() })
    }

    /// The bytes with which words of a terminal begin.
    fn first_bytes(&mut self, terminal: TerminalId) -> Result<ByteSet, GrammarError> {
        match self.starts.get(terminal.index()) {
            Some(&Some(state)) => Ok(self.automata.first_bytes(state).map_err(|limit| limit.diagnostic())?),
            _ => Ok(ByteSet::EMPTY),
        }
    }

    fn relation(&mut self, first: TerminalId, second: TerminalId) -> Result<WordRelation, GrammarError> {
        if let Some(&known) = self.memo.get(&(first, second)) {
            return Ok(known);
        }
        let relation = self.search(first, second).map_err(|limit| limit.diagnostic())?;
        self.memo.insert((first, second), relation);
        Ok(relation)
    }

    fn search(&mut self, first: TerminalId, second: TerminalId) -> Result<WordRelation, LimitExceeded> {
        let mut relation = WordRelation { is_shared: false, continuing: ByteSet::EMPTY };
        let (Some(first), Some(second)) = (self.starts[first.index()], self.starts[second.index()]) else {
            return Ok(relation);
        };
        let mut reached: FxHashSet<(StateId, StateId)> = FxHashSet::from_iter([(first, second)]);
        let mut pending = vec![(first, second)];
        let mut compared = 0;
        while let Some((first, second)) = pending.pop() {
            if compared % PAIRS_PER_CHECK == 0 {
                self.deadline.check()?;
            }
            compared += 1;
            if self.automata.is_accepting(first) {
                relation.is_shared |= self.automata.is_accepting(second);
                relation.continuing = relation.continuing.union(self.automata.first_bytes(second)?);
            }
            for step in self.automata.joint_steps(first, second)? {
                if let (Some(first), Some(second)) = (step.left, step.right)
                    && reached.insert((first, second))
                {
                    pending.push((first, second));
                }
            }
        }
        Ok(relation)
    }

    /// Whether a word of one terminal is a prefix of a word of the other one.
    fn have_common_prefix(&mut self, one: TerminalId, other: TerminalId) -> Result<bool, GrammarError> {
        let (forth, back) = (self.relation(one, other)?, self.relation(other, one)?);
        Ok(forth.is_shared || !forth.continuing.is_empty() || !back.continuing.is_empty())
    }
}

/// Pairs of pieces that can come at the same place, with whether a word of the second one continues a word of the first.
type ComparedPieces = FxHashMap<(TerminalId, TerminalId), bool>;

/// The checks of the rules of a terminal.
struct PieceCheck<'a> {
    grammar: &'a LexedGrammar,
    table: &'a LalrTable,
    words: WordRelations<'a>,
}

impl PieceCheck<'_> {
    fn states(&self) -> impl Iterator<Item = LrState> + use<> {
        (0..self.table.state_count()).map(LrState::new)
    }

    /// Reports that a text is empty, or a proper prefix of another one.
    fn check_ends(&self) -> Result<(), GrammarError> {
        let end = self.table.end();
        for state in self.states() {
            let accepted = self.table.accepts(state);
            if !accepted.contains(end) {
                continue;
            }
            if state == LrState::START {
                return Err(Diagnostic::error(Code::EmptyTerminal, "it has the empty text")
                    .help("a lexeme has at least one byte; make the terminal optional in the rules instead")
                    .into());
            }
            let symbols = self.table.automaton.symbols_to(state);
            let names: Vec<&str> = symbols.iter().map(|&symbol| self.grammar.symbol_name(symbol)).collect();
            let after = names.join(" ");
            if let Some(next) = accepted.iter().find(|&next| next != end) {
                return Err(prefix_error(&after, self.grammar.terminal_name(next)));
            }
            if self.table.is_lexical(state) {
                // What follows the terminal would be read as its inside.
                let message = format!("after `{after}` a text ends before a rule that has no text there");
                return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                    .help("remove the rule there")
                    .into());
            }
        }
        Ok(())
    }

    /// Checks the pieces that can come at the same place. Returns for each pair whether a word of the second one continues
    /// a word of the first one.
    fn check_pieces(&mut self) -> Result<ComparedPieces, GrammarError> {
        let end = self.table.end();
        let mut following: Vec<TerminalSet> = vec![TerminalSet::new(end.index() + 1); end.index()];
        for state in self.states() {
            for piece in self.table.accepts(state).iter().filter(|&piece| piece != end) {
                if let ParserAction::Shift(next) = self.table.action(state, piece) {
                    following[piece.index()].union_with(&self.table.accepts(next));
                }
            }
        }
        let mut compared = ComparedPieces::default();
        let mut compared_sets: FxHashSet<TerminalSet> = FxHashSet::default();
        for state in self.states() {
            let accepted = self.table.accepts(state);
            // Most states accept the same pieces as another one.
            if !compared_sets.insert(accepted.clone()) {
                continue;
            }
            for first in accepted.iter().filter(|&piece| piece != end) {
                check(self.words.deadline)?;
                for second in accepted.iter().filter(|&piece| piece != end) {
                    if let Entry::Vacant(pair) = compared.entry((first, second)) {
                        pair.insert(self.check_pair(first, second, &following[first.index()])?);
                    }
                }
            }
        }
        Ok(compared)
    }

    /// Checks a pair of pieces that can come at the same place. Returns whether a word of the second one continues a word
    /// of the first one.
    fn check_pair(
        &mut self,
        first: TerminalId,
        second: TerminalId,
        following: &TerminalSet,
    ) -> Result<bool, GrammarError> {
        let relation = self.words.relation(first, second)?;
        let name = |piece| self.grammar.terminal_name(piece);
        if relation.is_shared && first != second {
            let message = format!(
                "`{}` and `{}`, of which each can come next, have a word in common",
                name(first),
                name(second)
            );
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                .help("rewrite the rules so that their strings and patterns are disjoint there")
                .into());
        }
        if relation.continuing.is_empty() {
            return Ok(false);
        }
        for next in following.iter() {
            if next == self.table.end() {
                return Err(prefix_error(name(first), name(second)));
            }
            if !self.words.first_bytes(next)?.intersection(relation.continuing).is_empty() {
                let (first, second, next) = (name(first), name(second), name(next));
                let message = format!(
                    "after a word of `{first}`, a byte can both begin `{next}` and belong to a longer word of `{second}`"
                );
                return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                    .help(
                        "rewrite the rules so that the next byte decides where a string or pattern ends; in a repetition, \
                         repeat single characters",
                    )
                    .into());
            }
        }
        Ok(true)
    }
}

fn prefix_error(after: &str, next: &str) -> GrammarError {
    let message = format!(
        "a text is a proper prefix of another one: after `{after}` it may end or go on with `{next}`"
    );
    Diagnostic::error(Code::UnsupportedGrammar, message)
        .help("end the texts with a delimiter, or put the grammar into a composition instead")
        .into()
}

/// An order of the terminals in which those with longer words come first.
fn longest_first(
    grammar: &LexedGrammar,
    compared: &ComparedPieces,
    deadline: &Deadline,
) -> Result<Vec<usize>, GrammarError> {
    let mut waiting: Vec<TerminalId> = (0..grammar.terminals.len()).map(TerminalId::new).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        check(deadline)?;
        let is_blocked = |&piece: &TerminalId| {
            waiting.iter().any(|&other| other != piece && compared.get(&(piece, other)) == Some(&true))
        };
        let (blocked, free): (Vec<TerminalId>, Vec<TerminalId>) =
            waiting.iter().partition(|piece| is_blocked(piece));
        if free.is_empty() {
            let name = grammar.terminal_name(blocked[0]);
            let message = format!(
                "under lark's rule no order finds all words of `{name}` and of the terminals like it"
            );
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                .help("rewrite the rules so that no string or pattern begins with another one that can come there")
                .into());
        }
        order.extend(free.iter().map(|piece| piece.index()));
        waiting = blocked;
    }
    Ok(order)
}
