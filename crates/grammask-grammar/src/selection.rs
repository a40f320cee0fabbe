//! Selections: some of a list of parts, each at most once, under conditions on which parts come together.
//!
//! The members of an object in any order are 2^n sets of members that can have come already, and `dependentRequired`
//! between 20 pairs of names is 2^20 of them in declared order, so plain rules for them do not exist. A selection stays one
//! node down to the recogniser, which makes a state of it, a [`Progress`], when a text first reaches it: a text of k parts
//! reaches k + 1 of them.
//!
//! Conditions are Horn clauses over "this part comes": all of these need that one, or never come together. What must
//! still come is then the least model, by unit propagation (Dowling and Gallier 1984), so a state that no text
//! completes is never entered. Cost of a step: in the order of the parts and the clauses.

use super::id_type;

id_type! {
    /// A part of a [`Selection`], by its position.
    PartId
}

/// In which order the parts of a [`Selection`] come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartOrder {
    /// In that of the list.
    Listed,
    /// In any.
    Any,
}

/// A condition: where all of `given` come, so does `then`; without one, not all of them come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// Parts that come together.
    pub given: Box<[PartId]>,
    /// The part that they need.
    pub then: Option<PartId>,
}

/// Which parts come, in which order. At least one part comes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    order: PartOrder,
    count: usize,
    /// Parts that may come any number of times.
    repeatable: PartSet,
    /// Parts that must come.
    required: PartSet,
    /// The clauses with a `given`.
    clauses: Box<[Clause]>,
    /// For each clause the position behind all parts that it mentions.
    reach: Box<[usize]>,
    /// Parts in some `given`.
    given: PartSet,
    least: u32,
    most: Option<u32>,
    /// No parts satisfy the conditions, whatever they are.
    is_contradictory: bool,
}

impl Progress {
    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.used.0.len() * size_of::<u64>()
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

    fn retain(&mut self, kept: &Self) {
        self.0.iter_mut().zip(&kept.0).for_each(|(word, kept)| *word &= kept);
    }
}

/// What matters of the parts that have come. Equal values have equal futures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    used: PartSet,
    /// The first part whose turn is not over; 0 where the order is free.
    next: usize,
    /// How many parts have come, as far as that matters.
    count: u32,
}

