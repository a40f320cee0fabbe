//! Learned masks as bytes: the masks of the states along some texts, for a process that has not seen these texts.
//!
//! States are numbers of one process, so a file names a state by a text that leads to it: a trie of the texts, whose
//! nodes have masks. Reading the trie takes a step of the engine per node, a small part of the time of the masks. A
//! mask is stored as it is represented: the differences from a bitset, which many masks share.
//!
//! Layout: the frame of `serialize.rs`; the identity of the grammar, which the caller provides, such as a hash of its
//! source; the release of grammask, since a corrected defect can change masks; the fingerprint of the vocabulary; the
//! end mode; the nodes (parent, byte, mask plus one); the bitsets; the masks (bitset plus one, removed and added
//! tokens). Nothing is added to the caches before all of it was read.

use rustc_hash::FxHashMap;

use crate::CompiledGrammar;
use crate::cache::GrammarCache;
use crate::options::EndMode;
use crate::serialize::{describe_defect, end_mode_byte};
use grammask_diagnostics::{Code, Diagnostic, GrammarError};
use grammask_engine::SetId;
use grammask_vocabulary::{
    ByteReader, LiveTokens, TokenId, TokenSet, TokenSetId, Vocabulary, framed, unframed,
};

/// The magic bytes at the start of a file.
const MAGIC: &[u8; 8] = b"gmskmsk\n";
/// The version of the format. Files of other versions are rejected.
const VERSION: u32 = 2;
/// The release that computed the masks.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// Number of bytes of a node.
const NODE_BYTES: usize = 9;

impl CompiledGrammar {
    /// The masks that are cached for the states along `texts`, at most about `max_bytes` of them; earlier texts count
    /// first. Texts end at their first illegal byte. The caller's `identity` of the grammar is required to read them.
    ///
    /// Masks under token budgets are not included. Neither are states after tokens that the grammar names or counts.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn masks_to_bytes(
        &self,
        identity: &[u8],
        texts: &[&[u8]],
        max_bytes: usize,
    ) -> Result<Vec<u8>, GrammarError> {
        let cache = self.cache();
        let mut trie = MaskTrie::new(&cache, max_bytes);
        for text in texts {
            trie.add(text)?;
        }
        let mut body = self.mask_header(identity);
        trie.write(&mut body);
        self.report_memory();
        Ok(framed(MAGIC, VERSION, &body))
    }

    /// Caches the masks that [`masks_to_bytes`](Self::masks_to_bytes) wrote, as far as `Limits::memory_bytes` permits;
    /// returns the texts along which they are.
    ///
    /// # Errors
    /// `invalid-saved-grammar` if the bytes are damaged, of another format, or of another release or grammar;
    /// `other-vocabulary`; an exceeded limit. Nothing is cached then.
    pub fn add_masks(&self, identity: &[u8], saved: &[u8]) -> Result<Vec<Vec<u8>>, GrammarError> {
        let MaskHeader { identity: of_file, end, mut reader } = MaskHeader::read(saved, self.vocabulary())?;
        if of_file != identity {
            return Err(invalid("the masks were saved for another grammar").into());
        }
        if end != self.options().end {
            return Err(invalid("the masks were saved with another `end=`").into());
        }
        let damaged = || invalid("the saved masks are damaged");
        let nodes = reader.nodes().ok_or_else(damaged)?;
        let masks = reader.masks(self.vocabulary()).ok_or_else(damaged)?;
        let cache = self.cache();
        let states = states_of(&nodes, masks.len(), &cache)?.ok_or_else(damaged)?;
        for &(set, mask) in &states {
            cache.add_mask(set, &masks[mask]);
        }
        self.report_memory();
        Ok(leaves(&nodes))
    }

    /// What must be equal where the masks are read.
    fn mask_header(&self, identity: &[u8]) -> Vec<u8> {
        let mut header = Vec::new();
        for text in [identity, RELEASE.as_bytes()] {
            number(&mut header, text.len());
            header.extend(text);
        }
        header.extend(self.vocabulary().fingerprint().to_le_bytes());
        header.push(end_mode_byte(self.options().end));
        header
    }
}

/// What a file of masks was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskOrigin<'a> {
    /// The caller's identity of the grammar.
    pub identity: &'a [u8],
    /// The end mode.
    pub end: EndMode,
}

/// The grammar and the end mode for which [`CompiledGrammar::masks_to_bytes`] wrote a file. An identity from which its
/// caller can make the grammar turns the file into one of a compiled grammar.
///
/// # Errors
/// As [`CompiledGrammar::add_masks`].
pub fn mask_origin<'a>(saved: &'a [u8], vocabulary: &Vocabulary) -> Result<MaskOrigin<'a>, GrammarError> {
    let MaskHeader { identity, end, .. } = MaskHeader::read(saved, vocabulary)?;
    Ok(MaskOrigin { identity, end })
}

/// The beginning of a file.
struct MaskHeader<'a> {
    identity: &'a [u8],
    end: EndMode,
    /// The rest of the file.
    reader: MaskReader<'a>,
}

