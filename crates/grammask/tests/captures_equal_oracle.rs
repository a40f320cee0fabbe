//! Property: the capture parser accepts the same texts as the textbook recogniser, and its captures are those of a
//! search through all derivations by the documented rules, for complete texts and for viable prefixes.

use std::collections::BTreeSet;

use crate::generators::{by_profile, config};
use grammask::Limits;
use grammask::automata::{Automata, StateId};
use grammask::captures::{Capture, CaptureParser, PartId};
use grammask::grammar::{Code, Terminal};
use grammask::lowering::{self, Body, Derivability, Productions, Symbol};
use grammask::recognizer::reference::Reference;
use proptest::prelude::*;
use proptest::sample::Index;

/// Maximum length of a text, in bytes.
const LENGTH: usize = 7;

proptest! {
    #![proptest_config(config(by_profile(100, 400)))]

    #[test]
    fn captures_of_grammars_of_literals(
        sketch in crate::generators::literal_grammar(),
        words in crate::generators::vocabulary(),
        parts in proptest::collection::vec(any::<Index>(), 1..=3),
        picks in proptest::collection::vec(any::<Index>(), 1..=LENGTH),
    ) {
        compare(&sketch, &words, &parts, &picks)?;
    }

    #[test]
    fn captures_of_any_grammar(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        parts in proptest::collection::vec(any::<Index>(), 1..=3),
        picks in proptest::collection::vec(any::<Index>(), 1..=LENGTH),
    ) {
        compare(&sketch, &words, &parts, &picks)?;
    }
}

fn compare(
    sketch: &crate::generators::GrammarSketch,
    words: &crate::generators::VocabularySketch,
    parts: &[Index],
    picks: &[Index],
) -> Result<(), TestCaseError> {
    let grammar = sketch.build();
    let names: Vec<&str> =
        grammar.nonterminals().iter().filter(|rule| rule.defined).map(|rule| &*rule.name).collect();
    let parts: BTreeSet<&str> = parts.iter().map(|pick| *pick.get(&names)).collect();
    let parts: Vec<&str> = parts.into_iter().collect();
    let limits = Limits::default();
    // The parser rejects empty languages, and without a vocabulary grammars that name or count tokens.
    let Ok(parser) = CaptureParser::new(&grammar, &[], &parts, None, &limits) else { return Ok(()) };
    let vocabulary = words.build();
    let reference = Reference::new(&grammar, &vocabulary);
    let mut chart = reference.chart();
    let mut parse = parser.parse()?;
    let mut text = Vec::new();
    let mut productions = lowering::flatten(&grammar, &limits)?;
    let has_unit_cycle =
        lowering::lower(&grammar, &limits)?.warnings.iter().any(|warning| warning.code == Code::UnitCycle);
    for pick in picks.iter().map(Some).chain([None]) {
        prop_assert_eq!(parse.is_complete(), chart.is_complete(), "after {:?}", text);
        let mut oracle = Oracle::new(&mut productions, &parts, &text);
        prop_assert_eq!(parse.open_parts(), oracle.open_parts(), "open after {:?} of {:?}", text, parts);
        let ended: BTreeSet<_> =
            parse.ended_parts().into_iter().filter(|&(_, start)| start < text.len()).collect();
        prop_assert_eq!(ended, oracle.ended_parts(), "ended after {:?} of {:?}", text, parts);
        if let Some(expected) = oracle.whole().filter(|_| !has_unit_cycle) {
            prop_assert_eq!(parse.whole(), Some(expected), "{:?} of {:?} in {:?}", text, parts, sketch);
        }
        if let Some(expected) = oracle.growing().filter(|_| !has_unit_cycle) {
            prop_assert_eq!(parse.growing(), expected, "growing {:?} of {:?} in {:?}", text, parts, sketch);
        }
        sane(&parse.growing(), text.len())?;
        let mut allowed = Vec::new();
        for byte in 0..=u8::MAX {
            let can_follow = chart.clone().accept_bytes(&[byte]);
            prop_assert_eq!(parse.clone().feed(&[byte])? == 1, can_follow, "{} after {:?}", byte, text);
            allowed.extend(can_follow.then_some(byte));
        }
        let (Some(pick), false) = (pick, allowed.is_empty()) else { break };
        let byte = *pick.get(&allowed);
        text.push(byte);
        chart.accept_bytes(&[byte]);
        prop_assert_eq!(parse.feed(&[byte])?, 1);
    }
    Ok(())
}