impl Selection {
    /// A selection of `count` parts, of which those in `repeatable` may come any number of times; `least` to `most`
    /// parts come in all.
    ///
    /// None where it is hard to tell whether anything satisfies the conditions (bounds on the number of parts beside
    /// clauses with a `given`), and where a clause mentions a repeatable part.
    #[must_use]
    pub fn new(
        order: PartOrder,
        count: usize,
        repeatable: &[PartId],
        clauses: Vec<Clause>,
        (least, most): (u32, Option<u32>),
    ) -> Option<Self> {
        let mut many = PartSet::empty(count);
        repeatable.iter().for_each(|&part| many.add(part));
        if clauses.iter().any(|clause| clause.parts().any(|part| many.has(part))) {
            return None;
        }
        let mut given = PartSet::empty(count);
        clauses.iter().flat_map(|clause| &clause.given).for_each(|&part| given.add(part));
        let most = most.filter(|&most| !many.is_empty() || (most as usize) < count);
        let least = if least > 1 { least } else { 0 };
        if (least > 0 || most.is_some()) && !given.is_empty() || most.is_some_and(|most| most < least) {
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
            repeatable: many,
            required,
            clauses,
            reach,
            given,
            least,
            most,
            is_contradictory,
        })
    }

    /// How many parts are listed.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.count
    }

    /// The same with only the parts that `keep` says, and where these were in the list.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(PartId) -> bool) -> (Self, Vec<PartId>) {
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
        let bounds = (self.least, self.most);
        let same_kind = "parts that go take no clause from one kind to another";
        (Self::new(self.order, kept.len(), &repeatable, clauses, bounds).expect(same_kind), kept)
    }

    fn all_clauses(&self) -> impl Iterator<Item = Clause> {
        let required = self.required.parts().map(Some);
        let contradiction = self.is_contradictory.then_some(None);
        let plain = required.chain(contradiction).map(|then| Clause { given: Box::default(), then });
        plain.chain(self.clauses.iter().cloned())
    }

    /// Whether some parts satisfy all conditions.
    #[must_use]
    pub fn is_satisfiable(&self) -> bool {
        let start = self.start();
        self.choices(&start).next().is_some()
    }

    /// Whether some parts, of those that `keep` says, satisfy all conditions.
    #[must_use]
    pub fn is_satisfiable_with(&self, keep: impl Fn(PartId) -> bool) -> bool {
        self.restricted(keep).0.is_satisfiable()
    }

    /// Before the first part.
    #[must_use]
    pub fn start(&self) -> Progress {
        Progress { used: PartSet::empty(self.count), next: 0, count: 0 }
    }

    /// The parts that can come next. Each of them leads to an end, from where `start` and `after` lead.
    pub fn choices(&self, progress: &Progress) -> impl Iterator<Item = PartId> {
        let model = self.needs(&progress.used, progress.next, progress.next, progress.count);
        let is_new = |part: PartId| !progress.used.has(part);
        let until = match (&model, self.order) {
            (None, _) => 0,
            (_, PartOrder::Any) => self.count,
            // What must come is not passed over.
            (Some(model), PartOrder::Listed) => (progress.next..self.count)
                .find(|&index| is_new(PartId::new(index)) && model.has(PartId::new(index)))
                .map_or(self.count, |index| index + 1),
        };
        let is_bounded = self.least > 0 || self.most.is_some();
        // Parts on which nothing depends never make it impossible to end.
        let leads_on = move |part| !is_bounded && !self.given.has(part) || self.goes_on(progress, part);
        (progress.next..until).map(PartId::new).filter(move |&part| is_new(part) && leads_on(part))
    }

    /// After one more part, which is one of the choices.
    #[must_use]
    pub fn after(&self, progress: &Progress, part: PartId) -> Progress {
        let mut after = self.with(progress, part);
        after.count = match (self.least, self.most) {
            (least, None) => after.count.min(least),
            (_, Some(_)) => after.count,
        };
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

    /// Whether no more part need come.
    #[must_use]
    pub fn can_end(&self, progress: &Progress) -> bool {
        let has = |part: &PartId| progress.used.has(*part);
        let is_met = |clause: &Clause| !clause.given.iter().all(has) || clause.then.as_ref().is_some_and(has);
        progress.count >= self.least
            && self.required_left(&progress.used, progress.next).is_empty()
            && self.open_clauses(progress.next).all(is_met)
    }

    fn parts(&self) -> impl Iterator<Item = PartId> + use<> {
        (0..self.count).map(PartId::new)
    }

    /// The clauses that mention parts from a position on; in any order all.
    fn open_clauses(&self, from: usize) -> impl Iterator<Item = &Clause> {
        let is_open = move |reach: usize| self.order == PartOrder::Any || reach > from;
        self.clauses
            .iter()
            .zip(&self.reach)
            .filter(move |&(_, &reach)| is_open(reach))
            .map(|(clause, _)| clause)
    }

    /// The required parts that have not come, from a position on; in any order all.
    fn required_left(&self, used: &PartSet, from: usize) -> PartSet {
        let mut left = self.required.clone();
        left.0.iter_mut().zip(&used.0).for_each(|(word, used)| *word &= !used);
        if self.order == PartOrder::Listed {
            for (index, word) in left.0.iter_mut().enumerate() {
                let before = from.saturating_sub(index * 64).min(64);
                *word = if before == 64 { 0 } else { *word >> before << before };
            }
        }
        left
    }

    fn with(&self, progress: &Progress, part: PartId) -> Progress {
        let mut with = progress.clone();
        with.count += 1;
        let is_repeatable = self.repeatable.has(part);
        if !is_repeatable {
            with.used.add(part);
        }
        if self.order == PartOrder::Listed {
            with.next = part.index() + usize::from(!is_repeatable);
        }
        with
    }

    /// Whether a text can go on with a part and come to an end.
    fn goes_on(&self, progress: &Progress, part: PartId) -> bool {
        let Progress { used, next, count } = self.with(progress, part);
        self.needs(&used, next, progress.next, count).is_some()
    }

    /// All parts that have come or must come; none where that cannot be. Clauses about parts before `decided` hold.
    fn needs(&self, used: &PartSet, next: usize, decided: usize, count: u32) -> Option<PartSet> {
        let mut model = self.required_left(used, decided);
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
                    // In the order of the list its turn may be over.
                    if then.index() < next {
                        return None;
                    }
                    model.add(then);
                    is_complete = false;
                }
            }
        }
        let all = count as usize + model.len() - used.len();
        if self.most.is_some_and(|most| all > most as usize) {
            return None;
        }
        let to_come = || self.parts().skip(next).filter(|&part| !model.has(part));
        let is_enough = all >= self.least as usize
            || to_come().any(|part| self.repeatable.has(part))
            || all + to_come().count() >= self.least as usize;
        is_enough.then_some(model)
    }
}

