//! Reads rules and builds the grammar.
//!
//! One loop over tokens; what is open is a stack of frames. In llama.cpp's dialect a line that begins while no bracket
//! is open ends a rule, unless a bar or `::=` came last; in XGrammar's only a name that is followed by `::=` does.

use rustc_hash::FxHashMap;

use super::Dialect;
use super::options::{OptionedRule, Options};
use super::scan::{Characters, Kind, Negated, Scanner, Token};
use grammask_automata::TermId;
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded, Limits, Span, closest};
use grammask_grammar::directives::{Directive, DirectiveMode};
use grammask_grammar::{Grammar, GrammarBuilder, NodeId, Terminal, TokenReference, TokenSense, directives};

/// Reads `text`, or finds out everything that is wrong with it.
pub(super) fn parse<'s>(
    text: &'s str,
    start: &str,
    dialect: Dialect,
    mode: DirectiveMode,
    limits: &'s Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut scanner = Scanner::new(text, dialect, mode);
    let current = scanner.next();
    let next = scanner.next();
    let mut parser = Parser {
        scanner,
        current,
        next,
        last_end: 0,
        builder: GrammarBuilder::new(text),
        classes: FxHashMap::default(),
        defined: FxHashMap::default(),
        used: Vec::new(),
        directives: Vec::new(),
        limits,
        deadline: Deadline::after(limits.time),
        late: None,
        optioned: Vec::new(),
    };
    while parser.current.kind != Kind::End {
        if parser.current.kind == Kind::Directive {
            parser.directive();
        } else {
            parser.rule();
        }
        if let Some(late) = parser.late {
            return Err(vec![late]);
        }
        if parser.builder.size() > limits.grammar_size {
            let place = Span::new(parser.current.span.start, parser.current.span.start);
            let limit = LimitExceeded::new("grammar_size", limits.grammar_size).diagnostic().at(place);
            return Err(vec![limit]);
        }
    }
    parser.check_names(start);
    if !parser.scanner.has_errors() {
        let optioned = std::mem::take(&mut parser.optioned);
        parser.define_optioned(&optioned);
    }
    let Parser { scanner, mut builder, directives, .. } = parser;
    if scanner.has_errors() {
        return Err(scanner.into_diagnostics());
    }
    let start = builder.nonterminal(start, Span::default());
    Ok((builder.finish(start), directives, scanner.into_diagnostics()))
}

/// The parser of one text.
pub(super) struct Parser<'s> {
    pub(super) scanner: Scanner<'s>,
    pub(super) current: Token,
    next: Token,
    /// Where the token before the current one ends.
    last_end: usize,
    pub(super) builder: GrammarBuilder,
    /// Terms of classes that were seen.
    classes: FxHashMap<Characters, TermId>,
    defined: FxHashMap<&'s str, Span>,
    used: Vec<Span>,
    directives: Vec<Directive>,
    pub(super) limits: &'s Limits,
    deadline: Deadline,
    /// That the time is over, once it is.
    late: Option<Diagnostic>,
    optioned: Vec<OptionedRule>,
}

/// What is open: a rule, or a bracket in it.
struct Frame {
    open: Span,
    alternatives: Vec<NodeId>,
    sequence: Vec<NodeId>,
    /// Where the current alternative begins.
    start: usize,
    /// Whether the last part was repeated already.
    repeated: bool,
    /// Whether this is a look ahead, which is dropped: it is a hint for XGrammar's compiler and changes no language.
    is_hint: bool,
}

impl Frame {
    fn new(open: Span) -> Self {
        Self {
            open,
            alternatives: Vec::new(),
            sequence: Vec::new(),
            start: open.end,
            repeated: false,
            is_hint: false,
        }
    }

    fn push(&mut self, node: NodeId) {
        self.sequence.push(node);
        self.repeated = false;
    }
}

impl<'s> Parser<'s> {
    /// Whether there is time for an expression at `span`.
    pub(super) fn is_in_time(&mut self, span: Span) -> bool {
        if self.late.is_none()
            && let Err(limit) = self.deadline.check()
        {
            self.late = Some(limit.diagnostic().at(span));
        }
        self.late.is_none()
    }

    pub(super) fn advance(&mut self) {
        let next = self.scanner.next();
        self.last_end = self.current.span.end;
        self.current = std::mem::replace(&mut self.next, next);
    }

    /// `%name` and the words on its line.
    fn directive(&mut self) {
        let keyword = self.current.span;
        self.advance();
        let mut words = Vec::new();
        while self.current.kind != Kind::End && !self.current.first_of_line {
            if self.current.kind != Kind::Name {
                let token = self.current.clone();
                self.scanner.report_unexpected(&token, &["a name", "the end of the line"]);
                self.skip_to_rule();
                return;
            }
            words.push((self.scanner.text(self.current.span), self.current.span));
            self.advance();
        }
        match directives::parse(self.scanner.text(keyword), keyword, &words) {
            Ok(read) => self.directives.extend(read),
            Err(diagnostic) => self.scanner.report(*diagnostic),
        }
    }

