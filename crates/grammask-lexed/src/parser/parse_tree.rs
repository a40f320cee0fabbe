//! The derivation of a sequence of lexemes by the LALR(1) tables.
//!
//! The parser of masks interns stacks of states and keeps no derivations. Here the same actions are performed with
//! nodes on the stack. Nonterminals that front ends add, for repetitions and options, are replaced by their children.

use std::sync::Arc;

use crate::definition::grammar::LexedGrammar;
use crate::lexer::line_columns::Column;
use crate::parser::lalr::{Goto, LalrTable, ParserAction};
use crate::parser::lr_automaton::LrState;
use crate::parser::stacks::{LayoutId, ParseState, TerminalParser};
use grammask_engine::{ParseNode, ParseTree};
use grammask_grammar::TerminalId;

/// Whether a front end has added a nonterminal: the lark library names them `__rule_star_0`, and the translation of rules
/// `x+`, `rule(7)` and `x{1,3}`.
fn is_added(name: &str) -> bool {
    name.starts_with("__") || name.ends_with(['+', ')']) || (name.ends_with('}') && name.contains("{1,"))
}

/// A lexeme that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LexemeSpan {
    pub(crate) terminal: TerminalId,
    pub(crate) column: Column,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A node before its place in the list is known.
struct BuiltNode {
    name: Arc<str>,
    is_terminal: bool,
    /// `None` for a node without lexemes.
    span: Option<(usize, usize)>,
    children: Vec<usize>,
}

/// Makes a derivation.
pub(crate) struct TreeBuilder<'a> {
    grammar: &'a LexedGrammar,
    table: &'a LalrTable,
    nodes: Vec<BuiltNode>,
    /// States with the node by which they were entered.
    stack: Vec<(LrState, usize)>,
}

impl<'a> TreeBuilder<'a> {
    pub(crate) fn new(grammar: &'a LexedGrammar, table: &'a LalrTable) -> Self {
        Self { grammar, table, nodes: Vec::new(), stack: Vec::new() }
    }

    /// The derivation of lexemes, which the parser accepts. If the text can end after `last`, it is that of the whole
    /// text; otherwise the root has the parts that are derived so far, and then `last`. `None` if the lexemes continue
    /// others, which the definition gives as the beginning of all texts.
    pub(crate) fn build(
        mut self,
        parser: &mut TerminalParser,
        lexemes: &[LexemeSpan],
        last: Option<LexemeSpan>,
    ) -> Option<ParseTree> {
        let mut layout = parser.start().layout;
        let mut stack = parser.start().stack;
        for &lexeme in lexemes {
            let after = parser.feed_lexeme(ParseState { stack, layout }, lexeme.terminal, lexeme.column)?;
            self.read(parser, lexeme, layout);
            (stack, layout) = (after.stack, after.layout);
        }
        let parse = ParseState { stack, layout };
        let is_complete = parser.can_end(parse, last.map(|last| (last.terminal, last.column)));
        if let Some(last) = last {
            if is_complete {
                self.read(parser, last, layout);
            } else {
                let leaf = self.leaf(last.terminal, Some((last.start, last.end)));
                self.stack.push((LrState::START, leaf));
            }
        }
        if is_complete {
            let after = match last {
                Some(last) => parser.feed_lexeme(parse, last.terminal, last.column).unwrap_or(parse),
                None => parse,
            };
            for terminal in parser.closing_dedents(after.layout).terminals() {
                self.feed(terminal, None);
            }
            self.reduce_before(self.grammar.end());
        }
        Some(self.finish(is_complete))
    }

    /// Reads a lexeme.
    fn read(&mut self, parser: &mut TerminalParser, lexeme: LexemeSpan, layout: LayoutId) {
        let Some(effect) = parser.lexeme_effect(layout, lexeme.terminal, lexeme.column) else { return };
        for (index, terminal) in effect.terminals().enumerate() {
            // Beginnings and ends of blocks have no text.
            self.feed(terminal, (index == 0).then_some((lexeme.start, lexeme.end)));
        }
    }

    fn top(&self) -> LrState {
        self.stack.last().map_or(LrState::START, |&(state, _)| state)
    }

    fn leaf(&mut self, terminal: TerminalId, span: Option<(usize, usize)>) -> usize {
        let name = Arc::from(self.grammar.terminal_name(terminal));
        self.nodes.push(BuiltNode { name, is_terminal: true, span, children: Vec::new() });
        self.nodes.len() - 1
    }

    /// Performs the reductions before a terminal; returns the state after it if it is shifted.
    fn reduce_before(&mut self, terminal: TerminalId) -> Option<LrState> {
        loop {
            match self.table.action(self.top(), terminal) {
                ParserAction::Shift(target) => return Some(target),
                ParserAction::Accept | ParserAction::Error => return None,
                ParserAction::Reduce(id) => {
                    let production = &self.grammar.productions[id.index()];
                    let kept = self.stack.len().checked_sub(production.rhs.len())?;
                    let children: Vec<usize> = self.stack.drain(kept..).map(|(_, node)| node).collect();
                    let first = children.iter().find_map(|&child| self.nodes[child].span);
                    let last = children.iter().rev().find_map(|&child| self.nodes[child].span);
                    let span = first.zip(last).map(|((start, _), (_, end))| (start, end));
                    let name = self.grammar.nonterminals[production.lhs.index()].clone();
                    self.nodes.push(BuiltNode { name, is_terminal: false, span, children });
                    match self.table.reduced(self.top(), production.lhs)? {
                        Goto::Push(next) => self.stack.push((next, self.nodes.len() - 1)),
                        // The text of an ignored rule is dropped.
                        Goto::Stay => {}
                    }
                }
            }
        }
    }

    fn feed(&mut self, terminal: TerminalId, span: Option<(usize, usize)>) {
        if let Some(target) = self.reduce_before(terminal) {
            let leaf = self.leaf(terminal, span);
            self.stack.push((target, leaf));
        }
    }

    /// The nodes in order. Nothing recurses: derivations can be as deep as the text is long.
    fn finish(self, is_complete: bool) -> ParseTree {
        let mut roots: Vec<usize> = self.stack.iter().map(|&(_, node)| node).collect();
        let mut tree = ParseTree::default();
        let mut parent = None;
        if !is_complete {
            let start = roots.iter().find_map(|&root| self.nodes[root].span).map_or(0, |(start, _)| start);
            let end = roots.iter().rev().find_map(|&root| self.nodes[root].span).map_or(0, |(_, end)| end);
            let name = self.grammar.nonterminals[self.grammar.start.index()].clone();
            tree.nodes.push(ParseNode { name, is_terminal: false, start, end, is_complete, parent: None });
            parent = Some(0);
        }
        roots.reverse();
        let mut pending: Vec<(usize, Option<usize>)> = roots.into_iter().map(|root| (root, parent)).collect();
        while let Some((node, parent)) = pending.pop() {
            let BuiltNode { name, is_terminal, span, children } = &self.nodes[node];
            let Some((start, end)) = *span else { continue };
            let mut below = parent;
            if parent.is_none() || *is_terminal || !is_added(name) {
                below = Some(tree.nodes.len());
                let (name, is_terminal) = (name.clone(), *is_terminal);
                tree.nodes.push(ParseNode { name, is_terminal, start, end, is_complete: true, parent });
            }
            pending.extend(children.iter().rev().map(|&child| (child, below)));
        }
        tree
    }
}
