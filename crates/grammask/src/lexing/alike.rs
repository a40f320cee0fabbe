//! Stacks that go on alike, whatever terminals come: one of them stands for all when masks are looked up.
//!
//! The states of a stack remember more than matters. In a list of columns the stack is another behind each comma but the
//! first, and after `a +` it is another than after `a *`, though the same can follow. What can follow a stack is said by
//! the items of the state on top: of each the *rest* behind the dot, and what can follow once it is read and its
//! production reduced, which is what can follow the shorter stack with the state after the reduction on it. So the
//! *outlook* of a stack is its rests with the outlooks behind them, as the continuations of the Earley
//! recogniser are, and stacks with equal outlooks take the same terminals. Besides,
//!
//! - the outlook of a state that does nothing but reduce one production is the one behind it;
//! - after `x` and after `x list`, where `list` is one or more of the same and the state after `x` takes what the
//!   state after `x list` takes, with and without the list, the outlook is that of `x`.
//!
//! All this needs that a parser which reduces where it should not shifts nothing more, which is so for LR tables, also if
//! conflicts were decided by shifting: whether there is something to shift is said by the rests. Where the priorities
//! of productions decide between reductions, look-aheads count, which are no part of outlooks, and so they do where they
//! say what a contextual lexer looks for: there states with the same rests are told apart.
//!
//! Cost: a few outlooks per new stack, each made of those below it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::futures::Classes;
use super::grammar::{Production, Symbol};
use super::lalr::LalrTable;
use super::lexer::ClassId;
use super::lr_automaton::{Item, LrState};
use super::parser::{Parser, StackId};
use crate::grammar::NonterminalId;

/// What can follow a stack. Equal ids have equal futures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OutlookId(u32);
/// What comes behind the dot of an item, by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct RestId(u32);
/// The rests of a state by where they lead, by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ShapeId(u32);

/// Where an item leads when it is complete: so many states are taken off the stack, and a nonterminal is read.
type Slot = (NonterminalId, u32);

/// The kernel of a state, as far as it makes a difference.
#[derive(Clone, Debug)]
struct Outline {
    shape: ShapeId,
    slots: Box<[Slot]>,
    /// Whether the state does nothing but reduce one production.
    only_reduces: bool,
}

/// What an outlook is made of.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Content {
    /// The rests, and what is behind each slot.
    Items(ShapeId, Box<[Behind]>),
    /// A stack that was asked about while it was being looked at: nothing else is like it.
    Itself(StackId),
}

/// What is behind an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Behind {
    /// This outlook.
    Outlook(OutlookId),
    /// The outlook that the item is part of.
    Same,
    /// The end of the text, or nothing, before a text.
    End,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Alike {
    table: Arc<LalrTable>,
    outlines: Vec<Option<Arc<Outline>>>,
    rests: FxHashMap<Box<[Symbol]>, RestId>,
    shapes: FxHashMap<Box<[Box<[RestId]>]>, ShapeId>,
    /// Whether a nonterminal is one or more of the same.
    is_list: Vec<bool>,
    /// Whether a state after a list takes what the one below takes.
    lists: FxHashMap<(LrState, LrState), bool>,
    contents: FxHashMap<Content, OutlookId>,
    outlooks: FxHashMap<StackId, OutlookId>,
    representatives: FxHashMap<(OutlookId, ClassId), StackId>,
    content_bytes: usize,
}

impl Alike {
    /// Nothing is known yet.
    pub(crate) fn new(table: &Arc<LalrTable>, classes: &Classes) -> Self {
        let productions = &table.automaton.productions;
        let is_list = table.automaton.productions_of.iter().enumerate().map(|(index, indices)| {
            is_list(NonterminalId::new(index), indices.iter().map(|&index| &productions[index]))
        });
        let mut alike = Self {
            is_list: is_list.collect(),
            table: table.clone(),
            outlines: vec![None; table.state_count()],
            rests: FxHashMap::default(),
            shapes: FxHashMap::default(),
            lists: FxHashMap::default(),
            contents: FxHashMap::default(),
            outlooks: FxHashMap::default(),
            representatives: FxHashMap::default(),
            content_bytes: 0,
        };
        if !table.states_decided_by_priority().is_empty() || classes.terminals.len() > 1 {
            alike.tell_apart(classes);
        }
        alike
    }

