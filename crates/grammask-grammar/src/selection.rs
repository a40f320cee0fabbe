//! Selections: parts that occur at most once each (or any number of times), under conditions on their combinations.
//!
//! Plain rules for the members of an object in any order need a nonterminal per set of members that have occurred,
//! 2^n for n members; in declared order, `dependentRequired` between 20 pairs of names needs 2^20. So a selection
//! remains a single node down to the recogniser, which makes a [`SelectionState`] when a text first reaches it: a
//! text of k parts needs k + 1 of them.
//!
//! Conditions are Horn clauses over "part p occurs": some parts together require another, or exclude each other. The
//! parts that must still occur are the least model, computed by unit propagation (Dowling and Gallier, "Linear-time
//! algorithms for testing the satisfiability of propositional Horn formulae", 1984). So a state that no text can
//! complete is never entered. Cost of a step: linear in the number of parts and clauses, for each candidate part.
//!
//! In any order there are also *choices*: "at least one of these parts occurs", for parts of which some exclude each
//! other, such as the values of one member. They are not Horn clauses, so they are admitted only where they are easy: in
//! each group of parts that exclude each other, one part meets all choices that any of them meets. So a choice can be
//! met as long as a part of it is in a group that has not occurred.

use super::id_type;

id_type! {
    /// A part of a [`Selection`], by its position.
    PartId
}

/// The order of the parts of a [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartOrder {
    /// The order of the list.
    Listed,
    /// Any order.
    Any,
}

/// A Horn clause: if all parts of `given` occur, `then` occurs too; without `then`, they do not all occur.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// The premise.
    pub given: Box<[PartId]>,
    /// The conclusion; `None` is falsity.
    pub then: Option<PartId>,
}

/// Bounds on the number of parts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartCountBounds {
    /// Minimum number of parts.
    pub min: u32,
    /// Maximum number of parts; `None` is unbounded.
    pub max: Option<u32>,
}

impl From<(u32, Option<u32>)> for PartCountBounds {
    fn from(bounds: (u32, Option<u32>)) -> Self {
        Self { min: bounds.0, max: bounds.1 }
    }
}

/// The possible sequences of parts, which are never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    order: PartOrder,
    count: usize,
    /// Parts that may occur any number of times.
    repeatable: PartSet,
    /// Parts that must occur: the conclusions of clauses without a premise.
    required: PartSet,
    /// The clauses with a premise.
    clauses: Box<[Clause]>,
    /// For each clause, the position after the last part that it mentions.
    reach: Box<[usize]>,
    /// The parts in premises.
    given: PartSet,
    bounds: PartCountBounds,
    /// There is a clause with neither premise nor conclusion, or a choice without parts.
    is_contradictory: bool,
    choices: PartChoices,
}

/// Choices, and groups of parts that exclude each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct PartChoices {
    /// For each part, the first part of its group. Empty if there are no groups.
    group: Box<[PartId]>,
    /// For each choice, the parts that meet it.
    one_of: Box<[PartSet]>,
}

impl PartChoices {
    /// The first part of the group of a part.
    fn group_of(&self, part: PartId) -> PartId {
        self.group.get(part.index()).copied().unwrap_or(part)
    }

    /// Whether in each group one part meets all choices that any of them meets.
    fn are_easy(&self) -> bool {
        let parts = || (0..self.group.len()).map(PartId::new);
        let meets = |part: PartId| {
            let met = self.one_of.iter().enumerate().filter(move |(_, parts)| parts.has(part));
            met.map(|(index, _)| index).collect::<Vec<usize>>()
        };
        let mut of_groups: Vec<(usize, usize, Vec<usize>)> = parts()
            .filter(|&part| self.group.iter().filter(|&&group| group == self.group_of(part)).count() > 1)
            .map(|part| {
                let met = meets(part);
                (self.group_of(part).index(), usize::MAX - met.len(), met)
            })
            .collect();
        of_groups.sort_unstable();
        // The first of a group meets most.
        of_groups
            .chunk_by(|one, other| one.0 == other.0)
            .all(|group| group.iter().all(|(_, _, met)| met.iter().all(|choice| group[0].2.contains(choice))))
    }
}

