//! XGrammar's calls: `GbnfToken(...)`, `ExcludeToken(...)`, `TagDispatch(...)`, `TokenTagDispatch(...)`, `Regex(...)`
//! and `Substring(...)`.

use super::expressions::{NoBreakSpace, RegexFlags, rust_expression_with_flags};
use super::parse::GbnfParser;
use super::scan::{GbnfToken, GbnfTokenKind};
use crate::free_text::FreeText;
use crate::regex_grammar;
use grammask_automata::regex;
use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::{NodeId, Terminal, TokenReference, TokenSelection, TokenSense, quote_text};

/// The syntax of an argument.
enum CallArgument {
    Number(u32),
    Text(Box<str>),
    /// A name, or `true` or `false`.
    Name(Span),
    List(Vec<CallArgument>),
    Keyword(Span, Box<CallArgument>),
}

/// Maximum depth of nested argument lists: pairs in a call.
const MAX_NESTED_LISTS: usize = 2;

/// The arguments of a dispatch, by role.
#[derive(Default)]
struct DispatchArguments {
    /// The trigger, a text or token, and the rule after it.
    pairs: Vec<(CallArgument, Span)>,
    excludes: Vec<CallArgument>,
    once: bool,
}

impl GbnfParser<'_> {
    /// Whether `name` is the name of a call.
    pub(super) fn is_call(name: &str) -> bool {
        matches!(name, "Token" | "ExcludeToken" | "TagDispatch" | "TokenTagDispatch" | "Regex" | "Substring")
    }

    /// Parses the call of `name`, whose opening bracket is the current token. `None`, with a report, if it is
    /// malformed.
    pub(super) fn call(&mut self, name: &GbnfToken) -> Option<NodeId> {
        let arguments = self.arguments()?;
        let span = name.span;
        match self.scanner.text(span) {
            "Token" => self.tokens(arguments, TokenSense::Listed, span),
            "ExcludeToken" => self.tokens(arguments, TokenSense::Others, span),
            "TagDispatch" => self.tag_dispatch(arguments, span),
            "TokenTagDispatch" => self.token_dispatch(arguments, span),
            "Regex" => self.regex(arguments, span),
            _ => self.substring(arguments, span),
        }
    }

    /// Parses the arguments between brackets, of which the opening one is the current token.
    fn arguments(&mut self) -> Option<Vec<CallArgument>> {
        self.advance();
        let mut open: Vec<Vec<CallArgument>> = vec![Vec::new()];
        let mut keywords: Vec<Option<Span>> = vec![None];
        loop {
            let token = self.current.clone();
            let argument = match token.kind {
                GbnfTokenKind::Number(number) => CallArgument::Number(number),
                GbnfTokenKind::Text(text) => CallArgument::Text(text),
                GbnfTokenKind::Name => {
                    self.advance();
                    if self.current.kind == GbnfTokenKind::Equals {
                        self.advance();
                        *keywords.last_mut()? = Some(token.span);
                    } else {
                        let argument = CallArgument::Name(token.span);
                        Self::push(&mut open, &mut keywords, argument);
                        self.separator()?;
                    }
                    continue;
                }
                GbnfTokenKind::Open if open.len() <= MAX_NESTED_LISTS => {
                    self.advance();
                    open.push(Vec::new());
                    keywords.push(None);
                    continue;
                }
                GbnfTokenKind::Close => {
                    self.advance();
                    let list = open.pop()?;
                    keywords.pop();
                    if open.is_empty() {
                        return Some(list);
                    }
                    Self::push(&mut open, &mut keywords, CallArgument::List(list));
                    self.separator()?;
                    continue;
                }
                _ => {
                    self.scanner.report_unexpected(&token, &["an argument", "`)`"]);
                    return None;
                }
            };
            self.advance();
            Self::push(&mut open, &mut keywords, argument);
            self.separator()?;
        }
    }

    fn push(open: &mut [Vec<CallArgument>], keywords: &mut [Option<Span>], argument: CallArgument) {
        let keyword = keywords.last_mut().and_then(Option::take);
        if let Some(list) = open.last_mut() {
            list.push(match keyword {
                Some(name) => CallArgument::Keyword(name, Box::new(argument)),
                None => argument,
            });
        }
    }

    /// Consumes a comma, or expects the closing bracket.
    fn separator(&mut self) -> Option<()> {
        match self.current.kind {
            GbnfTokenKind::Comma => self.advance(),
            GbnfTokenKind::Close => {}
            _ => {
                let token = self.current.clone();
                self.scanner.report_unexpected(&token, &["`,`", "`)`"]);
                return None;
            }
        }
        Some(())
    }

    fn tokens(&mut self, arguments: Vec<CallArgument>, sense: TokenSense, span: Span) -> Option<NodeId> {
        let mut ids = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                CallArgument::Number(id) => ids.push(TokenReference::Id(id)),
                _ => return self.invalid_call(span, "its arguments must be token ids"),
            }
        }
        if ids.is_empty() && sense == TokenSense::Listed {
            return self.invalid_call(span, "it takes at least one id");
        }
        Some(self.one_of(ids, sense, span))
    }

    /// Adds a terminal for a set of tokens.
    pub(super) fn one_of(&mut self, tokens: Vec<TokenReference>, sense: TokenSense, span: Span) -> NodeId {
        let names: Vec<String> = tokens
            .iter()
            .map(|token| match token {
                TokenReference::Id(id) => format!("<[{id}]>"),
                TokenReference::Name(text) | TokenReference::Written(text) => text.clone(),
            })
            .collect();
        let names = names.join(" | ");
        let label = match sense {
            TokenSense::Listed => format!("({names})"),
            TokenSense::Others => format!("!({names})"),
        };
        let selection = TokenSelection { sense, tokens: tokens.into(), ranges: Box::default() };
        self.builder.terminal(Terminal::OneOf(Box::new(selection)), &label, span)
    }

    fn dispatch_arguments(&mut self, arguments: Vec<CallArgument>, span: Span) -> Option<DispatchArguments> {
        let mut dispatch = DispatchArguments::default();
        for argument in arguments {
            match argument {
                CallArgument::List(mut pair) if pair.len() == 2 => match (pair.pop(), pair.pop()) {
                    (Some(CallArgument::Name(rule)), Some(trigger)) => dispatch.pairs.push((trigger, rule)),
                    _ => {
                        return self.invalid_call(span, "each pair must be a trigger and the name of a rule");
                    }
                },
                CallArgument::Keyword(name, value) => match (self.scanner.text(name), *value) {
                    ("loop_after_dispatch", CallArgument::Name(value)) => {
                        dispatch.once = match self.scanner.text(value) {
                            "true" => false,
                            "false" => true,
                            _ => return self.invalid_call(value, "this must be `true` or `false`"),
                        };
                    }
                    ("excludes", CallArgument::List(excludes)) => dispatch.excludes = excludes,
                    _ => {
                        return self
                            .invalid_call(name, "the options are `loop_after_dispatch=` and `excludes=`");
                    }
                },
                _ => {
                    return self.invalid_call(
                        span,
                        "its arguments must be pairs of a trigger and the name of a rule",
                    );
                }
            }
        }
        Some(dispatch)
    }

    /// Text without triggers, then a trigger and its rule; repeatedly, or once.
    fn tag_dispatch(&mut self, arguments: Vec<CallArgument>, span: Span) -> Option<NodeId> {
        let DispatchArguments { pairs, excludes, once } = self.dispatch_arguments(arguments, span)?;
        let mut text = FreeText::default();
        let mut rules = Vec::with_capacity(pairs.len());
        for (trigger, rule) in pairs {
            match trigger {
                CallArgument::Text(trigger) if !trigger.is_empty() => {
                    text.ends.push(trigger.as_bytes().into())
                }
                _ => return self.invalid_call(span, "a trigger must be a nonempty string"),
            }
            rules.push(rule);
        }
        // Exclusions hold for the text together with the trigger that ends it.
        let triggers = text.ends.len();
        for exclude in excludes {
            match exclude {
                CallArgument::Text(exclude) if !exclude.is_empty() => {
                    text.ends.push(exclude.as_bytes().into());
                }
                _ => return self.invalid_call(span, "an exclusion must be a nonempty string"),
            }
        }
        let (words, exclusions) = text.ends.split_at(triggers);
        if words.iter().any(|trigger| exclusions.iter().any(|word| trigger.starts_with(word))) {
            return self.invalid_call(span, "no trigger can begin with an exclusion");
        }
        let mut tags = Vec::with_capacity(rules.len());
        for (index, rule) in rules.into_iter().enumerate() {
            if text.ends[triggers..].iter().any(|word| text.ends[index].ends_with(word)) {
                continue;
            }
            let before = text.before(&mut self.builder, index);
            let trigger = self.builder.literal(&text.ends[index], span);
            let body = self.reference(rule);
            tags.push(self.builder.sequence(vec![before, trigger, body], span));
        }
        let rest = text.before(&mut self.builder, usize::MAX);
        Some(self.dispatch(tags, rest, once, span))
    }

    /// The same with tokens as triggers.
    fn token_dispatch(&mut self, arguments: Vec<CallArgument>, span: Span) -> Option<NodeId> {
        let DispatchArguments { pairs, excludes, once } = self.dispatch_arguments(arguments, span)?;
        let mut ids = Vec::new();
        for argument in pairs.iter().map(|(trigger, _)| trigger).chain(&excludes) {
            match argument {
                CallArgument::Number(id) => ids.push(TokenReference::Id(*id)),
                _ => return self.invalid_call(span, "tokens must be given by their ids"),
            }
        }
        if ids[pairs.len()..].iter().any(|id| ids[..pairs.len()].contains(id)) {
            return self.invalid_call(span, "a token cannot be both a trigger and excluded");
        }
        let other = self.one_of(ids.clone(), TokenSense::Others, span);
        let free = self.builder.repeat(other, 0, None, span);
        let mut tags = Vec::with_capacity(pairs.len());
        for ((_, rule), id) in pairs.into_iter().zip(ids) {
            let trigger = self.one_of(vec![id], TokenSense::Listed, span);
            let body = self.reference(rule);
            tags.push(self.builder.sequence(vec![free, trigger, body], span));
        }
        Some(self.dispatch(tags, free, once, span))
    }

    fn dispatch(&mut self, tags: Vec<NodeId>, rest: NodeId, once: bool, span: Span) -> NodeId {
        if tags.is_empty() {
            return rest;
        }
        let tag = self.builder.choice(tags, span);
        if once {
            return self.builder.choice(vec![tag, rest], span);
        }
        let tags = self.builder.repeat(tag, 0, None, span);
        self.builder.sequence(vec![tags, rest], span)
    }

    /// The texts that an expression matches from start to end; with `json_string=true` only texts that need no escape
    /// in a JSON string. With `flags`, `.` matches no line feed unless they have `s`; `i` ignores the case of the
    /// letters of ASCII.
    fn regex(&mut self, arguments: Vec<CallArgument>, span: Span) -> Option<NodeId> {
        let mut pattern = None;
        let mut is_json = false;
        let mut flags = RegexFlags { ignores_case: false, dot_is_any: true };
        for argument in arguments {
            match argument {
                CallArgument::Text(text) if pattern.is_none() => pattern = Some(text),
                CallArgument::Keyword(name, value) => match (self.scanner.text(name), *value) {
                    ("json_string", CallArgument::Name(value)) => {
                        is_json = match self.scanner.text(value) {
                            "true" => true,
                            "false" => false,
                            _ => return self.invalid_call(value, "this must be `true` or `false`"),
                        };
                    }
                    ("flags", CallArgument::Text(letters)) => {
                        // All expressions match characters of Unicode, so `u` changes nothing.
                        if !letters.chars().all(|letter| matches!(letter, 'i' | 's' | 'u')) {
                            return self.invalid_call(name, "the flags are `i`, `s` and `u`");
                        }
                        flags.ignores_case = letters.contains('i');
                        flags.dot_is_any = letters.contains('s');
                    }
                    _ => return self.invalid_call(name, "the options are `flags=` and `json_string=`"),
                },
                _ => return self.invalid_call(span, "it takes one string"),
            }
        }
        let Some(pattern) = pattern else { return self.invalid_call(span, "it takes one string") };
        if !self.is_in_time(span) {
            return None;
        }
        let expression = rust_expression_with_flags(&pattern, NoBreakSpace::IsNone, flags);
        let mut term = match regex::term(self.builder.terms(), &expression, self.limits) {
            Ok(term) => term,
            Err(error) => {
                for diagnostic in regex_grammar::pattern_error(&error, &expression).diagnostics() {
                    // The error's own span refers to the expression.
                    self.scanner.report(diagnostic.clone().at(span));
                }
                return None;
            }
        };
        if is_json {
            let terms = self.builder.terms();
            let plain = terms.characters(&[(' ', '!'), ('#', '['), (']', char::MAX)]);
            let plain = terms.repeat(plain, 0, None);
            term = terms.intersection(&[term, plain]);
        }
        let label = format!("Regex({})", quote_text(&pattern));
        Some(self.builder.terminal(Terminal::Regular(term), &label, span))
    }

    /// The concatenations of consecutive listed texts.
    fn substring(&mut self, arguments: Vec<CallArgument>, span: Span) -> Option<NodeId> {
        let mut chunks: Vec<Box<str>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                CallArgument::Text(chunk) => chunks.push(chunk),
                _ => return self.invalid_call(span, "its arguments must be strings"),
            }
        }
        let Some(term) = self.builder.terms().substrings_of_chunks(&chunks) else {
            return self.invalid_call(span, "it matches more than a million different texts");
        };
        Some(self.builder.terminal(Terminal::Regular(term), "Substring(...)", span))
    }

    fn invalid_call<T>(&mut self, span: Span, message: &str) -> Option<T> {
        self.scanner.report(Diagnostic::error(Code::UnexpectedInput, message).at(span));
        None
    }
}
