//! Upper bounds of the bytes that end an open lexeme, and that write a terminal after a lexeme.
//!
//! Only *separable* lexemes count, after which everything that the parser accepts can be written (see
//! [`open_lexemes`](crate::lexer::open_lexemes)).

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::completion::UNREACHABLE;
use crate::definition::source::IndentationMeasure;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::open_lexemes::needed_after;
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::PreparedGrammar;
use grammask_collections::graph::AdjacencyList;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;

/// Upper bounds of the bytes to the ends of separable lexemes. Those of newlines end with a line break.
#[derive(Debug)]
pub(crate) struct SeparableLengths {
    /// From an open lexeme to the end of any terminal that it can become.
    pub(crate) open_lexeme: u32,
    /// For each terminal, from the end of another lexeme.
    pub(crate) after_lexeme: Vec<u32>,
    /// The white space between the line break of a newline and its column.
    pub(crate) columns: ColumnCosts,
}

/// Upper bounds of the white space up to a column: steps of equal width, and a remainder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnCosts {
    columns_per_step: u32,
    /// The bytes of a step.
    pub(crate) bytes_per_step: u32,
    /// The bytes of the columns after the last step, at most.
    pub(crate) remainder: u32,
    /// The bytes of one column.
    pub(crate) space: u32,
    /// The maximum number of columns that a byte adds.
    columns_per_byte: u32,
}

/// The separable lexemes of a grammar.
struct SeparableLexemes<'a> {
    prepared: &'a PreparedGrammar,
    lexer: &'a mut Lexer,
    bytes: &'a [u8],
    places: LexemePlaces,
}

/// The configurations inside lexemes with their modes, ascending. A place is an index of one.
struct LexemePlaces {
    list: Vec<(ConfigurationId, LexModeId)>,
    /// By configuration, its first place; then the number of places.
    starts: Vec<u32>,
}

/// The distance of each place to the nearest end of a terminal, and the maximum of those that are finite.
struct PlaceDistances {
    of_place: Vec<u32>,
    farthest: u32,
}

impl SeparableLengths {
    /// Computes the lengths for lexemes of `bytes`. Cost: for each terminal the edges of the lexer's configurations.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
    ) -> Result<Self, LimitExceeded> {
        SeparableLexemes::new(prepared, lexer, bytes).longest()
    }
}

impl ColumnCosts {
    /// Of languages without indentation.
    const NONE: Self =
        Self { columns_per_step: 1, bytes_per_step: 0, remainder: 0, space: 0, columns_per_byte: 0 };

    /// The bytes of the steps up to a column.
    pub(crate) fn steps(self, column: u32) -> u64 {
        u64::from(column / self.columns_per_step) * u64::from(self.bytes_per_step)
    }

    /// The maximum of [`steps`](Self::steps) over the columns that one byte can write.
    pub(crate) fn steps_per_byte(self) -> u64 {
        self.steps(self.columns_per_byte)
    }
}

impl LexemePlaces {
    fn new(mut list: Vec<(ConfigurationId, LexModeId)>) -> Self {
        list.sort_unstable();
        let configurations = list.last().map_or(0, |(last, _)| last.index() + 1);
        let mut starts = vec![0; configurations + 1];
        for (configuration, _) in &list {
            starts[configuration.index() + 1] += 1;
        }
        for configuration in 0..configurations {
            starts[configuration + 1] += starts[configuration];
        }
        Self { list, starts }
    }

    fn len(&self) -> u32 {
        // Configurations are fewer than 2^32, and modes few.
        self.list.len() as u32
    }

    fn get(&self, place: u32) -> (ConfigurationId, LexModeId) {
        self.list[place as usize]
    }

