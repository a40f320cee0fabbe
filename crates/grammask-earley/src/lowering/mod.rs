//! Lowering: from the intermediate representation of a grammar to the normal form that the recogniser reads.
//!
//! One pass per file, each a function that is tested by itself; [`lower`] is the pipeline. A pass preserves the
//! language, and the size of the grammar up to a constant factor. Nothing recurses on the call stack, and every pass
//! is linear or nearly so: 10,000 rules or 2,000 nested groups are lowered in milliseconds.
//!
//! The stages are types: [`Grammar`] (nested right-hand sides), [`Productions`] (plain productions, rewritten by each
//! pass), [`NormalForm`] (numbered, immutable).

mod bindings;
mod deduplicate_alternatives;
mod derivability;
mod drop_useless;
mod eliminate_nullable;
mod expand_repetitions;
mod flatten_nesting;
mod flatten_operators;
mod group_definitions;
mod merge_identical_rules;
mod merge_regular_parts;
mod merge_terminals;
mod merge_unit_cycles;
mod merged_parts;
mod normal_form;
mod normal_form_text;
mod numbering;
mod productions;
mod remove_unit_rules;
mod resolve_names;
mod selection_dots;
mod split_counters;
mod values;

pub use bindings::{has_bindings, resolve_bindings};
pub use deduplicate_alternatives::deduplicate_alternatives;
pub use derivability::Derivability;
pub use drop_useless::{diagnose, drop_useless};
pub use eliminate_nullable::eliminate_nullable;
pub use expand_repetitions::expand_repetitions;
pub use flatten_nesting::flatten_nesting;
pub use flatten_operators::{flatten_operators, has_nested_operators};
pub use group_definitions::{group_definitions, has_several_definitions};
pub use merge_identical_rules::merge_identical_rules;
pub use merge_regular_parts::merge_regular_parts;
pub use merge_terminals::merge_terminals;
pub use merge_unit_cycles::merge_unit_cycles;
pub use merged_parts::{Merge, MergedPart, Merges};
pub use normal_form::{Advance, DotId, NormalForm, Production, ProductionId, RightHandSide};
pub use productions::{Body, LoweredRule, Productions, Symbol, TextKinds};
pub use remove_unit_rules::remove_unit_rules;
pub use resolve_names::resolve_names;
pub use split_counters::split_counters;
pub use values::check_values;

pub(crate) use merged_parts::PartSequence;
pub(crate) use selection_dots::SelectionNext;
pub(crate) use split_counters::whole_terminal;

use std::borrow::Cow;

use grammask_diagnostics::{Deadline, Diagnostic, GrammarError, LimitExceeded, Limits, Severity};
use grammask_grammar::Grammar;

/// A lowered grammar with warnings.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The normal form.
    pub normal_form: NormalForm,
    /// Warnings about the grammar.
    pub warnings: Vec<Diagnostic>,
}

/// Lowers a grammar.
///
/// # Errors
/// All undefined symbols; an empty language; an exceeded limit.
pub fn lower(grammar: &Grammar, limits: &Limits) -> Result<Lowered, GrammarError> {
    lower_watched(grammar, limits, &mut |_, _| {})
}

/// Lowers a grammar and calls `watch` after each pass, with its name and its result.
///
/// # Errors
/// As [`lower`].
pub fn lower_watched(
    grammar: &Grammar,
    limits: &Limits,
    watch: &mut dyn FnMut(&'static str, &dyn std::fmt::Display),
) -> Result<Lowered, GrammarError> {
    let fail = |diagnostics| GrammarError::new(diagnostics, grammar.source().clone());
    let undefined = resolve_names(grammar);
    if !undefined.is_empty() {
        return Err(fail(undefined));
    }
    let deadline = Deadline::of(limits);
    let over = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
    let (mut productions, warnings) = flattened(grammar, limits, watch).map_err(fail)?;
    if warnings.iter().any(|warning| warning.severity == Severity::Error) {
        return Err(fail(warnings));
    }
    simplify(&mut productions, &deadline, watch).map_err(over)?;
    let normal_form = NormalForm::number(productions).map_err(|limit| fail(vec![limit.diagnostic()]))?;
    watch("number", &normal_form);
    Ok(Lowered { normal_form, warnings })
}

/// A grammar as plain productions, before the passes that change the languages of rules: each nonterminal of the user
/// is a rule, alternatives keep their order, and unproductive symbols are removed.
///
/// # Errors
/// As [`lower`].
pub fn flatten(grammar: &Grammar, limits: &Limits) -> Result<Productions, GrammarError> {
    let fail = |diagnostics| GrammarError::new(diagnostics, grammar.source().clone());
    let undefined = resolve_names(grammar);
    if !undefined.is_empty() {
        return Err(fail(undefined));
    }
    let (productions, diagnostics) = flattened(grammar, limits, &mut |_, _| {}).map_err(fail)?;
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return Err(fail(diagnostics));
    }
    Ok(productions)
}

