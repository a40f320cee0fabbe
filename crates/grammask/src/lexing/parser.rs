//! The parser while a text is read: stacks that share their lower parts, blocks by indentation, and feeding terminals.
//!
//! Stacks are interned: equal stacks have one id, so equal parses are found by comparing numbers. Whoever feeds
//! terminals can ask how deep the stack, the open blocks and the open brackets were looked into ([`Look`]), because
//! nothing below that had an influence.
//!
//! Without LALR(1) tables the sets of the Earley recogniser stand for stacks of one state, which is looked at as a whole.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::grammar::{Indentation, LexedGrammar};
use super::lalr::Action;
use super::lr_automaton::LrState;
use super::parsing_tables::ParsingTables;
use super::spanners::Column;
use crate::grammar::{TerminalId, id_type};
use crate::recognizer::{Recognizer, SetId};
use crate::{LimitExceeded, Limits};

id_type! {
    /// A stack of the parser.
    StackId
}
id_type! {
    /// Open blocks and brackets.
    LayoutId
}

/// Where a parse stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Parse {
    pub(crate) stack: StackId,
    pub(crate) layout: LayoutId,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    below: StackId,
    state: LrState,
    depth: u32,
}

/// How deep a parse was looked into: the smallest height at which the stack, the list of open blocks and the number of
/// open brackets were looked at; [`NOTHING`] where they were not. What was made of a parse by feeding shares
/// with it what is below, so heights mean the same for both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    state: u32,
    block: u32,
    bracket: u32,
}

/// The height of a look at nothing.
const NOTHING: u32 = u32::MAX;

impl Look {
    const NONE: Self = Self { state: NOTHING, block: NOTHING, bracket: NOTHING };

    fn with(self, other: Self) -> Self {
        Self {
            state: self.state.min(other.state),
            block: self.block.min(other.block),
            bracket: self.bracket.min(other.bracket),
        }
    }
}

/// How much of a parse was looked at, from the top: states, blocks and brackets. The bottom counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Extent {
    pub(crate) states: u32,
    pub(crate) layout: LayoutExtent,
}

/// Most stacks after terminals that are kept at a time.
const MOST_FED: usize = 1 << 12;
/// The blocks and brackets of an [`Extent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LayoutExtent {
    blocks: u32,
    brackets: u32,
}

impl LayoutExtent {
    pub(crate) const NOTHING: Self = Self { blocks: 0, brackets: 0 };
}

/// The columns of open blocks, and how many brackets are open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Layout {
    blocks: Vec<u32>,
    brackets: u32,
}

