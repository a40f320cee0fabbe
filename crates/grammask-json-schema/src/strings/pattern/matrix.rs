//! Loops around assertions about neighbours: `^`, `$`, `\b` and lookbehind.
//!
//! Such a part is a matrix of languages: for two *places*, the texts that lead from one to the other. A place is
//! the context before it and a guess of what comes next, which the next character or the end of the text has to
//! confirm; an assertion is the part of the identity where it holds. Matrices are composed like terms, and the
//! loop is the star of a matrix, by the elimination of Kleene ("Representation of events in nerve nets and finite
//! automata", 1956).

use rustc_hash::FxHashMap;

use super::ast::{Node, NodeId, Sense};
use super::contexts::{Bits, spelled};
use super::error::PatternError;
use super::translate::{Rest, Rests, Translator};
use grammask_automata::TermId;

/// Most multiplications of matrices for one bounded loop.
const MOST_COPIES: u32 = 256;

/// A guess of what comes next.
#[derive(Clone, Copy)]
struct Next {
    /// A character of these atoms.
    atoms: Bits,
    /// The end of the text.
    end: bool,
}

/// All places of a pattern.
struct Places {
    contexts: usize,
    nexts: Vec<Next>,
}

impl Places {
    fn of(translator: &Translator) -> Self {
        let contexts = &translator.contexts;
        let (all, words) = (contexts.all_atoms(), contexts.word_atoms());
        let end = Next { atoms: 0, end: true };
        let character = |atoms| Next { atoms, end: false };
        let nexts = if contexts.has_word_boundary {
            vec![end, character(words), character(all & !words)]
        } else if contexts.has_end {
            vec![end, character(all)]
        } else {
            vec![Next { atoms: all, end: true }]
        };
        Self { contexts: contexts.len(), nexts }
    }

    fn len(&self) -> usize {
        self.contexts * self.nexts.len()
    }

    fn context(&self, place: usize) -> usize {
        place / self.nexts.len()
    }

    fn next(&self, place: usize) -> Next {
        self.nexts[place % self.nexts.len()]
    }
}

/// The texts from each place to each place, row by row.
type Matrix = Vec<TermId>;

/// The rests before a repetition without lookahead in it.
pub(super) fn before_loop(
    translator: &mut Translator,
    id: NodeId,
    rests: &Rests,
) -> Result<Rests, PatternError> {
    let places = Places::of(translator);
    let matrix = matrix(translator, &places, id)?;
    let size = places.len();
    let per_context = places.nexts.len();
    let mut before = Vec::with_capacity(rests.len());
    for context in 0..places.contexts {
        let mut found = Rest { term: translator.terms.nothing(), closed: true };
        for (target, &rest) in rests.iter().enumerate() {
            // Which guess it starts from does not matter: the texts keep their guesses.
            let columns: Vec<TermId> = (0..per_context)
                .map(|next| {
                    let column = target * per_context + next;
                    let rows = context * per_context..(context + 1) * per_context;
                    let parts: Vec<TermId> = rows.map(|row| matrix[row * size + column]).collect();
                    translator.terms.union(&parts)
                })
                .collect();
            if columns.iter().all(|column| *column == columns[0]) {
                let part = translator.before(columns[0], rest);
                found = translator.either(found, part);
                continue;
            }
            for (next, column) in columns.into_iter().enumerate() {
                let rest = confirmed(translator, rest, places.nexts[next]);
                let part = translator.before(column, rest);
                found = translator.either(found, part);
            }
        }
        before.push(found);
    }
    Ok(before)
}

/// The part of a rest that a guess is right about.
fn confirmed(translator: &mut Translator, rest: Rest, next: Next) -> Rest {
    match next {
        Next { end: true, atoms: 0 } if translator.terms.is_nullable(rest.term) => {
            Rest { term: translator.terms.epsilon(), closed: true }
        }
        Next { end: true, atoms: 0 } => Rest { term: translator.terms.nothing(), closed: true },
        Next { end: true, .. } => rest,
        Next { atoms, .. } => Rest { term: translator.starting_in(rest.term, atoms), closed: rest.closed },
    }
}

