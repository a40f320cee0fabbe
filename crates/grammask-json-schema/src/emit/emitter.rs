//! From value sets to rules: one rule for each value set and depth, created on demand from a worklist.

use rustc_hash::FxHashMap;

use crate::Whitespace;
use crate::emit::positions::ValuePosition;
use crate::emit::punctuation::{Punctuation, PunctuationTable};
use crate::emit::rules::{PartSequence, RuleId, RulePart, Rules, RulesCheckpoint, VALUE};
use crate::emit::shared_residuals::SharedResiduals;
use crate::keywords::{ScalarType, alternatives, described, encoded_strings, regular_texts};
use crate::strings::string_encoding::EncodingKind;
use crate::values::formula::{FormulaArena, truth};
use crate::values::literals::ValueFormula;
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::string_formula::{
    Content, ContentTexts, StringAssertion, StringCase, StringFormula, Strings, cases,
};
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// Bound on the depth of encoded contents in each other, which is recursion here.
const MAX_CONTENT_DEPTH: usize = 8;

/// The right-hand sides of the arrays and objects of a value set whose items and members are at a position.
pub(crate) type ContainerAlternatives =
    fn(&mut ValueSets<'_>, &mut Emitter, ValueSet, ValuePosition) -> Result<Vec<PartSequence>, LimitExceeded>;

/// The rules of one translation. It reads value sets and adds rules.
pub(crate) struct Emitter {
    pub(crate) rules: Rules,
    punctuation: PunctuationTable,
    /// The translation of arrays and objects, which is a layer above this one.
    container_alternatives: ContainerAlternatives,
    /// Memo table of rules by value set and position.
    value_rules: FxHashMap<(ValueSet, ValuePosition), RuleId>,
    /// Memo table of [`Self::value_parts`]: many members have the same type.
    value_parts: FxHashMap<(ValueFormula, ValuePosition), Option<PartSequence>>,
    /// Memo table of rules for parts.
    rules_of_parts: FxHashMap<PartSequence, RuleId>,
    pub(crate) shared_residuals: SharedResiduals,
    /// Rules of values without alternatives yet.
    pending: Vec<PendingValue>,
    /// The rules of the JSON texts that strings hold.
    pub(crate) json_contents: FxHashMap<RuleId, ValueFormula>,
    /// Memo table of the strings that hold an encoded content; `None` if they are not regular.
    regular_contents: FxHashMap<Content, Option<TermId>>,
    /// The number of encoded contents around the text.
    content_depth: usize,
}

/// A rule to be defined: the values of `set` at `position`.
struct PendingValue {
    set: ValueSet,
    /// The constraint that the values satisfy, for descriptions: several constraints may have one set.
    value: ValueFormula,
    position: ValuePosition,
    rule: RuleId,
}

/// The rules of an [`Emitter`] at some time.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    rules: RulesCheckpoint,
    pending: usize,
}

impl Emitter {
    pub(crate) fn new(whitespace: Whitespace, container_alternatives: ContainerAlternatives) -> Self {
        Self {
            rules: Rules::default(),
            punctuation: PunctuationTable::new(whitespace),
            container_alternatives,
            value_rules: FxHashMap::default(),
            value_parts: FxHashMap::default(),
            rules_of_parts: FxHashMap::default(),
            shared_residuals: SharedResiduals::default(),
            pending: Vec::new(),
            json_contents: FxHashMap::default(),
            regular_contents: FxHashMap::default(),
            content_depth: 0,
        }
    }

