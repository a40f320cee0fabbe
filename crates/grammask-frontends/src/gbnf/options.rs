//! XGrammar's options of rules, `name[lazy, max_chars=8] ::= ...`: parsing, and their effect on a rule.
//!
//! `lazy`, `max_chars` and `max_tokens` change the language of a rule and are enforced exactly. Captures do not affect
//! masks. A temperature is for the sampler; a warning says so, and the right-hand side is a rule of its own whose name
//! ends with `[temperature=x]`, by which a caller finds the parts of a text with a temperature.

use super::parse::GbnfParser;
use grammask_automata::TermId;
use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::{GrammarBuilder, NodeId, NonterminalId, NotRegular, RuleLanguages, Terminal};
use rustc_hash::FxHashMap;

/// The options that limit the texts of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RuleOptions {
    /// Admits only texts without a shorter prefix that matches.
    pub(super) is_lazy: bool,
    pub(super) max_characters: Option<u32>,
    pub(super) max_tokens: Option<u32>,
}

impl RuleOptions {
    pub(super) fn limits_texts(&self) -> bool {
        *self != Self::default()
    }

    /// The language of a rule from that of its right-hand sides, except for the maximum number of tokens.
    fn apply(self, builder: &mut GrammarBuilder, mut term: TermId) -> TermId {
        let terms = builder.terms();
        if self.is_lazy {
            term = if terms.is_nullable(term) { terms.epsilon() } else { terms.first_match(term) };
        }
        if let Some(max) = self.max_characters {
            let character = terms.characters(&[('\0', char::MAX)]);
            let short = terms.repeat(character, 0, Some(max));
            term = terms.intersection(&[term, short]);
        }
        term
    }
}

/// A rule with a known body. Its options are applied when all rules are defined.
#[derive(Debug)]
pub(super) struct RuleWithOptions {
    pub(super) lhs: NonterminalId,
    pub(super) body: NodeId,
    pub(super) name: Span,
    pub(super) span: Span,
    pub(super) options: RuleOptions,
}

/// The syntax of an option.
struct OptionSource<'s> {
    name: &'s str,
    value: Option<&'s str>,
    span: Span,
}

impl<'s> GbnfParser<'s> {
    /// Parses the options between the brackets at `span`, and reports errors.
    ///
    /// Returns them, and the temperature as it is written.
    pub(super) fn options(&mut self, span: Span) -> (RuleOptions, Option<&'s str>) {
        let mut options = RuleOptions::default();
        let mut temperature = None;
        let mut seen: Vec<&str> = Vec::new();
        for OptionSource { name, value, span } in split(self.scanner.text(span), span.start) {
            if seen.contains(&name) {
                self.invalid_option(span, &format!("the option `{name}` is given twice"));
                continue;
            }
            seen.push(name);
            let count = value.and_then(|value| value.parse::<u32>().ok());
            match (name, value, count) {
                ("lazy", None, _) => options.is_lazy = true,
                ("max_chars", _, Some(_)) => options.max_characters = count,
                ("max_tokens", _, Some(_)) => options.max_tokens = count,
                ("capture", None, _) => {}
                ("capture" | "stop_capture", Some(value), _) if value.len() > 2 && value.starts_with('"') => {
                }
                (
                    "capture_hidden_suffix_bytes"
                    | "capture_hidden_stop_bytes"
                    | "capture_hidden_body_rule_id"
                    | "capture_hidden_marker_rule_id",
                    _,
                    Some(_),
                ) => {}
                ("temperature", Some(value), _)
                    if value.parse::<f64>().is_ok_and(|value| value.is_finite() && value >= 0.0) =>
                {
                    let message = "a temperature does not affect masks";
                    self.scanner.report(
                        Diagnostic::warning(Code::IgnoredAnnotation, message)
                            .at(span)
                            .help("give it to the sampler"),
                    );
                    temperature = Some(value);
                }
                _ => self.invalid_option(span, "this is not an option of a rule"),
            }
        }
        if seen.is_empty() {
            self.invalid_option(span, "the list of options is empty");
        }
        (options, temperature)
    }

    fn invalid_option(&mut self, span: Span, message: &str) {
        self.scanner.report(Diagnostic::error(Code::UnexpectedInput, message).at(span).help(
            "the options are `lazy`, `max_chars=n`, `max_tokens=n`, `capture`, `capture=\"name\"`, \
             `stop_capture=\"name\"` and `temperature=x`",
        ));
    }

    /// Defines the rules with options, after all other rules are defined.
    pub(super) fn define_rules_with_options(&mut self, rules: &[RuleWithOptions]) {
        let mut languages = RuleLanguages::new(&self.builder);
        rules.iter().for_each(|rule| languages.add_body(rule.lhs, rule.body));
        let options: FxHashMap<NonterminalId, RuleOptions> =
            rules.iter().map(|rule| (rule.lhs, rule.options)).collect();
        for rule in rules {
            let term = languages.of_rule(&mut self.builder, rule.lhs, &mut |builder, inner, term| {
                let options = options.get(&inner).copied().unwrap_or_default();
                if inner != rule.lhs && options.max_tokens.is_some() {
                    return Err(NotRegular::Tokens);
                }
                Ok(options.apply(builder, term))
            });
            match term {
                Ok(term) => {
                    let terminal = match rule.options.max_tokens {
                        None => Terminal::Regular(term),
                        Some(tokens) => Terminal::Limited { term, tokens },
                    };
                    let label = self.scanner.text(rule.name);
                    let body = self.builder.terminal(terminal, label, rule.name);
                    self.builder.define(rule.lhs, body, rule.span);
                }
                // Undefined rules are reported by lowering.
                Err(NotRegular::Undefined) => self.builder.define(rule.lhs, rule.body, rule.span),
                Err(reason) => {
                    let message = format!(
                        "`{}` has options but is not a regular language",
                        self.scanner.text(rule.name)
                    );
                    self.scanner.report(
                        Diagnostic::error(Code::UnsupportedGrammar, message)
                            .at(rule.name)
                            .help(format!("{}; limit the rules that it refers to", reason.reason())),
                    );
                    // Defined without its options, so that rules that refer to it cause no further errors.
                    self.builder.define(rule.lhs, rule.body, rule.span);
                }
            }
        }
    }
}

/// The options in a bracketed list that begins at `start`, split at commas outside of strings.
fn split(text: &str, start: usize) -> Vec<OptionSource<'_>> {
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
    let mut options = Vec::new();
    let (mut from, mut is_quoted, mut is_escaped) = (0, false, false);
    let mut ends: Vec<usize> = Vec::new();
    for (index, character) in inside.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => ends.push(index),
            _ => {}
        }
    }
    ends.push(inside.len());
    for end in ends {
        let source = &inside[from..end];
        let (name, value) = match source.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (source.trim(), None),
        };
        let offset = start + 1 + from + (source.len() - source.trim_start().len());
        let span = Span::new(offset, offset + source.trim().len());
        if !inside.trim().is_empty() {
            options.push(OptionSource { name, value, span });
        }
        from = end + 1;
    }
    options
}