    /// Tells states apart that differ in more than their rests, or lead to such states over the same symbols: by what
    /// the lexer looks for after a terminal, and by what priorities decide. This is Moore's way to minimise automata (1956).
    fn tell_apart(&mut self, classes: &Classes) {
        let table = self.table.clone();
        let automaton = &table.automaton;
        let states = || (0..table.state_count()).map(LrState::new);
        let mut known: FxHashMap<_, usize> = FxHashMap::default();
        let mut labels: Vec<usize> = Vec::with_capacity(table.state_count());
        for state in states() {
            let follows_terminal =
                !matches!(automaton.entered_by[state.index()], Some(Symbol::Nonterminal(_)));
            let class = follows_terminal.then(|| classes.of_state[state.index()]);
            let decided = Some(state).filter(|state| table.states_decided_by_priority().contains(state));
            let next = known.len();
            labels.push(*known.entry((self.outline(state).shape, class, decided)).or_insert(next));
        }
        let mut count = known.len();
        loop {
            let mut known: FxHashMap<(usize, Box<[usize]>), usize> = FxHashMap::default();
            let mut finer = Vec::with_capacity(labels.len());
            for state in states() {
                let transitions = &automaton.transitions[state.index()];
                let targets = transitions.iter().map(|&(_, target)| labels[target.index()]).collect();
                let next = known.len();
                finer.push(*known.entry((labels[state.index()], targets)).or_insert(next));
            }
            labels = finer;
            if known.len() == count {
                break;
            }
            count = known.len();
        }
        for (state, label) in states().zip(labels) {
            let outline = Outline { shape: ShapeId(label as u32), ..(*self.outline(state)).clone() };
            self.outlines[state.index()] = Some(Arc::new(outline));
        }
    }

    /// The first stack that was asked about of those that go on as `stack` does, in a class of the lexer.
    pub(crate) fn representative(&mut self, parser: &mut Parser, stack: StackId, class: ClassId) -> StackId {
        let outlook = self.outlook(parser, stack);
        *self.representatives.entry((outlook, class)).or_insert(stack)
    }

    fn outlook(&mut self, parser: &mut Parser, stack: StackId) -> OutlookId {
        if let Some(&known) = self.outlooks.get(&stack) {
            return known;
        }
        let mut pending = vec![self.plainest(parser, stack)];
        let mut is_pending = FxHashSet::default();
        let mut behind: Vec<Behind> = Vec::new();
        let mut outlook = None;
        while let Some(&stack) = pending.last() {
            if let Some(&known) = self.outlooks.get(&stack) {
                outlook = Some(known);
                pending.pop();
                continue;
            }
            is_pending.insert(stack);
            let outline = self.outline(parser.state_and_below(stack).0);
            let before = pending.len();
            behind.clear();
            for &slot in &outline.slots[..] {
                let next = self.behind(parser, stack, slot).map(|next| self.plainest(parser, next));
                behind.push(match next {
                    None => Behind::End,
                    Some(next) if next == stack => Behind::Same,
                    Some(next) => match self.outlooks.get(&next) {
                        Some(&known) => Behind::Outlook(known),
                        None if is_pending.contains(&next) => {
                            Behind::Outlook(self.intern(Content::Itself(next)))
                        }
                        None => {
                            pending.push(next);
                            Behind::End
                        }
                    },
                });
            }
            if pending.len() == before {
                let content = Content::Items(outline.shape, behind[..].into());
                let known = self.intern(content);
                self.outlooks.insert(stack, known);
            }
        }
        let outlook = outlook.unwrap_or_else(|| self.intern(Content::Itself(stack)));
        self.outlooks.insert(stack, outlook);
        outlook
    }

    /// The stack with the same outlook that is left if whatever can be left out on top is.
    fn plainest(&mut self, parser: &mut Parser, mut stack: StackId) -> StackId {
        // Productions of one symbol can lead in a circle.
        for _ in 0..self.outlines.len() {
            let (top, below) = parser.state_and_below(stack);
            let outline = self.outline(top);
            let next = match (outline.only_reduces, below) {
                (true, _) => self.behind(parser, stack, outline.slots[0]),
                (false, Some(below)) => {
                    Some(below).filter(|&below| self.is_after_list(top, parser.state_and_below(below).0))
                }
                (false, None) => None,
            };
            match next {
                Some(next) => stack = next,
                None => break,
            }
        }
        stack
    }

    /// The stack after the reduction of a production of which the part before the dot is on top; none where texts end.
    fn behind(&self, parser: &mut Parser, stack: StackId, (lhs, length): Slot) -> Option<StackId> {
        let mut base = stack;
        for _ in 0..length {
            base = parser.state_and_below(base).1?;
        }
        let next = self.table.goto(parser.state_and_below(base).0, lhs)?;
        Some(parser.push(base, next))
    }

