//! From value sets to rules: one rule for each value set and depth, created on demand from a worklist.

use rustc_hash::FxHashMap;

use crate::Whitespace;
use crate::emit::punctuation::{Punctuation, PunctuationTable};
use crate::emit::rules::{PartSequence, RuleId, RulePart, Rules, RulesCheckpoint, VALUE};
use crate::members::arrays::array_alternatives;
use crate::members::objects::object_alternatives;
use crate::values::formula::truth;
use crate::values::literals::ValueFormula;
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// The rules of one translation. It reads value sets and adds rules.
pub(crate) struct Emitter {
    pub(crate) rules: Rules,
    punctuation: PunctuationTable,
    /// Memo table of rules by value set and depth.
    value_rules: FxHashMap<(ValueSet, u32), RuleId>,
    /// Memo table of rules for parts.
    rules_of_parts: FxHashMap<PartSequence, RuleId>,
    /// Rules of values without alternatives yet.
    pending: Vec<PendingValue>,
}

/// A rule to be defined: the values of `set` at `depth`.
struct PendingValue {
    set: ValueSet,
    depth: u32,
    rule: RuleId,
}

/// The rules of an [`Emitter`] at some time.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    rules: RulesCheckpoint,
    pending: usize,
}

impl Emitter {
    pub(crate) fn new(whitespace: Whitespace) -> Self {
        Self {
            rules: Rules::default(),
            punctuation: PunctuationTable::new(whitespace),
            value_rules: FxHashMap::default(),
            rules_of_parts: FxHashMap::default(),
            pending: Vec::new(),
        }
    }

    /// Emits the start rule, for values that satisfy `root`, and all rules that it refers to.
    pub(crate) fn emit(
        &mut self,
        sets: &mut ValueSets<'_>,
        root: ValueFormula,
    ) -> Result<RuleId, LimitExceeded> {
        let set = sets.of_formula(root)?;
        let start = self.value_rule(set, 0);
        while let Some(PendingValue { set, depth, rule }) = self.pending.pop() {
            self.check_limits(sets)?;
            let alternatives = self.alternatives(sets, set, depth)?;
            self.rules.define(rule, alternatives);
        }
        Ok(start)
    }

    /// The rules so far. Only rules may be added before [`Self::restore`], none defined.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { rules: self.rules.checkpoint(), pending: self.pending.len() }
    }

    /// Drops the rules since a checkpoint, to which nothing may refer.
    pub(crate) fn restore(&mut self, checkpoint: Checkpoint) {
        self.pending.truncate(checkpoint.pending);
        self.rules.restore(checkpoint.rules);
        let rules = &self.rules;
        self.value_rules.retain(|_, rule| rules.contains(*rule));
        self.rules_of_parts.retain(|_, rule| rules.contains(*rule));
    }

    /// Fails if the translation has exceeded a limit.
    pub(crate) fn check_limits(&self, sets: &mut ValueSets<'_>) -> Result<(), LimitExceeded> {
        sets.check_limits_with(self.rules.size())
    }

    /// The parts of a value that satisfies `value`; `None` if its set is plainly empty.
    pub(crate) fn value_parts(
        &mut self,
        sets: &mut ValueSets<'_>,
        value: ValueFormula,
        depth: u32,
    ) -> Result<Option<PartSequence>, LimitExceeded> {
        let set = sets.of_formula(value)?;
        if sets.is_plainly_empty(set)? {
            return Ok(None);
        }
        if !set.has_containers() {
            let mut texts = scalar_alternatives(sets, set)?;
            if texts.len() == 1 {
                return Ok(texts.pop());
            }
        }
        Ok(Some(vec![RulePart::Rule(self.value_rule(set, depth))]))
    }

    /// A rule for `parts`: equal parts have the same rule.
    pub(crate) fn rule_of(&mut self, parts: &PartSequence) -> RuleId {
        if let [RulePart::Rule(rule)] = parts[..] {
            return rule;
        }
        let Self { rules, rules_of_parts, .. } = self;
        *rules_of_parts.entry(parts.clone()).or_insert_with(|| rules.add("text", [parts.clone()]))
    }

    /// The punctuation of arrays and objects whose children are at `depth`.
    pub(crate) fn punctuation(&mut self, languages: &mut ScalarLanguages, depth: u32) -> Punctuation {
        self.punctuation.at_depth(languages.automata.terms_mut(), &mut self.rules, depth)
    }

    /// The rule of the values of `set` at `depth`.
    fn value_rule(&mut self, set: ValueSet, depth: u32) -> RuleId {
        if let Some(&rule) = self.value_rules.get(&(set, depth)) {
            return rule;
        }
        let rule = self.rules.reserve(VALUE);
        self.value_rules.insert((set, depth), rule);
        self.pending.push(PendingValue { set, depth, rule });
        rule
    }

    fn alternatives(
        &mut self,
        sets: &mut ValueSets<'_>,
        set: ValueSet,
        depth: u32,
    ) -> Result<Vec<PartSequence>, LimitExceeded> {
        let mut alternatives = scalar_alternatives(sets, set)?;
        if let Some(depth) = self.punctuation.child_depth(depth) {
            for part in sets.formulas.arrays.disjuncts(set.array) {
                alternatives.extend(array_alternatives(sets, self, part, depth)?);
            }
            for part in sets.formulas.objects.disjuncts(set.object) {
                alternatives.extend(object_alternatives(sets, self, part, depth)?);
            }
        } else {
            // Above the bound on indentation only empty arrays and objects are emitted.
            let terms = sets.languages.automata.terms_mut();
            if sets.formulas.arrays.disjuncts(set.array).contains(&truth()) {
                alternatives.push(vec![RulePart::Markup(terms.literal(b"[]"))]);
            }
            if sets.formulas.objects.disjuncts(set.object).contains(&truth()) {
                alternatives.push(vec![RulePart::Markup(terms.literal(b"{}"))]);
            }
        }
        Ok(alternatives)
    }
}

/// Null, booleans and numbers as one language and strings as another, so that cached summaries of a string language are
/// shared.
fn scalar_alternatives(sets: &mut ValueSets<'_>, set: ValueSet) -> Result<Vec<PartSequence>, LimitExceeded> {
    let languages = &mut sets.languages;
    let has_numbers = !languages.is_empty(set.number.yes)?;
    let numbers = if has_numbers { Some(languages.number_texts(set.number)?) } else { None };
    let has_strings = !languages.is_empty(set.string.yes)?;
    let string = if has_strings { languages.without_excluded_words(set.string.yes)? } else { None };
    let terms = languages.automata.terms_mut();
    let mut literals = Vec::new();
    if set.null {
        literals.push(terms.literal(b"null"));
    }
    if set.booleans.truth {
        literals.push(terms.literal(b"true"));
    }
    if set.booleans.falsehood {
        literals.push(terms.literal(b"false"));
    }
    literals.extend(numbers);
    let mut alternatives = Vec::new();
    if !literals.is_empty() {
        alternatives.push(vec![RulePart::Text(terms.union(&literals))]);
    }
    if let Some(string) = string {
        let quote = terms.literal(b"\"");
        let text = terms.concat(&[quote, string, quote]);
        alternatives.push(match sets.reader.max_tokens(set.string_tokens) {
            None => vec![RulePart::Text(text)],
            Some(tokens) => {
                let quote = RulePart::Markup(quote);
                vec![quote, RulePart::Limited { term: string, tokens }, quote]
            }
        });
    }
    Ok(alternatives)
}
