//! A lexed grammar as rules without a lexer, for diagrams and for analyses of the parser.

use std::sync::Arc;

use grammask_diagnostics::Span;
use grammask_grammar::{
    Definition, Grammar, Node, NodeId, NonterminalDefinition, Terminal, TerminalDefinition, quote_bytes,
};

use super::grammar::{LexedGrammar, LexedSymbol, LexedTerminal};
use super::source::TerminalSource;

impl LexedGrammar {
    /// The productions as a grammar. Its terminals are those of the lexer, with the same ids, so its texts are sequences
    /// of lexemes without the ignored ones. The terminals that indentation generates are literals of their names.
    ///
    /// The label of a literal is its quoted text, that of another terminal its name.
    #[must_use]
    pub fn as_rules(&self) -> Grammar {
        let mut nodes: Vec<Node> = Vec::new();
        let mut add = |node: Node| {
            nodes.push(node);
            NodeId::new(nodes.len() - 1)
        };
        let mut definitions = Vec::with_capacity(self.productions.len());
        for production in &self.productions {
            let parts: Box<[NodeId]> = production
                .rhs
                .iter()
                .map(|&symbol| match symbol {
                    LexedSymbol::Terminal(terminal) => add(Node::Terminal(terminal)),
                    LexedSymbol::Nonterminal(nonterminal) => add(Node::Nonterminal(nonterminal)),
                })
                .collect();
            let body = match parts[..] {
                [only] => only,
                _ => add(Node::Sequence(parts)),
            };
            definitions.push(Definition { lhs: production.lhs, body, span: Span::default() });
        }
        let sources = &self.definition().terminals;
        let nonterminal = |name: &Arc<str>| NonterminalDefinition {
            name: name.clone(),
            span: Span::default(),
            defined: true,
        };
        Grammar {
            terms: self.terms.clone(),
            terminals: self.terminals.iter().zip(sources).map(terminal_definition).collect(),
            nonterminals: self.nonterminals.iter().map(nonterminal).collect(),
            spans: vec![Span::default(); nodes.len()],
            nodes,
            embedded: Vec::new(),
            definitions,
            start: self.start,
            source: Arc::from(""),
            places: None,
        }
    }
}

fn terminal_definition(terminal: (&LexedTerminal, &TerminalSource)) -> TerminalDefinition {
    let (terminal, source) = terminal;
    let label =
        source.pattern.literal().map_or_else(|| terminal.name.clone(), |text| quote_bytes(text).into());
    let terminal = match terminal.term {
        Some(term) => Terminal::Regular(term),
        None => Terminal::Literal(terminal.name.as_bytes().into()),
    };
    TerminalDefinition { terminal, label }
}
