//! The automaton of a terminal, or of a rule whose language is regular: states in layers, and transitions with byte
//! classes as readable ranges.
//!
//! The layer of a state is the length of a longest path to it, without the transitions that close a cycle. Within layers, states are ordered by the mean position of
//! their neighbours (the barycentre heuristic of Sugiyama, Tagawa and Toda 1981).

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, ByteSet, StateId, TermId};
use grammask_diagnostics::{LimitExceeded, closest};
use grammask_grammar::{
    Grammar, GrammarBuilder, NonterminalId, NotRegular, RuleLanguages, Terminal, quote_bytes,
};

use crate::svg::{Drawing, Label, Point, escape};

/// Maximum number of drawn states. The transitions to others lead to a state with an ellipsis.
const MAX_STATES: usize = 120;
/// Maximum number of states of the automaton, dead ones included.
const MAX_AUTOMATON_STATES: usize = 20_000;
/// Number of passes that order the states of layers.
const ORDERING_PASSES: usize = 6;
/// Radius of a state, in px.
const RADIUS: i32 = 16;
/// Distance between the centres of states of a layer, in px.
const ROW_HEIGHT: i32 = 64;
/// Minimum distance between the borders of states of consecutive layers, in px.
const MIN_LAYER_GAP: i32 = 48;
/// Distance from the border of the drawing, in px.
const MARGIN: i32 = 24;

/// The reasons why there is no diagram of an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AutomatonError {
    /// The grammar has no terminal or rule of this name.
    Unknown {
        /// The closest name of the grammar.
        closest: Option<String>,
    },
    /// The language is not regular, or no language over bytes.
    NotRegular(NotRegular),
    /// No text is in the language.
    Empty,
    /// The automaton has too many states.
    Limit(LimitExceeded),
}