    /// A rule, or what stands in place of one.
    fn rule(&mut self) {
        let name = self.current.clone();
        if name.kind != Kind::Name || !self.begins_rule() {
            let expected = if name.kind == Kind::Name { "`::=`" } else { "a rule, `name ::= ...`" };
            let wrong = if name.kind == Kind::Name { self.next.clone() } else { name };
            self.scanner.report_unexpected(&wrong, &[expected]);
            self.skip_to_rule();
            return;
        }
        self.advance();
        let mut options = Options::default();
        if self.current.kind == Kind::Options {
            options = self.options(self.current.span);
            self.advance();
        }
        let text = self.scanner.text(name.span);
        if let Some(first) = self.defined.insert(text, name.span) {
            self.defined.insert(text, first);
            self.scanner.report(
                Diagnostic::error(Code::DuplicateRule, format!("the rule `{text}` is defined twice"))
                    .at(name.span)
                    .help("write alternatives in one rule, `a | b`"),
            );
        }
        let define = self.current.span;
        self.advance();
        let lhs = self.builder.nonterminal(text, name.span);
        if let Some(body) = self.alternatives(define) {
            let end = self.last_end.max(define.end);
            let span = Span::new(name.span.start, end);
            if options.limits_texts() {
                self.optioned.push(OptionedRule { lhs, body, name: name.span, span, options });
            } else {
                self.builder.define(lhs, body, span);
            }
        }
    }

    /// Whether the current token is the name of a rule that is defined here.
    fn begins_rule(&self) -> bool {
        matches!(self.next.kind, Kind::Define | Kind::Options)
    }

    /// The right-hand side of a rule; none, with a report, if it is wrong.
    fn alternatives(&mut self, define: Span) -> Option<NodeId> {
        let mut stack = vec![Frame::new(define)];
        let mut continues = true;
        loop {
            if stack.len() == 1 && self.ends_rule(continues) {
                let frame = stack.pop()?;
                return Some(self.close(frame));
            }
            let token = self.current.clone();
            continues = token.kind == Kind::Bar;
            match token.kind {
                Kind::Open => {
                    self.advance();
                    let is_hint = self.current.kind == Kind::Equals;
                    if is_hint {
                        self.advance();
                    }
                    stack.push(Frame { is_hint, ..Frame::new(token.span) });
                    continue;
                }
                Kind::Close if stack.len() > 1 => {
                    let frame = stack.pop()?;
                    let is_hint = frame.is_hint;
                    let node = self.close(frame);
                    if !is_hint {
                        stack.last_mut()?.push(node);
                    }
                }
                Kind::Bar => {
                    let frame = stack.last_mut()?;
                    let parts = std::mem::take(&mut frame.sequence);
                    let span = Span::new(frame.start, token.span.start.max(frame.start));
                    let alternative = self.builder.sequence(parts, span);
                    frame.alternatives.push(alternative);
                    frame.start = token.span.end;
                }
                Kind::Repeat { least, most } => {
                    let dialect = self.scanner.dialect();
                    let frame = stack.last_mut()?;
                    let again = frame.repeated && dialect == Dialect::XGrammar;
                    match frame.sequence.pop() {
                        Some(node) if !again => {
                            let node = self.builder.repeat(node, least, most, token.span);
                            frame.sequence.push(node);
                            frame.repeated = true;
                        }
                        _ => {
                            self.scanner.report_unexpected(&token, &["something that can be repeated"]);
                            self.skip_to_rule();
                            return None;
                        }
                    }
                }
                Kind::Name
                    if self.next.kind == Kind::Open && Self::is_call(self.scanner.text(token.span)) =>
                {
                    self.advance();
                    match self.call(&token) {
                        Some(node) => stack.last_mut()?.push(node),
                        None => {
                            self.skip_to_rule();
                            return None;
                        }
                    }
                    continue;
                }
                _ => match self.part(&token) {
                    Some(node) => stack.last_mut()?.push(node),
                    None => {
                        self.report_in(&token, &stack);
                        self.skip_to_rule();
                        return None;
                    }
                },
            }
            self.advance();
        }
    }

    /// Whether the rule is over before the current token.
    fn ends_rule(&self, continues: bool) -> bool {
        if self.current.kind == Kind::End {
            return true;
        }
        match self.scanner.dialect() {
            Dialect::LlamaCpp => self.current.first_of_line && !continues,
            Dialect::XGrammar => {
                self.current.first_of_line && self.current.kind == Kind::Name && self.begins_rule()
            }
        }
    }

