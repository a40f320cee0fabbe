//! Repetitions of position assertions: `^`, `$`, `\b`, lookbehind, and lookahead at one character.
//!
//! Such a node is a matrix of languages: for two *boundaries*, the texts between one and the other. A boundary is a
//! position of the text with its left context and a guess of the next character, which that character or the end of the
//! text has to confirm. An assertion is the identity matrix restricted to the boundaries where it holds. Matrices are
//! composed like terms, and a repetition is the star of a matrix, by Kleene's elimination ("Representation of events in
//! nerve nets and finite automata", 1956).

use rustc_hash::FxHashMap;

use super::ast::{PatternNode, PatternNodeId, Polarity};
use super::contexts::{Bits, encode_class, lookahead_body};
use super::error::PatternError;
use super::translate::{PatternTranslator, SuffixLanguage, SuffixLanguages};
use grammask_automata::TermId;

/// Maximum number of matrix multiplications for one bounded repetition.
const MAX_COPIES: u32 = 256;

/// A guess of the next character.
#[derive(Clone, Copy)]
struct NextGuess {
    /// The atoms that the next character may be in.
    atoms: Bits,
    /// Whether the text may end.
    end: bool,
}

/// All boundaries of a pattern, numbered by context and then by guess.
struct Boundaries {
    contexts: usize,
    guesses: Vec<NextGuess>,
}

impl Boundaries {
    fn of(translator: &PatternTranslator) -> Self {
        let contexts = &translator.contexts;
        let groups = contexts.next_atoms();
        let guesses = if groups.len() > 1 || contexts.has_end {
            let end = NextGuess { atoms: 0, end: true };
            let character = |atoms| NextGuess { atoms, end: false };
            [end].into_iter().chain(groups.into_iter().map(character)).collect()
        } else {
            vec![NextGuess { atoms: contexts.all_atoms(), end: true }]
        };
        Self { contexts: contexts.len(), guesses }
    }

    fn len(&self) -> usize {
        self.contexts * self.guesses.len()
    }

    fn context(&self, boundary: usize) -> usize {
        boundary / self.guesses.len()
    }

    fn guess(&self, boundary: usize) -> NextGuess {
        self.guesses[boundary % self.guesses.len()]
    }
}

/// The texts from each boundary to each boundary, row by row.
type BoundaryMatrix = Vec<TermId>;

/// The suffixes before a repetition in whose body lookaheads are at one character.
pub(super) fn prepend_repetition(
    translator: &mut PatternTranslator,
    id: PatternNodeId,
    suffixes: &SuffixLanguages,
) -> Result<SuffixLanguages, PatternError> {
    let boundaries = Boundaries::of(translator);
    let matrix = node_matrix(translator, &boundaries, id)?;
    let size = boundaries.len();
    let per_context = boundaries.guesses.len();
    let mut before = Vec::with_capacity(suffixes.len());
    for context in 0..boundaries.contexts {
        let mut union = SuffixLanguage { term: translator.terms.nothing(), closed: true };
        for (target, &suffix) in suffixes.iter().enumerate() {
            // All guesses at the start are united: each text contains the confirmation of its guess.
            let columns: Vec<TermId> = (0..per_context)
                .map(|guess| {
                    let column = target * per_context + guess;
                    let rows = context * per_context..(context + 1) * per_context;
                    let parts: Vec<TermId> = rows.map(|row| matrix[row * size + column]).collect();
                    translator.terms.union(&parts)
                })
                .collect();
            if columns.iter().all(|column| *column == columns[0]) {
                let part = translator.prepend(columns[0], suffix);
                union = translator.unite_pair(union, part);
                continue;
            }
            for (guess, column) in columns.into_iter().enumerate() {
                let suffix = confirmed(translator, suffix, boundaries.guesses[guess]);
                let part = translator.prepend(column, suffix);
                union = translator.unite_pair(union, part);
            }
        }
        before.push(union);
    }
    Ok(before)
}

/// The texts of a suffix that confirm a guess.
fn confirmed(translator: &mut PatternTranslator, suffix: SuffixLanguage, guess: NextGuess) -> SuffixLanguage {
    match guess {
        NextGuess { end: true, atoms: 0 } if translator.terms.is_nullable(suffix.term) => {
            SuffixLanguage { term: translator.terms.epsilon(), closed: true }
        }
        NextGuess { end: true, atoms: 0 } => {
            SuffixLanguage { term: translator.terms.nothing(), closed: true }
        }
        NextGuess { end: true, .. } => suffix,
        NextGuess { atoms, .. } => {
            SuffixLanguage { term: translator.starting_in(suffix.term, atoms), closed: suffix.closed }
        }
    }
}