impl fmt::Display for AutomatonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { closest: None } => f.write_str("the grammar has no such terminal or rule"),
            Self::Unknown { closest: Some(name) } => {
                write!(f, "the grammar has no such terminal or rule; there is `{name}`")
            }
            Self::NotRegular(reason) => write!(f, "it has no automaton: {}", reason.reason()),
            Self::Empty => f.write_str("no text matches it"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl std::error::Error for AutomatonError {}

impl From<LimitExceeded> for AutomatonError {
    fn from(limit: LimitExceeded) -> Self {
        Self::Limit(limit)
    }
}

/// The diagram of the automaton of a terminal, by its notation in the grammar or its text, or of a rule, by its name.
///
/// It shows at most 120 states, those closest to the start.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_frontends::kbnf;
/// let (grammar, _) = kbnf::grammar(b"start ::= #'[0-9]+';", "start", &Limits::default()).unwrap();
/// assert!(grammask_diagrams::automaton(&grammar, "start").unwrap().contains(">[0-9]</text>"));
/// ```
///
/// # Errors
/// If there is no such terminal or rule, its language is not regular, or it has more than 20,000 states.
pub fn automaton(grammar: &Grammar, name: &str) -> Result<String, AutomatonError> {
    let mut grammar = grammar.clone();
    let term = language_of(&mut grammar, name)?;
    let mut automata = Automata::new(grammar.terms, MAX_AUTOMATON_STATES);
    let start = automata.start(term)?.ok_or(AutomatonError::Empty)?;
    let graph = StateGraph::reachable(&mut automata, start)?;
    Ok(graph.draw(name))
}

/// The language of a terminal or rule, as a term in the arena of the grammar.
fn language_of(grammar: &mut Grammar, name: &str) -> Result<TermId, AutomatonError> {
    let quoted = quote_bytes(name.as_bytes());
    let is_named = |label: &str| label == name || label == quoted;
    if let Some(rule) = grammar.nonterminals.iter().position(|rule| &*rule.name == name) {
        grammar.start = NonterminalId::new(rule);
        let mut builder = GrammarBuilder::new("");
        let node = builder.graft(grammar);
        let term = RuleLanguages::new(&builder).of_node(&mut builder, node);
        let term = term.map_err(AutomatonError::NotRegular)?;
        grammar.terms = builder.terms().clone();
        return Ok(term);
    }
    let Some(definition) = grammar.terminals.iter().find(|definition| is_named(&definition.label)) else {
        let labels = grammar.terminals.iter().map(|definition| &*definition.label);
        let names = labels.chain(grammar.nonterminals.iter().map(|rule| &*rule.name));
        return Err(AutomatonError::Unknown { closest: closest(name, names).map(str::to_owned) });
    };
    match &definition.terminal {
        Terminal::Literal(bytes) => Ok(grammar.terms.literal(bytes)),
        Terminal::Regular(term) | Terminal::Limited { term, .. } => Ok(*term),
        Terminal::Embedded { .. } => Err(AutomatonError::NotRegular(NotRegular::Embedded)),
        Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => {
            Err(AutomatonError::NotRegular(NotRegular::Tokens))
        }
    }
}

/// A state of a diagram.
#[derive(Clone, Debug)]
struct DiagramState {
    layer: usize,
    /// The position among the states of the layer.
    position: usize,
    is_accepting: bool,
    /// The language of the rest of the word.
    needs: String,
}

/// The drawn part of an automaton. The last state stands for all that are not drawn, if there are any.
#[derive(Debug)]
struct StateGraph {
    states: Vec<DiagramState>,
    /// The bytes of the transitions, by source and target.
    edges: BTreeMap<(usize, usize), ByteSet>,
    has_others: bool,
}

impl StateGraph {
    fn reachable(automata: &mut Automata, start: StateId) -> Result<Self, LimitExceeded> {
        let mut order = vec![start];
        let mut index_of: FxHashMap<StateId, usize> = FxHashMap::from_iter([(start, 0)]);
        let mut edges: BTreeMap<(usize, usize), ByteSet> = BTreeMap::new();
        let mut has_others = false;
        let mut next = 0;
        while next < order.len() {
            for (bytes, target) in automata.successors(order[next])? {
                let index = match index_of.get(&target) {
                    Some(&index) => index,
                    None if order.len() < MAX_STATES => {
                        index_of.insert(target, order.len());
                        order.push(target);
                        order.len() - 1
                    }
                    None => {
                        has_others = true;
                        MAX_STATES
                    }
                };
                let edge = edges.entry((next, index)).or_default();
                *edge = edge.union(bytes);
            }
            next += 1;
        }
        let mut states: Vec<DiagramState> = order
            .iter()
            .map(|&state| DiagramState {
                layer: 0,
                position: 0,
                is_accepting: automata.is_accepting(state),
                needs: automata.terms().display(automata.term(state)),
            })
            .collect();
        if has_others {
            let needs = "states that are not drawn".to_owned();
            states.push(DiagramState { layer: 0, position: 0, is_accepting: false, needs });
        }
        let mut graph = Self { states, edges, has_others };
        graph.assign_layers();
        graph.order_layers();
        Ok(graph)
    }

    /// Layers by longest paths, in the reverse of the order in which a depth-first search leaves the states.
    fn assign_layers(&mut self) {
        let mut targets = vec![Vec::new(); self.states.len()];
        for &(from, to) in self.edges.keys() {
            targets[from].push(to);
        }
        let mut is_entered = vec![false; self.states.len()];
        let mut left: Vec<usize> = Vec::with_capacity(self.states.len());
        let mut path = vec![(0, 0)];
        is_entered[0] = true;
        while let Some((state, next)) = path.last_mut() {
            match targets[*state].get(*next) {
                Some(&target) => {
                    *next += 1;
                    if !std::mem::replace(&mut is_entered[target], true) {
                        path.push((target, 0));
                    }
                }
                None => {
                    left.push(*state);
                    path.pop();
                }
            }
        }
        let mut rank = vec![0; self.states.len()];
        left.iter().rev().enumerate().for_each(|(position, &state)| rank[state] = position);
        for &state in left.iter().rev() {
            for &target in &targets[state] {
                // Other transitions close a cycle.
                if rank[target] > rank[state] {
                    self.states[target].layer = self.states[target].layer.max(self.states[state].layer + 1);
                }
            }
        }
    }

    /// The states of each layer, in their order.
    fn layers(&self) -> Vec<Vec<usize>> {
        let count = self.states.iter().map(|state| state.layer + 1).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); count];
        for (index, state) in self.states.iter().enumerate() {
            layers[state.layer].push(index);
        }
        for layer in &mut layers {
            layer.sort_by_key(|&index| self.states[index].position);
        }
        layers
    }

    fn order_layers(&mut self) {
        let mut layers = self.layers();
        let mut neighbours = vec![Vec::new(); self.states.len()];
        for &(from, to) in self.edges.keys() {
            if self.states[from].layer.abs_diff(self.states[to].layer) == 1 {
                neighbours[from].push(to);
                neighbours[to].push(from);
            }
        }
        for pass in 0..ORDERING_PASSES {
            let count = layers.len();
            for step in 0..count {
                let layer = if pass % 2 == 0 { step } else { count - 1 - step };
                let other = if pass % 2 == 0 { layer.checked_sub(1) } else { Some(layer + 1) };
                let mean = |state: usize| {
                    let positions = neighbours[state]
                        .iter()
                        .filter(|&&near| Some(self.states[near].layer) == other)
                        .map(|&near| self.states[near].position);
                    let (sum, number) = positions.fold((0, 0), |(sum, number), at| (sum + at, number + 1));
                    // The mean in thousandths of a position; a state without neighbours keeps its place.
                    (sum * 1_000_usize).checked_div(number).unwrap_or(self.states[state].position * 1_000)
                };
                let mut keyed: Vec<(usize, usize)> =
                    layers[layer].iter().map(|&state| (mean(state), state)).collect();
                keyed.sort_by_key(|&(mean, _)| mean);
                layers[layer] = keyed.into_iter().map(|(_, state)| state).collect();
                for (position, &state) in layers[layer].iter().enumerate() {
                    self.states[state].position = position;
                }
            }
        }
    }

    fn draw(&self, name: &str) -> String {
        let layers = self.layers();
        let labels: BTreeMap<(usize, usize), Label> =
            self.edges.iter().map(|(&edge, &bytes)| (edge, Label::new(&byte_class(bytes)))).collect();
        // The gap after each layer fits its widest label.
        let mut gaps = vec![MIN_LAYER_GAP; layers.len()];
        for (&(from, to), label) in &labels {
            let gap = &mut gaps[self.states[from].layer];
            if self.states[to].layer <= self.states[from].layer {
                continue;
            }
            *gap = (*gap).max(label.width + 28);
        }
        let tallest = layers.iter().map(Vec::len).max().unwrap_or(1);
        let mut places = vec![Point { x: 0, y: 0 }; self.states.len()];
        let mut x = MARGIN + 40 + RADIUS;
        for (layer, gap) in layers.iter().zip(&gaps) {
            let top = MARGIN + 50 + ((tallest - layer.len()) as i32 * ROW_HEIGHT) / 2;
            for (position, &state) in layer.iter().enumerate() {
                places[state] = Point { x, y: top + position as i32 * ROW_HEIGHT };
            }
            x += gap + 2 * RADIUS;
        }
        let bottom = MARGIN + 50 + (tallest as i32 - 1) * ROW_HEIGHT;
        let mut drawing = Drawing::default();
        let title = Label::new(name);
        drawing.text(Point { x: MARGIN, y: 18 }, "name", &title);
        let mut lowest = bottom + RADIUS;
        for (&(from, to), label) in &labels {
            let skipped = self.states[to].layer.saturating_sub(self.states[from].layer + 1);
            let gap = gaps[self.states[from].layer];
            let line = TransitionLine { from: places[from], to: places[to], skipped: skipped as i32, gap };
            let depth = draw_transition(&mut drawing, line, label);
            lowest = lowest.max(depth);
        }
        let start = places[0];
        drawing.path(&format!("M{} {}h{}", start.x - RADIUS - 30, start.y, 24));
        draw_arrow(&mut drawing, Point { x: start.x - RADIUS, y: start.y }, Heading::Right);
        for (index, (state, place)) in self.states.iter().zip(&places).enumerate() {
            let is_others = self.has_others && index + 1 == self.states.len();
            draw_state(&mut drawing, *place, state, if is_others { None } else { Some(index) });
        }
        let attributes = format!("data-diagram=\"automaton\" data-terminal=\"{}\"", escape(name));
        let width = x.max(title.width + 2 * MARGIN);
        drawing.finish(&format!("Automaton of {name}"), &attributes, width, lowest + MARGIN)
    }
}

