//! XGrammar's options of rules, `name[lazy, max_chars=8] ::= ...`: what they say, and what they make of a rule.
//!
//! `lazy`, `max_chars` and `max_tokens` change which texts a rule matches, and are enforced exactly. Captures are no
//! matter of masks. A temperature is for the sampler, and a warning says so.

use super::parse::Parser;
use super::regular::{Irregular, Languages};
use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::{NodeId, NonterminalId, Terminal};

/// What limits the texts of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Only texts of which no shorter beginning matches.
    pub(super) is_lazy: bool,
    pub(super) most_characters: Option<u32>,
    pub(super) most_tokens: Option<u32>,
}

impl Options {
    pub(super) fn limits_texts(&self) -> bool {
        *self != Self::default()
    }
}

/// A rule whose body is known, and whose options wait until all rules are.
#[derive(Debug)]
pub(super) struct OptionedRule {
    pub(super) lhs: NonterminalId,
    pub(super) body: NodeId,
    pub(super) name: Span,
    pub(super) span: Span,
    pub(super) options: Options,
}

/// An option as it is written.
struct Written<'s> {
    name: &'s str,
    value: Option<&'s str>,
    span: Span,
}

impl Parser<'_> {
    /// Reads the options between the brackets at `span`; what is wrong with them is reported.
    pub(super) fn options(&mut self, span: Span) -> Options {
        let mut options = Options::default();
        let mut seen: Vec<&str> = Vec::new();
        for Written { name, value, span } in split(self.scanner.text(span), span.start) {
            if seen.contains(&name) {
                self.wrong_option(span, &format!("the option `{name}` is given twice"));
                continue;
            }
            seen.push(name);
            let count = value.and_then(|value| value.parse::<u32>().ok());
            match (name, value, count) {
                ("lazy", None, _) => options.is_lazy = true,
                ("max_chars", _, Some(_)) => options.most_characters = count,
                ("max_tokens", _, Some(_)) => options.most_tokens = count,
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
                    let message = "a temperature changes no mask";
                    self.scanner.report(
                        Diagnostic::warning(Code::IgnoredAnnotation, message)
                            .at(span)
                            .help("give it to the sampler"),
                    );
                }
                _ => self.wrong_option(span, "there is no such option of a rule"),
            }
        }
        if seen.is_empty() {
            self.wrong_option(span, "these are no options");
        }
        options
    }

    fn wrong_option(&mut self, span: Span, message: &str) {
        self.scanner.report(Diagnostic::error(Code::UnexpectedInput, message).at(span).help(
            "the options are `lazy`, `max_chars=n`, `max_tokens=n`, `capture`, `capture=\"name\"`, \
             `stop_capture=\"name\"` and `temperature=x`",
        ));
    }

    /// Defines the rules with options, now that all rules are known.
    pub(super) fn define_optioned(&mut self, rules: &[OptionedRule]) {
        let mut languages = Languages::new(&self.builder, rules);
        for rule in rules {
            match languages.of_rule(&mut self.builder, rule.lhs) {
                Ok(term) => {
                    let terminal = match rule.options.most_tokens {
                        None => Terminal::Regular(term),
                        Some(tokens) => Terminal::Limited { term, tokens },
                    };
                    let label = self.scanner.text(rule.name);
                    let body = self.builder.terminal(terminal, label, rule.name);
                    self.builder.define(rule.lhs, body, rule.span);
                }
                Err(why) => {
                    let what = match why {
                        Irregular::Recursive => {
                            "it stands for itself other than at the end of an alternative"
                        }
                        Irregular::Selections => "it has parts that are chosen by a schema",
                        Irregular::Tokens => "it has tokens, or a rule with `max_tokens`, in it",
                    };
                    let message =
                        format!("`{}` has options and is no regular language", self.scanner.text(rule.name));
                    self.scanner.report(
                        Diagnostic::error(Code::UnsupportedGrammar, message)
                            .at(rule.name)
                            .help(format!("{what}; limit the rules that it is made of")),
                    );
                    // Others that need it have nothing more to say.
                    self.builder.define(rule.lhs, rule.body, rule.span);
                }
            }
        }
    }
}

/// The options in a bracketed list that begins at `start`, split at commas outside of strings.
fn split(text: &str, start: usize) -> Vec<Written<'_>> {
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
    let mut found = Vec::new();
    let (mut from, mut is_quoted, mut is_escaped) = (0, false, false);
    let mut ends: Vec<usize> = Vec::new();
    for (place, character) in inside.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_quoted,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => ends.push(place),
            _ => {}
        }
    }
    ends.push(inside.len());
    for end in ends {
        let written = &inside[from..end];
        let (name, value) = match written.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (written.trim(), None),
        };
        let offset = start + 1 + from + (written.len() - written.trim_start().len());
        let span = Span::new(offset, offset + written.trim().len());
        if !inside.trim().is_empty() {
            found.push(Written { name, value, span });
        }
        from = end + 1;
    }
    found
}