/// The matrix of a node, whose parts are computed before it.
fn matrix(translator: &mut Translator, places: &Places, root: NodeId) -> Result<Matrix, PatternError> {
    let pattern = translator.pattern;
    let mut needed = vec![root];
    let mut next = 0;
    while let Some(&id) = needed.get(next) {
        next += 1;
        if translator.pure(id).is_none() && !matches!(pattern.node(id), Node::LookBehind(..)) {
            pattern.node(id).for_each_part(|part| needed.push(part));
        }
    }
    // Parts have smaller ids than what they are parts of.
    needed.sort_unstable();
    let mut known: FxHashMap<NodeId, Matrix> = FxHashMap::default();
    for id in needed {
        translator.spend(id, places.len().pow(2))?;
        let matrix = match pattern.node(id) {
            _ if translator.pure(id).is_some() => pure(translator, places, id),
            Node::Concat(parts) => {
                let mut product = identity(translator, places, |_, _| true);
                for part in parts {
                    product = multiply(translator, id, &product, &known[part])?;
                }
                product
            }
            Node::Alternation(branches) => {
                let mut sum = vec![translator.terms.nothing(); places.len().pow(2)];
                for branch in branches {
                    sum = add(translator, &sum, &known[branch]);
                }
                sum
            }
            &Node::Repeat { body, min, max } => power(translator, places, id, &known[&body], (min, max))?,
            Node::Start => identity(translator, places, |context, _| context == 0),
            Node::End => identity(translator, places, |_, next| next.end),
            Node::WordBoundary(sense) => {
                let words = translator.contexts.word_atoms();
                let after: Vec<bool> =
                    (0..places.contexts).map(|context| translator.contexts.is_after_word(context)).collect();
                identity(translator, places, |context, next| {
                    let differs = after[context] != (next.atoms & words != 0);
                    differs == (*sense == Sense::Positive)
                })
            }
            &Node::LookBehind(sense, body) => {
                let holds = translator.contexts.behind(pattern, sense, body)?;
                identity(translator, places, |context, _| holds >> context & 1 == 1)
            }
            Node::Class(_) | Node::LookAhead(..) => {
                unreachable!("a class is pure, and the loop has no lookahead")
            }
        };
        known.insert(id, matrix);
    }
    Ok(known.remove(&root).expect("the root is needed"))
}

/// The empty text at each place where something holds.
fn identity(translator: &Translator, places: &Places, holds: impl Fn(usize, Next) -> bool) -> Matrix {
    let size = places.len();
    let mut matrix = vec![translator.terms.nothing(); size * size];
    for place in 0..size {
        if holds(places.context(place), places.next(place)) {
            matrix[place * size + place] = translator.terms.epsilon();
        }
    }
    matrix
}

/// The matrix of a part without assertions.
fn pure(translator: &mut Translator, places: &Places, id: NodeId) -> Matrix {
    let pure = translator.pure(id).expect("the caller has looked");
    let nullable = translator.terms.is_nullable(pure.term);
    let mut matrix = identity(translator, places, |_, _| nullable);
    let nonempty = translator.nonempty(id, pure.term);
    let size = places.len();
    for next in 0..places.nexts.len() {
        let firsts = places.nexts[next].atoms;
        if firsts & pure.firsts == 0 {
            continue;
        }
        for atom in (0..places.contexts - 1).filter(|atom| pure.lasts >> atom & 1 == 1) {
            let term = match translator.pattern.node(id) {
                Node::Class(_) if firsts >> atom & 1 == 0 => continue,
                Node::Class(class) => {
                    let part = translator.contexts.part(class, 1 << atom);
                    spelled(translator.terms, translator.spelling, &part)
                }
                _ => {
                    let mut term = nonempty;
                    if pure.firsts & !firsts != 0 {
                        term = translator.starting_in(term, firsts);
                    }
                    if pure.lasts != 1 << atom {
                        term = translator.ending_in(term, 1 << atom);
                    }
                    term
                }
            };
            for context in 0..places.contexts {
                let row = context * places.nexts.len() + next;
                for target in 0..places.nexts.len() {
                    let cell = row * size + (atom + 1) * places.nexts.len() + target;
                    matrix[cell] = translator.terms.union(&[matrix[cell], term]);
                }
            }
        }
    }
    matrix
}

fn add(translator: &mut Translator, one: &Matrix, other: &Matrix) -> Matrix {
    one.iter().zip(other).map(|(&one, &other)| translator.terms.union(&[one, other])).collect()
}

fn multiply(
    translator: &mut Translator,
    id: NodeId,
    one: &Matrix,
    other: &Matrix,
) -> Result<Matrix, PatternError> {
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

/// `body` from `min` to `max` times.
fn power(
    translator: &mut Translator,
    places: &Places,
    id: NodeId,
    body: &Matrix,
    (min, max): (u32, Option<u32>),
) -> Result<Matrix, PatternError> {
    if max.unwrap_or(min) > MOST_COPIES {
        let message =
            format!("a loop around assertions is supported up to {MOST_COPIES} times, or without end");
        return Err(PatternError::unsupported(translator.pattern.offset(id), message));
    }
    let once = identity(translator, places, |_, _| true);
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

/// `body` any number of times: places are allowed on the way one after the other.
fn star(translator: &mut Translator, id: NodeId, body: &Matrix) -> Result<Matrix, PatternError> {
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
    for place in 0..size {
        let cell = place * size + place;
        paths[cell] = translator.terms.union(&[paths[cell], translator.terms.epsilon()]);
    }
    Ok(paths)
}
