//! Lengths of texts with names that hold whatever text is bound to the name, in bytes.
//!
//! A text that must differ from the bound one is the shortest one or the one after it. A text that must not begin with the
//! bound one can begin with a byte that begins no bound text.

use grammask_automata::{Automata, ByteSet, ShortestWords, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::UnboundedText;
use grammask_grammar::{TerminalId, ValueEquality, ValueKind};
use grammask_vocabulary::TrieNode;

use crate::lowering::{NormalForm, RightHandSide, Symbol};

use super::super::Builder;
use super::shortest::Length;
use super::symbols::{NamedTexts, OtherText};
use super::with_values::CompletionContext;

impl Builder {
    /// The lengths of values, where the bound is that of the shortest texts.
    pub(super) fn lengths_of_named(
        &mut self,
        context: CompletionContext<'_>,
    ) -> Result<Result<NamedTexts, UnboundedText>, LimitExceeded> {
        let recognizer = context.recognizer;
        let form = &recognizer.form;
        let spelled = context.bytes();
        let trie = context.vocabulary.trie();
        if recognizer.has_embedded_values {
            return Ok(Err(UnboundedText::InsidePart));
        }
        if !(1..trie.len()).all(|node| spelled.contains(trie.byte(TrieNode(node as u32)))) {
            return Ok(Err(UnboundedText::MissingBytes));
        }
        if !self.counted_terminals_can_end(context)? {
            return Ok(Err(UnboundedText::CountedTokens));
        }
        for engine in self.stepper.embedded.engines() {
            if !engine.length_bounds_tokens(context.vocabulary, context.deadline)? {
                return Ok(Err(UnboundedText::CountedTokens));
            }
        }
        let mut values: Vec<(Symbol, ValueKind, ValueEquality, StateId)> = Vec::new();
        let (_, starts) = self.stepper.predictor.parts();
        for (dot, condition) in form.values() {
            let symbol = form.symbol_after(*dot);
            let start = terminal_of(form, symbol).and_then(|id| starts[id.index()].automaton_state());
            if !matches!(condition.equality, ValueEquality::Named(_)) {
                return Ok(Err(UnboundedText::Values));
            }
            if !condition.encodings.is_empty() {
                return Ok(Err(UnboundedText::Decoded));
            }
            let Some(start) = start else { return Ok(Err(UnboundedText::NotRegular)) };
            values.push((symbol, condition.kind, condition.equality, start));
        }
        let Self { stepper, .. } = self;
        let automata = &mut stepper.automata;
        let mut words = ShortestWords::new(spelled);
        let mut longest = Length::new(1);
        let mut others: Vec<OtherText> = Vec::new();
        for &(symbol, kind, equality, start) in &values {
            let length = match kind {
                ValueKind::Fresh => return Ok(Err(UnboundedText::Values)),
                ValueKind::Bound => {
                    longest = longest.max(shortest_length(&mut words, automata, start, context.deadline)?);
                    continue;
                }
                ValueKind::Repeated => continue,
                ValueKind::Different => second_length(&mut words, automata, start, context.deadline)?,
                ValueKind::Unprefixed => {
                    let mut first = ByteSet::EMPTY;
                    let bound =
                        values.iter().filter(|value| value.1 == ValueKind::Bound && value.2 == equality);
                    for &(.., start) in bound {
                        for byte in ByteSet::ALL.iter() {
                            if automata.step(start, byte)?.is_some() {
                                first.insert(byte);
                            }
                        }
                    }
                    let bytes = spelled.without(first);
                    length_after(&mut words, automata, start, bytes, context.deadline)?
                }
            };
            others.push(OtherText { symbol, kind, equality, length });
        }
        Ok(match longest {
            Length::INFINITE => Err(UnboundedText::Rest),
            bound => Ok(NamedTexts { bound, others: others.into() }),
        })
    }
}

/// The terminal that a symbol is, or is a name of.
fn terminal_of(form: &NormalForm, symbol: Symbol) -> Option<TerminalId> {
    match symbol {
        Symbol::Terminal(id) => Some(id),
        Symbol::Nonterminal(id) => match form.productions_of(id) {
            [production] => match &production.rhs {
                RightHandSide::Sequence(symbols) => match symbols[..] {
                    [Symbol::Terminal(id)] => Some(id),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        },
    }
}

/// The length of the shortest nonempty word of a state, in bytes.
fn shortest_length(
    words: &mut ShortestWords,
    automata: &mut Automata,
    state: StateId,
    deadline: &Deadline,
) -> Result<Length, LimitExceeded> {
    let word = words.shortest_word(automata, state, deadline)?;
    Ok(word.map_or(Length::INFINITE, |word| Length::new(u64::from(word.length))))
}

/// The length of the shortest word of a state that begins with one of some bytes.
fn length_after(
    words: &mut ShortestWords,
    automata: &mut Automata,
    state: StateId,
    bytes: ByteSet,
    deadline: &Deadline,
) -> Result<Length, LimitExceeded> {
    let mut least = Length::INFINITE;
    for byte in bytes.iter() {
        let Some(next) = automata.step(state, byte)? else { continue };
        let rest = match automata.is_accepting(next) {
            true => Length::ZERO,
            false => shortest_length(words, automata, next, deadline)?,
        };
        least = least.min(Length::new(1).plus(rest));
    }
    Ok(least)
}

/// The length of the shortest word but one: of another one than the shortest.
fn second_length(
    words: &mut ShortestWords,
    automata: &mut Automata,
    start: StateId,
    deadline: &Deadline,
) -> Result<Length, LimitExceeded> {
    let spelled = words.bytes();
    let (mut state, mut read, mut least) = (start, Length::ZERO, Length::INFINITE);
    let Some(word) = words.shortest_word(automata, start, deadline)? else { return Ok(Length::INFINITE) };
    for _ in 0..word.length {
        let Some(next) = words.shortest_word(automata, state, deadline)? else { break };
        let others = spelled.without(ByteSet::single(next.first));
        least = least.min(read.plus(length_after(words, automata, state, others, deadline)?));
        let Some(after) = automata.step(state, next.first)? else { break };
        (state, read) = (after, read.plus(Length::new(1)));
    }
    Ok(least.min(read.plus(shortest_length(words, automata, state, deadline)?)))
}
