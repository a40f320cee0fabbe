//! Parses rules and builds the grammar.
//!
//! One loop over tokens with a stack of frames. In llama.cpp's dialect a rule ends at a line start outside of brackets,
//! unless a bar or `::=` precedes it; in XGrammar's, only at a name at a line start that is followed by `::=`.

use rustc_hash::FxHashMap;

use super::Dialect;
use super::options::{RuleOptions, RuleWithOptions};
use super::scan::{CharacterRanges, GbnfScanner, GbnfToken, GbnfTokenKind, Negated};
use grammask_automata::TermId;
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded, Limits, Span, closest};
use grammask_grammar::directives::{Directive, DirectiveKind, DirectiveMode, declares};
use grammask_grammar::{
    BindingKind, Grammar, GrammarBuilder, NodeId, Terminal, TokenReference, TokenSense, directives,
};

/// Parses `text`, or returns all of its errors.
pub(super) fn parse<'s>(
    text: &'s str,
    start: &str,
    dialect: Dialect,
    mode: DirectiveMode,
    limits: &'s Limits,
) -> Result<(Grammar, Vec<Directive>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut scanner = GbnfScanner::new(text, dialect, mode);
    let current = scanner.next();
    let next = scanner.next();
    let mut parser = GbnfParser {
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
        deadline: Deadline::of(limits),
        expired: None,
        rules_with_options: Vec::new(),
    };
    while parser.current.kind != GbnfTokenKind::End {
        if parser.current.kind == GbnfTokenKind::Directive {
            parser.directive();
        } else {
            parser.rule();
        }
        if let Some(expired) = parser.expired {
            return Err(vec![expired]);
        }
        if parser.builder.size() > limits.grammar_size {
            let place = Span::new(parser.current.span.start, parser.current.span.start);
            let limit = LimitExceeded::new("grammar_size", limits.grammar_size).diagnostic().at(place);
            return Err(vec![limit]);
        }
    }
    parser.check_names(start);
    if !parser.scanner.has_errors() {
        let rules_with_options = std::mem::take(&mut parser.rules_with_options);
        parser.define_rules_with_options(&rules_with_options);
    }
    let GbnfParser { scanner, mut builder, directives, .. } = parser;
    if scanner.has_errors() {
        return Err(scanner.into_diagnostics());
    }
    for directive in directives.iter().filter(|directive| directive.kind == DirectiveKind::Declare) {
        builder.nonterminal(&directive.name, directive.span);
    }
    let start = builder.nonterminal(start, Span::default());
    Ok((builder.finish(start), directives, scanner.into_diagnostics()))
}

/// The parser of one source.
pub(super) struct GbnfParser<'s> {
    pub(super) scanner: GbnfScanner<'s>,
    pub(super) current: GbnfToken,
    next: GbnfToken,
    /// End of the previous token.
    last_end: usize,
    pub(super) builder: GrammarBuilder,
    /// Memo table of the terms of classes.
    classes: FxHashMap<CharacterRanges, TermId>,
    defined: FxHashMap<&'s str, Span>,
    used: Vec<Span>,
    directives: Vec<Directive>,
    pub(super) limits: &'s Limits,
    deadline: Deadline,
    /// The diagnostic of the expired deadline, once it has expired.
    expired: Option<Diagnostic>,
    rules_with_options: Vec<RuleWithOptions>,
}

/// A binding whose operand is being parsed.
struct GbnfBinding {
    kind: BindingKind,
    name: Span,
    start: usize,
}

/// A rule, or an open bracket in it.
struct GbnfFrame {
    open: Span,
    alternatives: Vec<NodeId>,
    sequence: Vec<NodeId>,
    /// Start of the current alternative.
    start: usize,
    /// Whether the last part has a quantifier already.
    has_quantifier: bool,
    /// The binding whose operand the bracket contains.
    binding: Option<GbnfBinding>,
    /// Whether this is a look-ahead, which is dropped: it is a hint for XGrammar's compiler and changes no language.
    is_hint: bool,
}

impl GbnfFrame {
    fn new(open: Span) -> Self {
        Self {
            open,
            alternatives: Vec::new(),
            sequence: Vec::new(),
            start: open.end,
            has_quantifier: false,
            binding: None,
            is_hint: false,
        }
    }