    fn intern(&mut self, content: Content) -> OutlookId {
        let next = OutlookId(self.contents.len() as u32);
        *self.contents.entry(content).or_insert_with_key(|content| {
            if let Content::Items(_, behind) = content {
                self.content_bytes += size_of_val(&behind[..]) + 16;
            }
            next
        })
    }

    fn rest(&mut self, item: Item) -> RestId {
        let rest = &self.table.automaton.productions[item.production as usize].rhs[item.dot as usize..];
        if let Some(&known) = self.rests.get(rest) {
            return known;
        }
        let id = RestId(self.rests.len() as u32);
        self.rests.insert(rest.into(), id);
        id
    }

    /// Finds out about a state.
    fn outline(&mut self, state: LrState) -> Arc<Outline> {
        if let Some(known) = &self.outlines[state.index()] {
            return known.clone();
        }
        let table = self.table.clone();
        let mut rests: FxHashMap<Slot, Vec<RestId>> = FxHashMap::default();
        let mut is_complete = true;
        for &item in &table.automaton.kernels[state.index()] {
            let slot = (table.automaton.productions[item.production as usize].lhs, item.dot);
            is_complete &= table.automaton.symbol_after(item).is_none();
            let rest = self.rest(item);
            rests.entry(slot).or_default().push(rest);
        }
        let mut rests: Vec<(Box<[RestId]>, Slot)> = rests
            .into_iter()
            .map(|(slot, mut rests)| {
                rests.sort_unstable();
                (rests.into(), slot)
            })
            .collect();
        rests.sort_unstable();
        let (rests, slots): (Vec<Box<[RestId]>>, Vec<Slot>) = rests.into_iter().unzip();
        let only_reduces = is_complete && slots.len() == 1;
        let next = ShapeId(self.shapes.len() as u32);
        let shape = *self.shapes.entry(rests.into()).or_insert(next);
        let outline = Arc::new(Outline { shape, slots: slots.into(), only_reduces });
        self.outlines[state.index()] = Some(outline.clone());
        outline
    }