/// A byte class as a label: a quoted character or a class of a regular expression.
fn byte_class(bytes: ByteSet) -> String {
    match bytes.only() {
        Some(byte) => quote_bytes(&[byte]),
        None if bytes == ByteSet::ALL => "any byte".to_owned(),
        None => bytes.to_string(),
    }
}

fn draw_state(drawing: &mut Drawing, place: Point, state: &DiagramState, number: Option<usize>) {
    let Point { x, y } = place;
    let class = if state.is_accepting { "state accepting" } else { "state" };
    let _ = write!(
        drawing,
        "<g class=\"{class}\"><title>{}</title><circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\"/>",
        escape(&format!("needs {}", state.needs))
    );
    if state.is_accepting {
        let _ = write!(drawing, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"/>", RADIUS - 4);
    }
    let label = Label::new(&number.map_or("…".to_owned(), |number| number.to_string()));
    drawing.text(Point { x: x - label.width / 2, y: y + 4 }, "", &label);
    drawing.raw("</g>");
}

/// The direction of the tip of an arrow.
#[derive(Clone, Copy, Debug)]
enum Heading {
    Right,
    Up,
    Down,
}

fn draw_arrow(drawing: &mut Drawing, tip: Point, heading: Heading) {
    let sides = match heading {
        Heading::Right => "l-7 -4v8z",
        Heading::Up => "l-4 7h8z",
        Heading::Down => "l-4 -7h8z",
    };
    let _ = write!(drawing, "<path class=\"arrow\" d=\"M{} {}{sides}\"/>", tip.x, tip.y);
}