    fn push(&mut self, node: NodeId) {
        self.sequence.push(node);
        self.has_quantifier = false;
    }
}

impl<'s> GbnfParser<'s> {
    /// Whether the deadline has not expired; otherwise records it at `span`.
    pub(super) fn is_in_time(&mut self, span: Span) -> bool {
        if self.expired.is_none()
            && let Err(limit) = self.deadline.check()
        {
            self.expired = Some(limit.diagnostic().at(span));
        }
        self.expired.is_none()
    }

    pub(super) fn advance(&mut self) {
        let next = self.scanner.next();
        self.last_end = self.current.span.end;
        self.current = std::mem::replace(&mut self.next, next);
    }

    /// Parses `%name` and the words on its line.
    fn directive(&mut self) {
        let keyword = self.current.span;
        self.advance();
        let mut words = Vec::new();
        while self.current.kind != GbnfTokenKind::End && !self.current.first_of_line {
            if self.current.kind != GbnfTokenKind::Name {
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

    /// Parses a rule, or reports the token in its place.
    fn rule(&mut self) {
        let name = self.current.clone();
        if name.kind != GbnfTokenKind::Name || !self.begins_rule() {
            let expected = if name.kind == GbnfTokenKind::Name { "`::=`" } else { "a rule, `name ::= ...`" };
            let unexpected = if name.kind == GbnfTokenKind::Name { self.next.clone() } else { name };
            self.scanner.report_unexpected(&unexpected, &[expected]);
            self.skip_to_rule();
            return;
        }
        self.advance();
        let (mut options, mut temperature) = (RuleOptions::default(), None);
        if self.current.kind == GbnfTokenKind::Options {
            (options, temperature) = self.options(self.current.span);
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
        let mut lhs = self.builder.nonterminal(text, name.span);
        if let Some(body) = self.alternatives(define) {
            let end = self.last_end.max(define.end);
            let span = Span::new(name.span.start, end);
            let body = self.builder.scope_of_bindings(body, span);
            if let Some(temperature) = temperature {
                let inner =
                    self.builder.nonterminal(&format!("{text}[temperature={temperature}]"), name.span);
                let reference = self.builder.reference(inner, name.span);
                self.builder.define(lhs, reference, span);
                lhs = inner;
            }
            if options.limits_texts() {
                self.rules_with_options.push(RuleWithOptions { lhs, body, name: name.span, span, options });
            } else {
                self.builder.define(lhs, body, span);
            }
        }
    }

    /// Whether the current token is the name in the definition of a rule.
    fn begins_rule(&self) -> bool {
        matches!(self.next.kind, GbnfTokenKind::Define | GbnfTokenKind::Options)
    }

    /// Parses the right-hand side of a rule. `None`, with a report, if it is malformed.
    fn alternatives(&mut self, define: Span) -> Option<NodeId> {
        let mut stack = vec![GbnfFrame::new(define)];
        let mut continues = true;
        loop {
            if stack.len() == 1 && self.ends_rule(continues) {
                let frame = stack.pop()?;
                return Some(self.close(frame));
            }
            let token = self.current.clone();
            continues = token.kind == GbnfTokenKind::Bar;
            if self.operator_or_part(&token, &mut stack).is_none() {
                self.skip_to_rule();
                return None;
            }
        }
    }

    /// Parses an operator, a bracket or a part of a sequence, which begins with `token`. `None`, with a report, if it is
    /// malformed.
    fn operator_or_part(&mut self, token: &GbnfToken, stack: &mut Vec<GbnfFrame>) -> Option<()> {
        match token.kind {
            GbnfTokenKind::Open => {
                self.advance();
                let is_hint = self.current.kind == GbnfTokenKind::Equals;
                if is_hint {
                    self.advance();
                }
                stack.push(GbnfFrame { is_hint, ..GbnfFrame::new(token.span) });
                return Some(());
            }
            GbnfTokenKind::Close if stack.len() > 1 => {
                let mut frame = stack.pop()?;
                let (is_hint, binding) = (frame.is_hint, frame.binding.take());
                let mut node = self.close(frame);
                if let Some(GbnfBinding { kind, name, start }) = binding {
                    let span = Span::new(start, token.span.end);
                    node = self.builder.binding(kind, self.scanner.text(name), Some(node), span);
                }
                if !is_hint {
                    stack.last_mut()?.push(node);
                }
            }
            GbnfTokenKind::Bar => {
                let frame = stack.last_mut()?;
                let parts = std::mem::take(&mut frame.sequence);
                let span = Span::new(frame.start, token.span.start.max(frame.start));
                let alternative = self.builder.sequence(parts, span);
                frame.alternatives.push(alternative);
                frame.start = token.span.end;
            }
            GbnfTokenKind::Repeat { min, max } => {
                let dialect = self.scanner.dialect();
                let frame = stack.last_mut()?;
                let is_repeated_again = frame.has_quantifier && dialect == Dialect::XGrammar;
                match frame.sequence.pop() {
                    Some(node) if !is_repeated_again => {
                        let node = self.builder.repeat(node, min, max, token.span);
                        frame.sequence.push(node);
                        frame.has_quantifier = true;
                    }
                    _ => {
                        self.scanner.report_unexpected(token, &["an expression before the repetition"]);
                        return None;
                    }
                }
            }
            GbnfTokenKind::Binding(kind) => return self.binding(kind, stack),
            GbnfTokenKind::Name
                if self.next.kind == GbnfTokenKind::Open && Self::is_call(self.scanner.text(token.span)) =>
            {
                self.advance();
                let node = self.call(token)?;
                stack.last_mut()?.push(node);
                return Some(());
            }
            _ => match self.part(token) {
                Some(node) => stack.last_mut()?.push(node),
                None => {
                    self.report_in(token, stack);
                    return None;
                }
            },
        }
        self.advance();
        Some(())
    }

    /// Parses `same!(name)`, or the beginning of a binding up to its operand, for which it opens a frame. `None`, with a
    /// report, if it is malformed.
    fn binding(&mut self, kind: BindingKind, stack: &mut Vec<GbnfFrame>) -> Option<()> {
        let start = self.current.span.start;
        self.advance();
        let open = self.current.span;
        self.advance();
        let name = self.current.span;
        self.expect(GbnfTokenKind::Name, "a name")?;
        if kind == BindingKind::Same {
            let span = Span::new(start, self.current.span.end);
            self.expect(GbnfTokenKind::Close, "`)`")?;
            let node = self.builder.binding(kind, self.scanner.text(name), None, span);
            stack.last_mut()?.push(node);
            return Some(());
        }
        self.expect(GbnfTokenKind::Comma, "`,` and a part of the text")?;
        stack.push(GbnfFrame { binding: Some(GbnfBinding { kind, name, start }), ..GbnfFrame::new(open) });
        Some(())
    }

    /// Consumes a token in the arguments of a binding. `None`, with a report, if it is another one.
    fn expect(&mut self, kind: GbnfTokenKind, expected: &str) -> Option<()> {
        if self.current.kind == kind {
            self.advance();
            return Some(());
        }
        let token = self.current.clone();
        self.scanner.report_unexpected(&token, &[expected]);
        None
    }

    /// Whether the rule ends before the current token.
    fn ends_rule(&self, continues: bool) -> bool {
        if self.current.kind == GbnfTokenKind::End {
            return true;
        }
        match self.scanner.dialect() {
            Dialect::LlamaCpp => self.current.first_of_line && !continues,
            Dialect::XGrammar => {
                self.current.first_of_line && self.current.kind == GbnfTokenKind::Name && self.begins_rule()
            }
        }
    }

    fn close(&mut self, frame: GbnfFrame) -> NodeId {
        let GbnfFrame { open, mut alternatives, sequence, start, .. } = frame;
        let end = self.last_end.max(start);
        alternatives.push(self.builder.sequence(sequence, Span::new(start, end)));
        self.builder.choice(alternatives, Span::new(open.start.min(end), end))
    }

    /// Adds a part without brackets. `None` if the token is not a part.
    fn part(&mut self, token: &GbnfToken) -> Option<NodeId> {
        let span = token.span;
        Some(match &token.kind {
            GbnfTokenKind::Name => self.reference(span),
            GbnfTokenKind::Text(text) if text.is_empty() => self.builder.sequence(Vec::new(), span),
            GbnfTokenKind::Text(text) => self.builder.literal(text.as_bytes(), span),
            GbnfTokenKind::Class(characters) => self.class(characters, span),
            GbnfTokenKind::AnyCharacter => self.class(&vec![('\0', char::MAX)], span),
            GbnfTokenKind::Token { reference, negated: Negated::No } => {
                let label = self.scanner.text(span).to_owned();
                self.builder.terminal(Terminal::Token(reference.clone()), &label, span)
            }
            GbnfTokenKind::Token { reference, negated: Negated::Yes } => {
                let tokens: Vec<TokenReference> = vec![reference.clone()];
                self.one_of(tokens, TokenSense::Others, span)
            }
            GbnfTokenKind::Broken => self.builder.sequence(Vec::new(), span),
            _ => return None,
        })
    }

    fn class(&mut self, characters: &CharacterRanges, span: Span) -> NodeId {
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

    /// Adds a reference to the rule with the name at `span`.
    pub(super) fn reference(&mut self, span: Span) -> NodeId {
        self.used.push(span);
        let rule = self.builder.nonterminal(self.scanner.text(span), span);
        self.builder.reference(rule, span)
    }

    /// Reports a token that is not allowed in a right-hand side.
    fn report_in(&mut self, token: &GbnfToken, stack: &[GbnfFrame]) {
        match stack {
            [_, .., frame] if token.kind == GbnfTokenKind::End => self.scanner.report(
                Diagnostic::error(Code::UnclosedBracket, "the bracket is not closed")
                    .at(frame.open)
                    .expected(["`)`"]),
            ),
            [_] if token.kind == GbnfTokenKind::Close => self.scanner.report(
                Diagnostic::error(Code::UnclosedBracket, "the bracket was not opened").at(token.span),
            ),
            _ => self.scanner.report_unexpected(
                token,
                &["a string", "a character class", "a name", "`(`", "`|`", "the end of the rule"],
            ),
        }
    }

    /// Skips to the next rule.
    fn skip_to_rule(&mut self) {
        loop {
            self.advance();
            let at_rule =
                self.current.first_of_line && self.current.kind == GbnfTokenKind::Name && self.begins_rule();
            let at_directive = self.current.first_of_line && self.current.kind == GbnfTokenKind::Directive;
            if at_rule || at_directive || self.current.kind == GbnfTokenKind::End {
                return;
            }
        }
    }

    /// Reports an undefined start symbol and undefined references, unless the source was not read to its end.
    fn check_names(&mut self, start: &str) {
        if self.scanner.stopped() {
            return;
        }
        let mut names: Vec<(&str, Span)> = self.defined.iter().map(|(&name, &span)| (name, span)).collect();
        // In source order, so that suggestions do not depend on hashing.
        names.sort_by_key(|(_, span)| span.start);
        let candidates = || names.iter().map(|&(name, _)| name);
        let mut diagnostics = Vec::new();
        if !self.defined.contains_key(start) {
            let help = match (closest(start, candidates()), names.first()) {
                (Some(close), _) => format!("did you mean `{close}`?"),
                (None, Some((first, _))) => {
                    format!("define `{start}`, or choose another start symbol, for example `{first}`")
                }
                (None, None) => format!("write `{start} ::= ...`"),
            };
            let place = names.first().map_or(Span::default(), |&(_, span)| span);
            diagnostics.push(
                Diagnostic::error(Code::MissingStart, format!("the start symbol `{start}` is not defined"))
                    .at(place)
                    .help(help),
            );
        }
        let mut reported: FxHashMap<&str, ()> = FxHashMap::default();
        for &span in &self.used {
            let name = self.scanner.text(span);
            if self.defined.contains_key(name)
                || declares(&self.directives, name)
                || reported.insert(name, ()).is_some()
            {
                continue;
            }
            let help = match closest(name, candidates()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("define it (`{name} ::= ...`), or write \"{name}\" if it stands for text"),
            };
            diagnostics.push(
                Diagnostic::error(Code::UndefinedSymbol, format!("the rule `{name}` is not defined"))
                    .at(span)
                    .help(help),
            );
        }
        diagnostics.into_iter().for_each(|diagnostic| self.scanner.report(diagnostic));
    }
}