/// A set of parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PartSet(Box<[u64]>);

impl PartSet {
    fn empty(parts: usize) -> Self {
        Self(vec![0; parts.div_ceil(64)].into())
    }

    fn has(&self, part: PartId) -> bool {
        self.0[part.index() / 64] >> (part.index() % 64) & 1 == 1
    }

    fn add(&mut self, part: PartId) {
        self.0[part.index() / 64] |= 1 << (part.index() % 64);
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn parts(&self) -> impl Iterator<Item = PartId> {
        let words = self.0.iter().enumerate().filter(|&(_, &word)| word != 0);
        words.flat_map(|(index, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| PartId::new(index * 64 + bit))
        })
    }

    fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(word, other)| word & other != 0)
    }

    fn retain(&mut self, kept: &Self) {
        self.0.iter_mut().zip(&kept.0).for_each(|(word, kept)| *word &= kept);
    }
}

/// The state after some parts: the information about them on which the possible continuations depend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SelectionState {
    /// The parts that have occurred, the first one in place of each group; those that no open clause mentions may be
    /// omitted.
    used: PartSet,
    /// The choices that are met, by their number.
    met: PartSet,
    /// The first part that may still occur; 0 if the order is free.
    next: usize,
    /// The number of parts that have occurred, capped where it has no further effect.
    count: u32,
}

impl SelectionState {
    /// Memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + (self.used.0.len() + self.met.0.len()) * size_of::<u64>()
    }
}

impl Selection {
    /// A selection of `count` parts, of which those in `repeatable` may occur any number of times, and with `bounds` on
    /// the number of parts of a text.
    ///
    /// `None` if satisfiability would be hard to decide (bounds on the number of parts together with clauses that
    /// have a premise), and if a clause mentions a repeatable part.
    #[must_use]
    pub fn new(
        order: PartOrder,
        count: usize,
        repeatable: &[PartId],
        clauses: Vec<Clause>,
        bounds: impl Into<PartCountBounds>,
    ) -> Option<Self> {
        let PartCountBounds { min, max } = bounds.into();
        let mut repeatable_parts = PartSet::empty(count);
        repeatable.iter().for_each(|&part| repeatable_parts.add(part));
        if clauses.iter().any(|clause| clause.parts().any(|part| repeatable_parts.has(part))) {
            return None;
        }
        let mut given = PartSet::empty(count);
        clauses.iter().flat_map(|clause| &clause.given).for_each(|&part| given.add(part));
        // Bounds without effect are dropped, so that they do not prevent clauses.
        let max = max.filter(|&max| !repeatable_parts.is_empty() || (max as usize) < count);
        let min = if min > 1 { min } else { 0 };
        if (min > 0 || max.is_some()) && !given.is_empty() || max.is_some_and(|max| max < min) {
            return None;
        }
        let mut required = PartSet::empty(count);
        let mut is_contradictory = false;
        let mut conditional = Vec::new();
        for clause in clauses {
            match (&clause.given[..], clause.then) {
                ([], None) => is_contradictory = true,
                ([], Some(part)) => required.add(part),
                _ => conditional.push(clause),
            }
        }
        let clauses = conditional;
        let reach =
            clauses.iter().map(|clause| clause.parts().map(|part| part.index() + 1).max().unwrap_or(0));
        let reach = reach.collect();
        let clauses = clauses.into();
        Some(Self {
            order,
            count,
            repeatable: repeatable_parts,
            required,
            clauses,
            reach,
            given,
            bounds: PartCountBounds { min, max },
            is_contradictory,
            choices: PartChoices::default(),
        })
    }