/// Invariants of captures for all grammars, including cyclic ones.
fn sane(captures: &[Capture], length: usize) -> Result<(), TestCaseError> {
    for (index, capture) in captures.iter().enumerate() {
        prop_assert!(capture.start <= capture.end && capture.end <= length);
        prop_assert!(capture.is_closed || capture.end == length);
        if let Some(parent) = capture.parent {
            prop_assert!(parent < index);
            prop_assert!(captures[parent].start <= capture.start && capture.end <= captures[parent].end);
            prop_assert!(capture.is_closed || !captures[parent].is_closed);
        }
    }
    Ok(())
}

/// All spans of all symbols in a text, by iteration to a fixpoint, and a search from the start symbol.
struct Oracle<'a> {
    text: &'a [u8],
    bodies: Vec<Body>,
    start: Symbol,
    part_of: Vec<Option<PartId>>,
    empty: BTreeSet<Symbol>,
    /// The spans of each symbol.
    spans: BTreeSet<(Symbol, usize, usize)>,
    /// The positions from which each symbol can continue at the end of the text.
    open: BTreeSet<(Symbol, usize)>,
    /// Whether a part is reachable from each rule.
    leads: Vec<bool>,
    active: BTreeSet<(Symbol, usize, Option<usize>)>,
    captures: Vec<Capture>,
    is_cyclic: bool,
}

impl<'a> Oracle<'a> {
    fn new(productions: &mut Productions, parts: &[&str], text: &'a [u8]) -> Self {
        let derivability = Derivability::of(productions).expect("small grammars");
        let part_of = productions
            .rules
            .iter()
            .map(|rule| parts.iter().position(|part| **part == *rule.name).map(PartId::new))
            .collect();
        let symbols: BTreeSet<Symbol> =
            productions.rules.iter().flat_map(|rule| rule.body.symbols()).collect();
        let start = Symbol::Nonterminal(productions.start);
        let all = symbols.iter().copied().chain([start]);
        let mut oracle = Self {
            text,
            bodies: productions.rules.iter().map(|rule| rule.body.clone()).collect(),
            start,
            part_of,
            empty: all.filter(|&symbol| derivability.finite(symbol).empty).collect(),
            spans: BTreeSet::new(),
            open: BTreeSet::new(),
            leads: Vec::new(),
            active: BTreeSet::new(),
            captures: Vec::new(),
            is_cyclic: false,
        };
        for &symbol in &symbols {
            if let Symbol::Terminal(id) = symbol {
                oracle.read_terminal(
                    &mut productions.automata,
                    symbol,
                    &productions.terminals[id.index()].terminal,
                );
            }
        }
        oracle.close(&|_| true);
        oracle.leads = oracle.has_parts_below();
        oracle
    }

    fn has_parts_below(&self) -> Vec<bool> {
        let mut leads = vec![false; self.bodies.len()];
        for _ in 0..self.bodies.len() {
            for (index, body) in self.bodies.iter().enumerate() {
                leads[index] |= body.symbols().any(|symbol| match symbol {
                    Symbol::Nonterminal(id) => leads[id.index()] || self.part_of[id.index()].is_some(),
                    Symbol::Terminal(_) => false,
                });
            }
        }
        leads
    }

