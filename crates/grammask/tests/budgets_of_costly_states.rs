//! Token budgets where searches take too much work: the costs are bounds, and texts still end within their budgets.

use std::sync::Arc;
use std::time::Duration;

use grammask::grammar::Code;
use grammask::lexing::{
    ConflictPolicy, LexedDefinition, LexedGrammar, LexerKind, LexingRule, ParserKind, ProductionSource,
    TerminalPattern, TerminalRole, TerminalSource,
};
use grammask::vocabulary::{TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Deadline, Limits, Matcher, frontends};

/// A vocabulary of some texts, and an end token.
fn vocabulary(texts: &[&[u8]]) -> Arc<Vocabulary> {
    let end = texts.len() as u32;
    let texts: TokenTexts = texts.iter().copied().map(Some).chain([None]).collect();
    Arc::new(Vocabulary::new(texts, vec![], vec![end], None).expect("a vocabulary"))
}

/// Takes at each step the legal token of the given rank among all of them.
fn finish(mut text: Matcher, budget: u32, rank: impl Fn(usize, usize) -> usize) {
    text.set_budget(Some(budget)).expect("it suffices");
    while !text.is_finished() {
        let legal: Vec<_> = text.mask().expect("a text with a budget can continue").iter().collect();
        let token = legal[rank(text.tokens().len(), legal.len())];
        assert!(text.accept(token).expect("no limit"));
    }
    assert!(text.tokens().len() <= budget as usize);
}

/// The states have tens of thousands of items, and the spelling of a completion has hundreds of them.
#[test]
fn nested_repetitions() {
    let source = r##"start ::= r1{14,}; r1 ::= ("éc" | r2){13,23}; r2 ::= "cb" | r1; r2 ::= "é" start;"##;
    let (grammar, _) =
        frontends::kbnf::grammar(source.as_bytes(), "start", &Limits::default()).expect("a valid grammar");
    let texts: [&[u8]; 7] = [b"b", b"c", "é".as_bytes(), "éc".as_bytes(), b"cb", b"\xc3", b"\xa9"];
    let compiled = CompiledGrammar::new(&grammar, vocabulary(&texts), CompileOptions::default())
        .expect("a valid grammar");
    let minimum = compiled.matcher().tokens_to_finish().expect("a completion");
    let begin = |bytes: &[u8]| {
        let mut text = compiled.matcher();
        assert!(text.accept_bytes(bytes).expect("no limit"));
        text.tokens_to_finish().expect("a completion")
    };
    // At least 14 times 13 words of two bytes, each with a token of its own.
    assert!(minimum > 182);
    assert!(begin("écécécécéécb".as_bytes()) > 100);
    // The work of a step grows with the text, so only the beginning of a text is read.
    let mut text = compiled.matcher();
    text.set_budget(Some(minimum + 3)).expect("it suffices");
    for step in 0..6 {
        let legal: Vec<_> = text.mask().expect("a text with a budget can continue").iter().collect();
        assert!(text.accept(legal[step % legal.len()]).expect("no limit"));
        assert!(text.tokens_to_finish().expect("a completion") <= text.budget().expect("it has one"));
    }
}

/// The states have thousands of items, and the grammar counts tokens: each part with a maximum can be ended along its
/// shortest text, so the length of a completion is a bound.
#[test]
fn nested_repetitions_with_counted_tokens() {
    let source =
        r##"start ::= except!("é", 1) r1{15,}; r1 ::= start; r1 ::= r1 | "éé" | start; r1 ::= <|y|>+;"##;
    let (grammar, _) =
        frontends::kbnf::grammar(source.as_bytes(), "start", &Limits::default()).expect("a valid grammar");
    let texts: [&[u8]; 6] = [b"a", b"b", b"\xc3", b"\xa9", "é".as_bytes(), "éa".as_bytes()];
    let (end, named) = (texts.len() as u32, texts.len() as u32 + 1);
    let texts: TokenTexts = texts.iter().copied().map(Some).chain([None, None]).collect();
    let special = vec![("<|y|>".to_owned(), named)];
    let vocabulary = Vocabulary::new(texts, special, vec![end], None).expect("a vocabulary");
    let compiled = CompiledGrammar::new(&grammar, Arc::new(vocabulary), CompileOptions::default())
        .expect("a valid grammar");
    let deadline = Deadline::after(Duration::from_secs(60));
    let bounds = compiled.cache().engine().length_bounds_tokens(compiled.vocabulary(), &deadline);
    assert_eq!(bounds, Ok(true));
    let mut text = compiled.matcher();
    let minimum = text.tokens_to_finish().expect("a completion");
    assert!(minimum > 15);
    text.set_budget(Some(minimum + 3)).expect("it suffices");
    for step in 0..12 {
        let legal: Vec<_> = text.mask().expect("a text with a budget can continue").iter().collect();
        assert!(text.accept(legal[step % legal.len()]).expect("no limit"));
        assert!(text.tokens_to_finish().expect("a completion") <= text.budget().expect("it has one"));
    }
    let completion = text.shortest_completion().expect("a completion");
    assert!(completion.tokens.len() <= text.budget().expect("it has one") as usize);
}