/// What became of a terminal after all reductions.
enum Outcome {
    Shift(LrState),
    Accept,
    Error,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Parser {
    grammar: Arc<LexedGrammar>,
    tables: Arc<ParsingTables>,
    /// Whose sets stand for stacks, where there are no LALR(1) tables.
    recognizer: Option<Box<Recognizer>>,
    /// A limit that the recogniser passed. What was found out since then does not count.
    failure: Option<LimitExceeded>,
    nodes: Vec<Node>,
    node_ids: FxHashMap<(StackId, LrState), StackId>,
    layouts: Vec<Layout>,
    layout_ids: FxHashMap<Layout, LayoutId>,
    layout_bytes: usize,
    /// States above `base` while a terminal is fed.
    above: Vec<LrState>,
    /// What was looked at since the innermost [`Parser::observing`] began.
    look: Look,
    /// Stacks after terminals, with what was looked at, for [`Parser::feed_again`].
    fed: FxHashMap<(StackId, TerminalId), (Option<StackId>, Look)>,
    /// Layouts as far as they were looked at.
    views: FxHashMap<(LayoutId, LayoutExtent), LayoutId>,
}

impl Parser {
    /// A parser for a grammar.
    ///
    /// # Errors
    /// When a limit is passed.
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
            nodes: vec![Node { below: StackId(0), state: LrState::START, depth: 0 }],
            node_ids: FxHashMap::default(),
            layouts: vec![Layout::default()],
            layout_ids: FxHashMap::from_iter([(Layout::default(), LayoutId(0))]),
            layout_bytes: 0,
            above: Vec::new(),
            look: Look::NONE,
            fed: FxHashMap::default(),
            views: FxHashMap::default(),
        })
    }

    /// Before any terminal.
    pub(crate) fn start(&self) -> Parse {
        let stack = self.recognizer.as_ref().map_or(0, |recognizer| recognizer.start().index());
        Parse { stack: StackId::new(stack), layout: LayoutId(0) }
    }

    /// Says if a limit was passed, and so answers were wrong, since this was asked last.
    ///
    /// # Errors
    /// The limit.
    pub(crate) fn check(&mut self) -> Result<(), LimitExceeded> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether a limit was passed, and so answers are wrong.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// How many states a stack has, less one.
    fn depth(&self, stack: StackId) -> u32 {
        if self.recognizer.is_some() { 0 } else { self.nodes[stack.index()].depth }
    }

    /// The state on top of a stack. What stands for a stack without LALR(1) tables has none that makes a difference.
    #[inline]
    pub(crate) fn top(&mut self, stack: StackId) -> LrState {
        if self.recognizer.is_some() {
            return LrState::START;
        }
        let node = self.nodes[stack.index()];
        self.look.state = self.look.state.min(node.depth);
        node.state
    }

    /// The states of a stack, top down, without counting as a look.
    pub(crate) fn states(&self, stack: StackId) -> impl Iterator<Item = LrState> {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let (state, below) = self.state_and_below(next?);
            next = below;
            Some(state)
        })
    }

    /// The state on top of a stack and the stack below, without counting as a look.
    #[inline]
    pub(crate) fn state_and_below(&self, stack: StackId) -> (LrState, Option<StackId>) {
        if self.recognizer.is_some() {
            return (LrState::new(stack.index()), None);
        }
        let node = self.nodes[stack.index()];
        (node.state, (node.depth > 0).then_some(node.below))
    }

    /// How many different stacks there are.
    pub(crate) fn stack_count(&self) -> usize {
        self.nodes.len()
    }

    /// Forgets all stacks but the first `count`; nobody may refer to the others.
    pub(crate) fn forget_stacks(&mut self, count: usize) {
        self.fed.clear();
        for node in self.nodes.drain(count..) {
            self.node_ids.remove(&(node.below, node.state));
        }
    }

    /// Does something, and says what was looked at for it.
    pub(crate) fn observing<R>(&mut self, action: impl FnOnce(&mut Self) -> R) -> (R, Look) {
        let before = self.begin_look();
        let result = action(self);
        (result, self.end_look(before))
    }

    /// Begins to watch what is looked at. What was looked at before is to be given to [`Parser::end_look`].
    pub(crate) fn begin_look(&mut self) -> Look {
        std::mem::replace(&mut self.look, Look::NONE)
    }

    /// What was looked at since [`Parser::begin_look`].
    pub(crate) fn end_look(&mut self, before: Look) -> Look {
        let look = self.look;
        self.look = before.with(look);
        look
    }

    /// Counts what was looked at when a known result was made.
    pub(crate) fn count_look(&mut self, look: Look) {
        self.look = self.look.with(look);
    }

    /// How much of `parse` a look at it, or at what was made of it by feeding, has seen.
    pub(crate) fn extent(&self, parse: Parse, look: Look) -> Extent {
        let seen = |height: u32, lowest: u32| if lowest > height { 0 } else { height - lowest + 1 };
        let layout = &self.layouts[parse.layout.index()];
        Extent {
            states: seen(self.depth(parse.stack), look.state),
            layout: LayoutExtent {
                blocks: seen(layout.blocks.len() as u32, look.block),
                brackets: seen(layout.brackets, look.bracket),
            },
        }
    }

    /// The look at `parse` that sees so much of it.
    pub(crate) fn look_of(&self, parse: Parse, extent: Extent) -> Look {
        let lowest =
            |height: u32, seen: u32| if seen == 0 { NOTHING } else { (height + 1).saturating_sub(seen) };
        let layout = &self.layouts[parse.layout.index()];
        Look {
            state: lowest(self.depth(parse.stack), extent.states),
            block: lowest(layout.blocks.len() as u32, extent.layout.blocks),
            bracket: lowest(layout.brackets, extent.layout.brackets),
        }
    }

    /// What can be seen of a layout: layouts that look alike have the same view. A view with less in it than was
    /// looked at is the whole layout.
    pub(crate) fn view(&mut self, layout: LayoutId, extent: LayoutExtent) -> LayoutId {
        if extent == LayoutExtent::NOTHING {
            return LayoutId(0);
        }
        if let Some(&known) = self.views.get(&(layout, extent)) {
            return known;
        }
        let whole = &self.layouts[layout.index()];
        let hidden = whole.blocks.len().saturating_sub(extent.blocks as usize);
        let seen =
            Layout { blocks: whole.blocks[hidden..].to_vec(), brackets: whole.brackets.min(extent.brackets) };
        let view = self.intern_layout(seen);
        self.views.insert((layout, extent), view);
        view
    }

    fn look_at_brackets(&mut self, layout: LayoutId) -> u32 {
        let brackets = self.layouts[layout.index()].brackets;
        self.look.bracket = self.look.bracket.min(brackets);
        brackets
    }

    /// Whether a bracket is open, so that newlines mean nothing.
    pub(crate) fn is_in_brackets(&mut self, layout: LayoutId) -> bool {
        // Without indentation there are no layouts to look at.
        self.grammar.indentation.is_some() && self.look_at_brackets(layout) > 0
    }

    /// The parse after a lexeme; none if it cannot come here. `column` counts for newlines only: where they mean
    /// something they have a line break.
    pub(crate) fn feed_lexeme(&mut self, parse: Parse, terminal: TerminalId, column: u32) -> Option<Parse> {
        if self.grammar.terminals[terminal.index()].is_ignored() {
            return Some(parse);
        }
        let grammar = self.grammar.clone();
        let Some(indentation) = &grammar.indentation else {
            return Some(Parse { stack: self.feed(parse.stack, terminal)?, ..parse });
        };
        if terminal == indentation.newline {
            if self.is_in_brackets(parse.layout) {
                return Some(parse);
            }
            if column == Column::NO_BREAK {
                return None;
            }
            return self.feed_newline(parse, indentation, column);
        }
        let stack = self.feed(parse.stack, terminal)?;
        let opens = indentation.open.contains(&terminal);
        if !opens && !indentation.close.contains(&terminal) {
            return Some(Parse { stack, ..parse });
        }
        let mut layout = self.layouts[parse.layout.index()].clone();
        layout.brackets =
            if opens { layout.brackets + 1 } else { self.look_at_brackets(parse.layout).checked_sub(1)? };
        Some(Parse { stack, layout: self.intern_layout(layout) })
    }

    /// The parse after a newline that means something. The columns of blocks are looked at first: most columns are wrong,
    /// and to the parser all that begin a block are alike.
    fn feed_newline(&mut self, parse: Parse, indentation: &Indentation, column: u32) -> Option<Parse> {
        let blocks = &self.layouts[parse.layout.index()].blocks;
        let height = blocks.len();
        let mut kept = height;
        while kept > 0 && blocks[kept - 1] > column {
            kept -= 1;
        }
        let innermost = kept.checked_sub(1).map_or(0, |last| blocks[last]);
        // The bottom counts as one.
        self.look.block = self.look.block.min(kept as u32);
        let begins = column > innermost;
        if begins && kept < height {
            return None;
        }
        let mut stack = self.feed_again(parse.stack, indentation.newline)?;
        if begins {
            stack = self.feed_again(stack, indentation.indent)?;
        }
        for _ in kept..height {
            stack = self.feed_again(stack, indentation.dedent)?;
        }
        if !begins && kept == height {
            return Some(Parse { stack, ..parse });
        }
        let mut layout = self.layouts[parse.layout.index()].clone();
        layout.blocks.truncate(kept);
        if begins {
            layout.blocks.push(column);
        }
        Some(Parse { stack, layout: self.intern_layout(layout) })
    }

    /// As [`Parser::feed`], for terminals that are fed to one stack again and again.
    fn feed_again(&mut self, stack: StackId, terminal: TerminalId) -> Option<StackId> {
        if let Some(&(next, look)) = self.fed.get(&(stack, terminal)) {
            self.count_look(look);
            return next;
        }
        let (next, look) = self.observing(|parser| parser.feed(stack, terminal));
        if self.failure.is_none() {
            if self.fed.len() >= MOST_FED {
                self.fed.clear();
            }
            self.fed.insert((stack, terminal), (next, look));
        }
        next
    }

    /// Whether the text may end here, after a last lexeme if there is one.
    pub(crate) fn can_end(&mut self, parse: Parse, last: Option<(TerminalId, u32)>) -> bool {
        let parse = match last {
            Some((terminal, column)) => self.feed_lexeme(parse, terminal, column),
            None => Some(parse),
        };
        let Some(parse) = parse else { return false };
        let mut stack = parse.stack;
        if let Some(dedent) = self.grammar.indentation.as_ref().map(|indentation| indentation.dedent) {
            self.look.block = 0;
            for _ in 0..self.layouts[parse.layout.index()].blocks.len() {
                let Some(next) = self.feed(stack, dedent) else { return false };
                stack = next;
            }
        }
        self.is_complete(stack)
    }

    /// Whether the sequence of terminals that led to a stack is complete.
    fn is_complete(&mut self, stack: StackId) -> bool {
        if let Some(recognizer) = &self.recognizer {
            self.look.state = 0;
            return recognizer.is_complete(SetId::new(stack.index()));
        }
        let end = self.grammar.end();
        matches!(self.reduce(stack, end).1, Outcome::Accept)
    }

    /// Whether a terminal, as the parser sees it, can come next.
    pub(crate) fn accepts(&mut self, stack: StackId, terminal: TerminalId) -> bool {
        if self.recognizer.is_some() {
            return self.feed(stack, terminal).is_some();
        }
        matches!(self.reduce(stack, terminal).1, Outcome::Shift(_))
    }

    /// The stack after a terminal.
    fn feed(&mut self, stack: StackId, terminal: TerminalId) -> Option<StackId> {
        if let (Some(recognizer), ParsingTables::Earley(language)) = (&self.recognizer, &*self.tables) {
            self.look.state = 0;
            let next = language.step(recognizer, SetId::new(stack.index()), terminal);
            return next
                .unwrap_or_else(|limit| {
                    self.failure = Some(limit);
                    None
                })
                .map(|next| StackId::new(next.index()));
        }
        let (base, outcome) = self.reduce(stack, terminal);
        let Outcome::Shift(target) = outcome else { return None };
        let mut stack = base;
        for index in 0..self.above.len() {
            stack = self.push(stack, self.above[index]);
        }
        Some(self.push(stack, target))
    }

    /// Reduces as long as the tables say so before a terminal. The stack is then the returned one with `above` on it.
    fn reduce(&mut self, stack: StackId, terminal: TerminalId) -> (StackId, Outcome) {
        self.above.clear();
        let mut base = stack;
        let tables = self.tables.clone();
        let ParsingTables::Lalr(table) = &*tables else { return (base, Outcome::Error) };
        loop {
            let state = match self.above.last() {
                Some(&state) => state,
                None => self.top(base),
            };
            match table.action(state, terminal) {
                Action::Shift(target) => return (base, Outcome::Shift(target)),
                Action::Accept => return (base, Outcome::Accept),
                Action::Error => return (base, Outcome::Error),
                Action::Reduce(production) => {
                    let production = &self.grammar.productions[production.index()];
                    let (lhs, length) = (production.lhs, production.rhs.len());
                    let from_above = length.min(self.above.len());
                    self.above.truncate(self.above.len() - from_above);
                    for _ in from_above..length {
                        self.look.state = self.look.state.min(self.nodes[base.index()].depth);
                        base = self.nodes[base.index()].below;
                    }
                    // Decided conflicts may make a parser reduce nothing for ever: it never gets to the terminal.
                    if self.above.len() > table.state_count() {
                        return (base, Outcome::Error);
                    }
                    let state = match self.above.last() {
                        Some(&state) => state,
                        None => self.top(base),
                    };
                    match table.goto(state, lhs) {
                        Some(next) => self.above.push(next),
                        None => return (base, Outcome::Error),
                    }
                }
            }
        }
    }

    /// The stack with one more state on top.
    pub(crate) fn push(&mut self, below: StackId, state: LrState) -> StackId {
        if let Some(&known) = self.node_ids.get(&(below, state)) {
            return known;
        }
        let id = StackId::new(self.nodes.len());
        let depth = self.nodes[below.index()].depth + 1;
        self.nodes.push(Node { below, state, depth });
        self.node_ids.insert((below, state), id);
        id
    }

    fn intern_layout(&mut self, layout: Layout) -> LayoutId {
        if let Some(&known) = self.layout_ids.get(&layout) {
            return known;
        }
        let id = LayoutId::new(self.layouts.len());
        self.layout_bytes += 128 + 8 * layout.blocks.len();
        self.layouts.push(layout.clone());
        self.layout_ids.insert(layout, id);
        id
    }

    /// Estimate of the memory taken, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let sets = self.recognizer.as_ref().map_or(0, |recognizer| recognizer.memory_bytes());
        sets + self.nodes.len() * 48 + self.layout_bytes + self.views.capacity() * 24
    }
}