    /// The selection with choices: of each list of `one_of`, at least one part occurs. The parts of each list of `groups`
    /// exclude each other.
    ///
    /// `None` if satisfiability would be hard to decide: in listed order, with clauses that have a premise, with bounds
    /// on the number of parts, if a part of a group is required or repeatable, and if no part of some group meets all
    /// choices that the parts of the group meet.
    #[must_use]
    pub fn with_choices(mut self, groups: &[Vec<PartId>], one_of: &[Vec<PartId>]) -> Option<Self> {
        let set_of = |parts: &[PartId]| {
            let mut set = PartSet::empty(self.count);
            parts.iter().for_each(|&part| set.add(part));
            set
        };
        let mut group: Vec<PartId> = self.parts().collect();
        for parts in groups {
            parts.iter().for_each(|&part| group[part.index()] = parts[0]);
        }
        let grouped = set_of(&groups.concat());
        let choices =
            PartChoices { group: group.into(), one_of: one_of.iter().map(|parts| set_of(parts)).collect() };
        let is_easy = self.order == PartOrder::Any
            && self.clauses.is_empty()
            && self.bounds == (PartCountBounds { min: 0, max: None })
            && !grouped.intersects(&self.required)
            && !grouped.intersects(&self.repeatable)
            && choices.are_easy();
        self.is_contradictory |= one_of.iter().any(Vec::is_empty);
        self.choices = choices;
        is_easy.then_some(self)
    }

    /// The order of the parts.
    #[must_use]
    pub fn order(&self) -> PartOrder {
        self.order
    }

