//! Switches that disable single techniques, to measure their gain (`benches/ablation.py`). They exist only with the
//! feature `ablation`.

/// A technique that changes the cost of a mask, and not its bits.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "ablation"), allow(dead_code))]
pub(crate) enum Technique {
    Literals,
    Tables,
    LengthLimits,
    GeneralisedBounds,
    Exclusions,
    LargeMaxima,
    Repetitions,
    DenseTransitions,
    SelfLoops,
    ClosedAlphabets,
    SimilarFirstBytes,
    SimilarPairs,
}

#[cfg(feature = "ablation")]
const ALL: [Technique; 12] = [
    Technique::Literals,
    Technique::Tables,
    Technique::LengthLimits,
    Technique::GeneralisedBounds,
    Technique::Exclusions,
    Technique::LargeMaxima,
    Technique::Repetitions,
    Technique::DenseTransitions,
    Technique::SelfLoops,
    Technique::ClosedAlphabets,
    Technique::SimilarFirstBytes,
    Technique::SimilarPairs,
];

/// Whether a technique is used: always, except for those named in the environment variable `GRAMMASK_DISABLED` with the
/// feature `ablation`.
#[cfg(not(feature = "ablation"))]
#[inline(always)]
pub(crate) const fn is_enabled(_: Technique) -> bool {
    true
}

#[cfg(feature = "ablation")]
#[inline]
pub(crate) fn is_enabled(technique: Technique) -> bool {
    static DISABLED: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        let names = std::env::var("GRAMMASK_DISABLED").unwrap_or_default();
        let is_named = |technique: &&Technique| names.split(',').any(|name| name == format!("{technique:?}"));
        ALL.iter().filter(is_named).fold(0, |bits, &technique| bits | 1 << technique as u32)
    });
    *DISABLED >> technique as u32 & 1 == 0
}