    /// The places of a configuration, by ascending mode.
    fn of(&self, configuration: ConfigurationId) -> Range<u32> {
        match self.starts.get(configuration.index()..configuration.index() + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    fn find(&self, configuration: ConfigurationId, mode: LexModeId) -> Option<u32> {
        let places = self.of(configuration);
        let modes = &self.list[places.start as usize..places.end as usize];
        // There are few modes, so their number is less than 2^32.
        let index = modes.binary_search_by_key(&mode, |&(_, mode)| mode).ok()? as u32;
        Some(places.start + index)
    }

    /// Adds the edges to the places of a configuration from those of another one with the same modes.
    fn add_edges(&self, to: ConfigurationId, from: Range<u32>, edges: &mut Vec<(u32, u32)>) {
        let mut targets = self.of(to).peekable();
        for source in from {
            let mode = self.get(source).1;
            while targets.next_if(|&target| self.get(target).1 < mode).is_some() {}
            edges
                .extend(targets.next_if(|&target| self.get(target).1 == mode).map(|target| (target, source)));
        }
    }
}

impl PlaceDistances {
    fn new(before: &AdjacencyList, ends: Vec<u32>) -> Self {
        let mut of_place = vec![UNREACHABLE; before.node_count()];
        for &end in &ends {
            of_place[end as usize] = 0;
        }
        let mut reached = ends;
        let mut next = 0;
        while let Some(&place) = reached.get(next) {
            next += 1;
            for &previous in before.of(place as usize) {
                if of_place[previous as usize] == UNREACHABLE {
                    of_place[previous as usize] = of_place[place as usize] + 1;
                    reached.push(previous);
                }
            }
        }
        let farthest = reached.last().map_or(0, |&place| of_place[place as usize]);
        Self { of_place, farthest }
    }
}

/// The graph of places, with edges against the direction of the text.
#[derive(Default)]
struct PlaceGraph {
    edges: Vec<(u32, u32)>,
    /// More edges inside brackets, where newlines are ignored.
    inside_edges: Vec<(u32, u32)>,
    /// For each terminal the places at which a separable lexeme of it may end; of ignored text, those of the end.
    ends: Vec<Vec<u32>>,
    /// The places after separable lexemes, for each guards and mode that are possible there.
    entered_after: Vec<Vec<u32>>,
}

impl PlaceGraph {
    /// For each terminal, the distances to its ends outside brackets.
    fn distances_outside(&self, places: u32) -> impl Iterator<Item = PlaceDistances> {
        let before = AdjacencyList::from_pairs(places as usize, &self.edges);
        self.ends.iter().map(move |ends| PlaceDistances::new(&before, ends.clone()))
    }

    /// The same inside brackets for each terminal but the newline; none in languages without newlines.
    fn distances_inside(
        &self,
        places: u32,
        newline: Option<TerminalId>,
    ) -> impl Iterator<Item = PlaceDistances> {
        let inside = newline.map(|newline| {
            let edges = [&self.edges[..], &self.inside_edges].concat();
            let before = AdjacencyList::from_pairs(places as usize, &edges);
            let ends = self.ends.iter().enumerate().filter(move |&(index, _)| index != newline.index());
            ends.map(move |(_, ends)| PlaceDistances::new(&before, ends.clone()))
        });
        inside.into_iter().flatten()
    }
}

/// Whether open lexemes can become the same terminals in `bytes` as in all bytes, which may lack some: continuation bytes
/// end a character whose first byte is no token by itself. `bytes` has at most one byte of each class of the lexer.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn can_spell_all_terminals(
    prepared: &PreparedGrammar,
    lexer: &mut Lexer,
    bytes: &[u8],
) -> Result<bool, LimitExceeded> {
    let all = lexer.byte_of_class().to_vec();
    if bytes.len() == all.len() {
        return Ok(true);
    }
    let by_all = SeparableLexemes::new(prepared, lexer, &all).reached()?;
    let spelled = SeparableLexemes::new(prepared, lexer, bytes).reached()?;
    let mut places = by_all.iter().flatten().zip(spelled.iter().flatten());
    Ok(places.all(|(&by_all, &spelled)| spelled || !by_all))
}

impl<'a> SeparableLexemes<'a> {
    fn new(prepared: &'a PreparedGrammar, lexer: &'a mut Lexer, bytes: &'a [u8]) -> Self {
        let places = LexemePlaces::new(prepared.open_terminals.configurations());
        Self { prepared, lexer, bytes, places }
    }

    fn longest(mut self) -> Result<SeparableLengths, LimitExceeded> {
        let grammar = &self.prepared.grammar;
        let newline = self.newline();
        let (graph, columns) = self.graph_with_columns()?;
        let line_break = grammar.column_units.line_break().len() as u32;
        let mut entered_after: Vec<&[u32]> = graph.entered_after.iter().map(|entered| &entered[..]).collect();
        entered_after.sort_unstable();
        entered_after.dedup();
        let mut open_lexeme = 0;
        let mut after_lexeme = Vec::with_capacity(graph.ends.len());
        for (index, distances) in graph.distances_outside(self.places.len()).enumerate() {
            let more = if newline.is_some_and(|newline| newline.index() == index) { line_break } else { 0 };
            open_lexeme = (distances.farthest + more).max(open_lexeme);
            let nearest = entered_after.iter().filter_map(|entered| {
                let nearest = entered.iter().map(|&place| distances.of_place[place as usize]).min()?;
                (nearest < UNREACHABLE).then_some(nearest + 1 + more)
            });
            after_lexeme.push(nearest.max().unwrap_or(UNREACHABLE));
        }
        for distances in graph.distances_inside(self.places.len(), newline) {
            open_lexeme = distances.farthest.max(open_lexeme);
        }
        Ok(SeparableLengths { open_lexeme, after_lexeme, columns })
    }

