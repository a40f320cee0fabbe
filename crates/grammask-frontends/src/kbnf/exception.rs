//! Expands the symbol in `except!(symbol)` to the strings that it derives.
//!
//! The symbol must be an alternation of nonempty strings, directly or through other symbols and round brackets. Each
//! definition is visited once per expansion, so alternatives that are reachable in several ways count once, and a cycle
//! such as `a ::= "x" | a;` adds nothing (the least fixpoint). The traversal uses an explicit stack.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Ast, Bracket, Expression, ExpressionId};
use grammask_diagnostics::{Code, Diagnostic, Position, Span};

/// The definitions of a source, by name.
pub(super) struct DefinitionTable<'a> {
    bodies: FxHashMap<&'a str, Vec<ExpressionId>>,
}

impl<'a> DefinitionTable<'a> {
    /// The definitions of `ast`.
    pub(super) fn of(ast: &'a Ast) -> Self {
        let mut bodies: FxHashMap<&str, Vec<ExpressionId>> = FxHashMap::default();
        for definition in ast.definitions() {
            bodies.entry(ast.text(definition.name)).or_default().push(definition.body);
        }
        Self { bodies }
    }

    /// Whether `name` has a definition.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.bodies.contains_key(name)
    }

    /// The right-hand sides of `name`.
    fn bodies(&self, name: &str) -> &[ExpressionId] {
        self.bodies.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The result of an expansion, and its cost.
pub(super) struct Expansion<'a> {
    /// The strings, in no particular order. An error without a diagnostic is reported elsewhere.
    pub(super) strings: Result<Vec<&'a [u8]>, Option<Box<Diagnostic>>>,
    /// Number of visited expressions.
    pub(super) visited: usize,
}

/// The strings that the symbol at `symbol` derives.
pub(super) fn expand<'a>(ast: &'a Ast, symbols: &DefinitionTable<'a>, symbol: Span) -> Expansion<'a> {
    let mut visited = 0;
    let strings = collect(ast, symbols, symbol, &mut visited);
    Expansion { strings, visited }
}

fn collect<'a>(
    ast: &'a Ast,
    symbols: &DefinitionTable<'a>,
    symbol: Span,
    visited: &mut usize,
) -> Result<Vec<&'a [u8]>, Option<Box<Diagnostic>>> {
    let name = ast.text(symbol);
    if !symbols.defines(name) {
        return Err(None);
    }
    let mut strings = Vec::new();
    let mut visited_names: FxHashSet<&str> = FxHashSet::default();
    visited_names.insert(name);
    let mut stack: Vec<ExpressionId> = symbols.bodies(name).to_vec();
    while let Some(id) = stack.pop() {
        *visited += 1;
        match ast.expression(id) {
            Expression::Literal(bytes) if !bytes.is_empty() => strings.push(&**bytes),
            Expression::Choice(alternatives) => {
                *visited += alternatives.len();
                stack.extend(alternatives.iter());
            }
            Expression::Bracketed { bracket: Bracket::Round, body } => stack.push(*body),
            Expression::Reference => {
                let next = ast.text(ast.span(id));
                if !symbols.defines(next) {
                    return Err(None);
                }
                if visited_names.insert(next) {
                    *visited += symbols.bodies(next).len();
                    stack.extend(symbols.bodies(next));
                }
            }
            Expression::Error => return Err(None),
            _ => {
                let span = ast.span(id);
                let position = Position::of(ast.source(), span.start);
                let shown: String = ast.text(span).chars().take(40).collect();
                let found = format!("`{shown}` on line {}, column {}", position.line, position.column);
                return Err(Some(Box::new(invalid_exception(name, symbol).found(found))));
            }
        }
    }
    if strings.is_empty() {
        return Err(Some(Box::new(invalid_exception(name, symbol).found("no string at all"))));
    }
    Ok(strings)
}

fn invalid_exception(name: &str, symbol: Span) -> Diagnostic {
    Diagnostic::error(
        Code::InvalidException,
        format!("`{name}` does not stand for a choice of nonempty strings"),
    )
    .at(symbol)
    .expected(["strings, and symbols that stand for strings, between bars"])
    .help("for a text without a match of a regex write `#ex\"...\"`")
}
