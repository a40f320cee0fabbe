//! Grafting one grammar into another.

use grammask_diagnostics::{Limits, Span};
use grammask_frontends::kbnf;
use grammask_grammar::GrammarBuilder;

#[test]
fn grafted_grammars_keep_their_languages_and_places() {
    let text = b"start ::= item start | \"x\"; item ::= #\"[0-9]+\";";
    let (part, _) = kbnf::grammar(text, "start", &Limits::default()).expect("it is KBNF");
    let mut builder = GrammarBuilder::new("");
    let first = builder.graft(&part);
    let second = builder.graft(&part);
    let start = builder.fresh_nonterminal("start", Span::default());
    let body = builder.sequence(vec![first, second], Span::default());
    builder.define(start, body, Span::default());
    let joined = builder.finish(start);
    assert_eq!(
        joined.to_string(),
        "start ::= item start | \"x\";\nitem ::= #\"[0-9]+\";\nstart.2 ::= item.2 start.2 | \"x\";\nitem.2 ::= \
         #\"[0-9]+\";\nstart.3 ::= start start.2;\n"
    );
    let source = joined.source().clone();
    for definition in &joined.definitions()[..4] {
        let span = definition.span;
        assert!(source[span.start..span.end].contains("::="), "{}", &source[span.start..span.end]);
    }
}