    /// For each terminal, outside and inside brackets, whether a separable lexeme of it can end after each place.
    fn reached(mut self) -> Result<Vec<Vec<bool>>, LimitExceeded> {
        let (graph, _) = self.graph_with_columns()?;
        let places = self.places.len();
        let distances = graph.distances_outside(places).chain(graph.distances_inside(places, self.newline()));
        let reached =
            |distances: PlaceDistances| distances.of_place.iter().map(|&bytes| bytes < UNREACHABLE).collect();
        Ok(distances.map(reached).collect())
    }

    fn newline(&self) -> Option<TerminalId> {
        self.prepared.grammar.indentation.as_ref().map(|indentation| indentation.newline)
    }

    /// The graph of places, where newlines end before their columns.
    fn graph_with_columns(&mut self) -> Result<(PlaceGraph, ColumnCosts), LimitExceeded> {
        let newline = self.newline();
        let mut graph = self.graph(newline)?;
        let mut columns = ColumnCosts::NONE;
        if let Some(newline) = newline {
            let separable = std::mem::take(&mut graph.ends[newline.index()]);
            (graph.ends[newline.index()], columns) = self.before_columns(&separable)?;
        }
        Ok((graph, columns))
    }

    /// The graph of places.
    fn graph(&mut self, newline: Option<TerminalId>) -> Result<PlaceGraph, LimitExceeded> {
        let grammar = &self.prepared.grammar;
        let needed = needed_after(grammar, &self.prepared.tables, &self.prepared.lex_modes);
        let mut graph =
            PlaceGraph { ends: vec![Vec::new(); grammar.terminals.len() + 1], ..PlaceGraph::default() };
        let mut commit_ids: FxHashMap<Rc<[Option<GuardsId>]>, usize> = FxHashMap::default();
        let mut entered: FxHashMap<(usize, LexModeId), (Vec<u32>, TerminalSet)> = FxHashMap::default();
        let mut is_separable: FxHashMap<(TerminalId, usize), bool> = FxHashMap::default();
        // What the last configuration reads: places are sorted, and its other modes read the same.
        let mut last = None;
        let mut extended: Vec<ConfigurationId> = Vec::new();
        let mut commit: Rc<[Option<GuardsId>]> = Rc::default();
        let mut id = 0;
        for place in 0..self.places.len() {
            let (configuration, mode) = self.places.get(place);
            if last.replace(configuration) != Some(configuration) {
                extended.clear();
                let mut commits = Vec::with_capacity(self.bytes.len());
                for &byte in self.bytes {
                    let step = self.lexer.step(configuration, byte)?;
                    extended.extend(step.extended);
                    commits.push(step.commit);
                }
                extended.sort_unstable();
                extended.dedup();
                commit = commits.into();
                let count = commit_ids.len();
                id = *commit_ids.entry(commit.clone()).or_insert(count);
                for &next in &extended {
                    self.places.add_edges(next, self.places.of(configuration), &mut graph.edges);
                }
            }
            let Some(terminal) = self.lexer.label(configuration) else { continue };
            if grammar.terminals[terminal.index()].is_ignored() || newline == Some(terminal) {
                let (next, _) = self.enter(&mut entered, id, &commit, mode)?;
                let ignored = next.iter().map(|&next| (next, place));
                if newline == Some(terminal) {
                    graph.inside_edges.extend(ignored);
                } else {
                    graph.edges.extend(ignored);
                    graph.ends[grammar.end().index()].push(place);
                    continue;
                }
            }
            let is_known = is_separable.get(&(terminal, id)).copied();
            let is_separable = match is_known {
                Some(is_separable) => is_separable,
                None => {
                    let exempt = self.prepared.open_terminals.exempt();
                    let mut has_all = true;
                    let mut next_places = Vec::new();
                    for (mode, needed) in &needed[terminal.index()] {
                        let (next, available) = self.enter(&mut entered, id, &commit, *mode)?;
                        let missing = needed.without(available);
                        has_all &= missing.iter().all(|next| exempt.binary_search(&(terminal, next)).is_ok());
                        next_places.push(next.clone());
                    }
                    if has_all {
                        graph.entered_after.extend(next_places);
                    }
                    is_separable.insert((terminal, id), has_all);
                    has_all
                }
            };
            if is_separable {
                graph.ends[terminal.index()].push(place);
            }
        }
        Ok(graph)
    }

