//! Prints a grammar as KBNF-like text, one definition a line, for people and for golden tests.

use std::fmt::{self, Write};

use super::{Grammar, Node, NodeId};

/// `text` in double quotes, with escapes that KBNF reads back.
#[must_use]
pub fn quote_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || (c as u32 >= 0x80 && c.is_whitespace()) => {
                let _ = write!(quoted, "\\u{{{:x}}}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// `bytes` as text in double quotes where they are UTF-8, and with `\b{hh}` byte escapes where they are not.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let text = quote_text(chunk.valid());
        quoted.push_str(&text[1..text.len() - 1]);
        for byte in chunk.invalid() {
            let _ = write!(quoted, "\\b{{{byte:02x}}}");
        }
    }
    quoted.push('"');
    quoted
}

/// How tightly a context binds: a node that binds less tightly than its context gets parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Choice,
    Sequence,
    Postfix,
}

enum Piece {
    Node(NodeId, Binding),
    Text(&'static str),
    Bounds(u32, Option<u32>),
}

impl Grammar {
    fn write_node(&self, f: &mut fmt::Formatter<'_>, root: NodeId) -> fmt::Result {
        let mut stack = vec![Piece::Node(root, Binding::Choice)];
        while let Some(piece) = stack.pop() {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Bounds(min, max) => f.write_str(&repetition_suffix(min, max))?,
                Piece::Node(node, context) => {
                    self.write_shallow(f, node, context, &mut stack)?;
                }
            }
        }
        Ok(())
    }

    fn write_shallow(
        &self,
        f: &mut fmt::Formatter<'_>,
        node: NodeId,
        context: Binding,
        stack: &mut Vec<Piece>,
    ) -> fmt::Result {
        let (parts, separator, own) = match &self.nodes[node.index()] {
            Node::Terminal(id) => return f.write_str(&self.terminals[id.index()].label),
            Node::Nonterminal(id) => return f.write_str(&self.nonterminals[id.index()].name),
            Node::Repeat { node, min, max } => {
                stack.push(Piece::Bounds(*min, *max));
                stack.push(Piece::Node(*node, Binding::Postfix));
                if context == Binding::Postfix {
                    // A postfix operator of a postfix operator needs brackets: ("a"+)?
                    let inner = stack.split_off(stack.len() - 2);
                    stack.push(Piece::Text(")"));
                    stack.extend(inner);
                    stack.push(Piece::Text("("));
                }
                return Ok(());
            }
            Node::Selection { parts, separator, .. } => {
                stack.push(Piece::Node(*separator, Binding::Postfix));
                stack.push(Piece::Text(") % "));
                for (index, &part) in parts.iter().enumerate().rev() {
                    stack.push(Piece::Node(part, Binding::Sequence));
                    stack.push(Piece::Text(if index > 0 { " & " } else { "(" }));
                }
                return Ok(());
            }
            Node::Sequence(parts) if parts.is_empty() => return f.write_str("\"\""),
            Node::Sequence(parts) => (parts, " ", Binding::Sequence),
            Node::Choice(parts) => (parts, " | ", Binding::Choice),
        };
        let bracketed = context > own;
        if bracketed {
            stack.push(Piece::Text(")"));
        }
        for (index, &part) in parts.iter().enumerate().rev() {
            let inner = if own == Binding::Sequence { Binding::Sequence } else { Binding::Choice };
            // A sequence inside a sequence keeps its brackets, so that the printed tree is the tree.
            let nested = matches!(self.nodes[part.index()], Node::Sequence(ref inner) if !inner.is_empty())
                && own == Binding::Sequence
                || matches!(self.nodes[part.index()], Node::Choice(_)) && own == Binding::Choice;
            stack.push(Piece::Node(part, if nested { Binding::Postfix } else { inner }));
            if index > 0 {
                stack.push(Piece::Text(separator));
            }
        }
        if bracketed {
            stack.push(Piece::Text("("));
        }
        Ok(())
    }
}

/// The postfix operator for `min` to `max` copies.
pub fn repetition_suffix(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, None) => "*".into(),
        (1, None) => "+".into(),
        (0, Some(1)) => "?".into(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    }
}

impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for definition in &self.definitions {
            write!(f, "{} ::= ", self.nonterminals[definition.lhs.index()].name)?;
            self.write_node(f, definition.body)?;
            f.write_str(";\n")?;
        }
        Ok(())
    }
}
