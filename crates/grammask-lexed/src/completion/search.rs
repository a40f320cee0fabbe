//! A* over runs, with bytes as edges.
//!
//! The completion of a set of runs is the shortest one of its runs. Lengths of runs are exact; the first byte of a
//! completion is the smallest one after which the completion is shorter by one, so it depends on the run only and not
//! on the order of searches.
//!
//! A search records exact lengths along its path, where later searches end, and better lower bounds of all runs that it
//! expanded (S. Koenig and M. Likhachev, "Adaptive A*", 2005). Most searches therefore end
//! after the open lexeme. Hundreds of lexemes can begin there, so the *boundary* between two lexemes is a node of the
//! search, which all runs have in common that end there; and a node is expanded only up to the first successor of the same
//! estimate (T. Yoshizumi, T. Miura and T. Ishida, "A* with Partial Expansion for Large Branching Factor Problems", 2000).
//!
//! The bound of a run takes a step of the parser for each terminal that its lexeme can become. A weaker bound without steps
//! shows for most runs that they are too long; a node is opened with that, and its bound is computed when it is the next one.
//! At a boundary it leaves few of the lexemes: those that begin a cheapest rest of an item of the stack. The other bytes of an
//! open lexeme are read only once a completion in which it goes on can be the next one.
//!
//! From the first byte of a delimited terminal its engine gives the length of the rest.
//!
//! The lower bound of an Earley set is weaker than that of a stack. So is that of a stack whose parser resolves conflicts,
//! since it may be unable to parse the sentences that the bound counts. Where no completion exists the bound may then
//! be finite. LALR(1) tables with resolved conflicts have a [plan](crate::analysis::viable_completion) that completes
//! every live run, so their searches end if all terminals can be spelled. In the other grammars with weak bounds the search
//! gives up after a number of runs, and the set counts as one without a completion. These are all runs whose estimate is at
//! most the length of the completion. The search from the next set of a completion expands some of these and no others, so
//! it succeeds too. Their number must not depend on earlier searches, so it is that of the bounds that these did not raise.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::UNREACHABLE;
use crate::completion::boundaries::{BegunLexeme, BegunLexemes, BegunLexemesId, Boundary, LexemeEnd};
use crate::completion::frontier::{Frontier, OpenNode, ReachedNode, SearchNode};
use crate::completion::run_bounds::RunBounds;
use crate::completion::search_sources::{SearchSources, extensions_of};
use crate::completion::separable_lexemes;
use crate::completion::upper_bounds::UpperBounds;
use crate::delimited::{DelimitedRest, DelimitedStatesId};
use crate::lexer::lexer_automaton::Lexer;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lr_automaton::LrState;
use crate::prepared::PreparedGrammar;
use crate::recognizer::Run;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{CompletionStep, Reach, SetId, ShortestCompletion, TokenGrowths};
use grammask_vocabulary::Vocabulary;

/// The maximum number of runs that a search with weak bounds expands. Those with large Earley sets count several times.
const MAX_WEAKLY_BOUNDED_RUNS: usize = 1 << 12;

/// The size of an Earley set that counts as another run.
const ITEMS_PER_RUN: usize = 256;

/// The number of expanded nodes between two checks of the limits.
const NODES_PER_CHECK: usize = 64;

/// Shortest completions of runs and of sets of runs.
#[derive(Debug)]
pub(crate) struct ShortestCompletions {
    /// A spellable byte of each byte class that has one, ascending.
    bytes: Box<[u8]>,
    bounds: RunBounds,
    /// Whether searches give up after a number of runs.
    is_limited: bool,
    /// Whether open lexemes can become all of their terminals in `bytes`, and the tables are LALR(1) and ignore no rules.
    spells_all_terminals: bool,
    /// Lower bounds that searches raised.
    raised: FxHashMap<SearchNode, u32>,
    lengths: FxHashMap<SearchNode, u32>,
    first_bytes: FxHashMap<SearchNode, u8>,
    of_set: FxHashMap<SetId, Option<ShortestCompletion>>,
    /// The bounds of runs whose lexeme can become a delimited terminal.
    with_delimited: FxHashMap<Run, u32>,
    /// Upper bounds; `None` until they are asked for, `Some(None)` if there are none.
    upper_bounds: Option<Option<UpperBounds>>,
    begun_lexemes: BegunLexemes,
    /// By the parser state at a boundary, the index of the lexeme with which a completion was found last.
    promising: FxHashMap<(BegunLexemesId, LrState), usize>,
}

