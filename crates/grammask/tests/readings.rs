//! Parse trees, lexemes and tokens by terminal: what people look at in a playground.

use std::sync::Arc;

use grammask::frontends::kbnf;
use grammask::grammar::Grammar;
use grammask::lexing::{
    InlinePatterns, LexedGrammar, LexedOptions, LexerKind, ParserKind, definition_from_rules,
};
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits, Matcher, ParseTree, TreeParser};

const STATEMENTS: &str = r##"
%terminal NAME NUMBER;
%ignore SPACE;
start ::= statement+;
statement ::= NAME "=" sum ";";
sum ::= NUMBER | NAME | sum "+" NUMBER;
NAME ::= #"[a-z]+";
NUMBER ::= #"[0-9]+([.][0-9]+)?";
SPACE ::= #" +";
"##;

fn vocabulary() -> Arc<Vocabulary> {
    let words = ["ab", "= ", "12", "+1;", "ab=", "if", "  "].map(|word| Some(word.as_bytes().to_vec()));
    let texts = (0..=255).map(|byte| Some(vec![byte])).chain(words).chain([None]).collect();
    Arc::new(Vocabulary::new(texts, vec![], vec![263], None).expect("a good vocabulary"))
}

fn rules(text: &str) -> Arc<Grammar> {
    Arc::new(kbnf::grammar(text.as_bytes(), "start", &Limits::default()).expect("a good grammar").0)
}

fn lexed(lexer: LexerKind, parser: ParserKind) -> Matcher {
    let limits = Limits::default();
    let (rules, directives, _) =
        kbnf::grammar_with_directives(STATEMENTS.as_bytes(), "start", &limits).expect("a good grammar");
    let options =
        LexedOptions { directives: &directives, inline_patterns: InlinePatterns::Accept, lexer, parser };
    let (definition, _) = definition_from_rules(&rules, &options, &limits).expect("a good definition");
    let grammar = LexedGrammar::new(&definition, &limits).expect("a good grammar");
    CompiledGrammar::from_lexed(grammar, vocabulary(), CompileOptions::default())
        .expect("it compiles")
        .matcher()
}

/// A tree as text: `rule(...)`, with `…` behind parts that have not ended, and terminals by their texts.
fn tree_text(tree: &ParseTree, text: &str) -> String {
    let mut written = String::new();
    write_below(tree, None, text, &mut written);
    written
}

fn write_below(tree: &ParseTree, parent: Option<usize>, text: &str, written: &mut String) {
    for (index, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.parent == parent) {
        if node.is_terminal {
            written.push_str(&format!("'{}'", &text[node.start..node.end]));
            continue;
        }
        written.push_str(&format!("{}[{}..{}]", node.name, node.start, node.end));
        written.push_str(if node.is_complete { "(" } else { "…(" });
        write_below(tree, Some(index), text, written);
        written.push(')');
    }
}

#[test]
fn captures_of_all_rules_are_a_tree() {
    let grammar = rules(r##"start ::= "(" sum ")"; sum ::= number | number "+" sum; number ::= #"[0-9]+";"##);
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary(), CompileOptions::default()).expect("it compiles");
    let parser = TreeParser::new(&grammar, &[], vocabulary(), &Limits::default()).expect("it has rules");
    let mut matcher = compiled.matcher();
    assert!(matcher.accept_bytes(b"(").expect("no limit"));
    assert!(matcher.accept(TokenId(258)).expect("no limit"), "12");
    assert!(matcher.accept_bytes(b"+3").expect("no limit"));
    let tree = parser.tree(&matcher).expect("no limit").expect("a history");
    let text = "(12+3";
    assert_eq!(tree_text(&tree, text), "start[0..5]…(sum[1..5]…(number[1..3]()sum[4..5]…(number[4..5]…())))");
    assert!(matcher.accept_bytes(b")").expect("no limit"));
    let tree = parser.tree(&matcher).expect("no limit").expect("a history");
    assert_eq!(tree_text(&tree, "(12+3)"), "start[0..6](sum[1..5](number[1..3]()sum[4..5](number[4..5]())))");
    assert_eq!(matcher.text().as_deref(), Some(&b"(12+3)"[..]));
    assert!(matcher.readings().expect("no limit").is_empty(), "there is no lexer");
}

