//! The abstract syntax tree of a KBNF source, which preserves brackets, operators and notation.
//!
//! Expressions are in one arena with children before parents, so no traversal (and no drop) recurses, whatever the
//! depth of nesting. Names are spans of the source.
//!
//! [`Ast`] prints as one S-expression per definition, for `grammask debug ast` and golden tests:
//!
//! ```
//! use grammask_diagnostics::Limits;
//! use grammask_frontends::kbnf;
//! let parsed = kbnf::parse(br#"start ::= "a" [B] | {B}+;"#, &Limits::default());
//! assert_eq!(parsed.ast.to_string(), "start = (choice (sequence \"a\" (option B)) (repeat + (braces B)))\n");
//! ```

use std::fmt;
use std::sync::Arc;

use super::escape::QuoteStyle;
use grammask_collections::id_type;
use grammask_diagnostics::Span;
use grammask_grammar::{BindingKind, TokenReference, quote_bytes, quote_text};

id_type! {
    /// An expression of an [`Ast`].
    ExpressionId
}

/// The syntax tree of a KBNF source.
#[derive(Clone, Debug)]
pub struct Ast {
    pub(super) source: Arc<str>,
    pub(super) definitions: Vec<KbnfDefinition>,
    pub(super) expressions: Vec<Expression>,
    pub(super) spans: Vec<Span>,
}

/// `name ::= body;`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KbnfDefinition {
    /// The span of the name.
    pub name: Span,
    /// The right-hand side.
    pub body: ExpressionId,
    /// From the name to the semicolon.
    pub span: Span,
}

/// A node of a right-hand side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A string: exactly these bytes.
    Literal(Box<[u8]>),
    /// The name of a symbol; the name is the text at the expression's span.
    Reference,
    /// `#"..."` and the other `#` forms.
    Pattern(PatternLiteral),
    /// `<|name|>`, `<"name">` or `<[id]>`.
    Token(TokenReference),
    /// `any!`
    AnyToken,
    /// `except!(...)`
    Except {
        /// The literals that the text does not contain.
        exception: Exception,
        /// Maximum number of model tokens of the text.
        tokens: Option<u32>,
    },
    /// `limit!(symbol, n)`: the texts of a symbol that overlap at most `tokens` model tokens.
    Limit {
        /// The symbol; its name is the source at the span.
        symbol: Span,
        /// Maximum number of model tokens.
        tokens: u32,
    },
    /// `bind!(name, operand)`, `same!(name)`, `other!(name, operand)` or `without_prefix!(name, operand)`.
    Binding {
        /// The operation.
        kind: BindingKind,
        /// The name; its text is the source at the span.
        name: Span,
        /// The operand; `None` for `same!`, and only there.
        operand: Option<ExpressionId>,
    },
    /// `( )`, `[ ]` or `{ }`.
    Bracketed {
        /// The kind of bracket.
        bracket: Bracket,
        /// The enclosed expression.
        body: ExpressionId,
    },
    /// An expression with a postfix operator.
    Postfix {
        /// The operand.
        operand: ExpressionId,
        /// The operator.
        operator: Postfix,
    },
    /// A concatenation.
    Sequence(Box<[ExpressionId]>),
    /// Alternatives.
    Choice(Box<[ExpressionId]>),
    /// A syntax error, described by a diagnostic.
    Error,
}

/// A regular expression, or a text whose substrings are meant, with its span in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternLiteral {
    /// The form of the literal.
    pub form: PatternForm,
    /// The pattern after the escape layer.
    pub text: Box<str>,
    pub(super) content: Span,
    pub(super) style: QuoteStyle,
}

/// The language of a `#` form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternForm {
    /// `#`: texts that the regex matches from start to end.
    Whole,
    /// `#e`: nonempty texts that the regex matches and that have no nonempty proper prefix that it matches.
    FirstMatch,
    /// `#ex`: nonempty texts that do not contain a match of the regex.
    WithoutMatch,
    /// `#substrs`: all substrings of the text, including the empty one.
    Substrings,
}

/// The argument of `except!`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exception {
    /// String literals separated by bars, each with its span.
    Strings(Box<[(Box<[u8]>, Span)]>),
    /// A symbol; its name is the source at the span.
    Symbol(Span),
}

/// The kinds of brackets around expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    /// `( )`: grouping.
    Round,
    /// `[ ]`: optional.
    Square,
    /// `{ }`: repeated any number of times.
    Curly,
}

impl Bracket {
    /// The opening character.
    #[must_use]
    pub fn open(self) -> char {
        match self {
            Self::Round => '(',
            Self::Square => '[',
            Self::Curly => '{',
        }
    }

    /// The closing character.
    #[must_use]
    pub fn close(self) -> char {
        match self {
            Self::Round => ')',
            Self::Square => ']',
            Self::Curly => '}',
        }
    }
}

/// A postfix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Postfix {
    /// `?`
    Question,
    /// `*`
    Star,
    /// `+`
    Plus,
    /// `{m,n}`, `{m}`, `{m,}` or `{,n}`.
    Bounds {
        /// Minimum number of repetitions.
        min: u32,
        /// Maximum number of repetitions.
        max: Option<u32>,
    },
}

impl Postfix {
    /// Minimum and maximum number of repetitions.
    #[must_use]
    pub fn bounds(self) -> (u32, Option<u32>) {
        match self {
            Self::Question => (0, Some(1)),
            Self::Star => (0, None),
            Self::Plus => (1, None),
            Self::Bounds { min, max } => (min, max),
        }
    }
}

