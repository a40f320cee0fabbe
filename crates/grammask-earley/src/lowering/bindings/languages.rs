//! The regular languages of operands, and whether they always leave a text.

use grammask_automata::{Automata, ByteSet, ShortestWords, TermId};
use grammask_diagnostics::{Code, Deadline, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::{Binding, Grammar, GrammarBuilder, NodeId, RuleLanguages};
use rustc_hash::FxHashMap;

use super::binding_at;

/// Memo table of languages.
pub(super) struct OperandLanguages {
    rules: RuleLanguages,
    memo: FxHashMap<NodeId, TermId>,
    max_states: usize,
    deadline: Deadline,
}

/// The language of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    /// Its nonempty texts; `None` if there are none.
    pub(super) nonempty: Option<TermId>,
    /// Whether the empty text is one.
    pub(super) is_nullable: bool,
}

impl OperandLanguages {
    pub(super) fn new(builder: &GrammarBuilder, limits: &Limits) -> Self {
        Self {
            rules: RuleLanguages::new(builder),
            memo: FxHashMap::default(),
            max_states: limits.automaton_states,
            deadline: Deadline::of(limits),
        }
    }

    /// The language of the operand of a binding.
    pub(super) fn of_binding(
        &mut self,
        grammar: &Grammar,
        builder: &mut GrammarBuilder,
        binding: &Binding,
    ) -> Result<TermId, Box<Diagnostic>> {
        let Some(node) = binding.node else { return Ok(builder.terms().nothing()) };
        if let Some(&known) = self.memo.get(&node) {
            return Ok(known);
        }
        let term = self.rules.of_node(builder, node).map_err(|reason| {
            let message = format!("the texts of {} are not a regular language", binding.kind.notation());
            let help = format!("{}; use a regular part", reason.reason());
            Box::new(Diagnostic::error(Code::UnsupportedGrammar, message).at(grammar.span(node)).help(help))
        })?;
        self.memo.insert(node, term);
        Ok(term)
    }

    /// The union of the languages of bindings.
    pub(super) fn union(
        &mut self,
        grammar: &Grammar,
        builder: &mut GrammarBuilder,
        binders: &[NodeId],
    ) -> Result<TermId, Box<Diagnostic>> {
        let bindings = binders.iter().filter_map(|&node| binding_at(grammar, node));
        let of_binding = |binding| self.of_binding(grammar, builder, binding);
        let languages = bindings.map(of_binding).collect::<Result<Vec<_>, _>>()?;
        Ok(builder.terms().union(&languages))
    }

    /// The nonempty texts of a language, and whether the empty one belongs to it.
    pub(super) fn operand(
        &self,
        builder: &mut GrammarBuilder,
        language: TermId,
    ) -> Result<Operand, LimitExceeded> {
        let terms = builder.terms();
        let is_nullable = terms.is_nullable(language);
        let nonempty = match is_nullable {
            true => {
                let epsilon = terms.epsilon();
                let others = terms.complement(epsilon);
                terms.intersection(&[language, others])
            }
            false => language,
        };
        let nonempty = (!self.is_empty(builder, nonempty)?).then_some(nonempty);
        Ok(Operand { nonempty, is_nullable })
    }

    /// Whether a language has a text that is different from each of some texts.
    pub(super) fn has_another(
        &self,
        builder: &mut GrammarBuilder,
        language: TermId,
        bound: TermId,
    ) -> Result<bool, LimitExceeded> {
        let outside = self.difference(builder, language, bound);
        if !self.is_empty(builder, outside)? {
            return Ok(true);
        }
        let Some(word) = self.word(builder, language)? else { return Ok(false) };
        let word = builder.terms().literal(&word);
        let others = self.difference(builder, language, word);
        Ok(!self.is_empty(builder, others)?)
    }

    /// Whether a language has a text that begins with none of some texts.
    pub(super) fn has_unprefixed(
        &self,
        builder: &mut GrammarBuilder,
        language: TermId,
        bound: TermId,
    ) -> Result<bool, LimitExceeded> {
        let terms = builder.terms();
        let nothing = terms.nothing();
        let anything = terms.complement(nothing);
        let prefixed = terms.concat(&[bound, anything]);
        let unprefixed = self.difference(builder, language, prefixed);
        Ok(!self.is_empty(builder, unprefixed)?)
    }

    fn difference(&self, builder: &mut GrammarBuilder, language: TermId, excluded: TermId) -> TermId {
        let terms = builder.terms();
        let others = terms.complement(excluded);
        terms.intersection(&[language, others])
    }

    fn is_empty(&self, builder: &mut GrammarBuilder, language: TermId) -> Result<bool, LimitExceeded> {
        self.deadline.check()?;
        self.with_automata(builder, |automata| Ok(automata.start(language)?.is_none()))
    }

    /// A shortest text of a language.
    fn word(&self, builder: &mut GrammarBuilder, language: TermId) -> Result<Option<Vec<u8>>, LimitExceeded> {
        self.with_automata(builder, |automata| {
            let Some(mut state) = automata.start(language)? else { return Ok(None) };
            let mut words = ShortestWords::new(ByteSet::ALL);
            let mut word = Vec::new();
            while !automata.is_accepting(state) {
                let Some(shortest) = words.shortest_word(automata, state, &self.deadline)? else { break };
                let Some(next) = automata.step(state, shortest.first)? else { break };
                word.push(shortest.first);
                state = next;
            }
            Ok(Some(word))
        })
    }

    fn with_automata<T>(
        &self,
        builder: &mut GrammarBuilder,
        examine: impl FnOnce(&mut Automata) -> Result<T, LimitExceeded>,
    ) -> Result<T, LimitExceeded> {
        let mut automata = Automata::new(std::mem::take(builder.terms()), self.max_states);
        let result = examine(&mut automata);
        *builder.terms() = automata.into_terms();
        result
    }
}

/// The error that some bound text may leave no text of an operand.
pub(super) fn no_text_left(grammar: &Grammar, node: NodeId, notation: &str, name: &str) -> Box<Diagnostic> {
    let message = format!("the text that `{name}` is bound to may leave no text for {notation}");
    let span: Span = grammar.span(node);
    Box::new(
        Diagnostic::error(Code::UnsupportedGrammar, message)
            .at(span)
            .help("let it match further texts, or the empty one"),
    )
}