/// The conditions once more, as they are written, for the reference recogniser and for tests: of parts that have come, sorted.
impl Selection {
    /// Whether parts come in the order in which they are listed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.order == PartOrder::Listed
    }

    /// Whether no part came more often than it may.
    pub fn may_repeat(&self, come: &[PartId]) -> bool {
        come.windows(2).all(|pair| pair[0] != pair[1] || self.repeatable.has(pair[0]))
            && self.most.is_none_or(|most| come.len() <= most as usize)
    }

    /// Whether these parts satisfy all conditions.
    pub fn allows(&self, come: &[PartId]) -> bool {
        let has = |part: &PartId| come.contains(part);
        self.may_repeat(come)
            && come.len() >= self.least as usize
            && self
                .all_clauses()
                .all(|clause| !clause.given.iter().all(has) || clause.then.as_ref().is_some_and(has))
    }

    /// Leaves out repetitions that make no difference to what may follow.
    pub fn shorten(&self, come: &mut Vec<PartId>) {
        let enough = self.most.map_or(self.least as usize, |most| most as usize + 1);
        while come.len() > enough
            && let Some(position) = come.windows(2).position(|pair| pair[0] == pair[1])
        {
            come.remove(position);
        }
    }
}

impl Clause {
    /// All parts that it mentions.
    pub fn parts(&self) -> impl Iterator<Item = PartId> + '_ {
        self.given.iter().copied().chain(self.then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(selection: &Selection, text: &[usize]) -> bool {
        let mut come: Vec<PartId> = text.iter().map(|&part| PartId::new(part)).collect();
        come.sort_unstable();
        let in_order = selection.order == PartOrder::Any || text.is_sorted();
        !text.is_empty() && in_order && selection.allows(&come)
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

    fn check(selection: &Selection) {
        let texts = texts(selection.count, selection.count + 1);
        let complete: Vec<&Vec<usize>> = texts.iter().filter(|text| allowed(selection, text)).collect();
        assert_eq!(selection.is_satisfiable(), !complete.is_empty(), "{selection:?}");
        let mut futures: std::collections::HashMap<Progress, Vec<Vec<usize>>> = Default::default();
        for text in texts.iter().filter(|text| text.len() <= selection.count) {
            let mut progress = selection.start();
            let mut is_possible = true;
            for &part in text {
                is_possible = selection.choices(&progress).any(|choice| choice == PartId::new(part));
                if !is_possible {
                    break;
                }
                progress = selection.after(&progress, PartId::new(part));
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
            assert_eq!(selection.can_end(&progress), allowed(selection, text), "{text:?} of {selection:?}");
            if selection.repeatable.is_empty() {
                let known = futures.entry(progress).or_insert_with(|| rests.clone());
                assert_eq!(*known, rests, "{text:?} of {selection:?}");
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
        let mut made = 0;
        while made < 300 {
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
                check(&selection);
                made += 1;
            }
        }
    }
}