impl fmt::Display for Postfix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Question => f.write_str("?"),
            Self::Star => f.write_str("*"),
            Self::Plus => f.write_str("+"),
            Self::Bounds { min, max: None } => write!(f, "{{{min},}}"),
            Self::Bounds { min, max: Some(max) } if min == max => write!(f, "{{{min}}}"),
            Self::Bounds { min, max: Some(max) } => write!(f, "{{{min},{max}}}"),
        }
    }
}

impl Ast {
    /// The source that all spans refer to, with U+FFFD in place of invalid UTF-8.
    #[must_use]
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// All definitions, in source order.
    #[must_use]
    pub fn definitions(&self) -> &[KbnfDefinition] {
        &self.definitions
    }

    /// All expressions; children precede their parents.
    #[must_use]
    pub fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    /// The expression with this id.
    #[must_use]
    pub fn expression(&self, id: ExpressionId) -> &Expression {
        &self.expressions[id.index()]
    }

    /// The span of an expression.
    #[must_use]
    pub fn span(&self, id: ExpressionId) -> Span {
        self.spans[id.index()]
    }

    /// The source at `span`.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        &self.source[span.start..span.end]
    }

    /// All expressions reachable from `roots`, in no particular order. Cost: linear in their number.
    pub(super) fn reachable(&self, roots: impl IntoIterator<Item = ExpressionId>) -> Vec<ExpressionId> {
        let mut stack: Vec<ExpressionId> = roots.into_iter().collect();
        let mut reachable = Vec::new();
        while let Some(id) = stack.pop() {
            reachable.push(id);
            match self.expression(id) {
                Expression::Sequence(parts) | Expression::Choice(parts) => {
                    stack.extend(parts.iter().copied())
                }
                Expression::Bracketed { body, .. } => stack.push(*body),
                Expression::Binding { operand, .. } => stack.extend(operand),
                Expression::Postfix { operand, .. } => stack.push(*operand),
                Expression::Literal(_)
                | Expression::Reference
                | Expression::Pattern(_)
                | Expression::Token(_)
                | Expression::AnyToken
                | Expression::Except { .. }
                | Expression::Limit { .. }
                | Expression::Error => {}
            }
        }
        reachable
    }

    /// Writes the head of `id` and pushes its children onto `stack`.
    fn write_head(
        &self,
        f: &mut fmt::Formatter<'_>,
        id: ExpressionId,
        stack: &mut Vec<PrintStep>,
    ) -> fmt::Result {
        let (head, children): (&str, &[ExpressionId]) = match self.expression(id) {
            Expression::Literal(bytes) => return f.write_str(&quote_bytes(bytes)),
            Expression::Reference => return f.write_str(self.text(self.span(id))),
            Expression::Pattern(pattern) => {
                let head = match pattern.form {
                    PatternForm::Whole => "regex",
                    PatternForm::FirstMatch => "first-match",
                    PatternForm::WithoutMatch => "without-match",
                    PatternForm::Substrings => "substrings",
                };
                return write!(f, "({head} {})", quote_text(&pattern.text));
            }
            Expression::Token(TokenReference::Name(name) | TokenReference::Written(name)) => {
                return write!(f, "(token {})", quote_text(name));
            }
            Expression::Token(TokenReference::Id(id)) => return write!(f, "(token {id})"),
            Expression::AnyToken => return f.write_str("any"),
            Expression::Except { exception, tokens } => return self.write_except(f, exception, *tokens),
            Expression::Limit { symbol, tokens } => {
                return write!(f, "(limit {} tokens {tokens})", self.text(*symbol));
            }
            Expression::Binding { kind, name, operand } => {
                write!(f, "({} {}", kind.word(), self.text(*name))?;
                ("", operand.as_slice())
            }
            Expression::Bracketed { bracket: Bracket::Round, body } => ("(group", std::slice::from_ref(body)),
            Expression::Bracketed { bracket: Bracket::Square, body } => {
                ("(option", std::slice::from_ref(body))
            }
            Expression::Bracketed { bracket: Bracket::Curly, body } => {
                ("(braces", std::slice::from_ref(body))
            }
            Expression::Postfix { operand, operator } => {
                write!(f, "(repeat {operator}")?;
                ("", std::slice::from_ref(operand))
            }
            Expression::Sequence(parts) => ("(sequence", parts),
            Expression::Choice(parts) => ("(choice", parts),
            Expression::Error => return f.write_str("error"),
        };
        f.write_str(head)?;
        stack.push(PrintStep::Text(")"));
        for &child in children.iter().rev() {
            stack.push(PrintStep::Expression(child));
            stack.push(PrintStep::Text(" "));
        }
        Ok(())
    }

    fn write_except(
        &self,
        f: &mut fmt::Formatter<'_>,
        exception: &Exception,
        tokens: Option<u32>,
    ) -> fmt::Result {
        f.write_str("(except")?;
        match exception {
            Exception::Symbol(name) => write!(f, " {}", self.text(*name))?,
            Exception::Strings(strings) => {
                for (bytes, _) in strings {
                    write!(f, " {}", quote_bytes(bytes))?;
                }
            }
        }
        if let Some(tokens) = tokens {
            write!(f, " tokens {tokens}")?;
        }
        f.write_str(")")
    }
}

enum PrintStep {
    Expression(ExpressionId),
    Text(&'static str),
}

impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for definition in &self.definitions {
            write!(f, "{} = ", self.text(definition.name))?;
            let mut stack = vec![PrintStep::Expression(definition.body)];
            while let Some(piece) = stack.pop() {
                match piece {
                    PrintStep::Text(text) => f.write_str(text)?,
                    PrintStep::Expression(id) => self.write_head(f, id, &mut stack)?,
                }
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}