impl<'a> MaskHeader<'a> {
    fn read(saved: &'a [u8], vocabulary: &Vocabulary) -> Result<Self, GrammarError> {
        let body = unframed(saved, MAGIC, VERSION)
            .map_err(|defect| invalid(&describe_defect(defect, "grammar or set of masks", VERSION)))?;
        let damaged = || invalid("the file is damaged");
        let mut reader = ByteReader::new(body);
        let text = |reader: &mut ByteReader<'a>| {
            let length = reader.count(1)?;
            reader.take(length)
        };
        let identity = text(&mut reader).ok_or_else(damaged)?;
        if text(&mut reader).ok_or_else(damaged)? != RELEASE.as_bytes() {
            return Err(invalid("the file was saved by another release of grammask").into());
        }
        if reader.take(16).ok_or_else(damaged)? != vocabulary.fingerprint().to_le_bytes() {
            let message = "the file was saved for another vocabulary";
            let help = "use the vocabulary that the grammar was compiled for, or save the file again";
            return Err(Diagnostic::error(Code::OtherVocabulary, message).help(help).into());
        }
        let end = match reader.take(1).ok_or_else(damaged)? {
            [0] => EndMode::Eos,
            [1] => EndMode::Eager,
            _ => return Err(damaged().into()),
        };
        Ok(Self { identity, end, reader: MaskReader(reader) })
    }
}

fn invalid(message: &str) -> Diagnostic {
    Diagnostic::error(Code::InvalidSavedGrammar, message).help("save it again")
}

/// Appends a number below 2^32.
fn number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u32).to_le_bytes());
}

/// A node of the trie of texts: its parent, the byte after it, and the index of its mask plus one.
struct MaskNode {
    parent: u32,
    byte: u8,
    mask: u32,
}

/// The states of the nodes with masks, with the index of the mask; `None` if the nodes are not those of a trie of this
/// grammar.
fn states_of(
    nodes: &[MaskNode],
    mask_count: usize,
    cache: &GrammarCache,
) -> Result<Option<Vec<(SetId, usize)>>, GrammarError> {
    let engine = cache.engine();
    let deadline = cache.deadline();
    let mut states = vec![engine.start()];
    let mut with_masks = Vec::new();
    if nodes.is_empty() {
        return Ok(None);
    }
    for (position, node) in nodes.iter().enumerate() {
        if position > 0 {
            // Parents precede their children, so the parent's state is known.
            let Some(&parent) = states.get(node.parent as usize) else { return Ok(None) };
            let step = engine.step_all(parent, &[node.byte], &deadline);
            let Ok(state) = step.map_err(|limit| cache.limit_error(limit))? else { return Ok(None) };
            states.push(state);
        }
        if let Some(mask) = node.mask.checked_sub(1) {
            if mask as usize >= mask_count {
                return Ok(None);
            }
            with_masks.push((states[position], mask as usize));
        }
    }
    Ok(Some(with_masks))
}

/// The texts of the nodes without children, of nodes whose parents precede them.
fn leaves(nodes: &[MaskNode]) -> Vec<Vec<u8>> {
    let mut has_child = vec![false; nodes.len()];
    for node in &nodes[1..] {
        has_child[node.parent as usize] = true;
    }
    let text = |leaf: usize| {
        let mut text = Vec::new();
        let mut node = leaf;
        while node > 0 {
            text.push(nodes[node].byte);
            node = nodes[node].parent as usize;
        }
        text.reverse();
        text
    };
    (1..nodes.len()).filter(|&node| !has_child[node]).map(text).collect()
}

/// The texts and their masks while they are collected.
struct MaskTrie<'a> {
    cache: &'a GrammarCache,
    nodes: Vec<MaskNode>,
    /// The state of each node.
    states: Vec<SetId>,
    children: FxHashMap<(u32, u8), u32>,
    /// The states that have a node with a mask.
    masked: FxHashMap<SetId, u32>,
    bases: Vec<u8>,
    base_numbers: FxHashMap<TokenSetId, u32>,
    masks: Vec<u8>,
    /// The index of each mask by its content in `masks`.
    mask_numbers: FxHashMap<Vec<u8>, u32>,
    max_bytes: usize,
}

impl<'a> MaskTrie<'a> {
    fn new(cache: &'a GrammarCache, max_bytes: usize) -> Self {
        let mut trie = Self {
            cache,
            nodes: Vec::new(),
            states: Vec::new(),
            children: FxHashMap::default(),
            masked: FxHashMap::default(),
            bases: Vec::new(),
            base_numbers: FxHashMap::default(),
            masks: Vec::new(),
            mask_numbers: FxHashMap::default(),
            max_bytes,
        };
        trie.push(MaskNode { parent: 0, byte: 0, mask: 0 }, cache.engine().start());
        trie
    }