    /// Restricts the continuing symbols to those with a begun leaf, if there are any.
    fn prefer_begun(&mut self) {
        let all = self.open.clone();
        let leads = self.leads.clone();
        let is_inner = |symbol: Symbol| matches!(symbol, Symbol::Nonterminal(id) if leads[id.index()]);
        self.open.retain(|&(symbol, from)| !is_inner(symbol) && from < self.text.len());
        self.close(&|rule| leads[rule]);
        if !self.open.contains(&(self.start, 0)) {
            self.open = all;
        }
    }

    fn read_terminal(&mut self, automata: &mut Automata, symbol: Symbol, terminal: &Terminal) {
        let term = match terminal {
            Terminal::Literal(bytes) => automata.terms_mut().literal(bytes),
            Terminal::Regular(term) => *term,
            _ => return,
        };
        for from in 0..=self.text.len() {
            let mut state: Option<StateId> = automata.start(term).expect("small grammars");
            for to in from..=self.text.len() {
                let Some(live) = state else { break };
                if automata.is_accepting(live) {
                    self.spans.insert((symbol, from, to));
                }
                if to == self.text.len() {
                    if automata.continues(live).expect("small grammars") {
                        self.open.insert((symbol, from));
                    }
                } else {
                    state = automata.step(live, self.text[to]).expect("small grammars");
                }
            }
        }
    }

