//! The tokens of masks in parts, which many masks share, and what such parts are together.
//!
//! Most new masks are made of the parts of a mask that is known, so a union is found by where its parts are.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::grammar::id_type;
use crate::vocabulary::{TokenId, TokenSet};

id_type! {
    /// A part that is kept.
    PartId
}

/// The part of a set's words up to which it is kept as a list: one word in so many.
const WORDS_PER_LISTED: usize = 6;

/// Words that are looked at together for one that is not zero.
const WORDS_AT_ONCE: usize = 16;

/// Some tokens of a mask.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The words that are not zero, with their positions.
    Few(Arc<[(u32, u32)]>),
    /// A set.
    Set(Arc<TokenSet>),
}

impl Part {
    /// Adds the tokens to a mask.
    pub(crate) fn add_to(&self, mask: &mut TokenSet) {
        match self {
            Self::Few(words) => mask.union_with_words(words),
            Self::Set(set) => mask.union_with(set),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Few(words) => size_of_val(&words[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }

    /// Where it is: the same part is at one place as long as it is there.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Few(words) => words.as_ptr().addr(),
            Self::Set(set) => Arc::as_ptr(set).addr(),
        }
    }

    /// A list if there are few words in it.
    fn few(set: &TokenSet) -> Option<Self> {
        let most = set.words().len() / WORDS_PER_LISTED;
        let mut used = Vec::new();
        for (chunk, words) in set.words().chunks(WORDS_AT_ONCE).enumerate() {
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            let first = (chunk * WORDS_AT_ONCE) as u32;
            used.extend((first..).zip(words.iter().copied()).filter(|&(_, word)| word != 0));
            if used.len() > most {
                return None;
            }
        }
        Some(Self::Few(used.into()))
    }
}

/// Collects the tokens of a part: as a list of words while there are few.
#[derive(Debug)]
pub(crate) struct Gathered {
    few: Vec<(u32, u32)>,
    set: Option<TokenSet>,
    size: usize,
}

impl Gathered {
    /// No tokens of a vocabulary of this size.
    pub(crate) fn new(size: usize) -> Self {
        Self { few: Vec::new(), set: None, size }
    }

    pub(crate) fn add(&mut self, part: &Part) {
        match (&mut self.set, part) {
            (Some(set), part) => part.add_to(set),
            (None, Part::Set(_)) => part.add_to(self.as_set()),
            (None, Part::Few(words)) => {
                self.few.extend_from_slice(words);
                let most = self.most_listed();
                if self.few.len() > most {
                    self.merge();
                    if self.few.len() > most / 2 {
                        self.as_set();
                    }
                }
            }
        }
    }

    pub(crate) fn add_set(&mut self, set: &TokenSet) {
        self.as_set().union_with(set);
    }

    pub(crate) fn add_tokens(&mut self, tokens: &[TokenId]) {
        if self.set.is_none() && self.few.len() + tokens.len() <= self.most_listed() / 2 {
            self.few.extend(tokens.iter().map(|id| (id.0 / u32::BITS, 1 << (id.0 % u32::BITS))));
        } else {
            self.as_set().extend(tokens.iter().copied());
        }
    }

    /// How many words are kept as a list at the most.
    fn most_listed(&self) -> usize {
        self.size.div_ceil(u32::BITS as usize) / WORDS_PER_LISTED
    }

    /// Makes one of the entries for the same word.
    fn merge(&mut self) {
        self.few.sort_unstable_by_key(|&(position, _)| position);
        self.few.dedup_by(|word, kept| {
            let is_same = word.0 == kept.0;
            if is_same {
                kept.1 |= word.1;
            }
            is_same
        });
    }

    fn as_set(&mut self) -> &mut TokenSet {
        let (few, size) = (&mut self.few, self.size);
        self.set.get_or_insert_with(|| {
            let mut set = TokenSet::new(size);
            set.union_with_words(few);
            *few = Vec::new();
            set
        })
    }

    /// The tokens as a part, if there are some.
    pub(crate) fn into_part(mut self) -> Option<Part> {
        self.merge();
        match self.set {
            Some(set) => Some(Part::few(&set).unwrap_or_else(|| Part::Set(Arc::new(set)))),
            None if self.few.is_empty() => None,
            None => Some(Part::Few(self.few.into())),
        }
    }
}

/// All parts that masks are made of, and what they are together; equal large sets are kept once.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// Parts by their addresses, which they keep because they are kept here.
    ids: FxHashMap<usize, PartId>,
    unions: FxHashMap<Box<[PartId]>, PartId>,
    distinct: FxHashSet<Arc<TokenSet>>,
    /// Short parts as masks.
    masks: FxHashMap<PartId, Arc<TokenSet>>,
    part_bytes: usize,
}

impl Parts {
    /// The id of a part that is kept elsewhere too.
    pub(crate) fn id(&mut self, part: &Part) -> PartId {
        let next = PartId::new(self.parts.len());
        let id = *self.ids.entry(part.address()).or_insert(next);
        if id == next {
            self.parts.push(part.clone());
        }
        id
    }

    /// The tokens of some parts, over `size` ids, as one part; none if there are no parts.
    pub(crate) fn union(&mut self, parts: &mut Vec<PartId>, size: usize) -> Option<PartId> {
        parts.sort_unstable();
        parts.dedup();
        if let [] | [_] = parts[..] {
            return parts.first().copied();
        }
        if let Some(&known) = self.unions.get(&parts[..]) {
            return Some(known);
        }
        let mut union = Gathered::new(size);
        for part in &parts[..] {
            union.add(&self.parts[part.index()]);
        }
        union.merge();
        let union = match union.set {
            None => Part::Few(union.few.into()),
            Some(set) => match Part::few(&set) {
                Some(few) => few,
                None => Part::Set(self.share(set)),
            },
        };
        if let Part::Few(_) = union {
            self.part_bytes += union.memory_bytes();
        }
        self.part_bytes += size_of_val(&parts[..]);
        let union = self.id(&union);
        self.unions.insert(parts[..].into(), union);
        Some(union)
    }

    /// The tokens of some parts, over `size` ids, as a mask.
    pub(crate) fn mask(&mut self, parts: &mut Vec<PartId>, size: usize) -> Arc<TokenSet> {
        let Some(part) = self.union(parts, size) else { return Arc::new(TokenSet::new(size)) };
        let few = match &self.parts[part.index()] {
            Part::Set(set) => return set.clone(),
            few @ Part::Few(_) => few,
        };
        if let Some(known) = self.masks.get(&part) {
            return known.clone();
        }
        let mut set = TokenSet::new(size);
        few.add_to(&mut set);
        let mask = self.share(set);
        self.masks.insert(part, mask.clone());
        mask
    }

    fn share(&mut self, mask: TokenSet) -> Arc<TokenSet> {
        match self.distinct.get(&mask) {
            Some(equal) => equal.clone(),
            None => {
                let mask = Arc::new(mask);
                self.part_bytes += size_of_val(mask.words());
                self.distinct.insert(mask.clone());
                mask
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.part_bytes
            + self.parts.capacity() * size_of::<Part>()
            + hash_bytes(&self.ids)
            + hash_bytes(&self.unions)
            + hash_bytes(&self.masks)
            + self.distinct.capacity() * (size_of::<Arc<TokenSet>>() + 1)
    }
}

/// Bytes of the table of a hash map.
pub(crate) fn hash_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