impl ShortestCompletions {
    /// Completions that consist of `bytes`, given the shortest texts of delimited terminals.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: Box<[u8]>,
        delimited: &[DelimitedRest],
    ) -> Result<Self, LimitExceeded> {
        let table = prepared.table().filter(|_| prepared.grammar.lexical.ignored.is_empty());
        let spells_all_terminals =
            table.is_some() && separable_lexemes::can_spell_all_terminals(prepared, lexer, &bytes)?;
        let is_exact = prepared.table().is_some_and(|table| table.resolved().is_empty());
        Ok(Self {
            bounds: RunBounds::new(prepared, lexer, &bytes, delimited)?,
            is_limited: !is_exact && !spells_all_terminals,
            spells_all_terminals,
            bytes,
            raised: FxHashMap::default(),
            lengths: FxHashMap::default(),
            first_bytes: FxHashMap::default(),
            of_set: FxHashMap::default(),
            with_delimited: FxHashMap::default(),
            upper_bounds: None,
            begun_lexemes: BegunLexemes::default(),
            promising: FxHashMap::default(),
        })
    }

    /// The shortest completion of a set of runs; `None` if it has none.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of_set(
        &mut self,
        sources: &mut SearchSources<'_>,
        set: SetId,
        runs: &[Run],
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        if let Some(&cached) = self.of_set.get(&set) {
            return Ok(cached);
        }
        // The runs are searched together, because one of them may have no completion and infinitely many successors.
        let nodes: Vec<SearchNode> = runs.iter().copied().map(SearchNode::Run).collect();
        let from_boundary = match *runs {
            [run] => self.length_from_boundary(sources, run)?,
            _ => None,
        };
        let length = match from_boundary {
            Some(length) => Some(length),
            None if self.is_limited && !self.is_within_limit(sources, runs)? => None,
            None => self.length(sources, &nodes, UNREACHABLE - 1)?,
        };
        let mut completion = length.map(|length| ShortestCompletion { length, first: None });
        if let Some(ShortestCompletion { length: length @ 1.., first }) = &mut completion {
            let mut smallest: Option<u8> = None;
            for node in nodes {
                if self.length(sources, &[node], *length)?.is_some() {
                    let byte = self.first_byte(sources, node, *length)?;
                    smallest = Some(smallest.map_or(byte, |smallest| smallest.min(byte)));
                }
            }
            *first = smallest.map(CompletionStep::Byte);
        }
        self.of_set.insert(set, completion);
        Ok(completion)
    }

    /// An upper bound of the lengths of the shortest completions of all states within reach of these runs; `None` if it
    /// is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn longest_after(
        &mut self,
        sources: &mut SearchSources<'_>,
        runs: &[Run],
        reach: Reach,
    ) -> Result<Option<u32>, LimitExceeded> {
        // Upper bounds of delimited terminals are not known.
        if sources.prepared.grammar.has_delimited_terminals() {
            return Ok(None);
        }
        let Some(upper_bounds) = self.upper_bounds(sources)? else { return Ok(None) };
        // Every state within reach has a run that was read from one of these.
        let mut longest = Some(0);
        for &run in runs {
            let bound = upper_bounds.after(sources.prepared, sources.lexer, sources.parser, run, reach);
            longest = longest.zip(bound).map(|(longest, bound): (u32, u32)| longest.max(bound));
        }
        Ok(longest)
    }

    /// How much each token adds to these bounds within reach of a token; `None` if it is not known.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn token_growths(
        &mut self,
        sources: &mut SearchSources<'_>,
        vocabulary: &Vocabulary,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        if sources.prepared.grammar.has_delimited_terminals() {
            return Ok(None);
        }
        match self.upper_bounds(sources)? {
            Some(bounds) => {
                bounds.token_growths(sources.prepared, sources.lexer, vocabulary, sources.deadline)
            }
            None => Ok(None),
        }
    }

    fn upper_bounds(
        &mut self,
        sources: &mut SearchSources<'_>,
    ) -> Result<Option<&mut UpperBounds>, LimitExceeded> {
        if self.upper_bounds.is_none() {
            let lexemes = self.bounds.lexemes();
            let bounds = match self.spells_all_terminals {
                true => UpperBounds::new(sources.prepared, sources.lexer, &self.bytes, lexemes)?,
                false => None,
            };
            self.upper_bounds = Some(bounds);
        }
        Ok(self.upper_bounds.as_mut().and_then(Option::as_mut))
    }

    /// The length of the shortest completion of some nodes; `None` if it is longer than `maximum`, which is less than
    /// `UNREACHABLE`.
    fn length(
        &mut self,
        sources: &mut SearchSources<'_>,
        nodes: &[SearchNode],
        maximum: u32,
    ) -> Result<Option<u32>, LimitExceeded> {
        if let [node] = *nodes {
            let least = self.bound_within(sources, node, maximum)?;
            if least > maximum || self.lengths.contains_key(&node) {
                return Ok((least <= maximum).then_some(least));
            }
        }
        let mut frontier = Frontier::default();
        let mut expanded: Vec<(SearchNode, u32)> = Vec::new();
        for &node in nodes {
            let bound = self.bound(sources, node)?;
            if bound <= maximum {
                frontier.push(bound, OpenNode { node, bytes: 0, expanded: 0 });
                frontier.reached.insert(node, ReachedNode { bytes: 0, previous: None });
            }
        }
        // The last node of a shortest completion, or of the part of it that is not yet known; and its length.
        let (last, length) = loop {
            let Some((estimate, current)) = frontier.pop() else { break (None, UNREACHABLE) };
            if estimate > maximum {
                break (None, estimate);
            }
            let OpenNode { node, bytes, expanded: was_expanded } = current;
            if frontier.reached[&node].bytes < bytes {
                continue;
            }
            if was_expanded == 0 {
                // It was opened with a smaller bound.
                let bound = bytes + self.bound(sources, node)?;
                if bound > estimate {
                    if bound < UNREACHABLE {
                        frontier.push(bound, current);
                    }
                    continue;
                }
            }
            if self.lengths.contains_key(&node) {
                break (Some(node), estimate);
            }
            if let SearchNode::Run(run) = node
                && current.expanded == 0
            {
                if estimate == bytes && sources.can_end(run)? {
                    self.lengths.insert(node, 0);
                    break (Some(node), estimate);
                }
                if !sources.is_live(run)? {
                    self.raised.insert(node, UNREACHABLE);
                    continue;
                }
            }
            expanded.push((node, bytes));
            if expanded.len().is_multiple_of(NODES_PER_CHECK) {
                sources.deadline.check()?;
                self.check_memory(sources, &frontier)?;
            }
            self.expand(sources, &mut frontier, estimate, current)?;
        };
        for (node, bytes) in expanded {
            let bound = if length < UNREACHABLE { length - bytes } else { UNREACHABLE };
            let raised = self.raised.entry(node).or_insert(0);
            *raised = bound.max(*raised);
        }
        let mut current = last;
        while let Some(node) = current {
            let ReachedNode { bytes, previous } = frontier.reached[&node];
            self.lengths.insert(node, length - bytes);
            current = previous;
        }
        Ok(last.map(|_| length))
    }

    /// Whether no more than [`MAX_WEAKLY_BOUNDED_RUNS`] runs have an estimate of at most the length of the shortest completion of
    /// some runs, or there are no more if they have none.
    fn is_within_limit(
        &mut self,
        sources: &mut SearchSources<'_>,
        runs: &[Run],
    ) -> Result<bool, LimitExceeded> {
        let mut reached: FxHashMap<Run, u32> = FxHashMap::default();
        let mut open: BTreeMap<u32, Vec<(Run, u32)>> = BTreeMap::new();
        for &run in runs {
            let bound = self.run_bound(sources, run)?;
            if bound < UNREACHABLE {
                open.entry(bound).or_default().push((run, 0));
                reached.insert(run, 0);
            }
        }
        let (mut expanded, mut work): (usize, usize) = (0, 0);
        let mut successors = Vec::new();
        while let Some((&estimate, _)) = open.first_key_value() {
            let mut is_found = false;
            while let Some((current, bytes)) = open.get_mut(&estimate).and_then(Vec::pop) {
                if reached[&current] < bytes {
                    continue;
                }
                is_found |= estimate == bytes && sources.can_end(current)?;
                if !sources.is_live(current)? {
                    continue;
                }
                expanded += 1;
                work += 1 + sources.parser.set_size(current.parse.stack) / ITEMS_PER_RUN;
                if work > MAX_WEAKLY_BOUNDED_RUNS {
                    return Ok(false);
                }
                if expanded.is_multiple_of(NODES_PER_CHECK) {
                    sources.deadline.check()?;
                }
                self.successors_of(sources, current, &mut successors)?;
                for &(_, next) in &successors {
                    let bound = self.run_bound(sources, next)?;
                    if bound < UNREACHABLE && reached.get(&next).is_none_or(|&known| bytes + 1 < known) {
                        reached.insert(next, bytes + 1);
                        open.entry((bytes + 1 + bound).max(estimate)).or_default().push((next, bytes + 1));
                    }
                }
            }
            if is_found {
                return Ok(true);
            }
            open.remove(&estimate);
        }
        Ok(true)
    }

    /// The first byte of the completion of a node whose length is known and positive.
    fn first_byte(
        &mut self,
        sources: &mut SearchSources<'_>,
        node: SearchNode,
        length: u32,
    ) -> Result<u8, LimitExceeded> {
        if let Some(&cached) = self.first_bytes.get(&node) {
            return Ok(cached);
        }
        let mut first = None;
        match node {
            SearchNode::Boundary(boundary) => {
                let bounds = self.bounds.next_terminals(sources.prepared, sources.parser, boundary.parse)?;
                for begun in &*self.begun_lexemes.list(boundary.begun).clone() {
                    if self.bounds.of_begun(sources.prepared, bounds, begun.configuration) >= length {
                        continue;
                    }
                    let next = SearchNode::Run(begun.run(boundary.parse));
                    if self.length(sources, &[next], length - 1)?.is_some() {
                        first = Some(begun.byte);
                        break;
                    }
                }
            }
            // Its lexeme can only become a delimited terminal, after which all is the same.
            SearchNode::Run(run) if sources.is_delimited(run) => {
                first = sources.nearest_rest(run)?.and_then(|rest| rest.first);
            }
            SearchNode::Run(run) => {
                if let Some(boundary) = self.boundary_after(sources, run)?.map(SearchNode::Boundary)
                    && self.length(sources, &[boundary], length)?.is_some()
                {
                    first = Some(self.first_byte(sources, boundary, length)?);
                }
                if first.is_none() || self.may_extend_within(sources, run, length)? {
                    for (byte, next) in self.extensions(sources, run)? {
                        if first.is_some_and(|first| byte >= first) {
                            break;
                        }
                        if self.length(sources, &[SearchNode::Run(next)], length - 1)?.is_some() {
                            first = Some(byte);
                        }
                    }
                }
            }
        }
        let first = first.unwrap_or_else(|| unreachable!("a node with a completion has a first byte"));
        self.first_bytes.insert(node, first);
        Ok(first)
    }

    /// A lower bound of the length of the completion of a node; the length itself if it is known.
    fn bound(&mut self, sources: &mut SearchSources<'_>, node: SearchNode) -> Result<u32, LimitExceeded> {
        if let Some(&length) = self.lengths.get(&node) {
            return Ok(length);
        }
        let bound = match node {
            SearchNode::Run(run) => self.run_bound(sources, run)?,
            SearchNode::Boundary(Boundary { parse, .. }) => {
                self.bounds.after_lexeme(sources.prepared, sources.parser, parse)?.max(1)
            }
        };
        Ok(self.raised.get(&node).map_or(bound, |&raised| raised.max(bound)))
    }

    /// As [`bound`](Self::bound), or a number between `maximum` and the bound.
    fn bound_within(
        &mut self,
        sources: &mut SearchSources<'_>,
        node: SearchNode,
        maximum: u32,
    ) -> Result<u32, LimitExceeded> {
        match node {
            SearchNode::Run(run)
                if run.delimited == DelimitedStatesId::NONE && !self.lengths.contains_key(&node) =>
            {
                let raised = self.raised.get(&node).copied().unwrap_or(0);
                if raised > maximum {
                    return Ok(raised);
                }
                let bound =
                    self.bounds.of_within(sources.prepared, sources.lexer, sources.parser, run, maximum)?;
                Ok(raised.max(bound))
            }
            _ => self.bound(sources, node),
        }
    }

    /// A lower bound of the completions of a run in which its lexeme goes on with another byte, or a number up to `maximum`.
    fn extension_bound(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        maximum: u32,
    ) -> Result<u32, LimitExceeded> {
        if run.delimited != DelimitedStatesId::NONE || sources.lexer.is_start(run.configuration) {
            return Ok(0);
        }
        self.bounds.of_extensions(sources.prepared, sources.parser, run, maximum)
    }

    /// Whether the open lexeme of a run may go on with another byte in a completion of at most `maximum` bytes.
    fn may_extend_within(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        maximum: u32,
    ) -> Result<bool, LimitExceeded> {
        Ok(self.extension_bound(sources, run, maximum)? <= maximum)
    }

    /// The length of the completion of a run if bounds show that the lexeme ends here: that of the boundary after it, which
    /// all lexemes share that end there. Most states after a token are of this kind, as those in names.
    fn length_from_boundary(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
    ) -> Result<Option<u32>, LimitExceeded> {
        // A search with a limit must not depend on one from another node.
        if self.is_limited
            || run.delimited != DelimitedStatesId::NONE
            || sources.lexer.is_start(run.configuration)
        {
            return Ok(None);
        }
        let Some(boundary) = self.boundary_after(sources, run)? else { return Ok(None) };
        let bound = self.bounds.after_lexeme(sources.prepared, sources.parser, boundary.parse)?;
        // The text may end with the lexeme.
        if bound == 0 || self.may_extend_within(sources, run, bound)? {
            return Ok(None);
        }
        let Some(length) = self.length(sources, &[SearchNode::Boundary(boundary)], UNREACHABLE - 1)? else {
            return Ok(None);
        };
        if length > bound && self.may_extend_within(sources, run, length)? {
            return Ok(None);
        }
        self.lengths.insert(SearchNode::Run(run), length);
        Ok(Some(length))
    }

    /// A lower bound of the length of the completion of a run, without the bounds that searches raised.
    fn run_bound(&mut self, sources: &mut SearchSources<'_>, run: Run) -> Result<u32, LimitExceeded> {
        let of_lexer = self.bounds.of(sources.prepared, sources.lexer, sources.parser, run)?;
        if of_lexer >= UNREACHABLE || run.delimited == DelimitedStatesId::NONE {
            return Ok(of_lexer);
        }
        if let Some(&known) = self.with_delimited.get(&run) {
            return Ok(known);
        }
        let rests = sources.delimited.shortest_rests(run.delimited, sources.vocabulary, sources.deadline)?;
        let bound = self.bounds.with_delimited(sources.prepared, sources.parser, run, &rests)?;
        self.with_delimited.insert(run, bound);
        Ok(bound)
    }

    /// Reaches the successors of a node, up to the first one of its own estimate; the node stays open for the others.
    fn expand(
        &mut self,
        sources: &mut SearchSources<'_>,
        frontier: &mut Frontier,
        estimate: u32,
        mut current: OpenNode,
    ) -> Result<(), LimitExceeded> {
        match current.node {
            SearchNode::Boundary(boundary) => {
                let begun = self.begun_lexemes.list(boundary.begun).clone();
                let key = (boundary.begun, sources.parser.top(boundary.parse.stack));
                while current.expanded <= begun.len() {
                    // The promising one is first, and again in its place.
                    let index = match current.expanded {
                        0 => self.promising_lexeme(sources, boundary, key, estimate - current.bytes)?,
                        next => next - 1,
                    };
                    current.expanded += 1;
                    let next = SearchNode::Run(begun[index].run(boundary.parse));
                    if self.reach(sources, frontier, estimate, current, (1, next))? {
                        self.promising.insert(key, index);
                        return Ok(());
                    }
                }
            }
            SearchNode::Run(run) => {
                if current.expanded == 0 {
                    current.expanded = 1;
                    if let Some(boundary) = self.boundary_after(sources, run)?.map(SearchNode::Boundary)
                        && self.reach(sources, frontier, estimate, current, (0, boundary))?
                    {
                        return Ok(());
                    }
                }
                let mut extensions = Vec::new();
                if current.expanded == 1 {
                    let longer = self.extension_bound(sources, run, estimate - current.bytes)?;
                    if current.bytes + longer > estimate {
                        if longer < UNREACHABLE {
                            frontier.push(current.bytes + longer, current);
                        }
                        return Ok(());
                    }
                    current.expanded = 2;
                    // The bounds of the other bytes of a delimited terminal take searches of its engine.
                    let first = sources.nearest_rest(run)?.and_then(|rest| rest.first);
                    extensions_of(sources, run, first.as_slice(), &mut extensions)?;
                    for (_, next) in extensions.drain(..) {
                        if self.reach(sources, frontier, estimate, current, (1, SearchNode::Run(next)))? {
                            return Ok(());
                        }
                    }
                }
                let extensions = self.extensions(sources, run)?;
                while let Some(&(_, next)) = extensions.get(current.expanded - 2) {
                    current.expanded += 1;
                    if self.reach(sources, frontier, estimate, current, (1, SearchNode::Run(next)))? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The index of a lexeme at a boundary with which a completion of `length` bytes is likely to begin.
    fn promising_lexeme(
        &mut self,
        sources: &mut SearchSources<'_>,
        boundary: Boundary,
        key: (BegunLexemesId, LrState),
        length: u32,
    ) -> Result<usize, LimitExceeded> {
        let bounds = self.bounds.next_terminals(sources.prepared, sources.parser, boundary.parse)?;
        let list = self.begun_lexemes.list(boundary.begun);
        let may_fit = |begun: &BegunLexeme| {
            self.bounds.of_begun(sources.prepared, bounds, begun.configuration) < length
        };
        let known = self.promising.get(&key).copied().filter(|&index| may_fit(&list[index]));
        Ok(known.or_else(|| list.iter().position(may_fit)).unwrap_or(0))
    }

    /// Opens a successor, a number of bytes after a node of this estimate. If it has the same estimate, the node is opened
    /// again before it, and the result is true.
    fn reach(
        &mut self,
        sources: &mut SearchSources<'_>,
        frontier: &mut Frontier,
        estimate: u32,
        from: OpenNode,
        (step, node): (u32, SearchNode),
    ) -> Result<bool, LimitExceeded> {
        let bytes = from.bytes + step;
        if frontier.reached.get(&node).is_some_and(|reached| reached.bytes <= bytes) {
            return Ok(false);
        }
        let bound = self.bound_within(sources, node, estimate.saturating_sub(bytes))?;
        if bound >= UNREACHABLE {
            return Ok(false);
        }
        let next_estimate = (bytes + bound).max(estimate);
        let is_equal = next_estimate == estimate;
        if is_equal {
            frontier.push(estimate, from);
        }
        frontier.push(next_estimate, OpenNode { node, bytes, expanded: 0 });
        frontier.reached.insert(node, ReachedNode { bytes, previous: Some(from.node) });
        Ok(is_equal)
    }

    /// The runs in which the open lexeme goes on with another byte, with the smallest byte of each, ascending by byte.
    fn extensions(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
    ) -> Result<Vec<(u8, Run)>, LimitExceeded> {
        let mut extensions = Vec::new();
        match self.begun_lexemes.extending(sources, run, &self.bytes)? {
            Some(list) => {
                let list = self.begun_lexemes.list(list).iter();
                extensions.extend(list.map(|begun| (begun.byte, begun.run(run.parse))));
            }
            None => extensions_of(sources, run, &self.bytes, &mut extensions)?,
        }
        Ok(extensions)
    }

    /// The runs after each byte, with the smallest byte of each, ascending by byte: for the search that counts runs.
    fn successors_of(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
        successors: &mut Vec<(u8, Run)>,
    ) -> Result<(), LimitExceeded> {
        successors.clear();
        extensions_of(sources, run, &self.bytes, successors)?;
        if let Some(Boundary { parse, begun }) = self.boundary_after(sources, run)? {
            let begun = self.begun_lexemes.list(begun).iter();
            successors.extend(begun.map(|begun| (begun.byte, begun.run(parse))));
        }
        successors.sort_unstable_by_key(|&(byte, run)| (run, byte));
        successors.dedup_by_key(|&mut (_, run)| run);
        successors.sort_unstable();
        Ok(())
    }

    /// The boundary after the open lexeme, if it can end here.
    fn boundary_after(
        &mut self,
        sources: &mut SearchSources<'_>,
        run: Run,
    ) -> Result<Option<Boundary>, LimitExceeded> {
        let Some(terminal) = sources.ended_by_next(run) else { return Ok(None) };
        let parse = sources.parser.feed_lexeme(run.parse, terminal, run.column);
        sources.parser.check()?;
        let Some(parse) = parse else { return Ok(None) };
        let mode = sources.prepared.lex_modes.of_state[sources.parser.top(parse.stack).index()];
        let is_in_brackets = sources.parser.is_in_brackets(parse.layout);
        let end = LexemeEnd { ended: run.configuration, mode, is_in_brackets };
        let begun = self.begun_lexemes.after(sources, end, &self.bytes)?;
        Ok((!self.begun_lexemes.list(begun).is_empty()).then_some(Boundary { parse, begun }))
    }

    fn check_memory(&self, sources: &SearchSources<'_>, frontier: &Frontier) -> Result<(), LimitExceeded> {
        let elsewhere = sources.memory_elsewhere + sources.parser.memory_bytes();
        if elsewhere + self.memory_bytes() + 2 * hash_map_bytes(&frontier.reached) > sources.memory_limit {
            return Err(LimitExceeded::new("memory_bytes", sources.memory_limit));
        }
        Ok(())
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bounds.memory_bytes()
            + hash_map_bytes(&self.raised)
            + hash_map_bytes(&self.lengths)
            + hash_map_bytes(&self.first_bytes)
            + hash_map_bytes(&self.of_set)
            + hash_map_bytes(&self.with_delimited)
            + self.begun_lexemes.memory_bytes()
            + hash_map_bytes(&self.promising)
            + self.upper_bounds.iter().flatten().map(UpperBounds::memory_bytes).sum::<usize>()
    }
}