fn terminal(name: &str, pattern: TerminalPattern, role: TerminalRole) -> TerminalSource {
    TerminalSource { name: name.to_owned(), pattern, priority: 0, role }
}

fn production(lhs: &str, rhs: &[&str]) -> ProductionSource {
    let rhs = rhs.iter().map(|&symbol| symbol.to_owned()).collect();
    ProductionSource { lhs: lhs.to_owned(), rhs, priority: 0 }
}

/// A grammar whose parser resolves conflicts by shifting; the first production is one of the start symbol.
fn shifting_parser(
    terminals: Vec<TerminalSource>,
    productions: Vec<ProductionSource>,
    texts: &[&[u8]],
) -> Arc<CompiledGrammar> {
    let definition = LexedDefinition {
        start: productions[0].lhs.clone(),
        terminals,
        productions,
        lexer: LexerKind::Contextual,
        rule: LexingRule::MaximalMunch,
        parser: ParserKind::Lalr,
        conflicts: ConflictPolicy::PreferShift,
        ..LexedDefinition::default()
    };
    let grammar = LexedGrammar::new(&definition, &Limits::default()).expect("a valid grammar");
    CompiledGrammar::from_lexed(grammar, vocabulary(texts), CompileOptions::default())
        .expect("a valid grammar")
}

/// A parser that resolves conflicts by shifting. It reads some words `b` as the beginning of a part that it cannot
/// finish, because the lexer joins the words of its end; the bound of the search counts sentences that it cannot read.
#[test]
fn resolved_conflicts() {
    let terminals = vec![
        terminal("T0", TerminalPattern::Regex("ab+".to_owned()), TerminalRole::Parsed),
        terminal("T2", TerminalPattern::Literal(b"b".to_vec()), TerminalRole::Parsed),
        terminal("WS", TerminalPattern::Regex(" +".to_owned()), TerminalRole::Ignored),
    ];
    let productions = vec![
        production("r0", &["T2", "r1"]),
        production("r0", &["r0", "T2"]),
        production("r1", &["T2", "r2"]),
        production("r2", &[]),
        production("r2", &["T2", "T0", "T0"]),
        production("r2", &["r1", "T2"]),
    ];
    let compiled = shifting_parser(terminals, productions, &[b"a", b"b"]);
    let mut endless = 0;
    for length in 0..12 {
        let mut text = compiled.matcher();
        if !text.accept_bytes(&vec![b'b'; length]).expect("no limit") {
            break;
        }
        match text.tokens_to_finish() {
            Ok(minimum) => {
                finish(text.clone(), minimum, |_, _| 0);
                finish(text, minimum + 5, |step, legal| (step * 7 + 1) % legal);
            }
            Err(error) => {
                assert_eq!(error.code(), Code::NoCompletion, "{error}");
                endless += 1;
            }
        }
    }
    assert!(endless > 0, "all texts have a completion");
}

/// The search reads more runs than the 4,096 after which it gives up in grammars without a proof that completions exist.
/// The lower bound counts `F b d d`, which the parser cannot read, since it shifts `b` after `E`. So all runs inside up to
/// five brackets of four kinds seem to be closer to an end than they are: 1,365 stacks with ten runs and more.
#[test]
fn long_search_with_a_plan() {
    let literal = |name: &str, text: &str| {
        terminal(name, TerminalPattern::Literal(text.as_bytes().to_vec()), TerminalRole::Parsed)
    };
    let mut terminals =
        vec![literal("a", "a"), literal("b", "b"), literal("d", "d"), literal("C", &"c".repeat(12))];
    let mut productions = vec![
        production("S", &["F", "b", "d", "d"]),
        production("S", &["E", "b", "C"]),
        production("F", &["E"]),
        production("E", &["a"]),
    ];
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">")] {
        terminals.extend([literal(open, open), literal(close, close)]);
        productions.push(production("E", &[open, "E", close]));
    }
    let bytes: Vec<&[u8]> = b"abcd()[]{}<>".chunks(1).collect();
    let text = shifting_parser(terminals, productions, &bytes).matcher();
    let minimum = text.tokens_to_finish().expect("a completion");
    assert_eq!(minimum, "ab".len() as u32 + 12 + 1);
    finish(text.clone(), minimum, |_, _| 0);
    finish(text, minimum + 6, |step, legal| (step * 7 + 1) % legal);
}
