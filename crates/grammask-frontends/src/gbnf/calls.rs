//! XGrammar's calls: `Token(...)`, `ExcludeToken(...)`, `TagDispatch(...)`, `TokenTagDispatch(...)`, `Regex(...)` and
//! `Substring(...)`.

use super::expressions::{NoBreakSpace, rust_expression};
use super::parse::Parser;
use super::scan::{Kind, Token};
use crate::free_text::FreeText;
use crate::regex_grammar;
use grammask_automata::regex;
use grammask_diagnostics::{Code, Diagnostic, Span};
use grammask_grammar::{NodeId, Terminal, TokenReference, TokenSelection, TokenSense, quote_text};

/// An argument, as it is written.
enum Argument {
    Number(u32),
    Text(Box<str>),
    /// A name, or `true` or `false`.
    Name(Span),
    List(Vec<Argument>),
    Keyword(Span, Box<Argument>),
}

/// How deep lists of arguments are nested: pairs in a call.
const MOST_NESTED: usize = 2;

/// The arguments of a dispatch, sorted.
#[derive(Default)]
struct Dispatch {
    /// What stands for the text or token, and the rule behind it.
    pairs: Vec<(Argument, Span)>,
    excludes: Vec<Argument>,
    once: bool,
}

impl Parser<'_> {
    /// Whether `name` is the name of a call.
    pub(super) fn is_call(name: &str) -> bool {
        matches!(name, "Token" | "ExcludeToken" | "TagDispatch" | "TokenTagDispatch" | "Regex" | "Substring")
    }

    /// The call of `name` whose opening bracket is the current token; none, with a report, if it is wrong.
    pub(super) fn call(&mut self, name: &Token) -> Option<NodeId> {
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

    /// The arguments between the brackets, the first of which is the current token.
    fn arguments(&mut self) -> Option<Vec<Argument>> {
        self.advance();
        let mut open: Vec<Vec<Argument>> = vec![Vec::new()];
        let mut keywords: Vec<Option<Span>> = vec![None];
        loop {
            let token = self.current.clone();
            let argument = match token.kind {
                Kind::Number(number) => Argument::Number(number),
                Kind::Text(text) => Argument::Text(text),
                Kind::Name => {
                    self.advance();
                    if self.current.kind == Kind::Equals {
                        self.advance();
                        *keywords.last_mut()? = Some(token.span);
                    } else {
                        let argument = Argument::Name(token.span);
                        Self::push(&mut open, &mut keywords, argument);
                        self.separator()?;
                    }
                    continue;
                }
                Kind::Open if open.len() <= MOST_NESTED => {
                    self.advance();
                    open.push(Vec::new());
                    keywords.push(None);
                    continue;
                }
                Kind::Close => {
                    self.advance();
                    let list = open.pop()?;
                    keywords.pop();
                    if open.is_empty() {
                        return Some(list);
                    }
                    Self::push(&mut open, &mut keywords, Argument::List(list));
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

    fn push(open: &mut [Vec<Argument>], keywords: &mut [Option<Span>], argument: Argument) {
        let keyword = keywords.last_mut().and_then(Option::take);
        if let Some(list) = open.last_mut() {
            list.push(match keyword {
                Some(name) => Argument::Keyword(name, Box::new(argument)),
                None => argument,
            });
        }
    }

    /// A comma, or the bracket that closes.
    fn separator(&mut self) -> Option<()> {
        match self.current.kind {
            Kind::Comma => self.advance(),
            Kind::Close => {}
            _ => {
                let token = self.current.clone();
                self.scanner.report_unexpected(&token, &["`,`", "`)`"]);
                return None;
            }
        }
        Some(())
    }

    fn tokens(&mut self, arguments: Vec<Argument>, sense: TokenSense, span: Span) -> Option<NodeId> {
        let mut ids = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Number(id) => ids.push(TokenReference::Id(id)),
                _ => return self.wrong_call(span, "it takes ids of tokens"),
            }
        }
        if ids.is_empty() && sense == TokenSense::Listed {
            return self.wrong_call(span, "it takes at least one id");
        }
        Some(self.one_of(ids, sense, span))
    }

    /// A terminal of tokens.
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

    fn dispatch(&mut self, arguments: Vec<Argument>, span: Span) -> Option<Dispatch> {
        let mut dispatch = Dispatch::default();
        for argument in arguments {
            match argument {
                Argument::List(mut pair) if pair.len() == 2 => match (pair.pop(), pair.pop()) {
                    (Some(Argument::Name(rule)), Some(trigger)) => dispatch.pairs.push((trigger, rule)),
                    _ => return self.wrong_call(span, "each pair is a trigger and the name of a rule"),
                },
                Argument::Keyword(name, value) => match (self.scanner.text(name), *value) {
                    ("loop_after_dispatch", Argument::Name(value)) => {
                        dispatch.once = match self.scanner.text(value) {
                            "true" => false,
                            "false" => true,
                            _ => return self.wrong_call(value, "this is `true` or `false`"),
                        };
                    }
                    ("excludes", Argument::List(excludes)) => dispatch.excludes = excludes,
                    _ => {
                        return self
                            .wrong_call(name, "the options are `loop_after_dispatch=` and `excludes=`");
                    }
                },
                _ => return self.wrong_call(span, "it takes pairs of a trigger and the name of a rule"),
            }
        }
        if dispatch.pairs.is_empty() {
            return self.wrong_call(span, "it takes at least one pair of a trigger and the name of a rule");
        }
        Some(dispatch)
    }

    /// Text without triggers, and then a trigger and its rule; again and again, or once.
    fn tag_dispatch(&mut self, arguments: Vec<Argument>, span: Span) -> Option<NodeId> {
        let Dispatch { pairs, excludes, once } = self.dispatch(arguments, span)?;
        let mut text = FreeText::default();
        let mut rules = Vec::with_capacity(pairs.len());
        for (trigger, rule) in pairs {
            match trigger {
                Argument::Text(trigger) if !trigger.is_empty() => text.ends.push(trigger.as_bytes().into()),
                _ => return self.wrong_call(span, "a trigger is a string with some text"),
            }
            rules.push(rule);
        }
        for exclude in excludes {
            match exclude {
                Argument::Text(exclude) if !exclude.is_empty() => {
                    text.excludes.push(exclude.as_bytes().into());
                }
                _ => return self.wrong_call(span, "what is excluded is a string with some text"),
            }
        }
        let mut tags = Vec::with_capacity(rules.len());
        for (index, rule) in rules.into_iter().enumerate() {
            let before = text.before(&mut self.builder, index);
            let trigger = self.builder.literal(&text.ends[index], span);
            let body = self.reference(rule);
            tags.push(self.builder.sequence(vec![before, trigger, body], span));
        }
        let rest = text.before(&mut self.builder, usize::MAX);
        Some(self.dispatched(tags, rest, once, span))
    }

    /// The same with tokens in place of text.
    fn token_dispatch(&mut self, arguments: Vec<Argument>, span: Span) -> Option<NodeId> {
        let Dispatch { pairs, excludes, once } = self.dispatch(arguments, span)?;
        let mut ids = Vec::new();
        for argument in pairs.iter().map(|(trigger, _)| trigger).chain(&excludes) {
            match argument {
                Argument::Number(id) => ids.push(TokenReference::Id(*id)),
                _ => return self.wrong_call(span, "tokens are named by their ids"),
            }
        }
        let other = self.one_of(ids.clone(), TokenSense::Others, span);
        let free = self.builder.repeat(other, 0, None, span);
        let mut tags = Vec::with_capacity(pairs.len());
        for ((_, rule), id) in pairs.into_iter().zip(ids) {
            let trigger = self.one_of(vec![id], TokenSense::Listed, span);
            let body = self.reference(rule);
            tags.push(self.builder.sequence(vec![free, trigger, body], span));
        }
        Some(self.dispatched(tags, free, once, span))
    }

    fn dispatched(&mut self, tags: Vec<NodeId>, rest: NodeId, once: bool, span: Span) -> NodeId {
        let tag = self.builder.choice(tags, span);
        if once {
            return self.builder.choice(vec![tag, rest], span);
        }
        let tags = self.builder.repeat(tag, 0, None, span);
        self.builder.sequence(vec![tags, rest], span)
    }

    /// The texts that match an expression as a whole; with `json_string=true` those that can stand in a string of JSON
    /// as they are.
    fn regex(&mut self, arguments: Vec<Argument>, span: Span) -> Option<NodeId> {
        let mut pattern = None;
        let mut is_json = false;
        for argument in arguments {
            match argument {
                Argument::Text(text) if pattern.is_none() => pattern = Some(text),
                Argument::Keyword(name, value) => match (self.scanner.text(name), *value) {
                    ("json_string", Argument::Name(value)) => {
                        is_json = match self.scanner.text(value) {
                            "true" => true,
                            "false" => false,
                            _ => return self.wrong_call(value, "this is `true` or `false`"),
                        };
                    }
                    _ => return self.wrong_call(name, "the option is `json_string=`"),
                },
                _ => return self.wrong_call(span, "it takes one string"),
            }
        }
        let Some(pattern) = pattern else { return self.wrong_call(span, "it takes one string") };
        if !self.is_in_time(span) {
            return None;
        }
        let expression = rust_expression(&pattern, NoBreakSpace::IsNone);
        let mut term = match regex::term(self.builder.terms(), &expression, self.limits) {
            Ok(term) => term,
            Err(error) => {
                for diagnostic in regex_grammar::pattern_error(&error, &expression).diagnostics() {
                    // Its own place is one in the expression.
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

    /// Some of the listed texts in a row.
    fn substring(&mut self, arguments: Vec<Argument>, span: Span) -> Option<NodeId> {
        let mut chunks: Vec<Box<str>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Text(chunk) => chunks.push(chunk),
                _ => return self.wrong_call(span, "it takes strings"),
            }
        }
        let Some(term) = self.builder.terms().substrings_of_chunks(&chunks) else {
            return self.wrong_call(span, "these are more than a million different texts");
        };
        Some(self.builder.terminal(Terminal::Regular(term), "Substring(...)", span))
    }

    fn wrong_call<T>(&mut self, span: Span, message: &str) -> Option<T> {
        self.scanner.report(Diagnostic::error(Code::UnexpectedInput, message).at(span));
        None
    }
}
