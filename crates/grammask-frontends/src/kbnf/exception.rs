//! Expands a symbol into the strings it stands for, for `except!(symbol)`.
//!
//! The symbol must stand for an alternation of nonempty strings, directly or through other symbols and round
//! brackets. Every definition is entered once per expansion, so alternatives that come by several ways count once, and
//! a cycle such as `a ::= "x" | a;` adds nothing (it is the least fixpoint). The walk keeps its own stack.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Ast, Bracket, Expression, ExpressionId};
use grammask_diagnostics::{Code, Diagnostic, Position, Span};

/// The definitions of a text, by name.
pub(super) struct Symbols<'a> {
    bodies: FxHashMap<&'a str, Vec<ExpressionId>>,
}

impl<'a> Symbols<'a> {
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

/// What an expansion found, and what it cost.
pub(super) struct Expansion<'a> {
    /// The strings, in no particular order; or why there are none, unless that is reported elsewhere.
    pub(super) strings: Result<Vec<&'a [u8]>, Option<Box<Diagnostic>>>,
    /// How many expressions were visited.
    pub(super) visited: usize,
}

/// The strings that the symbol at `symbol` stands for.
pub(super) fn expand<'a>(ast: &'a Ast, symbols: &Symbols<'a>, symbol: Span) -> Expansion<'a> {
    let mut visited = 0;
    let strings = collect(ast, symbols, symbol, &mut visited);
    Expansion { strings, visited }
}

fn collect<'a>(
    ast: &'a Ast,
    symbols: &Symbols<'a>,
    symbol: Span,
    visited: &mut usize,
) -> Result<Vec<&'a [u8]>, Option<Box<Diagnostic>>> {
    let name = ast.text(symbol);
    if !symbols.defines(name) {
        return Err(None);
    }
    let mut strings = Vec::new();
    let mut entered: FxHashSet<&str> = FxHashSet::default();
    entered.insert(name);
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
                if entered.insert(next) {
                    *visited += symbols.bodies(next).len();
                    stack.extend(symbols.bodies(next));
                }
            }
            Expression::Error => return Err(None),
            _ => {
                let place = ast.span(id);
                let position = Position::of(ast.source(), place.start);
                let shown: String = ast.text(place).chars().take(40).collect();
                let found = format!("`{shown}` on line {}, column {}", position.line, position.column);
                return Err(Some(Box::new(refusal(name, symbol).found(found))));
            }
        }
    }
    if strings.is_empty() {
        return Err(Some(Box::new(refusal(name, symbol).found("no string at all"))));
    }
    Ok(strings)
}

fn refusal(name: &str, symbol: Span) -> Diagnostic {
    Diagnostic::error(
        Code::InvalidException,
        format!("`{name}` does not stand for a choice of nonempty strings"),
    )
    .at(symbol)
    .expected(["strings, and symbols that stand for strings, between bars"])
    .help("for a text without a match of a regex write `#ex\"...\"`")
}