    /// The selection restricted to the parts for which `keep` holds, and their former positions; `None` if its choices
    /// would be hard to decide.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(PartId) -> bool) -> Option<(Self, Vec<PartId>)> {
        let kept: Vec<PartId> = self.parts().filter(|&part| keep(part)).collect();
        let mut moved = vec![None; self.count];
        kept.iter().enumerate().for_each(|(new, part)| moved[part.index()] = Some(PartId::new(new)));
        let clauses = self.all_clauses().filter_map(|clause| {
            let given = clause.given.iter().map(|part| moved[part.index()]).collect::<Option<_>>()?;
            Some(Clause { given, then: clause.then.and_then(|part| moved[part.index()]) })
        });
        let repeatable: Vec<PartId> = kept
            .iter()
            .filter(|part| self.repeatable.has(**part))
            .filter_map(|part| moved[part.index()])
            .collect();
        let clauses: Vec<Clause> = clauses.collect();
        let restricted = Self::new(self.order, kept.len(), &repeatable, clauses, self.bounds);
        let restricted =
            restricted.expect("the conditions of `new` hold for a subset of the parts and clauses");
        if self.choices == PartChoices::default() {
            return Some((restricted, kept));
        }
        let mut groups: Vec<Vec<PartId>> = vec![Vec::new(); self.count];
        for &part in &kept {
            groups[self.choices.group_of(part).index()].extend(moved[part.index()]);
        }
        groups.retain(|parts| parts.len() > 1);
        let of_choice = |parts: &PartSet| parts.parts().filter_map(|part| moved[part.index()]).collect();
        let one_of: Vec<Vec<PartId>> = self.choices.one_of.iter().map(of_choice).collect();
        Some((restricted.with_choices(&groups, &one_of)?, kept))
    }

    fn all_clauses(&self) -> impl Iterator<Item = Clause> {
        let required = self.required.parts().map(Some);
        let contradiction = self.is_contradictory.then_some(None);
        let plain = required.chain(contradiction).map(|then| Clause { given: Box::default(), then });
        plain.chain(self.clauses.iter().cloned())
    }

    /// Whether some sequence of parts satisfies all conditions.
    #[must_use]
    pub fn is_satisfiable(&self) -> bool {
        let start = self.start();
        self.choices(&start).next().is_some()
    }

    /// Whether some sequence of the parts for which `keep` holds satisfies all conditions. True if this would be hard to
    /// decide.
    #[must_use]
    pub fn is_satisfiable_with(&self, keep: impl Fn(PartId) -> bool) -> bool {
        self.restricted(keep).is_none_or(|(restricted, _)| restricted.is_satisfiable())
    }

    /// The state before the first part.
    #[must_use]
    pub fn start(&self) -> SelectionState {
        let met = PartSet::empty(self.choices.one_of.len());
        SelectionState { used: PartSet::empty(self.count), met, next: 0, count: 0 }
    }

    /// The parts that can occur next, in a state that `start` or `after` returned. A text can be completed after each.
    pub fn choices(&self, state: &SelectionState) -> impl Iterator<Item = PartId> {
        let model = self.needs(state, state.next);
        let is_new = |part: PartId| !state.used.has(self.choices.group_of(part));
        let until = match (&model, self.order) {
            (None, _) => 0,
            (_, PartOrder::Any) => self.count,
            // A part that must occur cannot be skipped.
            (Some(model), PartOrder::Listed) => (state.next..self.count)
                .find(|&index| is_new(PartId::new(index)) && model.has(PartId::new(index)))
                .map_or(self.count, |index| index + 1),
        };
        let is_restricted =
            self.bounds.min > 0 || self.bounds.max.is_some() || !self.choices.one_of.is_empty();
        // A part that is in no premise cannot make the clauses unsatisfiable.
        let is_completable =
            move |part| !is_restricted && !self.given.has(part) || self.is_completable_after(state, part);
        (state.next..until).map(PartId::new).filter(move |&part| is_new(part) && is_completable(part))
    }

    /// The state after one of the [`choices`](Self::choices).
    #[must_use]
    pub fn after(&self, state: &SelectionState, part: PartId) -> SelectionState {
        let mut after = self.with(state, part);
        if self.bounds.max.is_none() {
            after.count = after.count.min(self.bounds.min);
        }
        if self.order == PartOrder::Listed {
            let mut kept = PartSet::empty(self.count);
            for (clause, _) in self.clauses.iter().zip(&self.reach).filter(|&(_, &reach)| reach > after.next)
            {
                let is_over = |part: &PartId| part.index() < after.next && !after.used.has(*part);
                if !clause.given.iter().any(is_over) {
                    clause.parts().for_each(|part| kept.add(part));
                }
            }
            after.used.retain(&kept);
        }
        after
    }

    /// Whether the text may end here.
    #[must_use]
    pub fn can_end(&self, state: &SelectionState) -> bool {
        let has = |part: &PartId| state.used.has(*part);
        let is_satisfied =
            |clause: &Clause| !clause.given.iter().all(has) || clause.then.as_ref().is_some_and(has);
        state.count >= self.bounds.min
            && state.met.len() == self.choices.one_of.len()
            && self.missing_required(&state.used, state.next).is_empty()
            && self.open_clauses(state.next).all(is_satisfied)
    }

    /// The minimum total cost of the parts that must follow in a state that `after` returned, where `cost` is that of
    /// one part; `None` if they include a part without a cost.
    ///
    /// Every completion has the other parts of the least model. They suffice unless there is a minimum number of parts;
    /// then the cheapest others are added, which no clause prevents. Choices are met one by one, each by its cheapest part
    /// among those that meet most in their group, which is an upper bound: reading one of these parts reduces it by at
    /// least the cost of the part.
    pub fn min_cost(&self, state: &SelectionState, cost: impl Fn(PartId) -> Option<u64>) -> Option<u64> {
        let model = self.needs(state, state.next)?;
        let mut following = model.clone();
        following.0.iter_mut().zip(&state.used.0).for_each(|(word, used)| *word &= !used);
        for choice in self.open_choices(state) {
            if !following.intersects(choice) {
                let candidates = choice.parts().filter(|&part| self.meets_most(part));
                let candidates = candidates.filter(|&part| !state.used.has(self.choices.group_of(part)));
                following.add(candidates.filter_map(|part| Some((cost(part)?, part))).min()?.1);
            }
        }
        let mut total: u64 = 0;
        for part in following.parts() {
            total = total.saturating_add(cost(part)?);
        }
        let mut missing = u64::from(self.bounds.min.saturating_sub(state.count));
        missing = missing.saturating_sub(following.len() as u64);
        if missing == 0 {
            return Some(total);
        }
        let optional = || self.parts().skip(state.next).filter(|&part| !model.has(part));
        let repeated = optional().filter(|&part| self.repeatable.has(part)).filter_map(&cost).min();
        let single = optional().filter(|&part| !self.repeatable.has(part)).filter_map(&cost);
        let mut single: Vec<u64> =
            single.filter(|&own| repeated.is_none_or(|repeated| own < repeated)).collect();
        single.sort_unstable();
        for own in single.into_iter().take(usize::try_from(missing).unwrap_or(usize::MAX)) {
            total = total.saturating_add(own);
            missing -= 1;
        }
        match (missing, repeated) {
            (0, _) => Some(total),
            (_, Some(repeated)) => Some(total.saturating_add(repeated.saturating_mul(missing))),
            (_, None) => None,
        }
    }

    /// An upper bound of [`min_cost`](Self::min_cost) over all states; `None` if some part has no cost.
    pub fn max_min_cost(&self, cost: impl Fn(PartId) -> Option<u64>) -> Option<u64> {
        let mut forced = self.required.clone();
        self.clauses.iter().filter_map(|clause| clause.then).for_each(|part| forced.add(part));
        self.choices.one_of.iter().flat_map(PartSet::parts).for_each(|part| forced.add(part));
        let (mut total, mut maximum): (u64, u64) = (0, 0);
        for part in self.parts() {
            let own = cost(part)?;
            maximum = maximum.max(own);
            total = total.saturating_add(if forced.has(part) { own } else { 0 });
        }
        Some(total.saturating_add(maximum.saturating_mul(u64::from(self.bounds.min))))
    }

    fn parts(&self) -> impl Iterator<Item = PartId> + use<> {
        (0..self.count).map(PartId::new)
    }

    /// The choices that are not met.
    fn open_choices(&self, state: &SelectionState) -> impl Iterator<Item = &PartSet> {
        let choices = self.choices.one_of.iter().enumerate();
        choices.filter(|&(index, _)| !state.met.has(PartId::new(index))).map(|(_, parts)| parts)
    }

    /// Whether a part meets all choices that the parts of its group meet.
    fn meets_most(&self, part: PartId) -> bool {
        let group = self.choices.group_of(part);
        let in_group = |other: PartId| self.choices.group_of(other) == group;
        self.choices.one_of.iter().all(|choice| choice.has(part) || !choice.parts().any(in_group))
    }

    /// The clauses that mention parts at or after a position; all clauses if the order is free.
    fn open_clauses(&self, from: usize) -> impl Iterator<Item = &Clause> {
        let is_open = move |reach: usize| self.order == PartOrder::Any || reach > from;
        self.clauses
            .iter()
            .zip(&self.reach)
            .filter(move |&(_, &reach)| is_open(reach))
            .map(|(clause, _)| clause)
    }

    /// The required parts at or after a position that have not occurred; all such parts if the order is free.
    fn missing_required(&self, used: &PartSet, from: usize) -> PartSet {
        let mut missing = self.required.clone();
        missing.0.iter_mut().zip(&used.0).for_each(|(word, used)| *word &= !used);
        if self.order == PartOrder::Listed {
            for (index, word) in missing.0.iter_mut().enumerate() {
                let before = from.saturating_sub(index * 64).min(64);
                *word = if before == 64 { 0 } else { *word >> before << before };
            }
        }
        missing
    }

    /// The state with one more part, before [`after`](Self::after) drops information.
    fn with(&self, state: &SelectionState, part: PartId) -> SelectionState {
        let mut with = state.clone();
        with.count += 1;
        let is_repeatable = self.repeatable.has(part);
        if !is_repeatable {
            with.used.add(self.choices.group_of(part));
        }
        for (index, choice) in self.choices.one_of.iter().enumerate() {
            if choice.has(part) {
                with.met.add(PartId::new(index));
            }
        }
        if self.order == PartOrder::Listed {
            with.next = part.index() + usize::from(!is_repeatable);
        }
        with
    }

    /// Whether a text can continue with a part and be completed.
    fn is_completable_after(&self, state: &SelectionState, part: PartId) -> bool {
        self.needs(&self.with(state, part), state.next).is_some()
    }

    /// The least model: the parts that have occurred or must occur. `None` if the conditions are unsatisfiable.
    /// Clauses that mention only parts before `decided` are known to hold.
    fn needs(&self, state: &SelectionState, decided: usize) -> Option<PartSet> {
        let &SelectionState { ref used, next, count, .. } = state;
        let is_open = |part: PartId| !used.has(self.choices.group_of(part));
        if self.open_choices(state).any(|choice| !choice.parts().any(is_open)) {
            return None;
        }
        let mut model = self.missing_required(used, decided);
        if self.is_contradictory || model.parts().next().is_some_and(|part| part.index() < next) {
            return None;
        }
        model.0.iter_mut().zip(&used.0).for_each(|(word, used)| *word |= used);
        let mut is_complete = false;
        while !std::mem::replace(&mut is_complete, true) {
            for clause in self.open_clauses(decided) {
                if !clause.given.iter().all(|&part| model.has(part)) {
                    continue;
                }
                let then = clause.then?;
                if !model.has(then) {
                    // The part is before `next`, so it can no longer occur.
                    if then.index() < next {
                        return None;
                    }
                    model.add(then);
                    is_complete = false;
                }
            }
        }
        let all = count as usize + model.len() - used.len();
        if self.bounds.max.is_some_and(|max| all > max as usize) {
            return None;
        }
        let optional = || self.parts().skip(next).filter(|&part| !model.has(part));
        let min = self.bounds.min as usize;
        let is_min_reachable =
            all >= min || optional().any(|part| self.repeatable.has(part)) || all + optional().count() >= min;
        is_min_reachable.then_some(model)
    }
}

