//! Random lexed grammars.

use super::VocabularySketch;
use grammask::Limits;
use grammask::frontends::kbnf;
use grammask::lexing::{
    ConflictPolicy, IndentationMeasure, IndentationSource, LexedDefinition, LexerKind, LexingRule,
    ParserKind, ProductionSource, TerminalGrammar, TerminalPattern, TerminalRole, TerminalSource,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn terminal(index: usize) -> impl Strategy<Value = TerminalSource> {
    let pattern = prop_oneof![
        3 => select(&["a", "b", "ab", "aa", "ba", "aba", "bb"][..])
            .prop_map(|text| TerminalPattern::Literal(text.as_bytes().to_vec())),
        4 => select(&["a+", "b+", "[ab]+", "ab+", "a(ba)*", "a?b", "(ab)+b", "a[ab]*b", "b( b)?", "a|aab"][..])
            .prop_map(|pattern| TerminalPattern::Regex(pattern.to_owned())),
    ];
    (pattern, prop_oneof![4 => Just(0), 1 => -1..2]).prop_map(move |(pattern, priority)| TerminalSource {
        name: format!("T{index}"),
        pattern,
        priority,
        role: TerminalRole::Parsed,
    })
}

/// Small lexed grammars over `a`, `b` and space, of all lexers and parsers.
pub fn definition() -> impl Strategy<Value = LexedDefinition> {
    let ignored = prop_oneof![
        2 => Just(None),
        4 => Just(Some(TerminalPattern::Regex(" +".to_owned()))),
        1 => Just(Some(TerminalPattern::Regex(" ".to_owned()))),
        1 => Just(Some(TerminalPattern::Regex(" +|b b".to_owned()))),
    ];
    let refused = prop::option::weighted(0.2, select(&["aab", "b +a", "bb+"][..]));
    let terminals = (terminal(0), terminal(1), terminal(2), terminal(3), ignored, refused);
    let production = (0..3_usize, vec(prop_oneof![3 => 0..4_usize, 2 => 4..7_usize], 0..4));
    let options = (
        select(
            &[
                (LexerKind::Basic, ParserKind::Lalr),
                (LexerKind::Contextual, ParserKind::Lalr),
                (LexerKind::Basic, ParserKind::Earley),
                (LexerKind::Dynamic, ParserKind::Earley),
                (LexerKind::DynamicComplete, ParserKind::Earley),
            ][..],
        ),
        select(&[LexingRule::MaximalMunch, LexingRule::Lark][..]),
        select(&[ConflictPolicy::Refuse, ConflictPolicy::PreferShift][..]),
    );
    (terminals, vec(production, 1..7), options).prop_map(
        |((t0, t1, t2, t3, ignored, refused), productions, ((lexer, parser), rule, conflicts))| {
            let mut terminals = vec![t0, t1, t2, t3];
            if let Some(pattern) = ignored {
                terminals.push(TerminalSource {
                    name: "WS".to_owned(),
                    pattern,
                    priority: 0,
                    role: TerminalRole::Ignored,
                });
            }
            if let Some(pattern) = refused.filter(|_| !lexer.is_dynamic()) {
                terminals.push(TerminalSource {
                    name: "BAD".to_owned(),
                    pattern: TerminalPattern::Regex(pattern.to_owned()),
                    priority: 1,
                    role: TerminalRole::Refused,
                });
            }
            let lhs_of: Vec<usize> = productions.iter().map(|&(lhs, _)| lhs).chain([0]).collect();
            let name = |symbol: usize| match symbol {
                0..4 => format!("T{symbol}"),
                _ if lhs_of.contains(&(symbol - 4)) => format!("r{}", symbol - 4),
                _ => "r0".to_owned(),
            };
            let mut sources: Vec<ProductionSource> = productions
                .iter()
                .map(|(lhs, rhs)| ProductionSource {
                    lhs: format!("r{lhs}"),
                    rhs: rhs.iter().map(|&symbol| name(symbol)).collect(),
                    priority: 0,
                })
                .collect();
            if !productions.iter().any(|&(lhs, _)| lhs == 0) {
                let rhs = vec![sources[0].lhs.clone()];
                sources.push(ProductionSource { lhs: "r0".to_owned(), rhs, priority: 0 });
            }
            sources.sort_by(|left, right| (&left.lhs, &left.rhs).cmp(&(&right.lhs, &right.rhs)));
            sources.dedup();
            LexedDefinition {
                terminals,
                productions: sources,
                start: "r0".to_owned(),
                lexer,
                rule,
                parser,
                conflicts,
                ..LexedDefinition::default()
            }
        },
    )
}

/// Grammars in KBNF with bindings over `a`, `b`, space, `(` and `)`, of which most have an opening.
fn delimited_grammar() -> impl Strategy<Value = String> {
    let head = select(&["", "\"(\"", "\"(\"", "\"a(\"", "\"b\"", "#\"a|b\"", "#\"a*\""][..]);
    let part = select(&["#\"a*\"", "#\"a*\"", "#\"a+\"", "#\"[ab]\"", "#\"[ab]{0,2}\"", "#\"a|bb?\""][..]);
    let separator = select(&["\"(\"", "\"(\"", "\"b\"", "\" \"", "\" (\"", "#\"[( ]\"", ""][..]);
    let item = select(
        &[
            "#\"[ab )]*\"",
            "#\"[ab )]*\"",
            "#\"(?s:.)*\"",
            "#\"[ab]*\"",
            "{ \"a\" | \" \" }",
            "{ \")\" without_prefix!(h, #\"[ab]*\") }",
            "{ \"b\" other!(h, #\"[ab]?\") }",
            "[ other!(h, #\"[ab]\") ]",
            "[ same!(h) \"b\" ]",
            "[ inner ]",
            "other!(h, #\"[ab]\")",
            "{ \"(\" same!(h) }",
        ][..],
    );
    let close = select(
        &["\")\"", "\")\" same!(h)", "same!(h) \")\"", "same!(h)", "\" \" same!(h) \" \"", "\"\""][..],
    );
    (head, part, separator, vec(item, 0..3), close).prop_map(|(head, part, separator, items, close)| {
        let items = items.join(" ");
        format!(
            "start ::= {head} bind!(h, {part}) {separator} {items} {close}; \
             inner ::= \" \" bind!(h, #\"[ab]\") [ inner ] same!(h);"
        )
    })
}

/// Small lexed grammars over `a`, `b`, space, `(` and `)`, of the basic and the contextual lexer, in which the terminal `T3`
/// is delimited, or ignored and delimited.
pub fn delimited_definition() -> impl Strategy<Value = LexedDefinition> {
    let lexer = select(
        &[
            (LexerKind::Basic, ParserKind::Lalr),
            (LexerKind::Contextual, ParserKind::Lalr),
            (LexerKind::Basic, ParserKind::Earley),
        ][..],
    );
    let role = select(&[TerminalRole::Parsed, TerminalRole::Parsed, TerminalRole::Ignored][..]);
    (definition(), lexer, role, delimited_grammar()).prop_filter_map(
        "the terminal has an opening",
        |(mut definition, (lexer, parser), role, text)| {
            (definition.lexer, definition.parser) = (lexer, parser);
            let terminal = definition.terminals.iter_mut().find(|terminal| terminal.name == "T3")?;
            (terminal.pattern, terminal.role) = (TerminalPattern::Declared, role);
            if role == TerminalRole::Ignored {
                for rule in &mut definition.productions {
                    rule.rhs.retain(|symbol| symbol != "T3");
                }
            }
            let limits = Limits::default();
            let (grammar, _) = kbnf::grammar(text.as_bytes(), "start", &limits).expect("it is good KBNF");
            definition
                .define_terminals(&[TerminalGrammar { name: "T3", grammar: &grammar }], &limits)
                .ok()?;
            Some(definition)
        },
    )
}

/// Small lexed grammars with a lexical rule `l` over the bytes `a`, `b`, space, `(`, `)`, `<` and `>`. The rule may
/// nest, may contain a usual rule between `<` and `>`, and is used in the rules, ignored, or the start symbol.
pub fn lexical_definition() -> impl Strategy<Value = LexedDefinition> {
    let item = select(&["TXT", "TXT", "T0", "T1", "T2", "l", "l", "LT r0 GT", "LT r1 GT", "m", "OPEN"][..]);
    let opening = select(&["(", "(", "(", "a(", "<(", "(a"][..]);
    let closing = select(&[")", ")", ")", "a)", ")b", "))"][..]);
    let text = select(&["[ab]", "[ab ]+", " +", "b", "[ab<]", "a[ab ]*"][..]);
    let usage = select(&["used", "used", "used", "ignored", "ignored", "start"][..]);
    let lexer = select(&[LexerKind::Basic, LexerKind::Contextual][..]);
    let priority = -1..2_i32;
    (definition(), vec(item, 1..4), (opening, closing, text), (usage, lexer, priority), 0..3_usize).prop_map(
        |(mut definition, items, (opening, closing, text), (usage, lexer, priority), places)| {
            let terminal = |name: &str, pattern, priority| TerminalSource {
                name: name.to_owned(),
                pattern,
                priority,
                role: TerminalRole::Parsed,
            };
            let literal = |text: &str| TerminalPattern::Literal(text.as_bytes().to_vec());
            definition.terminals.extend([
                terminal("OPEN", literal(opening), 1),
                terminal("CLOSE", literal(closing), priority),
                terminal("LT", literal("<"), 0),
                terminal("GT", literal(">"), 0),
                terminal("TXT", TerminalPattern::Regex(text.to_owned()), 0),
            ]);
            definition.parser = ParserKind::Lalr;
            definition.lexer = if usage == "ignored" { LexerKind::Basic } else { lexer };
            let mut add = |lhs: &str, rhs: &str| {
                let rhs = rhs.split_whitespace().map(str::to_owned).collect();
                let production = ProductionSource { lhs: lhs.to_owned(), rhs, priority: 0 };
                if !definition.productions.contains(&production) {
                    definition.productions.push(production);
                }
            };
            add("l", "OPEN body CLOSE");
            add("body", "");
            for item in &items {
                add("body", &format!("body {item}"));
            }
            if items.contains(&"m") {
                add("m", "LT m GT");
                add("m", "TXT");
            }
            let is_r1_used = items.contains(&"LT r1 GT");
            if is_r1_used && !definition.productions.iter().any(|production| production.lhs == "r1") {
                definition.productions.push(ProductionSource {
                    lhs: "r1".to_owned(),
                    rhs: vec!["T0".to_owned()],
                    priority: 0,
                });
            }
            let own = ["body".to_owned(), "m".to_owned()];
            definition.lexical_rules =
                own.into_iter().filter(|name| name != "m" || items.contains(&"m")).collect();
            match usage {
                "ignored" => definition.ignored_rules.push("l".to_owned()),
                "start" => {
                    definition.lexical_rules.push("l".to_owned());
                    definition.start = "l".to_owned();
                }
                _ => {
                    definition.lexical_rules.push("l".to_owned());
                    let usual = definition
                        .productions
                        .iter_mut()
                        .filter(|production| production.lhs.starts_with('r'));
                    for symbol in usual.flat_map(|production| &mut production.rhs) {
                        if *symbol == format!("T{places}") {
                            "l".clone_into(symbol);
                        }
                    }
                }
            }
            definition
        },
    )
}

/// The parts of [`blocks_definition`] that vary.
#[derive(Clone, Copy, Debug)]
pub struct BlockCase {
    pub lexer: LexerKind,
    pub parser: ParserKind,
    /// The newline terminal.
    pub newline: &'static str,
    pub measure: IndentationMeasure,
}

const COLUMNS: IndentationMeasure = IndentationMeasure::Columns { tab_length: 2 };

/// A newline terminal with all white space that Python counts.
const PYTHON_NEWLINE: &str = r"((#[ #\\x]*)?\n([ \t\f]|\\\n)*)+";

/// Cases of [`blocks_definition`].
pub const BLOCK_CASES: [BlockCase; 8] = [
    BASIC,
    BlockCase { lexer: LexerKind::Contextual, newline: r"(\n[ \t]*)+", ..BASIC },
    BlockCase { newline: r"(\n[ \t]*|#)+", ..BASIC },
    BlockCase { parser: ParserKind::Earley, ..BASIC },
    BlockCase { newline: PYTHON_NEWLINE, ..PYTHON },
    BlockCase { lexer: LexerKind::Contextual, newline: r"(\n[ \t]*)+", ..PYTHON },
    PYTHON,
    BlockCase { parser: ParserKind::Earley, ..PYTHON },
];
const BASIC: BlockCase =
    BlockCase { lexer: LexerKind::Basic, parser: ParserKind::Lalr, newline: r"(\n *)+", measure: COLUMNS };
const PYTHON: BlockCase = BlockCase { measure: IndentationMeasure::Python, ..BASIC };

/// A grammar of nested blocks by indentation, with brackets. In half of the cases a text begins a line.
pub fn blocks_definition(case: BlockCase) -> LexedDefinition {
    let BlockCase { lexer, parser, newline, measure } = case;
    let terminal = |name: &str, pattern: TerminalPattern, role| TerminalSource {
        name: name.to_owned(),
        pattern,
        priority: 0,
        role,
    };
    let literal = |text: &str| TerminalPattern::Literal(text.as_bytes().to_vec());
    let white_space = match measure {
        IndentationMeasure::Columns { .. } => r"[ \f]+",
        IndentationMeasure::Python => r"([ \t\f]|\\\n)+",
    };
    let mut definition = LexedDefinition {
        terminals: vec![
            terminal("X", literal("x"), TerminalRole::Parsed),
            terminal("COLON", literal(":"), TerminalRole::Parsed),
            terminal("OPEN", literal("("), TerminalRole::Parsed),
            terminal("CLOSE", literal(")"), TerminalRole::Parsed),
            terminal("NEWLINE", TerminalPattern::Regex(newline.to_owned()), TerminalRole::Parsed),
            terminal("WS", TerminalPattern::Regex(white_space.to_owned()), TerminalRole::Ignored),
            terminal("INDENT", TerminalPattern::Declared, TerminalRole::Parsed),
            terminal("DEDENT", TerminalPattern::Declared, TerminalRole::Parsed),
        ],
        start: "file".to_owned(),
        lexer,
        parser,
        indentation: Some(IndentationSource {
            newline: "NEWLINE".to_owned(),
            indent: "INDENT".to_owned(),
            dedent: "DEDENT".to_owned(),
            measure,
            open: vec!["OPEN".to_owned()],
            close: vec!["CLOSE".to_owned()],
            begins_line: lexer == LexerKind::Contextual || parser == ParserKind::Earley,
        }),
        ..LexedDefinition::default()
    };
    for production in [
        "file",
        "file file NEWLINE",
        "file file statement",
        "statement expression NEWLINE",
        "statement X COLON NEWLINE INDENT block DEDENT",
        "block statement",
        "block block statement",
        "expression X",
        "expression OPEN expression CLOSE",
    ] {
        let mut names = production.split(' ').map(str::to_owned);
        let lhs = names.next().expect("a left side");
        definition.productions.push(ProductionSource { lhs, rhs: names.collect(), priority: 0 });
    }
    definition
}

/// Vocabularies over the bytes of [`definition`], most of which are tokens by themselves, with an end token.
pub fn vocabulary() -> impl Strategy<Value = VocabularySketch> {
    let singles = proptest::sample::subsequence(vec![b"a", b"b", b" "], 2..=3);
    let longer = vec(vec(select(&b"ab "[..]), 2..5), 0..6);
    (singles, longer).prop_map(|(singles, longer)| {
        let singles = singles.into_iter().map(|text| Some(text.to_vec()));
        let texts: Vec<_> = singles.chain(longer.into_iter().map(Some)).chain([None]).collect();
        let size = texts.len();
        VocabularySketch { texts, special: Vec::new(), eos: vec![size as u32 - 1], size }
    })
}