#[test]
fn lexemes_are_those_of_the_text() {
    let mut matcher = lexed(LexerKind::Contextual, ParserKind::Lalr);
    assert_eq!(matcher.readings().expect("no limit")[0].open.terminals, Vec::<Arc<str>>::new());
    assert!(matcher.accept_bytes(b"ab = 1.5 +20").expect("no limit"));
    let readings = matcher.readings().expect("no limit");
    let [reading] = &readings[..] else { panic!("{readings:?}") };
    let lexemes: Vec<_> =
        reading.lexemes.iter().map(|lexeme| (&*lexeme.terminal, lexeme.start..lexeme.end)).collect();
    assert_eq!(
        lexemes,
        [
            ("NAME", 0..2),
            ("SPACE", 2..3),
            ("=", 3..4),
            ("SPACE", 4..5),
            ("NUMBER", 5..8),
            ("SPACE", 8..9),
            ("+", 9..10)
        ]
        .map(|(name, span)| (if name.len() == 1 { reading_name(reading, span.start) } else { name }, span))
    );
    assert_eq!(reading.open.start, 10);
    assert_eq!(reading.open.complete_as.as_deref(), Some("NUMBER"));
    assert_eq!(reading.open.terminals.iter().map(|name| &**name).collect::<Vec<_>>(), ["NUMBER"]);
    assert_eq!(reading.stack.len(), 4, "{:?}", reading.stack);
    let tree = reading.tree.as_ref().expect("LALR(1) tables");
    assert_eq!(tree_text(tree, "ab = 1.5 +20"), "start[0..12]…('ab''='sum[5..8]('1.5')'+''20')");
    assert!(matcher.accept_bytes(b"; x=y;").expect("no limit"));
    let readings = matcher.readings().expect("no limit");
    let tree = readings[0].tree.as_ref().expect("LALR(1) tables");
    assert_eq!(
        tree_text(tree, "ab = 1.5 +20; x=y;"),
        "start[0..18](statement[0..13]('ab''='sum[5..12](sum[5..8]('1.5')'+''20')';')\
         statement[14..18]('x''='sum[16..17]('y')';'))"
    );
}

/// The name of the literal that begins at a position, which the front end chooses.
fn reading_name(reading: &grammask::LexerReading, start: usize) -> &str {
    &reading.lexemes.iter().find(|lexeme| lexeme.start == start).expect("a lexeme").terminal
}

#[test]
fn lexemes_cover_every_viable_prefix() {
    for (lexer, parser) in [
        (LexerKind::Basic, ParserKind::Lalr),
        (LexerKind::Basic, ParserKind::Earley),
        (LexerKind::Dynamic, ParserKind::Earley),
    ] {
        let mut matcher = lexed(lexer, parser);
        for &byte in b"ab  =1.25+2; if = ab + 7;" {
            assert!(matcher.accept_bytes(&[byte]).expect("no limit"), "{lexer:?}");
            let readings = matcher.readings().expect("no limit");
            assert!(!readings.is_empty());
            for reading in readings {
                let mut end = 0;
                for lexeme in &reading.lexemes {
                    assert_eq!(lexeme.start, end, "{lexer:?}: {reading:?}");
                    end = lexeme.end;
                }
                assert_eq!(reading.open.start, end);
                assert!(!reading.open.terminals.is_empty());
            }
        }
    }
}

/// A token belongs to a terminal if the terminal contains it, or has a beginning of it as a word.
#[test]
fn tokens_are_counted_at_each_terminal_that_they_begin() {
    let grammar = rules(r##"start ::= name "=" | "ab" #"[0-9]" ; name ::= #"[a-z]+";"##);
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary(), CompileOptions::default()).expect("it compiles");
    let mut matcher = compiled.matcher();
    let groups = matcher.tokens_by_terminal(3).expect("no limit");
    let rows: Vec<_> = groups
        .iter()
        .map(|group| {
            let terminal = group.terminal.as_ref().expect("all have text");
            (&*terminal.rule, group.count, group.tokens.len())
        })
        .collect();
    // 26 letters, `ab`, `if` and `ab=`; lowering has made one terminal of the small regular parts.
    assert_eq!(rows, [("start", 29, 3)]);
    assert!(matcher.accept_bytes(b"ab=").expect("no limit"));
    let groups = matcher.tokens_by_terminal(3).expect("no limit");
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].terminal.as_ref(), &groups[0].tokens[..]), (None, &[TokenId(263)][..]));
}

#[test]
fn all_legal_tokens_with_text_begin_a_terminal() {
    for (lexer, parser) in
        [(LexerKind::Contextual, ParserKind::Lalr), (LexerKind::Dynamic, ParserKind::Earley)]
    {
        let mut matcher = lexed(lexer, parser);
        for &byte in b"ab  =1.25+2; if = ab + 7;" {
            let mask = matcher.mask().expect("a mask");
            let groups = matcher.tokens_by_terminal(usize::MAX).expect("no limit");
            let mut listed: Vec<u32> = groups.iter().flat_map(|group| &group.tokens).map(|id| id.0).collect();
            listed.sort_unstable();
            listed.dedup();
            assert_eq!(listed, mask.iter().map(|id| id.0).collect::<Vec<_>>());
            for group in groups.iter().filter(|group| group.terminal.is_none()) {
                assert_eq!(group.tokens, [TokenId(263)], "{lexer:?} after {:?}", matcher.text());
            }
            assert!(matcher.accept_bytes(&[byte]).expect("no limit"));
        }
    }
}