/// The conditions by definition, on the sorted list of all parts of a text, for the reference recogniser and tests.
impl Selection {
    /// Whether parts occur in the order of the list.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.order == PartOrder::Listed
    }

    /// Whether no part occurs too often, and not too many occur.
    pub fn may_repeat(&self, occurred: &[PartId]) -> bool {
        let are_compatible = |one: &PartId, other: &PartId| {
            one == other || self.choices.group_of(*one) != self.choices.group_of(*other)
        };
        occurred.windows(2).all(|pair| pair[0] != pair[1] || self.repeatable.has(pair[0]))
            && occurred.iter().all(|one| occurred.iter().all(|other| are_compatible(one, other)))
            && self.bounds.max.is_none_or(|max| occurred.len() <= max as usize)
    }

    /// Whether the parts satisfy all conditions.
    pub fn allows(&self, occurred: &[PartId]) -> bool {
        let has = |part: &PartId| occurred.contains(part);
        self.may_repeat(occurred)
            && occurred.len() >= self.bounds.min as usize
            && self.choices.one_of.iter().all(|parts| parts.parts().any(|part| has(&part)))
            && self
                .all_clauses()
                .all(|clause| !clause.given.iter().all(has) || clause.then.as_ref().is_some_and(has))
    }

    /// Removes repetitions that do not affect the possible continuations.
    pub fn shorten(&self, occurred: &mut Vec<PartId>) {
        let significant = self.bounds.max.map_or(self.bounds.min as usize, |max| max as usize + 1);
        while occurred.len() > significant
            && let Some(position) = occurred.windows(2).position(|pair| pair[0] == pair[1])
        {
            occurred.remove(position);
        }
    }
}

