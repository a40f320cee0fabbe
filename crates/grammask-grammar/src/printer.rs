//! Displays a grammar in a notation like KBNF, one definition per line, for debugging and golden tests.

use std::fmt::{self, Write};

use super::{Binding, Grammar, Node, NodeId};

/// `text` in double quotes, with the escapes of KBNF.
#[must_use]
pub fn quote_text(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// `bytes` in double quotes: valid UTF-8 as text, other bytes as `\b{hh}` escapes.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut quoted = String::with_capacity(bytes.len() + bytes.len() / 4 + 8);
    quoted.push('"');
    for chunk in bytes.utf8_chunks() {
        push_quoted(&mut quoted, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(quoted, "\\b{{{byte:02x}}}");
        }
    }
    quoted.push('"');
    quoted
}

fn push_quoted(quoted: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            ' '..='~' => quoted.push(c),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || c.is_whitespace() => {
                let _ = write!(quoted, "\\u{{{:x}}}", c as u32);
            }
            c => quoted.push(c),
        }
    }
}

/// Operator precedence: a node of lower precedence than its context is put in parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum NodePrecedence {
    Choice,
    Sequence,
    Postfix,
}

/// Output that is still to be written.
enum PrintItem {
    Node(NodeId, NodePrecedence),
    Text(&'static str),
    Bounds(u32, Option<u32>),
}

/// Maximum length of the notation of a node, in characters.
const MAX_NOTATION: usize = 60;

/// The notation of a node.
struct NodeNotation<'g>(&'g Grammar, NodeId);

impl fmt::Display for NodeNotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_node(f, self.1)
    }
}

impl Grammar {
    /// The notation of a node, for messages; `...` for a long one.
    #[must_use]
    pub fn notation(&self, node: NodeId) -> String {
        let notation = NodeNotation(self, node).to_string();
        if notation.chars().nth(MAX_NOTATION).is_some() { "...".to_owned() } else { notation }
    }

    fn write_node(&self, f: &mut fmt::Formatter<'_>, root: NodeId) -> fmt::Result {
        let mut stack = vec![PrintItem::Node(root, NodePrecedence::Choice)];
        while let Some(item) = stack.pop() {
            match item {
                PrintItem::Text(text) => f.write_str(text)?,
                PrintItem::Bounds(min, max) => f.write_str(&repetition_suffix(min, max))?,
                PrintItem::Node(node, context) => {
                    self.write_shallow(f, node, context, &mut stack)?;
                }
            }
        }
        Ok(())
    }

    fn write_shallow(
        &self,
        f: &mut fmt::Formatter<'_>,
        node_id: NodeId,
        context: NodePrecedence,
        stack: &mut Vec<PrintItem>,
    ) -> fmt::Result {
        let (parts, separator, own) = match &self.nodes[node_id.index()] {
            Node::Terminal(id) => return f.write_str(&self.terminals[id.index()].label),
            Node::Nonterminal(id) => return f.write_str(&self.nonterminals[id.index()].name),
            Node::Repeat { node, min, max } => {
                stack.push(PrintItem::Bounds(*min, *max));
                stack.push(PrintItem::Node(*node, NodePrecedence::Postfix));
                if context == NodePrecedence::Postfix {
                    // A postfix operator on a postfix operator needs parentheses: ("a"+)?
                    let inner = stack.split_off(stack.len() - 2);
                    stack.push(PrintItem::Text(")"));
                    stack.extend(inner);
                    stack.push(PrintItem::Text("("));
                }
                return Ok(());
            }
            Node::Selection { parts, separator, .. } => {
                stack.push(PrintItem::Node(*separator, NodePrecedence::Postfix));
                stack.push(PrintItem::Text(") % "));
                for (index, &part) in parts.iter().enumerate().rev() {
                    stack.push(PrintItem::Node(part, NodePrecedence::Sequence));
                    stack.push(PrintItem::Text(if index > 0 { " & " } else { "(" }));
                }
                return Ok(());
            }
            Node::Scope(node) | Node::Value { node, .. } => {
                f.write_str(match &self.nodes[node_id.index()] {
                    Node::Value { condition, .. } => condition.kind.name(),
                    _ => "scope",
                })?;
                stack.push(PrintItem::Text(")"));
                stack.push(PrintItem::Node(*node, NodePrecedence::Choice));
                stack.push(PrintItem::Text("("));
                return Ok(());
            }
            Node::Binding(Binding { kind, name, node }) => {
                write!(f, "{}!({name}", kind.word())?;
                stack.push(PrintItem::Text(")"));
                if let Some(node) = node {
                    stack.push(PrintItem::Node(*node, NodePrecedence::Choice));
                    stack.push(PrintItem::Text(", "));
                }
                return Ok(());
            }
            Node::Sequence(parts) if parts.is_empty() => return f.write_str("\"\""),
            Node::Sequence(parts) => (parts, " ", NodePrecedence::Sequence),
            Node::Choice(parts) => (parts, " | ", NodePrecedence::Choice),
        };
        let bracketed = context > own;
        if bracketed {
            stack.push(PrintItem::Text(")"));
        }
        for (index, &part) in parts.iter().enumerate().rev() {
            let inner = if own == NodePrecedence::Sequence {
                NodePrecedence::Sequence
            } else {
                NodePrecedence::Choice
            };
            // A nested sequence or choice keeps its parentheses, so that the output shows the tree.
            let nested = matches!(self.nodes[part.index()], Node::Sequence(ref inner) if !inner.is_empty())
                && own == NodePrecedence::Sequence
                || matches!(self.nodes[part.index()], Node::Choice(_)) && own == NodePrecedence::Choice;
            stack.push(PrintItem::Node(part, if nested { NodePrecedence::Postfix } else { inner }));
            if index > 0 {
                stack.push(PrintItem::Text(separator));
            }
        }
        if bracketed {
            stack.push(PrintItem::Text("("));
        }
        Ok(())
    }
}

/// The postfix operator of a repetition of `min` to `max` copies.
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
