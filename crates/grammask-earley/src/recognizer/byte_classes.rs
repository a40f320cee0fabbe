//! Classes of bytes that no terminal of a grammar distinguishes, and that lead to the same sets.

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use grammask_automata::{Automata, ByteSet, TermId};
use grammask_diagnostics::LimitExceeded;

use super::embedded::EmbeddedStates;
use super::remembered;
use super::terminal_starts::{TerminalStarts, term_of};

/// The classes of a grammar's bytes.
#[derive(Debug)]
pub(super) struct ByteClassTable {
    /// The class of each byte in sets whose items are not inside values: no terminal distinguishes bytes of one class,
    /// and bytes with which values begin are classes of their own. Inside values every byte is a class of its own.
    outside_values: Box<[u8; 256]>,
    /// Number of these classes.
    count_outside_values: usize,
    /// The class of each byte in all sets.
    class_of_byte: Box<[u8; 256]>,
    /// One byte of each class.
    byte_of_class: Box<[u8]>,
}

impl ByteClassTable {
    /// # Errors
    /// When an automaton exceeds its limit.
    pub(super) fn of(
        form: &NormalForm,
        automata: &mut Automata,
        embedded: &EmbeddedStates,
        terminals: &TerminalStarts,
    ) -> Result<Self, LimitExceeded> {
        let definitions = form.terminals.iter();
        let terms: Vec<TermId> =
            definitions.filter_map(|definition| term_of(&definition.terminal, automata)).collect();
        let mut class_of_byte = Box::new(automata.terms().byte_classes(&terms));
        for engine in embedded.engines() {
            refine_classes(&mut class_of_byte, engine.class_of_byte());
        }
        let mut outside_values = class_of_byte.clone();
        if !form.values().is_empty() {
            let first = remembered::first_bytes(form, automata, &terminals.starts)?;
            separate(&mut outside_values, first);
            // Every byte can make a difference to a value.
            for (byte, class) in (0..=u8::MAX).zip(class_of_byte.iter_mut()) {
                *class = byte;
            }
        }
        let mut byte_of_class = vec![0_u8; class_count(&class_of_byte)].into_boxed_slice();
        for byte in (0..=u8::MAX).rev() {
            byte_of_class[usize::from(class_of_byte[usize::from(byte)])] = byte;
        }
        let count_outside_values = class_count(&outside_values);
        Ok(Self { outside_values, count_outside_values, class_of_byte, byte_of_class })
    }

    /// The class of a byte in sets whose items are not inside values.
    #[inline]
    pub(super) fn outside_values(&self, byte: u8) -> usize {
        usize::from(self.outside_values[usize::from(byte)])
    }

    /// Number of classes in sets whose items are not inside values.
    pub(super) fn count_outside_values(&self) -> usize {
        self.count_outside_values
    }

    /// The class of each byte in all sets.
    pub(super) fn class_of_byte(&self) -> &[u8; 256] {
        &self.class_of_byte
    }

    /// One byte of each class in all sets.
    pub(super) fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }
}

/// Number of classes.
fn class_count(classes: &[u8; 256]) -> usize {
    // Without branches, so that it is vectorised.
    usize::from(classes.iter().fold(0, |max, &class| max.max(class))) + 1
}

/// Makes each of some bytes a class of its own.
fn separate(classes: &mut [u8; 256], bytes: ByteSet) {
    let mut own = [0; 256];
    for (number, byte) in (0..=u8::MAX).zip(bytes.iter()) {
        own[usize::from(byte)] = number.wrapping_add(1);
    }
    refine_classes(classes, &own);
}

/// Separates the bytes that `others` separates.
fn refine_classes(classes: &mut [u8; 256], others: &[u8; 256]) {
    let mut ids: FxHashMap<(u8, u8), u8> = FxHashMap::default();
    for (class, &other) in classes.iter_mut().zip(others) {
        // There are at most as many classes as bytes.
        let next = ids.len() as u8;
        *class = *ids.entry((*class, other)).or_insert(next);
    }
}