    /// Adds spans and open positions of rules up to a fixpoint.
    fn close(&mut self, is_included: &dyn Fn(usize) -> bool) {
        loop {
            let before = (self.spans.len(), self.open.len());
            for index in (0..self.bodies.len()).filter(|&rule| is_included(rule)) {
                let symbol = Symbol::Nonterminal(grammask::grammar::NonterminalId::new(index));
                for from in 0..=self.text.len() {
                    let (ends, open) = match self.bodies[index].clone() {
                        Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                            unreachable!("no generated grammar has one")
                        }
                        Body::Alternatives(alternatives) => {
                            let mut ends = BTreeSet::new();
                            let mut open = false;
                            for steps in alternatives {
                                let (of_this, open_here) = self.sequence(&steps, from);
                                ends.extend(of_this);
                                open |= open_here;
                            }
                            (ends, open)
                        }
                        Body::Repeat { symbol, min, max } => self.repetition(symbol, min, max, from),
                    };
                    self.spans.extend(ends.into_iter().map(|to| (symbol, from, to)));
                    if open {
                        self.open.insert((symbol, from));
                    }
                }
            }
            if before == (self.spans.len(), self.open.len()) {
                return;
            }
        }
    }

    fn ends(&self, symbol: Symbol, from: usize) -> impl Iterator<Item = usize> {
        self.spans.range((symbol, from, 0)..=(symbol, from, usize::MAX)).map(|&(_, _, to)| to)
    }

    fn sequence(&self, steps: &[Symbol], from: usize) -> (BTreeSet<usize>, bool) {
        let mut places = BTreeSet::from([from]);
        let mut open = false;
        for &step in steps {
            open |= places.iter().any(|&place| self.open.contains(&(step, place)));
            places = places.iter().flat_map(|&place| self.ends(step, place)).collect();
        }
        (places, open)
    }

    fn repetition(&self, unit: Symbol, min: u32, max: Option<u32>, from: usize) -> (BTreeSet<usize>, bool) {
        let min = if self.empty.contains(&unit) { 0 } else { min };
        let mut ends = BTreeSet::new();
        let mut open = false;
        let mut places = BTreeSet::from([from]);
        for count in 0.. {
            if count >= min {
                ends.extend(places.iter().copied());
            }
            if max.is_some_and(|max| count >= max) || places.is_empty() {
                break;
            }
            open |= places.iter().any(|&place| self.open.contains(&(unit, place)));
            let copies =
                places.iter().flat_map(|&place| self.ends(unit, place).filter(move |&to| to > place));
            places = copies.collect();
        }
        (ends, open)
    }

    /// The innermost parts around the next byte, by a search through all derivations.
    fn open_parts(&self) -> Vec<PartId> {
        let mut found = BTreeSet::new();
        let mut visited = BTreeSet::new();
        let mut pending = vec![(self.start, 0, None)];
        while let Some((symbol, from, mut part)) = pending.pop() {
            if !self.open.contains(&(symbol, from)) || !visited.insert((symbol, from, part)) {
                continue;
            }
            let rule = match symbol {
                Symbol::Nonterminal(id) => {
                    part = self.part_of[id.index()].or(part);
                    self.leads[id.index()].then_some(id.index())
                }
                Symbol::Terminal(_) => None,
            };
            let Some(rule) = rule else {
                found.extend(part);
                continue;
            };
            match &self.bodies[rule] {
                Body::Alternatives(alternatives) => {
                    for steps in alternatives {
                        for (count, &step) in steps.iter().enumerate() {
                            let (places, _) = self.sequence(&steps[..count], from);
                            pending.extend(places.into_iter().map(|place| (step, place, part)));
                        }
                    }
                }
                Body::Repeat { symbol, max, .. } => {
                    for count in 0..max
                        .unwrap_or(u32::MAX)
                        .min(u32::try_from(self.text.len()).expect("short texts") + 1)
                    {
                        let (places, _) = self.repetition(*symbol, count, Some(count), from);
                        pending.extend(places.into_iter().map(|place| (*symbol, place, part)));
                    }
                }
                Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                    unreachable!("no generated grammar has one")
                }
            }
        }
        found.into_iter().collect()
    }

    /// The parts that end at the end of the text and are not empty, with their starts, by a search through all
    /// derivations.
    fn ended_parts(&self) -> BTreeSet<(PartId, usize)> {
        let mut found = BTreeSet::new();
        let mut visited = BTreeSet::new();
        let mut pending = vec![(self.start, 0)];
        while let Some((symbol, from)) = pending.pop() {
            let Symbol::Nonterminal(id) = symbol else { continue };
            if !visited.insert((symbol, from)) {
                continue;
            }
            if let Some(part) = self.part_of[id.index()]
                && from < self.text.len()
                && self.spans.contains(&(symbol, from, self.text.len()))
            {
                found.insert((part, from));
            }
            match &self.bodies[id.index()] {
                Body::Alternatives(alternatives) => {
                    for steps in alternatives {
                        for (count, &step) in steps.iter().enumerate() {
                            let (places, _) = self.sequence(&steps[..count], from);
                            pending.extend(places.into_iter().map(|place| (step, place)));
                        }
                    }
                }
                Body::Repeat { symbol, max, .. } => {
                    let most = u32::try_from(self.text.len()).expect("short texts") + 1;
                    for count in 0..max.unwrap_or(most).min(most) {
                        let (places, _) = self.repetition(*symbol, count, Some(count), from);
                        pending.extend(places.into_iter().map(|place| (*symbol, place)));
                    }
                }
                Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                    unreachable!("no generated grammar has one")
                }
            }
        }
        found
    }

    /// The captures of a complete text; `None` if it is not complete, or the derivation is cyclic.
    fn whole(&mut self) -> Option<Vec<Capture>> {
        if !self.spans.contains(&(self.start, 0, self.text.len())) {
            return None;
        }
        self.search(Some(self.text.len()))
    }

    fn growing(&mut self) -> Option<Vec<Capture>> {
        if !self.open.contains(&(self.start, 0)) {
            return self.whole();
        }
        self.prefer_begun();
        self.search(None)
    }

    fn search(&mut self, to: Option<usize>) -> Option<Vec<Capture>> {
        self.captures.clear();
        self.active.clear();
        self.is_cyclic = false;
        self.resolve(self.start, 0, to, None);
        (!self.is_cyclic).then(|| self.captures.clone())
    }

    fn resolve(&mut self, symbol: Symbol, from: usize, to: Option<usize>, mut parent: Option<usize>) {
        let Symbol::Nonterminal(id) = symbol else { return };
        if !self.active.insert((symbol, from, to)) {
            self.is_cyclic = true;
            return;
        }
        if let Some(part) = self.part_of[id.index()] {
            let end = to.unwrap_or(self.text.len());
            self.captures.push(Capture { part, start: from, end, is_closed: to.is_some(), parent });
            parent = Some(self.captures.len() - 1);
        }
        let steps = if self.leads[id.index()] { self.steps(id.index(), from, to) } else { Vec::new() };
        for (step, from, to) in steps {
            self.resolve(step, from, to, parent);
        }
        self.active.remove(&(symbol, from, to));
    }

    fn steps(&self, rule: usize, from: usize, to: Option<usize>) -> Vec<(Symbol, usize, Option<usize>)> {
        match &self.bodies[rule] {
            Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                unreachable!("no generated grammar has one")
            }
            Body::Alternatives(alternatives) => alternatives
                .iter()
                .find_map(|steps| self.split(steps, from, to))
                .expect("a span has a derivation"),
            Body::Repeat { symbol, min, max } => {
                let min = if self.empty.contains(symbol) { 0 } else { *min };
                self.copies(*symbol, (min, *max), from, to).expect("a span has a derivation")
            }
        }
    }

    fn split(
        &self,
        steps: &[Symbol],
        from: usize,
        to: Option<usize>,
    ) -> Option<Vec<(Symbol, usize, Option<usize>)>> {
        let Some((&first, rest)) = steps.split_first() else { return (Some(from) == to).then(Vec::new) };
        if to.is_none() && self.open.contains(&(first, from)) {
            return Some(vec![(first, from, None)]);
        }
        let mut ends: Vec<usize> = self.ends(first, from).collect();
        ends.reverse();
        ends.into_iter().find_map(|end| {
            let mut split = self.split(rest, end, to)?;
            split.insert(0, (first, from, Some(end)));
            Some(split)
        })
    }

    fn copies(
        &self,
        unit: Symbol,
        (min, max): (u32, Option<u32>),
        from: usize,
        to: Option<usize>,
    ) -> Option<Vec<(Symbol, usize, Option<usize>)>> {
        let may_follow = max != Some(0);
        if to.is_none() && may_follow && self.open.contains(&(unit, from)) {
            return Some(vec![(unit, from, None)]);
        }
        if Some(from) == to {
            return (min == 0).then(Vec::new);
        }
        let mut ends: Vec<usize> = self.ends(unit, from).filter(|&end| end > from && may_follow).collect();
        ends.reverse();
        ends.into_iter().find_map(|end| {
            let bounds = (min.saturating_sub(1), max.map(|max| max - 1));
            let mut copies = self.copies(unit, bounds, end, to)?;
            copies.insert(0, (unit, from, Some(end)));
            Some(copies)
        })
    }
}