/// The matrix of a node. The matrices of its descendants are computed first.
fn node_matrix(
    translator: &mut PatternTranslator,
    boundaries: &Boundaries,
    root: PatternNodeId,
) -> Result<BoundaryMatrix, PatternError> {
    let pattern = translator.pattern;
    let mut needed = vec![root];
    let mut next = 0;
    while let Some(&id) = needed.get(next) {
        next += 1;
        let is_lookaround =
            matches!(pattern.node(id), PatternNode::LookBehind(..) | PatternNode::LookAhead(..));
        if translator.assertion_free(id).is_none() && !is_lookaround {
            pattern.node(id).for_each_child(|child| needed.push(child));
        }
    }
    // Children have smaller ids than their parents.
    needed.sort_unstable();
    let mut known: FxHashMap<PatternNodeId, BoundaryMatrix> = FxHashMap::default();
    for id in needed {
        translator.spend(id, boundaries.len().pow(2))?;
        let matrix = match pattern.node(id) {
            _ if translator.assertion_free(id).is_some() => assertion_free_matrix(translator, boundaries, id),
            PatternNode::Concat(parts) => {
                let mut product = identity(translator, boundaries, |_, _| true);
                for part in parts {
                    product = multiply(translator, id, &product, &known[part])?;
                }
                product
            }
            PatternNode::Alternation(branches) => {
                let mut sum = vec![translator.terms.nothing(); boundaries.len().pow(2)];
                for branch in branches {
                    sum = add(translator, &sum, &known[branch]);
                }
                sum
            }
            &PatternNode::Repeat { body, min, max } => {
                power(translator, boundaries, id, &known[&body], min, max)?
            }
            PatternNode::Start => identity(translator, boundaries, |context, _| context == 0),
            PatternNode::End => identity(translator, boundaries, |_, guess| guess.end),
            PatternNode::WordBoundary(polarity) => {
                let words = translator.contexts.word_atoms();
                let after: Vec<bool> = (0..boundaries.contexts)
                    .map(|context| translator.contexts.is_after_word(context))
                    .collect();
                identity(translator, boundaries, |context, guess| {
                    let differs = after[context] != (guess.atoms & words != 0);
                    differs == (*polarity == Polarity::Positive)
                })
            }
            &PatternNode::LookBehind(polarity, body) => {
                let holds = translator.contexts.lookbehind_contexts(pattern, polarity, body)?;
                identity(translator, boundaries, |context, _| holds >> context & 1 == 1)
            }
            &PatternNode::LookAhead(polarity, body) => {
                let lookahead = lookahead_body(pattern, body)
                    .expect("the lookaheads of the repetition are at one character");
                let atoms = lookahead
                    .classes
                    .iter()
                    .fold(0, |atoms, class| atoms | translator.contexts.atoms_in(class));
                identity(translator, boundaries, |_, guess| {
                    let holds = guess.atoms & atoms != 0 || guess.end && lookahead.has_edge;
                    holds == (polarity == Polarity::Positive)
                })
            }
            PatternNode::Class(_) => unreachable!("a class has no assertion"),
        };
        known.insert(id, matrix);
    }
    Ok(known.remove(&root).expect("the root is needed"))
}

/// The identity matrix restricted to the boundaries where `holds`.
fn identity(
    translator: &PatternTranslator,
    boundaries: &Boundaries,
    holds: impl Fn(usize, NextGuess) -> bool,
) -> BoundaryMatrix {
    let size = boundaries.len();
    let mut matrix = vec![translator.terms.nothing(); size * size];
    for boundary in 0..size {
        if holds(boundaries.context(boundary), boundaries.guess(boundary)) {
            matrix[boundary * size + boundary] = translator.terms.epsilon();
        }
    }
    matrix
}

