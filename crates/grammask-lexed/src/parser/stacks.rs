//! The parser at run time: interned stacks, layouts for languages with indentation, and the feeding of terminals.
//!
//! Stacks are linked lists that share their lower parts, and are interned, so equal stacks have equal ids. Only the
//! upper states of an *open* stack are known; feeding a terminal to it either succeeds or fails within the known
//! states, or yields the [`OpenReduction`] that extends below them.
//!
//! With the Earley recogniser, each Earley set takes the place of a stack with a single state.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::{Indentation, LexedGrammar};
use crate::lexer::line_columns::{Column, Width};
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lalr::{Goto, ParserAction};
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use grammask_collections::id_type;
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{SetId, Steps};
use grammask_grammar::{NonterminalId, TerminalId};
use grammask_vocabulary::Vocabulary;

id_type! {
    /// An interned stack.
    StackId
}
id_type! {
    /// An interned layout.
    LayoutId
}

/// The state of the parser after some lexemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ParseState {
    pub(crate) stack: StackId,
    pub(crate) layout: LayoutId,
}

#[derive(Clone, Copy, Debug)]
struct StackNode {
    below: StackId,
    state: LrState,
}

/// The unknown part of an open stack.
const UNKNOWN: StackId = StackId(1);

/// A reduction that extends below the known states of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OpenReduction {
    /// The number of states to pop from the unknown part.
    pub(crate) pops: u32,
    /// The nonterminal to push then.
    pub(crate) lhs: NonterminalId,
}

/// The result of feeding a terminal to a stack that may be open.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempt<T, O = OpenReduction> {
    Accepted(T),
    Refused,
    /// The result depends on the unknown part of the stack.
    Open(O),
}

/// The effect of a lexeme on the parser: the terminals to feed, and the layout after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LexemeEffect {
    first: Option<TerminalId>,
    /// A terminal and the number of times to feed it.
    repeated: Option<(TerminalId, usize)>,
    pub(crate) layout: LayoutId,
}

impl LexemeEffect {
    /// The terminals to feed, in order.
    pub(crate) fn terminals(self) -> impl Iterator<Item = TerminalId> {
        let repeated =
            self.repeated.into_iter().flat_map(|(terminal, count)| std::iter::repeat_n(terminal, count));
        self.first.into_iter().chain(repeated)
    }
}

/// The columns of open blocks and the number of open brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct BlockLayout {
    blocks: Vec<Width>,
    brackets: u32,
}

/// The end of the reductions before a terminal.
enum ReduceOutcome {
    Shift(LrState),
    Accept,
    Error,
    Open(OpenReduction),
}

/// The parser of a grammar, with all its stacks and layouts.
#[derive(Debug)]
pub(crate) struct TerminalParser {
    grammar: Arc<LexedGrammar>,
    tables: Arc<ParsingTables>,
    /// The recogniser whose sets represent stacks; `None` with LALR(1) tables.
    recognizer: Option<Box<Recognizer>>,
    /// A limit that the recogniser exceeded. Results since then are invalid.
    failure: Option<LimitExceeded>,
    nodes: Vec<StackNode>,
    node_ids: FxHashMap<(StackId, LrState), StackId>,
    layouts: Vec<BlockLayout>,
    layout_ids: FxHashMap<BlockLayout, LayoutId>,
    layout_bytes: usize,
    /// Cached effects of newlines outside brackets, by layout and column.
    newlines: FxHashMap<(LayoutId, Width), Option<LexemeEffect>>,
    /// The states above the base stack during reductions.
    above: Vec<LrState>,
}