/// The course of a transition.
#[derive(Clone, Copy, Debug)]
struct TransitionLine {
    from: Point,
    to: Point,
    /// Number of layers between the states.
    skipped: i32,
    /// Width of the gap after the layer of the source.
    gap: i32,
}

/// Draws a transition; returns the lowest y that it reaches.
fn draw_transition(drawing: &mut Drawing, line: TransitionLine, label: &Label) -> i32 {
    let TransitionLine { from, to, skipped, gap } = line;
    let centred = |x: i32, y: i32| Point { x: x - label.width / 2, y };
    if from == to {
        let (x, y) = (from.x, from.y - RADIUS + 2);
        drawing.path(&format!("M{} {y}c-10 -26 26 -26 16 0", x - 8));
        draw_arrow(drawing, Point { x: x + 8, y }, Heading::Down);
        drawing.text(centred(x, y - 23), "note", label);
        return from.y;
    }
    if from.x < to.x {
        let (begin, end) = (from.x + RADIUS, to.x - RADIUS);
        // A line over other layers passes between the rows of their states.
        let track = if skipped > 0 { to.y - ROW_HEIGHT / 2 + 4 * skipped.min(4) } else { to.y };
        let (turn, middle) = (begin + gap, begin + gap / 2);
        let mut path = format!("M{begin} {y}C{middle} {y} {middle} {track} {turn} {track}", y = from.y);
        if skipped > 0 {
            let near = end - MIN_LAYER_GAP / 2;
            let _ = write!(path, "H{near}Q{} {track} {end} {}", end - 8, to.y);
        }
        drawing.path(&path);
        draw_arrow(drawing, Point { x: end, y: to.y }, Heading::Right);
        drawing.text(centred(middle, (from.y + track) / 2 - 5), "note", label);
        return from.y.max(track);
    }
    // A transition that closes a cycle leads to an earlier layer.
    let depth = from.y.max(to.y) + RADIUS + 18 + (from.x - to.x) / 12;
    let (begin, end) = (from.y + RADIUS, to.y + RADIUS);
    drawing.path(&format!("M{} {begin}C{} {depth} {} {depth} {} {end}", from.x, from.x - 8, to.x + 8, to.x));
    draw_arrow(drawing, Point { x: to.x, y: end }, Heading::Up);
    drawing.text(centred((from.x + to.x) / 2, depth + 2), "note", label);
    depth + 6
}