    /// The places before a line break after which a newline can have every column and remain one of the `separable`
    /// lexemes, with the cost of columns. Tabs count if they can be written wherever spaces can. As Python measures lines, a
    /// column takes one character at most, which may have to be a tab.
    fn before_columns(&mut self, separable: &[u32]) -> Result<(Vec<u32>, ColumnCosts), LimitExceeded> {
        let grammar = self.prepared.grammar.clone();
        let measure = grammar.indentation.as_ref().map(|indentation| indentation.measure);
        let tab_length = measure.map_or(1, |measure| measure.max_tab_length().max(1));
        let (space, tab) = (grammar.column_units.space(), grammar.column_units.tab());
        let of_spaces = self.closed_under(separable, &[space])?;
        let of_tabs = self.closed_under(separable, &[space, tab])?;
        let spaces = space.len() as u32;
        let is_exact = measure == Some(IndentationMeasure::Python);
        let has_tabs = !tab.is_empty() && !of_tabs.is_empty();
        let columns = match has_tabs && (is_exact || of_tabs.len() == of_spaces.len()) {
            true if is_exact => {
                let character = space.len().max(tab.len()) as u32;
                ColumnCosts {
                    columns_per_step: 1,
                    bytes_per_step: character,
                    remainder: 0,
                    space: character,
                    columns_per_byte: tab_length,
                }
            }
            true => ColumnCosts {
                columns_per_step: tab_length,
                bytes_per_step: tab.len() as u32,
                remainder: (tab_length - 1).saturating_mul(spaces),
                space: spaces,
                columns_per_byte: tab_length,
            },
            false => ColumnCosts {
                columns_per_step: 1,
                bytes_per_step: spaces,
                remainder: 0,
                space: spaces,
                columns_per_byte: tab_length,
            },
        };
        let closed = if is_exact && has_tabs { of_tabs } else { of_spaces };
        let mut before = Vec::new();
        for place in 0..self.places.len() {
            let after = self.extended_over(place, grammar.column_units.line_break())?;
            if after.is_some_and(|after| closed.contains(&after)) {
                before.push(place);
            }
        }
        Ok((before, columns))
    }

    /// The greatest set of some places that each of the spellings maps to itself.
    fn closed_under(&mut self, places: &[u32], spellings: &[&[u8]]) -> Result<FxHashSet<u32>, LimitExceeded> {
        let mut closed: FxHashSet<u32> = places.iter().copied().collect();
        loop {
            let mut leaving = Vec::new();
            for &place in &closed {
                for spelling in spellings {
                    let next = self.extended_over(place, spelling)?;
                    if next.is_none_or(|next| !closed.contains(&next)) {
                        leaving.push(place);
                    }
                }
            }
            if leaving.is_empty() {
                return Ok(closed);
            }
            leaving.iter().for_each(|place| {
                closed.remove(place);
            });
        }
    }

    /// The place to which a spelling extends the lexeme of another place.
    fn extended_over(&mut self, place: u32, spelling: &[u8]) -> Result<Option<u32>, LimitExceeded> {
        let (mut configuration, mode) = self.places.get(place);
        for &byte in spelling {
            match self.lexer.step(configuration, byte)?.extended {
                Some(next) => configuration = next,
                None => return Ok(None),
            }
        }
        Ok(self.places.find(configuration, mode))
    }

    /// The places after a commit, before a lexeme of a mode, and the terminals possible there.
    fn enter<'b>(
        &mut self,
        entered: &'b mut FxHashMap<(usize, LexModeId), (Vec<u32>, TerminalSet)>,
        id: usize,
        commit: &[Option<GuardsId>],
        mode: LexModeId,
    ) -> Result<&'b (Vec<u32>, TerminalSet), LimitExceeded> {
        let vacant = match entered.entry((id, mode)) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(vacant) => vacant,
        };
        let mut places = Vec::new();
        let mut available = TerminalSet::new(self.prepared.grammar.terminals.len() + 1);
        let bytes = self.bytes.iter().copied().zip(commit.iter().copied());
        for configuration in self.lexer.enter_by_any(mode, bytes)? {
            places.extend(self.places.find(configuration, mode));
            if let Some(open) = self.prepared.open_terminals.of(configuration, mode) {
                available.union_with(&self.prepared.open_terminals.get(open).outside);
            }
        }
        places.sort_unstable();
        places.dedup();
        Ok(vacant.insert((places, available)))
    }
}