/// The matrix of a node without assertions.
fn assertion_free_matrix(
    translator: &mut PatternTranslator,
    boundaries: &Boundaries,
    id: PatternNodeId,
) -> BoundaryMatrix {
    let assertion_free =
        translator.assertion_free(id).expect("the caller has checked that the node is free of assertions");
    let nullable = translator.terms.is_nullable(assertion_free.term);
    let mut matrix = identity(translator, boundaries, |_, _| nullable);
    let nonempty = translator.nonempty(id, assertion_free.term);
    let size = boundaries.len();
    for guess in 0..boundaries.guesses.len() {
        let firsts = boundaries.guesses[guess].atoms;
        if firsts & assertion_free.firsts == 0 {
            continue;
        }
        for atom in (0..boundaries.contexts - 1).filter(|atom| assertion_free.lasts >> atom & 1 == 1) {
            let term = match translator.pattern.node(id) {
                PatternNode::Class(_) if firsts >> atom & 1 == 0 => continue,
                PatternNode::Class(class) => {
                    let part = translator.contexts.part(class, 1 << atom);
                    encode_class(translator.terms, translator.encoding, &part)
                }
                _ => {
                    let mut term = nonempty;
                    if assertion_free.firsts & !firsts != 0 {
                        term = translator.starting_in(term, firsts);
                    }
                    if assertion_free.lasts != 1 << atom {
                        term = translator.ending_in(term, 1 << atom);
                    }
                    term
                }
            };
            for context in 0..boundaries.contexts {
                let row = context * boundaries.guesses.len() + guess;
                for target in 0..boundaries.guesses.len() {
                    let cell = row * size + (atom + 1) * boundaries.guesses.len() + target;
                    matrix[cell] = translator.terms.union(&[matrix[cell], term]);
                }
            }
        }
    }
    matrix
}

fn add(translator: &mut PatternTranslator, one: &BoundaryMatrix, other: &BoundaryMatrix) -> BoundaryMatrix {
    one.iter().zip(other).map(|(&one, &other)| translator.terms.union(&[one, other])).collect()
}

fn multiply(
    translator: &mut PatternTranslator,
    id: PatternNodeId,
    one: &BoundaryMatrix,
    other: &BoundaryMatrix,
) -> Result<BoundaryMatrix, PatternError> {
    let size = one.len().isqrt();
    translator.spend(id, size.pow(3))?;
    let nothing = translator.terms.nothing();
    let mut product = vec![nothing; one.len()];
    for row in 0..size {
        for column in 0..size {
            let mut parts = Vec::new();
            for between in 0..size {
                let (first, second) = (one[row * size + between], other[between * size + column]);
                if first != nothing && second != nothing {
                    parts.push(translator.terms.concat(&[first, second]));
                }
            }
            product[row * size + column] = translator.terms.union(&parts);
        }
    }
    Ok(product)
}

/// `body` repeated `min` to `max` times.
fn power(
    translator: &mut PatternTranslator,
    boundaries: &Boundaries,
    id: PatternNodeId,
    body: &BoundaryMatrix,
    min: u32,
    max: Option<u32>,
) -> Result<BoundaryMatrix, PatternError> {
    if max.unwrap_or(min) > MAX_COPIES {
        let message =
            format!("a repeated assertion is supported up to {MAX_COPIES} times, or without an upper bound");
        return Err(PatternError::unsupported(translator.pattern.offset(id), message));
    }
    let once = identity(translator, boundaries, |_, _| true);
    let mut product = match max {
        None => star(translator, id, body)?,
        Some(max) => {
            let optional = add(translator, body, &once);
            let mut product = once;
            for _ in min..max {
                product = multiply(translator, id, &product, &optional)?;
            }
            product
        }
    };
    for _ in 0..min {
        product = multiply(translator, id, body, &product)?;
    }
    Ok(product)
}

/// The star of `body`: boundaries are admitted as intermediate points one after the other.
fn star(
    translator: &mut PatternTranslator,
    id: PatternNodeId,
    body: &BoundaryMatrix,
) -> Result<BoundaryMatrix, PatternError> {
    let size = body.len().isqrt();
    translator.spend(id, size.pow(3))?;
    let nothing = translator.terms.nothing();
    let mut paths = body.clone();
    for through in 0..size {
        let around = translator.terms.repeat(paths[through * size + through], 0, None);
        let before = paths.clone();
        for row in (0..size).filter(|row| before[row * size + through] != nothing) {
            for column in 0..size {
                let (into, out) = (before[row * size + through], before[through * size + column]);
                if out != nothing {
                    let detour = translator.terms.concat(&[into, around, out]);
                    let cell = row * size + column;
                    paths[cell] = translator.terms.union(&[before[cell], detour]);
                }
            }
        }
    }
    for boundary in 0..size {
        let cell = boundary * size + boundary;
        paths[cell] = translator.terms.union(&[paths[cell], translator.terms.epsilon()]);
    }
    Ok(paths)
}
