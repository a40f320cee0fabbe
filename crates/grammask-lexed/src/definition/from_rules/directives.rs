//! Directives about symbols: which are terminals, with their roles and priorities, and which rules are lexical.

use rustc_hash::FxHashMap;

use crate::definition::source::TerminalRole;
use grammask_diagnostics::{Code, Span};
use grammask_grammar::NonterminalId;
use grammask_grammar::directives::{Directive, DirectiveKind, declares};

use super::RuleTranslation;

/// The directives about one symbol, combined.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolDirectives {
    pub(super) role: TerminalRole,
    /// Whether another grammar defines it.
    pub(super) is_declared: bool,
    /// Whether a directive gave the role; a priority alone does not.
    pub(super) has_role: bool,
    pub(super) priority: Option<i32>,
    pub(super) span: Span,
}

impl RuleTranslation<'_> {
    /// Combines the directives by symbol.
    pub(super) fn read_directives(&mut self) {
        let directives = self.options.directives;
        let symbols = self.grammar.nonterminals().iter().enumerate();
        let symbols: FxHashMap<&str, NonterminalId> = symbols
            .filter(|(_, definition)| definition.defined || declares(directives, &definition.name))
            .map(|(index, definition)| (&*definition.name, NonterminalId::new(index)))
            .collect();
        let lexical = directives.iter().filter(|directive| directive.kind == DirectiveKind::Lexical);
        self.lexical = lexical.filter_map(|directive| symbols.get(&*directive.name).copied()).collect();
        for directive in directives {
            match symbols.get(&*directive.name) {
                Some(&symbol) if self.lexical.contains(&symbol) => self.read_for_rule(symbol, directive),
                Some(&symbol) => self.read_for_terminal(symbol, directive),
                None => {
                    let message = format!("the symbol `{}` of a directive is not defined", directive.name);
                    let help = "define it, or remove it from the directive";
                    self.report(Code::UndefinedSymbol, message, directive.span, help);
                }
            }
        }
        self.check_priorities();
        let start = self.grammar.start();
        if let Some(declared) = self.declared.get(&start) {
            let (message, span) =
                (format!("the start symbol `{}` is a terminal", self.name(start)), declared.span);
            self.report(Code::UnexpectedInput, message, span, "start with a rule that refers to it");
        }
    }

    /// Reads a directive about a lexical rule.
    fn read_for_rule(&mut self, symbol: NonterminalId, directive: &Directive) {
        match directive.kind {
            DirectiveKind::Lexical => {}
            DirectiveKind::Ignore => self.ignored_rules.push(symbol),
            DirectiveKind::Terminal
            | DirectiveKind::Declare
            | DirectiveKind::Refuse
            | DirectiveKind::Priority(_) => {
                self.report_contradiction(directive, "a lexical rule may be ignored, but is no terminal");
            }
        }
    }

    /// Reads a directive about a terminal.
    fn read_for_terminal(&mut self, symbol: NonterminalId, directive: &Directive) {
        let Directive { kind, name, span } = directive;
        let new = SymbolDirectives {
            role: TerminalRole::Parsed,
            is_declared: false,
            has_role: false,
            priority: None,
            span: *span,
        };
        let mut declared = self.declared.get(&symbol).copied().unwrap_or(new);
        let role = match *kind {
            DirectiveKind::Priority(priority) => {
                if declared.priority.replace(priority).is_some() {
                    let message = format!("the terminal `{name}` has two priorities");
                    self.report(Code::UnexpectedInput, message, *span, "remove one of them");
                }
                None
            }
            DirectiveKind::Declare => {
                if self.grammar.nonterminals()[symbol.index()].defined {
                    let message = format!("the declared terminal `{name}` has a definition");
                    let help = "remove one of them; `%terminal` is for symbols with a definition";
                    self.report(Code::UnexpectedInput, message, *span, help);
                }
                declared.is_declared = true;
                None
            }
            DirectiveKind::Terminal | DirectiveKind::Lexical => Some(TerminalRole::Parsed),
            DirectiveKind::Ignore => Some(TerminalRole::Ignored),
            DirectiveKind::Refuse => Some(TerminalRole::Refused),
        };
        if let Some(role) = role {
            if declared.has_role && declared.role != role {
                self.report_contradiction(directive, "a terminal is parsed, ignored or refused");
            }
            (declared.role, declared.has_role) = (role, true);
        }
        self.declared.insert(symbol, declared);
    }

    fn report_contradiction(&mut self, directive: &Directive, help: &str) {
        let message = format!("two directives about `{}` contradict each other", directive.name);
        self.report(Code::UnexpectedInput, message, directive.span, help);
    }

    /// Reports symbols with a priority that are no terminals.
    fn check_priorities(&mut self) {
        let mut without_role: Vec<(NonterminalId, Span)> = self
            .declared
            .iter()
            .filter(|(_, declared)| !declared.has_role && !declared.is_declared)
            .map(|(&symbol, declared)| (symbol, declared.span))
            .collect();
        without_role.sort_unstable_by_key(|&(_, span)| span.start);
        for (symbol, span) in without_role {
            let message = format!("`{}` has a priority but is not a terminal", self.name(symbol));
            let help = "declare it with `%terminal`, or remove the priority";
            self.report(Code::UnexpectedInput, message, span, help);
        }
    }
}
