//! `ParseNode` and `LexerReading` of `npm/grammask.d.ts`.

use grammask::{LexerReading, ParseTree};
use serde::Serialize;

use crate::failures::json;

#[derive(Serialize)]
struct NodeFields<'a> {
    name: &'a str,
    kind: &'static str,
    start: usize,
    end: usize,
    complete: bool,
    parent: Option<usize>,
}

#[derive(Serialize)]
struct LexemeFields<'a> {
    terminal: &'a str,
    start: usize,
    end: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenFields<'a> {
    start: usize,
    terminals: Vec<&'a str>,
    complete_as: Option<&'a str>,
}

#[derive(Serialize)]
struct ReadingFields<'a> {
    lexemes: Vec<LexemeFields<'a>>,
    open: OpenFields<'a>,
    stack: Vec<&'a str>,
}

/// The nodes of a tree as JSON, each after the one above it.
pub(crate) fn tree_json(tree: Option<&ParseTree>) -> String {
    let nodes = tree.map(|tree| {
        let nodes = tree.nodes.iter().map(|node| NodeFields {
            name: &node.name,
            kind: if node.is_terminal { "terminal" } else { "rule" },
            start: node.start,
            end: node.end,
            complete: node.is_complete,
            parent: node.parent,
        });
        nodes.collect::<Vec<_>>()
    });
    json(&nodes)
}

/// Ways to read a text as JSON.
pub(crate) fn readings_json(readings: &[LexerReading]) -> String {
    let fields: Vec<ReadingFields<'_>> = readings
        .iter()
        .map(|LexerReading { lexemes, open, stack, .. }| ReadingFields {
            lexemes: lexemes
                .iter()
                .map(|lexeme| LexemeFields {
                    terminal: &lexeme.terminal,
                    start: lexeme.start,
                    end: lexeme.end,
                })
                .collect(),
            open: OpenFields {
                start: open.start,
                terminals: open.terminals.iter().map(|terminal| &**terminal).collect(),
                complete_as: open.complete_as.as_deref(),
            },
            stack: stack.iter().map(|symbol| &**symbol).collect(),
        })
        .collect();
    json(&fields)
}