    /// Emits the start rule, for values that satisfy `root`, and all rules that it refers to.
    pub(crate) fn emit(
        &mut self,
        sets: &mut ValueSets<'_>,
        root: ValueFormula,
    ) -> Result<RuleId, LimitExceeded> {
        let set = sets.of_formula(root)?;
        let start = self.value_rule(set, root, ValuePosition::default());
        while let Some(PendingValue { set, value, position, rule }) = self.pending.pop() {
            self.check_limits(sets)?;
            self.rules.enter(rule, sets.place_of(value));
            let alternatives = self.alternatives(sets, set, value, position)?;
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
        self.value_parts.clear();
        self.rules_of_parts.retain(|_, rule| rules.contains(*rule));
        self.shared_residuals.retain(|rule| rules.contains(rule));
        self.json_contents.retain(|rule, _| rules.contains(*rule));
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
        position: ValuePosition,
    ) -> Result<Option<PartSequence>, LimitExceeded> {
        if let Some(parts) = self.value_parts.get(&(value, position)) {
            return Ok(parts.clone());
        }
        let parts = self.new_value_parts(sets, value, position)?;
        self.value_parts.insert((value, position), parts.clone());
        Ok(parts)
    }

    /// [`Self::value_parts`] without the memo table.
    fn new_value_parts(
        &mut self,
        sets: &mut ValueSets<'_>,
        value: ValueFormula,
        position: ValuePosition,
    ) -> Result<Option<PartSequence>, LimitExceeded> {
        let set = sets.of_formula(value)?;
        if sets.is_plainly_empty(set)? {
            return Ok(None);
        }
        if !set.has_containers() {
            let mut texts = self.scalar_alternatives(sets, set, value)?;
            if texts.len() == 1 {
                return Ok(texts.pop());
            }
        }
        Ok(Some(vec![RulePart::Rule(self.value_rule(set, value, position))]))
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
        let Self { rules, punctuation, .. } = self;
        rules.without_place(|rules| punctuation.at_depth(languages.automata.terms_mut(), rules, depth))
    }

    /// The rule of the values of `set` at `position`.
    fn value_rule(&mut self, set: ValueSet, value: ValueFormula, position: ValuePosition) -> RuleId {
        if let Some(&rule) = self.value_rules.get(&(set, position)) {
            return rule;
        }
        let rule = self.rules.reserve(VALUE);
        self.value_rules.insert((set, position), rule);
        self.pending.push(PendingValue { set, value, position, rule });
        rule
    }

    fn alternatives(
        &mut self,
        sets: &mut ValueSets<'_>,
        set: ValueSet,
        value: ValueFormula,
        position: ValuePosition,
    ) -> Result<Vec<PartSequence>, LimitExceeded> {
        let mut alternatives = self.scalar_alternatives(sets, set, value)?;
        if let Some(depth) = self.punctuation.child_depth(position.depth) {
            let position = ValuePosition { depth, ..position };
            alternatives.extend((self.container_alternatives)(sets, self, set, position)?);
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

impl Emitter {
    /// Null, booleans and numbers as one language and strings as others, so that cached summaries of a string language
    /// are shared.
    fn scalar_alternatives(
        &mut self,
        sets: &mut ValueSets<'_>,
        set: ValueSet,
        value: ValueFormula,
    ) -> Result<Vec<PartSequence>, LimitExceeded> {
        let languages = &mut sets.languages;
        let has_numbers = !languages.is_empty(set.number.yes)?;
        let numbers = if has_numbers { Some(languages.number_texts(set.number)?) } else { None };
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
            let texts = terms.union(&literals);
            self.rules.label(texts, || described_literals(sets, set, value, has_numbers));
            alternatives.push(vec![RulePart::Text(texts)]);
        }
        for string in self.string_alternatives(sets, set.string)? {
            let terms = sets.languages.automata.terms_mut();
            let quote = terms.literal(b"\"");
            alternatives.push(match string {
                RulePart::Text(string) => {
                    let texts = terms.concat(&[quote, string, quote]);
                    self.rules.label(texts, || described(sets, value, ScalarType::String));
                    vec![RulePart::Text(texts)]
                }
                other => vec![RulePart::Markup(quote), other, RulePart::Markup(quote)],
            });
        }
        Ok(alternatives)
    }

    /// The parts for the strings of a set, without quotes: one for each content and each maximum number of tokens.
    pub(crate) fn string_alternatives(
        &mut self,
        sets: &mut ValueSets<'_>,
        strings: Strings,
    ) -> Result<Vec<RulePart>, LimitExceeded> {
        let mut languages: Vec<(StringConstraints, Vec<TermId>)> = Vec::new();
        for case in string_cases(sets, strings) {
            let (language, content) = self.enforced_content(sets, &case)?;
            let Some(language) = sets.languages.inhabited(language)? else { continue };
            let Some(language) = sets.languages.without_excluded_words(language)? else { continue };
            let constraints = StringConstraints { content, max_tokens: case.max_tokens };
            match languages.iter_mut().find(|(other, _)| *other == constraints) {
                Some((_, alternatives)) => alternatives.push(language),
                None => languages.push((constraints, vec![language])),
            }
        }
        let mut parts = Vec::with_capacity(languages.len());
        for (StringConstraints { content, max_tokens: tokens }, alternatives) in languages {
            parts.push(match content.map(|content| content.texts) {
                Some(ContentTexts::Media(grammar)) => RulePart::Media { grammar, tokens },
                Some(ContentTexts::Json(value)) => {
                    let set = sets.of_formula(value)?;
                    let rule = self.value_rule(set, value, ValuePosition::default());
                    self.json_contents.entry(rule).or_insert(value);
                    RulePart::Json { rule, tokens }
                }
                None => {
                    let term = match alternatives[..] {
                        [only] => only,
                        _ => sets.languages.automata.terms_mut().union(&alternatives),
                    };
                    match tokens {
                        None => RulePart::Text(term),
                        Some(tokens) => RulePart::Limited { term, tokens },
                    }
                }
            });
        }
        Ok(parts)
    }

    /// The regular language of the strings of a case, or all strings and the content that they hold. What is not
    /// supported has a finding, and is dropped.
    fn enforced_content(
        &mut self,
        sets: &mut ValueSets<'_>,
        case: &StringCase,
    ) -> Result<(TermId, Option<Content>), LimitExceeded> {
        let all = sets.languages.any_string.yes;
        let mut regular = case.regular.clone();
        let mut others: Vec<Content> = Vec::new();
        for (contents, is_excluded) in [(&case.contents, false), (&case.excluded, true)] {
            for &content in contents {
                match self.regular_content(sets, content)? {
                    Some(term) if is_excluded => regular.push(sets.languages.string_set(term).no),
                    Some(term) => regular.push(term),
                    None => others.push(content),
                }
            }
        }
        let language = match regular[..] {
            [] => all,
            [only] => only,
            _ => sets.languages.automata.terms_mut().intersection(&regular),
        };
        if (others.is_empty() && !case.has_min_tokens) || sets.languages.is_empty(language)? {
            return Ok((language, None));
        }
        let irregular: Vec<Content> =
            others.iter().copied().filter(|&content| is_irregular(sets, content)).collect();
        if !irregular.is_empty() {
            sets.reader.irregular_contents(&irregular);
        } else if let [content] = others[..]
            && language == all
            && !case.has_min_tokens
            && !case.excluded.contains(&content)
            && sets.reader.options.excludes.is_empty()
        {
            return Ok((all, Some(content)));
        } else {
            sets.reader.unsupported_strings(&others, case.has_min_tokens);
        }
        Ok((language, None))
    }

    /// The strings that hold a content, if it is known to be regular. JSON is, if it must be encoded and does not nest.
    fn regular_content(
        &mut self,
        sets: &mut ValueSets<'_>,
        content: Content,
    ) -> Result<Option<TermId>, LimitExceeded> {
        let Content { texts: ContentTexts::Json(value), encoding: Some(encoding) } = content else {
            return Ok(None);
        };
        if let Some(&cached) = self.regular_contents.get(&content) {
            return Ok(cached);
        }
        if self.content_depth == MAX_CONTENT_DEPTH {
            return Ok(None);
        }
        // A schema that contains its own encoding is not regular.
        self.regular_contents.insert(content, None);
        let mut inner = Self::new(sets.reader.options.whitespace.clone(), self.container_alternatives);
        inner.regular_contents.clone_from(&self.regular_contents);
        inner.content_depth = self.content_depth + 1;
        let findings = sets.reader.findings.unsupported.len();
        let start = inner.emit(sets, value)?;
        if sets.reader.findings.unsupported.len() > findings {
            // Without a part that is not supported, its language may be a large one.
            return Ok(None);
        }
        let terms = sets.languages.automata.terms().clone();
        let texts = inner.rules.to_grammar(terms, start, "", &sets.reader)?;
        let texts = texts.and_then(|texts| regular_texts(sets, &texts.grammar));
        let strings = texts.map(|texts| encoded_strings(sets, texts, Some(encoding))).transpose()?;
        self.regular_contents.insert(content, strings);
        Ok(strings)
    }
}

/// The description of null, the booleans and the numbers of a set.
fn described_literals(
    sets: &mut ValueSets<'_>,
    set: ValueSet,
    value: ValueFormula,
    has_numbers: bool,
) -> String {
    let words = [(set.null, "null"), (set.booleans.truth, "true"), (set.booleans.falsehood, "false")];
    let words = words.into_iter().filter(|(is_in_set, _)| *is_in_set).map(|(_, word)| word.to_owned());
    let mut texts: Vec<String> = words.collect();
    texts.extend(has_numbers.then(|| described(sets, value, ScalarType::Number)));
    alternatives(texts)
}

/// The constraints of strings that are not regular.
#[derive(Clone, Copy, PartialEq, Eq)]
struct StringConstraints {
    content: Option<Content>,
    max_tokens: Option<u32>,
}

/// The alternatives of a set of strings. Where there are too many, its contents and maxima have findings.
fn string_cases(sets: &mut ValueSets<'_>, strings: Strings) -> Vec<StringCase> {
    let regular = vec![StringCase { regular: vec![strings.regular.yes], ..StringCase::default() }];
    let Some(formula) = strings.formula else { return regular };
    cases(&sets.formulas.strings, formula).unwrap_or_else(|| {
        let contents = contents_of(&sets.formulas.strings, formula);
        sets.reader.unsupported_strings(&contents, true);
        regular
    })
}

/// Whether a content that is not a regular language would have to be one, or its texts would have to be.
fn is_irregular(sets: &ValueSets<'_>, content: Content) -> bool {
    let is_plain = sets.languages.encoding.kind() == EncodingKind::Plain;
    content.encoding.is_some() || (is_plain && matches!(content.texts, ContentTexts::Json(_)))
}

/// The contents that a formula mentions.
fn contents_of(strings: &FormulaArena<StringAssertion>, formula: StringFormula) -> Vec<Content> {
    let literals = strings.literals(formula).into_iter();
    literals
        .filter_map(|literal| match literal {
            StringAssertion::Holds(content) | StringAssertion::HoldsNot(content) => Some(content),
            _ => None,
        })
        .collect()
}