    /// Adds the masks along a text.
    fn add(&mut self, text: &[u8]) -> Result<(), GrammarError> {
        let deadline = self.cache.deadline();
        let mut node = 0;
        for &byte in text {
            node = match self.children.get(&(node, byte)) {
                Some(&child) => child,
                None if self.bytes() + NODE_BYTES > self.max_bytes => return Ok(()),
                None => {
                    let state = self.states[node as usize];
                    let step = self.cache.engine().step_all(state, &[byte], &deadline);
                    let Ok(next) = step.map_err(|limit| self.cache.limit_error(limit))? else {
                        return Ok(());
                    };
                    // A text has fewer than 2^32 bytes, since the nodes have room in memory.
                    let child = self.nodes.len() as u32;
                    self.children.insert((node, byte), child);
                    self.push(MaskNode { parent: node, byte, mask: 0 }, next);
                    child
                }
            };
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.nodes.len() * NODE_BYTES + self.bases.len() + self.masks.len()
    }

    /// Adds a node, with the mask of its state if it is cached, has room, and no other node has it.
    fn push(&mut self, mut node: MaskNode, state: SetId) {
        if !self.masked.contains_key(&state)
            && let Some(mask) = self.cache.lookup(state)
            && let Some(index) = self.mask(mask.live_tokens())
        {
            node.mask = index + 1;
            self.masked.insert(state, index);
        }
        self.nodes.push(node);
        self.states.push(state);
    }

    /// The index of a mask; `None` if it has no room.
    fn mask(&mut self, tokens: &LiveTokens) -> Option<u32> {
        let (removed, added) = tokens.differences();
        let mut bytes = Vec::new();
        let base = match tokens.base() {
            None => 0,
            Some(base) => match self.base_numbers.get(&base.id()) {
                Some(&base) => base + 1,
                None if self.bytes() + size_of_val(base.words()) > self.max_bytes => return None,
                None => {
                    let index = self.base_numbers.len() as u32;
                    self.base_numbers.insert(base.id(), index);
                    self.bases.extend(base.words().iter().flat_map(|word| word.to_le_bytes()));
                    index + 1
                }
            },
        };
        number(&mut bytes, base as usize);
        for list in [removed, added] {
            number(&mut bytes, list.len());
            list.iter().for_each(|id| number(&mut bytes, id.index()));
        }
        if let Some(&known) = self.mask_numbers.get(&bytes) {
            return Some(known);
        }
        if self.bytes() + bytes.len() > self.max_bytes {
            return None;
        }
        let index = self.mask_numbers.len() as u32;
        self.masks.extend(&bytes);
        self.mask_numbers.insert(bytes, index);
        Some(index)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        number(bytes, self.nodes.len());
        for node in &self.nodes {
            number(bytes, node.parent as usize);
            bytes.push(node.byte);
            number(bytes, node.mask as usize);
        }
        number(bytes, self.base_numbers.len());
        bytes.extend(&self.bases);
        number(bytes, self.mask_numbers.len());
        bytes.extend(&self.masks);
    }
}

/// Reads the body of a file.
struct MaskReader<'a>(ByteReader<'a>);

impl MaskReader<'_> {
    fn nodes(&mut self) -> Option<Vec<MaskNode>> {
        let count = self.0.count(NODE_BYTES)?;
        let node = |_| {
            let parent = self.0.number()?;
            let byte = *self.0.take(1)?.first()?;
            Some(MaskNode { parent, byte, mask: self.0.number()? })
        };
        (0..count).map(node).collect()
    }

    /// Reads the masks, up to the end of the bytes.
    fn masks(&mut self, vocabulary: &Vocabulary) -> Option<Vec<LiveTokens>> {
        let (size, summaries) = (vocabulary.size(), vocabulary.summaries());
        let set_bytes = TokenSet::word_count(size) * size_of::<u32>();
        let count = self.0.count(set_bytes)?;
        let bases = (0..count)
            .map(|_| {
                let words =
                    self.0.take(set_bytes)?.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
                let words: Vec<(u32, u32)> = (0..).zip(words).collect();
                let padding = (size.next_multiple_of(32) - size) as u32;
                if words.last().is_some_and(|(_, last)| last.leading_zeros() < padding) {
                    return None;
                }
                let mut set = TokenSet::new(size);
                set.union_with_words(&words);
                Some(summaries.share(LiveTokens::from_dense(set.into())))
            })
            .collect::<Option<Vec<_>>>()?;
        let count = self.0.count(12)?;
        let masks = (0..count)
            .map(|_| {
                let base = self.0.number()? as usize;
                let removed = self.tokens(size)?;
                let added = LiveTokens::new(self.tokens(size)?, size);
                Some(match base.checked_sub(1) {
                    None if removed.is_empty() => added,
                    None => return None,
                    Some(base) => {
                        let kept = bases.get(base)?.but(removed, size);
                        if added.is_empty() {
                            kept
                        } else {
                            LiveTokens::union(&[kept, added], size, summaries)
                        }
                    }
                })
            })
            .collect::<Option<Vec<_>>>()?;
        self.0.is_at_end().then_some(masks)
    }

    fn tokens(&mut self, size: usize) -> Option<Vec<TokenId>> {
        let count = self.0.count(4)?;
        (0..count).map(|_| self.0.number().map(TokenId).filter(|id| id.index() < size)).collect()
    }
}