impl Clause {
    /// All parts that the clause mentions.
    pub fn parts(&self) -> impl Iterator<Item = PartId> + '_ {
        self.given.iter().copied().chain(self.then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(selection: &Selection, text: &[usize]) -> bool {
        let mut occurred: Vec<PartId> = text.iter().map(|&part| PartId::new(part)).collect();
        occurred.sort_unstable();
        let in_order = selection.order == PartOrder::Any || text.is_sorted();
        !text.is_empty() && in_order && selection.allows(&occurred)
    }

    fn texts(count: usize, length: usize) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..length {
            let until = all.len();
            for text in from..until {
                for part in 0..count {
                    let mut longer = all[text].clone();
                    longer.push(part);
                    all.push(longer);
                }
            }
            from = until;
        }
        all
    }

    /// Compares the states with the conditions by definition, on texts of up to `length` parts.
    fn check(selection: &Selection, length: usize) {
        let texts = texts(selection.count, length);
        let complete: Vec<&Vec<usize>> = texts.iter().filter(|text| allowed(selection, text)).collect();
        assert_eq!(selection.is_satisfiable(), !complete.is_empty(), "{selection:?}");
        let mut futures: std::collections::HashMap<SelectionState, Vec<Vec<usize>>> = Default::default();
        for text in texts.iter().filter(|text| text.len() <= selection.count) {
            let mut state = selection.start();
            let mut is_possible = true;
            for &part in text {
                is_possible = selection.choices(&state).any(|choice| choice == PartId::new(part));
                if !is_possible {
                    break;
                }
                state = selection.after(&state, PartId::new(part));
            }
            let rests: Vec<Vec<usize>> = complete
                .iter()
                .filter_map(|whole| whole.strip_prefix(&text[..]).map(<[usize]>::to_vec))
                .filter(|rest| text.len() + rest.len() <= selection.count)
                .collect();
            let is_prefix = complete.iter().any(|whole| whole.starts_with(text));
            assert_eq!(
                is_possible && (!text.is_empty() || is_prefix),
                is_prefix,
                "{text:?} of {selection:?}"
            );
            if !is_possible || text.is_empty() {
                continue;
            }
            assert_eq!(selection.can_end(&state), allowed(selection, text), "{text:?} of {selection:?}");
            // With repeatable parts, completions of longer texts can be longer than all of `texts`.
            if selection.repeatable.is_empty() || text.len() == 1 {
                let cost = |part: usize| [Some(3), Some(1), None, Some(5)][part];
                let costs = complete
                    .iter()
                    .filter_map(|whole| whole.strip_prefix(&text[..]))
                    .filter_map(|rest| rest.iter().try_fold(0, |total, &part| Some(total + cost(part)?)));
                let found = selection.min_cost(&state, |part| cost(part.index()));
                match selection.choices.one_of.len() {
                    0 => assert_eq!(found, costs.min(), "{text:?} of {selection:?}"),
                    _ => assert!(found.is_none_or(|found| costs.min().is_some_and(|least| least <= found))),
                }
                let bound = selection.max_min_cost(|part| cost(part.index()));
                assert!(bound.is_none_or(|bound| found.is_some_and(|found| found <= bound)));
            }
            if selection.repeatable.is_empty() {
                let first_rests = futures.entry(state).or_insert_with(|| rests.clone());
                assert_eq!(*first_rests, rests, "{text:?} of {selection:?}");
            }
        }
    }

