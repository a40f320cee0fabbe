//! The openings of delimited terminals: where the lexer has found one, it knows so at once.
//!
//! No word of an opening is a prefix of another one, but one can be a prefix of a lexeme of another terminal, or a guard
//! can be left by an earlier lexeme. The end of the opening would then be decided inside the text of the terminal, which
//! the lexer does not read.

use crate::definition::grammar::LexedGrammar;
use crate::lexer::lexer_automaton::Lexer;
use crate::lexer::open_lexemes::OpenTerminalsTable;
use grammask_diagnostics::{Code, Diagnostic, LimitExceeded};

/// The error of a delimited terminal whose opening another lexeme can contain.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn find_undecided(
    grammar: &LexedGrammar,
    lexer: &mut Lexer,
    open_terminals: &OpenTerminalsTable,
) -> Result<Option<Diagnostic>, LimitExceeded> {
    if !grammar.has_delimited_terminals() {
        return Ok(None);
    }
    let mut configurations = open_terminals.configurations();
    configurations.sort_unstable();
    for (configuration, _) in configurations {
        let Some(terminal) = lexer.opened(configuration) else { continue };
        let name = grammar.terminal_name(terminal);
        let next = lexer.steps(configuration)?.find_map(|step| step.extended);
        let message = match next {
            Some(next) => {
                let others: Vec<&str> = lexer.live(next).map(|other| grammar.terminal_name(other)).collect();
                format!("a lexeme of `{}` can begin with the opening of `{name}`", others.join("` or `"))
            }
            None if lexer.has_guards(configuration) => {
                format!("after the opening of `{name}` an earlier lexeme may still become longer")
            }
            None => continue,
        };
        return Ok(Some(Diagnostic::error(Code::UnsupportedGrammar, message).help(format!(
            "let no other terminal match the beginning of a text of `{name}` and more, as in a comment that does not \
             begin as a long comment does"
        ))));
    }
    Ok(None)
}