/// The normal form of productions from [`flatten`], or of a part of them.
///
/// # Errors
/// When a limit is exceeded.
pub fn normalize(mut productions: Productions, limits: &Limits) -> Result<NormalForm, LimitExceeded> {
    simplify(&mut productions, &Deadline::of(limits), &mut |_, _| {})?;
    NormalForm::number(productions)
}

/// The passes from nested right-hand sides to productions, with their diagnostics.
fn flattened(
    grammar: &Grammar,
    limits: &Limits,
    watch: &mut dyn FnMut(&'static str, &dyn std::fmt::Display),
) -> Result<(Productions, Vec<Diagnostic>), Vec<Diagnostic>> {
    if grammar.nodes().len() > limits.grammar_size {
        return Err(vec![LimitExceeded::new("grammar_size", limits.grammar_size).diagnostic()]);
    }
    let mut grouped = Cow::Borrowed(grammar);
    if has_bindings(grammar) {
        grouped = Cow::Owned(resolve_bindings(grammar, limits)?);
        watch("resolve_bindings", &*grouped);
    }
    let nonterminals = grouped.nonterminals().to_vec();
    if has_several_definitions(grammar) {
        grouped = Cow::Owned(group_definitions(grouped.into_owned()));
    }
    watch("group_definitions", &*grouped);
    if has_nested_operators(&grouped) {
        grouped = Cow::Owned(flatten_operators(grouped.into_owned()));
    }
    watch("flatten_operators", &*grouped);
    let mut productions = flatten_nesting(&grouped, limits.automaton_states);
    watch("flatten_nesting", &productions);

    let derivability = Derivability::of(&mut productions).map_err(|limit| vec![limit.diagnostic()])?;
    let diagnostics = diagnose(&productions, &derivability, &nonterminals);
    drop_useless(&mut productions, &derivability);
    watch("drop_useless", &productions);
    let mut diagnostics = diagnostics;
    diagnostics.extend(check_values(&productions, &derivability));
    Ok((productions, diagnostics))
}

/// The passes from productions to the numbering of the normal form.
fn simplify(
    productions: &mut Productions,
    deadline: &Deadline,
    watch: &mut dyn FnMut(&'static str, &dyn std::fmt::Display),
) -> Result<(), LimitExceeded> {
    split_counters(productions)?;
    watch("split_counters", productions);
    merge_terminals(productions);
    watch("merge_terminals", productions);
    deduplicate_alternatives(productions);
    watch("deduplicate_alternatives", productions);
    merge_unit_cycles(productions);
    watch("merge_unit_cycles", productions);
    remove_unit_rules(productions);
    watch("remove_unit_rules", productions);
    deadline.check()?;
    merge_regular_parts(productions)?;
    watch("merge_regular_parts", productions);
    expand_repetitions(productions);
    watch("expand_repetitions", productions);
    merge_identical_rules(productions);
    watch("merge_identical_rules", productions);
    deadline.check()?;
    let derivability = Derivability::of(productions)?;
    eliminate_nullable(productions, &derivability);
    watch("eliminate_nullable", productions);
    // Symbols that derive the empty text only were removed, so all remaining symbols are productive.
    merge_terminals(productions);
    merge_unit_cycles(productions);
    remove_unit_rules(productions);
    deduplicate_alternatives(productions);
    merge_identical_rules(productions);
    watch("merge_identical_rules again", productions);
    deadline.check()?;
    Ok(())
}