    #[test]
    fn follows_its_conditions() {
        // A small generator of pseudo-random numbers (Knuth's MMIX constants).
        let mut seed = 1_u64;
        let mut below = move |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound
        };
        let mut checked = 0;
        while checked < 300 {
            let count = 1 + below(4);
            let order = [PartOrder::Listed, PartOrder::Any][below(2)];
            let part = |below: &mut dyn FnMut(usize) -> usize| PartId::new(below(count));
            let clauses = (0..below(4))
                .map(|_| Clause {
                    given: (0..below(3)).map(|_| part(&mut below)).collect(),
                    then: (below(3) > 0).then(|| part(&mut below)),
                })
                .collect();
            let repeatable: Vec<PartId> = (0..below(2)).map(|_| part(&mut below)).collect();
            let bounds = (below(3) as u32, (below(3) == 0).then(|| below(5) as u32));
            if let Some(selection) = Selection::new(order, count, &repeatable, clauses, bounds) {
                check(&selection, count + 1);
                checked += 1;
            }
        }
    }

    #[test]
    fn follows_its_choices() {
        let mut seed = 2_u64;
        let mut below = move |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound
        };
        let mut checked = 0;
        while checked < 300 {
            let count = 1 + below(3);
            let part = |below: &mut dyn FnMut(usize) -> usize| PartId::new(below(count));
            let required =
                (0..below(2)).map(|_| Clause { given: Box::default(), then: Some(part(&mut below)) });
            let clauses = required.collect();
            let repeatable: Vec<PartId> = (0..below(2)).map(|_| part(&mut below)).collect();
            let mut group: Vec<PartId> = (0..below(4)).map(|_| part(&mut below)).collect();
            group.sort_unstable();
            group.dedup();
            let groups = if group.len() > 1 { vec![group] } else { Vec::new() };
            let one_of: Vec<Vec<PartId>> =
                (0..below(4)).map(|_| (0..1 + below(3)).map(|_| part(&mut below)).collect()).collect();
            let selection = Selection::new(PartOrder::Any, count, &repeatable, clauses, (0, None));
            let selection = selection.and_then(|selection| selection.with_choices(&groups, &one_of));
            if let Some(selection) = selection {
                // A repeated part may be followed by all others.
                check(&selection, 2 * count);
                checked += 1;
            }
        }
    }
}