#[test]
fn lists_on_either_hand_are_taken_apart() {
    let limits = Limits::default();
    for rules in [
        "list ::= item | list \",\" item;",
        "list ::= item | item \",\" list;",
        "list ::= item (\",\" item)*;",
    ] {
        let text = format!("start ::= list; {rules} item ::= #\"[a-z]+\" | \"(\" list \")\";");
        let (grammar, _) = grammask::frontends::kbnf::grammar(text.as_bytes(), "start", &limits).unwrap();
        let parser = CaptureParser::new(&grammar, &[], &["item"], None, &limits).unwrap();
        let mut parse = parser.parse().unwrap();
        assert_eq!(parse.feed(b"ab,(c,d),e;").unwrap(), 10);
        let spans = |captures: &[Capture]| -> Vec<(usize, usize, bool, Option<usize>)> {
            captures
                .iter()
                .map(|capture| (capture.start, capture.end, capture.is_closed, capture.parent))
                .collect()
        };
        let closed = [(0, 2, true, None), (3, 8, true, None), (4, 5, true, Some(1)), (6, 7, true, Some(1))];
        assert_eq!(spans(&parse.whole().unwrap()), [&closed[..], &[(9, 10, true, None)]].concat());
        assert_eq!(spans(&parse.growing()), [&closed[..], &[(9, 10, false, None)]].concat());
    }
}
