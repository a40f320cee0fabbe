//! Resolves the tokens that a grammar names in a vocabulary.

use grammask_diagnostics::{Code, Diagnostic};
use grammask_engine::TokenMatch;
use grammask_grammar::{Terminal, TerminalDefinition, TokenReference, TokenSelection, TokenSense};
use grammask_vocabulary::{TokenId, TokenSet, Vocabulary};

/// Maximum number of special tokens that an error lists.
const MAX_LISTED: usize = 8;

/// The tokens that each terminal matches, `None` for terminals over bytes; or the errors of all references to missing
/// tokens.
pub(crate) fn matches(
    terminals: &[TerminalDefinition],
    vocabulary: &Vocabulary,
) -> Result<Vec<Option<TokenMatch>>, Vec<Diagnostic>> {
    let mut unknown = Vec::new();
    let mut resolved = Vec::with_capacity(terminals.len());
    for definition in terminals {
        resolved.push(match &definition.terminal {
            Terminal::AnyToken => Some(TokenMatch::AnyWithText),
            Terminal::Token(reference) => match token(vocabulary, reference) {
                Ok(id) => Some(TokenMatch::Only(id)),
                Err(diagnostic) => {
                    unknown.push(*diagnostic);
                    None
                }
            },
            Terminal::OneOf(selection) => match selected(vocabulary, selection) {
                Ok(tokens) => Some(TokenMatch::OneOf(tokens.into())),
                Err(diagnostics) => {
                    unknown.extend(diagnostics);
                    None
                }
            },
            Terminal::Literal(_)
            | Terminal::Regular(_)
            | Terminal::Limited { .. }
            | Terminal::Embedded { .. } => None,
        });
    }
    if unknown.is_empty() { Ok(resolved) } else { Err(unknown) }
}

/// The token to which `reference` refers.
pub(crate) fn token(vocabulary: &Vocabulary, reference: &TokenReference) -> Result<TokenId, Box<Diagnostic>> {
    match reference {
        TokenReference::Id(id) if (*id as usize) < vocabulary.size() => Ok(TokenId(*id)),
        TokenReference::Id(id) => Err(unknown_id(vocabulary, *id)),
        TokenReference::Name(name) => vocabulary.special(name).ok_or_else(|| {
            unknown(vocabulary, format!("the vocabulary has no special token named `{name}`"))
        }),
        TokenReference::Written(text) => {
            if let Some(special) = vocabulary.special(text) {
                return Ok(special);
            }
            match vocabulary.ids_of(text.as_bytes()) {
                [only] => Ok(*only),
                [] => Err(unknown(
                    vocabulary,
                    format!("the vocabulary has no special token named `{text}` and no token with this text"),
                )),
                several => Err(Box::new(
                    Diagnostic::error(
                        Code::UnknownToken,
                        format!("{} tokens of the vocabulary have the text `{text}`", several.len()),
                    )
                    .help("name the token by its id"),
                )),
            }
        }
    }
}

/// The tokens of `selection`, of which there is at least one.
pub(crate) fn selected(
    vocabulary: &Vocabulary,
    selection: &TokenSelection,
) -> Result<TokenSet, Vec<Diagnostic>> {
    let mut listed = TokenSet::new(vocabulary.size());
    let mut errors = Vec::new();
    for reference in &selection.tokens {
        match token(vocabulary, reference) {
            Ok(id) => {
                listed.insert(id);
            }
            Err(diagnostic) => errors.push(*diagnostic),
        }
    }
    for &(first, last) in &selection.ranges {
        if last as usize >= vocabulary.size() {
            errors.push(*unknown_id(vocabulary, last));
            continue;
        }
        for id in first..=last {
            listed.insert(TokenId(id));
        }
    }
    let tokens = match selection.sense {
        TokenSense::Listed => listed,
        TokenSense::Others => others(vocabulary, &listed),
    };
    if errors.is_empty() && tokens.is_empty() {
        errors.push(Diagnostic::error(
            Code::UnknownToken,
            "a list of tokens leaves no token of the vocabulary",
        ));
    }
    if errors.is_empty() { Ok(tokens) } else { Err(errors) }
}

fn others(vocabulary: &Vocabulary, listed: &TokenSet) -> TokenSet {
    let mut tokens = TokenSet::new(vocabulary.size());
    let ordinary = vocabulary.trie().sorted_ids().iter().copied();
    for id in ordinary.chain(vocabulary.specials().iter().map(|&(_, id)| id)) {
        if !listed.contains(id) && !vocabulary.is_eos(id) {
            tokens.insert(id);
        }
    }
    tokens
}

fn unknown_id(vocabulary: &Vocabulary, id: u32) -> Box<Diagnostic> {
    let message = format!("the vocabulary has no token with the id {id}");
    let help = format!("ids go from 0 to {}", vocabulary.size().saturating_sub(1));
    Box::new(Diagnostic::error(Code::UnknownToken, message).help(help))
}

fn unknown(vocabulary: &Vocabulary, message: String) -> Box<Diagnostic> {
    let names: Vec<&str> = vocabulary.specials().iter().take(MAX_LISTED).map(|(name, _)| &**name).collect();
    let help = if names.is_empty() {
        "give the vocabulary its special tokens (`special=`)".to_owned()
    } else {
        format!("it has {}{}", names.join(", "), if names.len() == MAX_LISTED { ", …" } else { "" })
    };
    let help =
        format!("{help}; with `vocabulary=`, `Grammar.from_tools` writes marks that are no tokens as text");
    Box::new(Diagnostic::error(Code::UnknownToken, message).help(help))
}