    /// Whether `top` is the state after a list in the state below, and takes what that takes.
    fn is_after_list(&mut self, top: LrState, below: LrState) -> bool {
        let Some(Symbol::Nonterminal(list)) = self.table.automaton.entered_by[top.index()] else {
            return false;
        };
        if !self.is_list[list.index()] {
            return false;
        }
        if let Some(&known) = self.lists.get(&(top, below)) {
            return known;
        }
        let table = self.table.clone();
        let automaton = &table.automaton;
        let lhs = |item: Item| automaton.productions[item.production as usize].lhs;
        let (mut with, mut without, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for &item in &automaton.kernels[below.index()] {
            if automaton.symbol_after(item) == Some(Symbol::Nonterminal(list)) {
                with.push((lhs(item), item.dot, self.rest(Item { dot: item.dot + 1, ..item })));
            } else {
                without.push((lhs(item), item.dot, self.rest(item)));
            }
        }
        for &item in &automaton.kernels[top.index()] {
            let is_more = lhs(item) == list && item.dot == 1;
            if !is_more {
                // What was predicted below had its dot at the beginning, where no item of the state below has its.
                after.push((lhs(item), item.dot - 1, self.rest(item)));
            }
        }
        for items in [&mut with, &mut without, &mut after] {
            items.sort_unstable();
        }
        let mut is_alike = with == without && with == after;
        for &(symbol, target) in &automaton.transitions[top.index()] {
            let other = automaton.step(below, symbol);
            is_alike = is_alike
                && other.is_some_and(|other| self.outline(target).shape == self.outline(other).shape);
        }
        self.lists.insert((top, below), is_alike);
        is_alike
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.contents.capacity() * (size_of::<(Content, OutlookId)>() + 1)
            + self.outlooks.capacity() * 9
            + self.representatives.capacity() * 13
    }
}

/// Whether the productions say `list: x | list x`, for one or more `x`.
fn is_list<'p>(of: NonterminalId, productions: impl Iterator<Item = &'p Production>) -> bool {
    let (mut first, mut more) = (Vec::new(), Vec::new());
    for production in productions {
        match production.rhs.split_first() {
            None => return false,
            Some((&Symbol::Nonterminal(begin), rest)) if begin == of => more.push(rest),
            Some(_) => first.push(&production.rhs[..]),
        }
    }
    first.sort_unstable();
    more.sort_unstable();
    !first.is_empty() && first == more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::grammar::TerminalId;
    use crate::lexing::grammar::{
        ConflictPolicy, LexedDefinition, LexedGrammar, LexerKind, Pattern, ProductionSource, TerminalRole,
        TerminalSource,
    };
    use crate::lexing::parser::Parse;
    use crate::lexing::recognizer::PreparedGrammar;

    /// Longest texts that lead to stacks, and longest texts by which these are told apart.
    const LONGEST: usize = 6;
    const LONGEST_AFTER: usize = 5;

    /// Small letters are terminals.
    const GRAMMARS: [(&[&str], LexerKind); 5] = [
        // Lists as they are written out for repetitions, alone and with something behind.
        (&["S:E", "S:EL", "L:cE", "L:LcE", "E:x", "E:oSd"], LexerKind::Basic),
        (&["S:bE", "S:bEL", "S:bEz", "S:bELz", "L:cE", "L:LcE", "E:x", "E:oSd"], LexerKind::Basic),
        // Not quite: what may follow an item alone may not follow more.
        (&["S:E", "S:EL", "S:Ez", "L:cE", "L:LcE", "E:x", "E:oSd"], LexerKind::Basic),
        // Operators of two strengths.
        (&["S:P", "S:PL", "L:pP", "L:LpP", "P:A", "P:AM", "M:tA", "M:MtA", "A:x", "A:oSd"], LexerKind::Basic),
        (&["S:SpT", "S:T", "T:oSd", "T:x", "T:xoc"], LexerKind::Basic),
    ];

    fn prepared((productions, lexer): (&[&str], LexerKind)) -> PreparedGrammar {
        let names = productions.iter().flat_map(|production| production.chars());
        let names: std::collections::BTreeSet<char> = names.filter(char::is_ascii_lowercase).collect();
        let terminals = names.into_iter().map(|name| TerminalSource {
            name: name.to_string(),
            pattern: Pattern::Literal(name.to_string().into_bytes()),
            priority: 0,
            role: TerminalRole::Parsed,
        });
        let productions = productions.iter().map(|production| ProductionSource {
            lhs: production[..1].to_owned(),
            rhs: production[2..].chars().map(String::from).collect(),
            priority: 0,
        });
        let definition = LexedDefinition {
            terminals: terminals.collect(),
            productions: productions.collect(),
            start: "S".to_owned(),
            lexer,
            conflicts: ConflictPolicy::PreferShift,
            ..LexedDefinition::default()
        };
        let limits = Limits::default();
        let grammar = LexedGrammar::new(&definition, &limits).expect("a good grammar");
        PreparedGrammar::new(grammar, &limits).expect("nothing is refused")
    }

    /// What can follow a parse, and what the lexer looks for, in some order.
    fn continuations(
        parser: &mut Parser,
        prepared: &PreparedGrammar,
        parse: Parse,
        length: usize,
    ) -> Vec<Option<(ClassId, bool)>> {
        let mut found = Vec::new();
        let mut pending = vec![(Some(parse), 0)];
        while let Some((parse, read)) = pending.pop() {
            found.push(parse.map(|parse| {
                let class = prepared.class_of_state(parser.top(parse.stack));
                (class, parser.can_end(parse, None))
            }));
            let Some(parse) = parse.filter(|_| read < length) else { continue };
            for terminal in (0..prepared.grammar().terminals().len()).map(TerminalId::new) {
                pending.push((parser.feed_lexeme(parse, terminal, 0), read + 1));
            }
        }
        found
    }

    #[test]
    fn what_stands_for_a_stack_goes_on_alike() {
        for grammar in GRAMMARS {
            let prepared = prepared(grammar);
            let mut parser = prepared.parser().expect("no limit");
            let mut alike = prepared.alike().expect("an LALR(1) grammar");
            let mut parses = vec![parser.start()];
            let mut first = 0;
            for _ in 0..LONGEST {
                let last = parses.len();
                for index in first..last {
                    for terminal in (0..prepared.grammar().terminals().len()).map(TerminalId::new) {
                        parses.extend(parser.feed_lexeme(parses[index], terminal, 0));
                    }
                }
                first = last;
            }
            parses.sort_unstable();
            parses.dedup();
            for &parse in &parses {
                let class = prepared.class_of_state(parser.top(parse.stack));
                let stack = alike.representative(&mut parser, parse.stack, class);
                if stack == parse.stack {
                    continue;
                }
                let other = Parse { stack, ..parse };
                assert_eq!(
                    continuations(&mut parser, &prepared, parse, LONGEST_AFTER),
                    continuations(&mut parser, &prepared, other, LONGEST_AFTER),
                    "{grammar:?}: {:?} and {:?}",
                    parser.states(parse.stack).collect::<Vec<_>>(),
                    parser.states(stack).collect::<Vec<_>>()
                );
            }
        }
    }
}