impl TerminalParser {
    /// A parser with an empty stack.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        grammar: Arc<LexedGrammar>,
        tables: Arc<ParsingTables>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let recognizer = match &*tables {
            ParsingTables::Lalr(_) => None,
            ParsingTables::Earley(language) => Some(Box::new(language.recognizer(limits)?)),
        };
        Ok(Self {
            grammar,
            tables,
            recognizer,
            failure: None,
            nodes: vec![
                StackNode { below: StackId(0), state: LrState::START },
                // The sentinel below open stacks; its state is never read.
                StackNode { below: UNKNOWN, state: LrState::START },
            ],
            node_ids: FxHashMap::default(),
            layouts: vec![BlockLayout::default()],
            layout_ids: FxHashMap::from_iter([(BlockLayout::default(), LayoutId(0))]),
            layout_bytes: 0,
            newlines: FxHashMap::default(),
            above: Vec::new(),
        })
    }

    /// The state before any terminal.
    pub(crate) fn start(&self) -> ParseState {
        let stack = self.recognizer.as_ref().map_or(0, |recognizer| recognizer.start().index());
        ParseState { stack: StackId::new(stack), layout: LayoutId(0) }
    }

    /// Fails if a limit was exceeded since the last check, which invalidates the results since then.
    ///
    /// # Errors
    /// The limit.
    pub(crate) fn check(&mut self) -> Result<(), LimitExceeded> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether a limit was exceeded, which invalidates the results since then.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The state on top of a stack. All Earley sets have the same state, since they share one lexer mode.
    #[inline]
    pub(crate) fn top(&self, stack: StackId) -> LrState {
        if self.recognizer.is_some() { LrState::START } else { self.nodes[stack.index()].state }
    }

    /// The states of a stack from the top.
    pub(crate) fn states(&self, stack: StackId) -> impl Iterator<Item = LrState> {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let (state, below) = self.state_and_below(next?);
            next = below;
            Some(state)
        })
    }

    /// The state on top of a stack, and the stack below it if known.
    #[inline]
    pub(crate) fn state_and_below(&self, stack: StackId) -> (LrState, Option<StackId>) {
        if self.recognizer.is_some() {
            return (LrState::new(stack.index()), None);
        }
        let node = self.nodes[stack.index()];
        (node.state, Some(node.below).filter(|&below| below != stack && below != UNKNOWN))
    }

    /// The open stack of which only the top state is known. With the Earley recogniser a set is never open.
    pub(crate) fn open_stack(&mut self, top: LrState) -> StackId {
        if self.recognizer.is_some() { StackId::new(top.index()) } else { self.push(UNKNOWN, top) }
    }

    /// Whether a bracket is open, so that newlines are ignored.
    pub(crate) fn is_in_brackets(&self, layout: LayoutId) -> bool {
        self.layouts[layout.index()].brackets > 0
    }

    /// The widths of the open blocks, ascending.
    pub(crate) fn block_widths(&self, layout: LayoutId) -> &[Width] {
        &self.layouts[layout.index()].blocks
    }

    /// The state after a lexeme; `None` if it is not accepted. `column` is used for newlines only, and is a valid
    /// column for newlines outside brackets.
    pub(crate) fn feed_lexeme(
        &mut self,
        parse: ParseState,
        terminal: TerminalId,
        column: Column,
    ) -> Option<ParseState> {
        let effect = self.lexeme_effect(parse.layout, terminal, column)?;
        self.after_effect(parse, effect)
    }

    fn after_effect(&mut self, parse: ParseState, effect: LexemeEffect) -> Option<ParseState> {
        Some(ParseState { stack: self.feed_all(parse.stack, effect)?, layout: effect.layout })
    }

    fn feed_all(&mut self, mut stack: StackId, effect: LexemeEffect) -> Option<StackId> {
        for terminal in effect.terminals() {
            match self.feed(stack, terminal) {
                Attempt::Accepted(next) => stack = next,
                Attempt::Refused | Attempt::Open(_) => return None,
            }
        }
        Some(stack)
    }

    /// The effect of a lexeme; `None` if the layout excludes it, as it does most columns of newlines.
    pub(crate) fn lexeme_effect(
        &mut self,
        layout: LayoutId,
        terminal: TerminalId,
        column: Column,
    ) -> Option<LexemeEffect> {
        if self.grammar.terminals[terminal.index()].is_ignored() {
            return Some(LexemeEffect { first: None, repeated: None, layout });
        }
        let alone = LexemeEffect { first: Some(terminal), repeated: None, layout };
        let grammar = self.grammar.clone();
        let Some(indentation) = &grammar.indentation else { return Some(alone) };
        if terminal == indentation.newline {
            if self.is_in_brackets(layout) {
                return Some(LexemeEffect { first: None, ..alone });
            }
            let width = column.width()?;
            if let Some(&cached) = self.newlines.get(&(layout, width)) {
                return cached;
            }
            let effect = self.newline_effect(layout, indentation, width);
            self.newlines.insert((layout, width), effect);
            return effect;
        }
        let brackets = self.layouts[layout.index()].brackets;
        let brackets = if indentation.open.contains(&terminal) {
            brackets + 1
        } else if indentation.close.contains(&terminal) {
            brackets.checked_sub(1)?
        } else {
            return Some(alone);
        };
        let after = BlockLayout { brackets, ..self.layouts[layout.index()].clone() };
        Some(LexemeEffect { layout: self.intern_layout(after), ..alone })
    }

    /// The effect of a lexeme with which the text ends; `None` also if the line it continues is missing.
    pub(crate) fn last_lexeme_effect(
        &mut self,
        layout: LayoutId,
        terminal: TerminalId,
        column: Column,
    ) -> Option<LexemeEffect> {
        let newline = self.grammar.indentation.as_ref().map(|indentation| indentation.newline);
        match column {
            Column::Continued(_) if newline == Some(terminal) => None,
            _ => self.lexeme_effect(layout, terminal, column),
        }
    }

    /// The effect of a newline outside brackets.
    fn newline_effect(
        &mut self,
        layout: LayoutId,
        indentation: &Indentation,
        width: Width,
    ) -> Option<LexemeEffect> {
        let blocks = &self.layouts[layout.index()].blocks;
        let height = blocks.len();
        let mut kept = height;
        while kept > 0 && blocks[kept - 1].columns > width.columns {
            kept -= 1;
        }
        let innermost = kept.checked_sub(1).map_or(Width::default(), |last| blocks[last]);
        let begins = width.columns > innermost.columns;
        let is_consistent = match begins {
            true => kept == height && width.characters > innermost.characters,
            false => width.characters == innermost.characters,
        };
        if !is_consistent {
            return None;
        }
        let first = Some(indentation.newline);
        if !begins && kept == height {
            return Some(LexemeEffect { first, repeated: None, layout });
        }
        let mut after = self.layouts[layout.index()].clone();
        after.blocks.truncate(kept);
        let repeated = if begins {
            after.blocks.push(width);
            (indentation.indent, 1)
        } else {
            (indentation.dedent, height - kept)
        };
        Some(LexemeEffect { first, repeated: Some(repeated), layout: self.intern_layout(after) })
    }

    /// The terminals to feed before the text can end: a dedent for each open block.
    pub(crate) fn closing_dedents(&self, layout: LayoutId) -> LexemeEffect {
        let blocks = self.layouts[layout.index()].blocks.len();
        let dedent = self.grammar.indentation.as_ref().map(|indentation| (indentation.dedent, blocks));
        LexemeEffect { first: None, repeated: dedent, layout }
    }

    /// Whether the text may end here, after an optional last lexeme with its column.
    pub(crate) fn can_end(&mut self, parse: ParseState, last: Option<(TerminalId, Column)>) -> bool {
        let parse = match last {
            Some((terminal, column)) => {
                let effect = self.last_lexeme_effect(parse.layout, terminal, column);
                effect.and_then(|effect| self.after_effect(parse, effect))
            }
            None => Some(parse),
        };
        let Some(parse) = parse else { return false };
        let ends = self.closing_dedents(parse.layout);
        match self.feed_all(parse.stack, ends) {
            Some(stack) => self.accepts(stack, self.grammar.end()),
            None => false,
        }
    }

    /// Whether a closed stack accepts a terminal or the end of the text.
    pub(crate) fn accepts(&mut self, stack: StackId, terminal: TerminalId) -> bool {
        matches!(self.probe(stack, terminal), Attempt::Accepted(()))
    }

    /// As [`accepts`](Self::accepts), for a stack that may be open.
    pub(crate) fn probe(&mut self, stack: StackId, terminal: TerminalId) -> Attempt<()> {
        if let Some(recognizer) = &self.recognizer {
            let is_accepted = match terminal == self.grammar.end() {
                true => recognizer.is_complete(SetId::new(stack.index())),
                false => matches!(self.feed(stack, terminal), Attempt::Accepted(_)),
            };
            return if is_accepted { Attempt::Accepted(()) } else { Attempt::Refused };
        }
        match self.reduce(stack, terminal).1 {
            ReduceOutcome::Shift(_) | ReduceOutcome::Accept => Attempt::Accepted(()),
            ReduceOutcome::Error => Attempt::Refused,
            ReduceOutcome::Open(reduction) => Attempt::Open(reduction),
        }
    }

    /// Whether there is a stack for the union of any two: with the Earley recogniser.
    pub(crate) fn has_unions(&self) -> bool {
        self.recognizer.is_some()
    }

    /// The union of two Earley sets; with LALR(1) tables the first one.
    pub(crate) fn union(&mut self, left: StackId, right: StackId) -> StackId {
        let Some(recognizer) = &self.recognizer else { return left };
        match recognizer.union(SetId::new(left.index()), SetId::new(right.index())) {
            Ok(union) => StackId::new(union.index()),
            Err(limit) => {
                self.failure = Some(limit);
                left
            }
        }
    }

    /// The fewest terminals that complete an Earley set, of those of a vocabulary of their encodings; `None` if none do,
    /// or with LALR(1) tables.
    pub(crate) fn fewest_terminals(&mut self, set: StackId, vocabulary: &Vocabulary) -> Option<u32> {
        let (Some(recognizer), ParsingTables::Earley(language)) = (&self.recognizer, &*self.tables) else {
            return None;
        };
        let fewest = language.fewest_terminals(recognizer, SetId::new(set.index()), vocabulary);
        fewest.unwrap_or_else(|limit| {
            self.failure = Some(limit);
            None
        })
    }

    /// The size of an Earley set, to which the cost of reading a terminal is proportional; zero with LALR(1) tables.
    pub(crate) fn set_size(&self, set: StackId) -> usize {
        self.recognizer.as_ref().map_or(0, |recognizer| recognizer.state_size(SetId::new(set.index())))
    }

    /// The stack after a terminal.
    pub(crate) fn feed(&mut self, stack: StackId, terminal: TerminalId) -> Attempt<StackId> {
        if let (Some(recognizer), ParsingTables::Earley(language)) = (&self.recognizer, &*self.tables) {
            return match language.step(recognizer, SetId::new(stack.index()), terminal) {
                Ok(Some(next)) => Attempt::Accepted(StackId::new(next.index())),
                Ok(None) => Attempt::Refused,
                Err(limit) => {
                    self.failure = Some(limit);
                    Attempt::Refused
                }
            };
        }
        let (base, outcome) = self.reduce(stack, terminal);
        let target = match outcome {
            ReduceOutcome::Shift(target) => target,
            ReduceOutcome::Accept | ReduceOutcome::Error => return Attempt::Refused,
            ReduceOutcome::Open(reduction) => return Attempt::Open(reduction),
        };
        let mut stack = base;
        for index in 0..self.above.len() {
            stack = self.push(stack, self.above[index]);
        }
        Attempt::Accepted(self.push(stack, target))
    }

    /// The open stack after the goto from `top` over `lhs`; `None` if there is no goto.
    pub(crate) fn after_nonterminal(&mut self, top: LrState, lhs: NonterminalId) -> Option<StackId> {
        let effect = self.tables.lalr()?.reduced(top, lhs)?;
        let base = self.open_stack(top);
        Some(match effect {
            Goto::Push(next) => self.push(base, next),
            Goto::Stay => base,
        })
    }

    /// Whether a state has a goto over a nonterminal, or stays on top after an ignored one.
    pub(crate) fn has_goto(&self, state: LrState, nonterminal: NonterminalId) -> bool {
        self.tables.lalr().is_some_and(|table| table.reduced(state, nonterminal).is_some())
    }

    /// Performs the reductions before a terminal. The resulting stack is the returned base with `above` on top.
    fn reduce(&mut self, stack: StackId, terminal: TerminalId) -> (StackId, ReduceOutcome) {
        self.above.clear();
        let mut base = stack;
        let tables = self.tables.clone();
        let ParsingTables::Lalr(table) = &*tables else { return (base, ReduceOutcome::Error) };
        loop {
            let state = match self.above.last() {
                Some(&state) => state,
                None => self.top(base),
            };
            match table.action(state, terminal) {
                ParserAction::Shift(target) => return (base, ReduceOutcome::Shift(target)),
                ParserAction::Accept => return (base, ReduceOutcome::Accept),
                ParserAction::Error => return (base, ReduceOutcome::Error),
                ParserAction::Reduce(production) => {
                    let production = &self.grammar.productions[production.index()];
                    let (lhs, length) = (production.lhs, production.rhs.len());
                    let from_above = length.min(self.above.len());
                    self.above.truncate(self.above.len() - from_above);
                    for popped in from_above..length {
                        if base == UNKNOWN {
                            let pops = (length - popped) as u32;
                            return (base, ReduceOutcome::Open(OpenReduction { pops, lhs }));
                        }
                        base = self.nodes[base.index()].below;
                    }
                    if base == UNKNOWN && self.above.is_empty() {
                        return (base, ReduceOutcome::Open(OpenReduction { pops: 0, lhs }));
                    }
                    // With resolved conflicts a parser may reduce empty productions without end, and so never reach
                    // the terminal.
                    if self.above.len() > table.state_count() {
                        return (base, ReduceOutcome::Error);
                    }
                    let state = match self.above.last() {
                        Some(&state) => state,
                        None => self.top(base),
                    };
                    match table.reduced(state, lhs) {
                        Some(Goto::Push(next)) => self.above.push(next),
                        Some(Goto::Stay) => {}
                        None => return (base, ReduceOutcome::Error),
                    }
                }
            }
        }
    }

    /// The stack with one more state on top.
    pub(crate) fn push(&mut self, below: StackId, state: LrState) -> StackId {
        if let Some(&cached) = self.node_ids.get(&(below, state)) {
            return cached;
        }
        let id = StackId::new(self.nodes.len());
        self.nodes.push(StackNode { below, state });
        self.node_ids.insert((below, state), id);
        id
    }

    fn intern_layout(&mut self, layout: BlockLayout) -> LayoutId {
        if let Some(&cached) = self.layout_ids.get(&layout) {
            return cached;
        }
        let id = LayoutId::new(self.layouts.len());
        self.layout_bytes += 128 + 2 * size_of_val(&layout.blocks[..]);
        self.layouts.push(layout.clone());
        self.layout_ids.insert(layout, id);
        id
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let sets = self.recognizer.as_ref().map_or(0, |recognizer| recognizer.memory_bytes());
        sets + self.nodes.len() * 48 + self.layout_bytes + hash_map_bytes(&self.newlines)
    }
}
