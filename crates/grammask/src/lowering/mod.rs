//! Lowering: from a grammar as people write it to the normal form that the recogniser runs.
//!
//! One pass per file, each a function that can be tested alone; [`lower`] is the whole pipeline. A pass changes
//! neither the language nor, but for a constant factor, the size of the grammar. Nothing recurses on the call
//! stack and every pass is linear or nearly so: 10,000 rules or 2,000 nested groups lower in milliseconds.
//!
//! The stages are types: [`Grammar`] (nested right-hand sides), [`Productions`] (plain productions, rewritten
//! pass by pass), [`NormalForm`] (numbered, immutable).

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
mod normal_form;
mod productions;
mod remove_unit_rules;
mod resolve_names;
mod split_counters;

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
pub use normal_form::{Advance, DotId, NormalForm, Production, ProductionId, RightHandSide};
pub use productions::{Body, Productions, Rule, Shape, Symbol};
pub use remove_unit_rules::remove_unit_rules;
pub use resolve_names::resolve_names;
pub use split_counters::split_counters;

use std::borrow::Cow;

use crate::grammar::{Diagnostic, Grammar, GrammarError, Severity};
use crate::{Deadline, LimitExceeded, Limits};

/// A lowered grammar with what should be said about it.
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
/// All undefined symbols; an empty language; a limit that was passed.
pub fn lower(grammar: &Grammar, limits: &Limits) -> Result<Lowered, GrammarError> {
    lower_watched(grammar, limits, &mut |_, _| {})
}

/// Lowers a grammar and shows each stage, by the name of the pass that made it, to `watch`.
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
    let (productions, warnings) =
        simplify(grammar, limits, watch).map_err(|limit| fail(vec![limit.diagnostic()]))?;
    if warnings.iter().any(|warning| warning.severity == Severity::Error) {
        return Err(fail(warnings));
    }
    let normal_form = NormalForm::number(productions).map_err(|limit| fail(vec![limit.diagnostic()]))?;
    watch("number", &normal_form);
    Ok(Lowered { normal_form, warnings })
}

/// All passes between resolved names and numbering, with the diagnostics that they give rise to.
fn simplify(
    grammar: &Grammar,
    limits: &Limits,
    watch: &mut dyn FnMut(&'static str, &dyn std::fmt::Display),
) -> Result<(Productions, Vec<Diagnostic>), LimitExceeded> {
    if grammar.nodes().len() > limits.grammar_size {
        return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
    }
    let deadline = Deadline::after(limits.time);
    let mut grouped = Cow::Borrowed(grammar);
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

    let derivability = Derivability::of(&mut productions)?;
    let diagnostics = diagnose(&productions, &derivability, grammar.nonterminals());
    drop_useless(&mut productions, &derivability);
    watch("drop_useless", &productions);
    split_counters(&mut productions)?;
    watch("split_counters", &productions);
    merge_terminals(&mut productions);
    watch("merge_terminals", &productions);
    deduplicate_alternatives(&mut productions);
    watch("deduplicate_alternatives", &productions);
    merge_unit_cycles(&mut productions);
    watch("merge_unit_cycles", &productions);
    remove_unit_rules(&mut productions);
    watch("remove_unit_rules", &productions);
    deadline.check()?;
    merge_regular_parts(&mut productions)?;
    watch("merge_regular_parts", &productions);
    expand_repetitions(&mut productions);
    watch("expand_repetitions", &productions);
    merge_identical_rules(&mut productions);
    watch("merge_identical_rules", &productions);
    deadline.check()?;
    let derivability = Derivability::of(&mut productions)?;
    eliminate_nullable(&mut productions, &derivability);
    watch("eliminate_nullable", &productions);
    // What derives only the empty text went with the empty text, so no symbol that is left derives nothing.
    merge_terminals(&mut productions);
    merge_unit_cycles(&mut productions);
    remove_unit_rules(&mut productions);
    deduplicate_alternatives(&mut productions);
    merge_identical_rules(&mut productions);
    watch("merge_identical_rules again", &productions);
    deadline.check()?;
    Ok((productions, diagnostics))
}
