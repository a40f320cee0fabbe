//! Identities of immutable sets. Memo tables are keyed by them: a lookup hashes eight bytes, and an entry needs not
//! keep its key's set alive.
//!
//! An identity belongs to a value, and clones of a handle share it. It is never reused, so an entry whose set is gone
//! is only unreachable. The caches of a vocabulary intern sets
//! ([`SummaryCache::intern`](crate::SummaryCache::intern), [`SummaryCache::share`](crate::SummaryCache::share)): of
//! the sets that one holds, equal ones have equal identities.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{NodeSet, TokenSet};

/// The identity of a [`NodeSetRef`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSetId(u64);

/// The identity of a set of tokens: of a [`TokenSetRef`], or of a [`LiveTokens`](crate::LiveTokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenSetId(u64);

impl TokenSetId {
    /// An identity that no other set has, for a set in a representation of the caller's.
    #[must_use]
    pub fn next() -> Self {
        Self(next())
    }
}

/// A number that was not returned before in this process. With 64 bits it does not overflow.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A shared node set with its identity, by which it is hashed and compared.
#[derive(Clone, Debug)]
pub struct NodeSetRef {
    id: NodeSetId,
    set: Arc<NodeSet>,
}

impl NodeSetRef {
    /// A handle with an identity of its own, even if an equal set is interned.
    pub(crate) fn new(set: NodeSet) -> Self {
        Self { id: NodeSetId(next()), set: Arc::new(set) }
    }

    /// The identity.
    #[inline]
    #[must_use]
    pub fn id(&self) -> NodeSetId {
        self.id
    }

    /// Whether there is another handle of the same set.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.set) > 1
    }
}

impl Deref for NodeSetRef {
    type Target = NodeSet;

    fn deref(&self) -> &NodeSet {
        &self.set
    }
}

impl PartialEq for NodeSetRef {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for NodeSetRef {}

impl Hash for NodeSetRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// A shared bitset of tokens with its identity. Compared by content; compare [`TokenSetRef::id`] for identity.
#[derive(Clone, Debug)]
pub struct TokenSetRef {
    id: TokenSetId,
    set: Arc<TokenSet>,
}

impl TokenSetRef {
    /// The identity.
    #[inline]
    #[must_use]
    pub fn id(&self) -> TokenSetId {
        self.id
    }

    /// Whether there is another handle of the same set.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.set) > 1
    }
}

impl From<TokenSet> for TokenSetRef {
    fn from(set: TokenSet) -> Self {
        Self::from(Arc::new(set))
    }
}

impl From<Arc<TokenSet>> for TokenSetRef {
    /// A handle with an identity of its own, even if there are other handles to the same allocation.
    fn from(set: Arc<TokenSet>) -> Self {
        Self { id: TokenSetId::next(), set }
    }
}

impl Deref for TokenSetRef {
    type Target = TokenSet;

    fn deref(&self) -> &TokenSet {
        &self.set
    }
}

impl PartialEq for TokenSetRef {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id || self.set == other.set
    }
}

impl Eq for TokenSetRef {}