    fn close(&mut self, frame: Frame) -> NodeId {
        let Frame { open, mut alternatives, sequence, start, .. } = frame;
        let end = self.last_end.max(start);
        alternatives.push(self.builder.sequence(sequence, Span::new(start, end)));
        self.builder.choice(alternatives, Span::new(open.start.min(end), end))
    }

    /// A part without brackets; none if the token is no part.
    fn part(&mut self, token: &Token) -> Option<NodeId> {
        let span = token.span;
        Some(match &token.kind {
            Kind::Name => self.reference(span),
            Kind::Text(text) if text.is_empty() => self.builder.sequence(Vec::new(), span),
            Kind::Text(text) => self.builder.literal(text.as_bytes(), span),
            Kind::Class(characters) => self.class(characters, span),
            Kind::AnyCharacter => self.class(&vec![('\0', char::MAX)], span),
            Kind::Token { reference, negated: Negated::No } => {
                let label = self.scanner.text(span).to_owned();
                self.builder.terminal(Terminal::Token(reference.clone()), &label, span)
            }
            Kind::Token { reference, negated: Negated::Yes } => {
                let tokens: Vec<TokenReference> = vec![reference.clone()];
                self.one_of(tokens, TokenSense::Others, span)
            }
            Kind::Broken => self.builder.sequence(Vec::new(), span),
            _ => return None,
        })
    }

    fn class(&mut self, characters: &Characters, span: Span) -> NodeId {
        let term = match self.classes.get(characters) {
            Some(&term) => term,
            None => {
                let term = self.builder.terms().characters(characters);
                self.classes.insert(characters.clone(), term);
                term
            }
        };
        let label = self.scanner.text(span).replace(char::is_control, " ");
        self.builder.terminal(Terminal::Regular(term), &label, span)
    }

    /// A use of the rule whose name is at `span`.
    pub(super) fn reference(&mut self, span: Span) -> NodeId {
        self.used.push(span);
        let rule = self.builder.nonterminal(self.scanner.text(span), span);
        self.builder.reference(rule, span)
    }

    /// Reports a token that cannot stand in a right-hand side.
    fn report_in(&mut self, token: &Token, stack: &[Frame]) {
        match stack {
            [_, .., frame] if token.kind == Kind::End => self.scanner.report(
                Diagnostic::error(Code::UnclosedBracket, "the bracket has no partner")
                    .at(frame.open)
                    .expected(["`)`"]),
            ),
            [_] if token.kind == Kind::Close => self.scanner.report(
                Diagnostic::error(Code::UnclosedBracket, "the bracket has no partner").at(token.span),
            ),
            _ => self.scanner.report_unexpected(
                token,
                &["a string", "a character class", "a name", "`(`", "`|`", "the end of the rule"],
            ),
        }
    }

    /// Goes on at the next rule.
    fn skip_to_rule(&mut self) {
        loop {
            self.advance();
            let at_rule = self.current.first_of_line && self.current.kind == Kind::Name && self.begins_rule();
            let at_directive = self.current.first_of_line && self.current.kind == Kind::Directive;
            if at_rule || at_directive || self.current.kind == Kind::End {
                return;
            }
        }
    }

    /// Reports a start symbol and uses without definitions, unless the text was not read to its end.
    fn check_names(&mut self, start: &str) {
        if self.scanner.stopped() {
            return;
        }
        let mut names: Vec<(&str, Span)> = self.defined.iter().map(|(&name, &span)| (name, span)).collect();
        // In the order of the text, so that suggestions do not depend on hashing.
        names.sort_by_key(|(_, span)| span.start);
        let known = || names.iter().map(|&(name, _)| name);
        let mut found = Vec::new();
        if !self.defined.contains_key(start) {
            let help = match (closest(start, known()), names.first()) {
                (Some(close), _) => format!("did you mean `{close}`?"),
                (None, Some((first, _))) => {
                    format!("define `{start}`, or choose another start symbol, for example `{first}`")
                }
                (None, None) => format!("write `{start} ::= ...`"),
            };
            let place = names.first().map_or(Span::default(), |&(_, span)| span);
            found.push(
                Diagnostic::error(Code::MissingStart, format!("the start symbol `{start}` is not defined"))
                    .at(place)
                    .help(help),
            );
        }
        let mut reported: FxHashMap<&str, ()> = FxHashMap::default();
        for &span in &self.used {
            let name = self.scanner.text(span);
            if self.defined.contains_key(name) || reported.insert(name, ()).is_some() {
                continue;
            }
            let help = match closest(name, known()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("define it (`{name} ::= ...`), or write \"{name}\" if it stands for text"),
            };
            found.push(
                Diagnostic::error(Code::UndefinedSymbol, format!("the rule `{name}` is not defined"))
                    .at(span)
                    .help(help),
            );
        }
        found.into_iter().for_each(|diagnostic| self.scanner.report(diagnostic));
    }
}
