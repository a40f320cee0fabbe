//! `Grammar`: a grammar of a front end, independent of a vocabulary.

use std::sync::Arc;

use grammask::frontends::{choices, gbnf, json_schema, kbnf, regex_grammar};
use grammask::grammar::{Diagnostic, Grammar, GrammarError};
use grammask::lexing::{InlinePatterns, LexedGrammar, LexedOptions, definition_from_rules};
use grammask::{CompiledGrammar, EmbeddedGrammar, Limits, lowering};
use wasm_bindgen::prelude::*;

use crate::compiled::JsCompiledGrammar;
use crate::failures::{JsResult, diagnostics_json, effects_json, grammar_error, invalid_argument};
use crate::lexed_definition;
use crate::options::{CompilingOptions, RuleGrammarOptions, options};
use crate::schema_options::SchemaFields;
use crate::terminal_grammars::JsTerminalGrammars;
use crate::vocabulary::JsVocabulary;

/// A grammar; `Grammar` in `npm/grammask.d.ts` wraps it.
#[wasm_bindgen(js_name = Grammar)]
pub struct JsGrammar {
    language: GrammarLanguage,
    /// The rules of the source; `None` for definitions of lexed grammars.
    rules: Option<Arc<Grammar>>,
    source: Arc<str>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

/// What a grammar compiles to.
enum GrammarLanguage {
    ContextFree { grammar: Arc<Grammar>, embedded: Vec<EmbeddedGrammar> },
    Lexed(Box<LexedGrammar>),
}

#[wasm_bindgen(js_class = Grammar)]
impl JsGrammar {
    /// Reads KBNF, with a lexer if the options name one.
    ///
    /// # Errors
    /// All errors of the source; an option that does not exist; terminals without a lexer.
    #[wasm_bindgen(js_name = fromKbnf)]
    pub fn from_kbnf(text: &str, fields: &str, terminals: &JsTerminalGrammars) -> JsResult<Self> {
        let fields: RuleGrammarOptions = options(fields)?;
        let (limits, start) = (fields.limits.limits(), fields.start.as_deref().unwrap_or("start"));
        match fields.lexing()? {
            None => {
                terminals.refuse_without_lexer()?;
                let read = kbnf::grammar(text.as_bytes(), start, &limits);
                let (grammar, warnings) = read.map_err(grammar_error)?;
                Ok(Self::context_free(grammar, warnings))
            }
            Some((lexer, parser)) => {
                let read = kbnf::grammar_with_directives(text.as_bytes(), start, &limits);
                let (rules, directives, warnings) = read.map_err(grammar_error)?;
                let options = LexedOptions {
                    directives: &directives,
                    inline_patterns: InlinePatterns::Accept,
                    lexer,
                    parser,
                };
                Self::with_lexer(rules, &options, terminals, warnings, &limits).map_err(grammar_error)
            }
        }
    }

    /// Reads GBNF or XGrammar's EBNF, with a lexer if the options name one.
    ///
    /// # Errors
    /// All errors of the source; an option that does not exist; terminals without a lexer.
    #[wasm_bindgen(js_name = fromGbnf)]
    pub fn from_gbnf(text: &str, fields: &str, terminals: &JsTerminalGrammars) -> JsResult<Self> {
        let fields: RuleGrammarOptions = options(fields)?;
        let (limits, start) = (fields.limits.limits(), fields.start.as_deref().unwrap_or("root"));
        let dialect = match &*fields.dialect {
            "llama.cpp" => gbnf::Dialect::LlamaCpp,
            "xgrammar" => gbnf::Dialect::XGrammar,
            other => return Err(invalid_argument(format!("there is no dialect {other:?}"))),
        };
        match fields.lexing()? {
            None => {
                terminals.refuse_without_lexer()?;
                let read = gbnf::grammar(text, start, dialect, &limits);
                let (grammar, warnings) = read.map_err(grammar_error)?;
                Ok(Self::context_free(grammar, warnings))
            }
            Some(_) if dialect == gbnf::Dialect::XGrammar => {
                Err(invalid_argument("the dialect of XGrammar has no directives for lexers"))
            }
            Some((lexer, parser)) => {
                let read = gbnf::grammar_with_directives(text, start, &limits);
                let (rules, directives, warnings) = read.map_err(grammar_error)?;
                let options = LexedOptions {
                    directives: &directives,
                    inline_patterns: InlinePatterns::Refuse,
                    lexer,
                    parser,
                };
                Self::with_lexer(rules, &options, terminals, warnings, &limits).map_err(grammar_error)
            }
        }
    }

    /// Makes the grammar of a regular expression.
    ///
    /// # Errors
    /// The errors of the expression; an option that does not exist.
    #[wasm_bindgen(js_name = fromRegex)]
    pub fn from_regex(pattern: &str, fields: &str) -> JsResult<Self> {
        let fields: RuleGrammarOptions = options(fields)?;
        let limits = fields.limits.limits();
        let grammar = match &*fields.syntax {
            "rust" => regex_grammar::grammar(pattern, &limits),
            "ecma" => json_schema::pattern_grammar(pattern, &limits),
            other => {
                return Err(invalid_argument(format!("syntax={other:?} is not one of \"rust\", \"ecma\"")));
            }
        };
        let warnings = if fields.syntax == "rust" { regex_grammar::warnings(pattern) } else { Vec::new() };
        Ok(Self::context_free(grammar.map_err(grammar_error)?, warnings))
    }

    /// Makes the grammar of a list of texts, as JSON.
    ///
    /// # Errors
    /// If there are none, or a limit is exceeded.
    #[wasm_bindgen(js_name = fromChoices)]
    pub fn from_choices(texts: &str, fields: &str) -> JsResult<Self> {
        let fields: RuleGrammarOptions = options(fields)?;
        let texts: Vec<String> = options(texts)?;
        let grammar = choices::grammar(&texts, &fields.limits.limits()).map_err(grammar_error)?;
        Ok(Self::context_free(grammar, Vec::new()))
    }

    /// Makes the grammar of the JSON texts that a schema validates.
    ///
    /// # Errors
    /// All errors of the schema, at their JSON pointers; an option that does not exist.
    #[wasm_bindgen(js_name = fromJsonSchema)]
    pub fn from_json_schema(schema: &str, fields: &str) -> JsResult<Self> {
        let fields: SchemaFields = options(fields)?;
        let limits = fields.limits.limits();
        let options = fields.schema_options()?;
        let mut made = json_schema::grammar(schema, &options, &limits).map_err(grammar_error)?;
        let warnings = std::mem::take(&mut made.warnings);
        let relaxations = std::mem::take(&mut made.relaxations);
        let contents = grammask::with_contents(made, &[], &options.escapes.encoding(), &limits);
        let (grammar, embedded) = contents.map_err(grammar_error)?;
        let grammar = Arc::new(grammar);
        Ok(Self {
            source: grammar.source().clone(),
            rules: Some(grammar.clone()),
            language: GrammarLanguage::ContextFree { grammar, embedded },
            warnings,
            relaxations,
        })
    }

    /// The keywords of a schema with their effects, as JSON.
    ///
    /// # Errors
    /// If the schema is not JSON, a limit is exceeded, or an option does not exist.
    #[wasm_bindgen(js_name = keywordEffects)]
    pub fn keyword_effects(schema: &str, fields: &str) -> JsResult<String> {
        let fields: SchemaFields = options(fields)?;
        let limits = fields.limits.limits();
        let effects = json_schema::keyword_effects(schema, &fields.schema_options()?, &limits);
        Ok(effects_json(&effects.map_err(grammar_error)?))
    }

    /// Makes a bundled grammar of the text of its definition.
    ///
    /// # Errors
    /// If the text is no definition, or has no such start symbol.
    pub fn bundled(definition: &str, fields: &str) -> JsResult<Self> {
        let fields: RuleGrammarOptions = options(fields)?;
        let definition = lexed_definition::read(definition, fields.start.as_deref().unwrap_or("file"))?;
        let grammar = LexedGrammar::new(&definition, &fields.limits.limits()).map_err(grammar_error)?;
        Ok(Self {
            language: GrammarLanguage::Lexed(Box::new(grammar)),
            rules: None,
            source: Arc::from(""),
            warnings: Vec::new(),
            relaxations: Vec::new(),
        })
    }

    /// The warnings of the front end and, for grammars without a lexer, of lowering, as JSON.
    ///
    /// # Errors
    /// If the grammar has no texts, or a limit is exceeded.
    pub fn warnings(&self) -> JsResult<String> {
        let mut warnings = self.warnings.clone();
        if let GrammarLanguage::ContextFree { grammar, .. } = &self.language {
            warnings.extend(lowering::lower(grammar, &Limits::default()).map_err(grammar_error)?.warnings);
        }
        Ok(diagnostics_json(&warnings, &self.source))
    }

    /// The constraints of a schema that the grammar does not enforce, as JSON.
    #[must_use]
    pub fn relaxations(&self) -> String {
        diagnostics_json(&self.relaxations, &self.source)
    }

    /// The names of the rules, as JSON.
    #[wasm_bindgen(js_name = ruleNames)]
    #[must_use]
    pub fn rule_names(&self) -> String {
        let names: Vec<&str> = match (&self.rules, &self.language) {
            (Some(rules), _) => rules.nonterminals().iter().map(|rule| &*rule.name).collect(),
            (None, GrammarLanguage::Lexed(grammar)) => {
                grammar.nonterminals().iter().map(|name| &**name).collect()
            }
            (None, GrammarLanguage::ContextFree { .. }) => Vec::new(),
        };
        crate::failures::json(&names)
    }

    /// Pairs of a rule and its railroad diagram as SVG, as JSON; none for a definition of a lexed grammar.
    #[must_use]
    pub fn diagrams(&self) -> String {
        let diagrams =
            self.rules.as_ref().map(|rules| grammask::diagrams::railroad(rules)).unwrap_or_default();
        let pairs: Vec<(&str, &str)> =
            diagrams.iter().map(|diagram| (&*diagram.rule, diagram.svg.as_str())).collect();
        crate::failures::json(&pairs)
    }

    /// Compiles the grammar.
    ///
    /// # Errors
    /// As of `grammask::CompiledGrammar`.
    pub fn compile(&self, vocabulary: &JsVocabulary, fields: &str) -> JsResult<JsCompiledGrammar> {
        let fields: CompilingOptions = options(fields)?;
        let (options, vocabulary) = (fields.compile_options()?, vocabulary.shared());
        let compiled = match &self.language {
            GrammarLanguage::ContextFree { grammar, embedded } => {
                CompiledGrammar::with_embedded(grammar, embedded, vocabulary, options)
            }
            GrammarLanguage::Lexed(grammar) => {
                CompiledGrammar::from_lexed(LexedGrammar::clone(grammar), vocabulary, options)
            }
        };
        let rules = match &self.language {
            GrammarLanguage::ContextFree { grammar, embedded } => Some((grammar.clone(), embedded.clone())),
            GrammarLanguage::Lexed(_) => None,
        };
        Ok(JsCompiledGrammar::new(compiled.map_err(grammar_error)?, rules))
    }
}

impl JsGrammar {
    fn context_free(grammar: Grammar, warnings: Vec<Diagnostic>) -> Self {
        let grammar = Arc::new(grammar);
        Self {
            source: grammar.source().clone(),
            rules: Some(grammar.clone()),
            language: GrammarLanguage::ContextFree { grammar, embedded: Vec::new() },
            warnings,
            relaxations: Vec::new(),
        }
    }

    /// The lexed grammar of rules with directives.
    fn with_lexer(
        rules: Grammar,
        options: &LexedOptions<'_>,
        terminals: &JsTerminalGrammars,
        mut warnings: Vec<Diagnostic>,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let (mut definition, more_warnings) = definition_from_rules(&rules, options, limits)?;
        terminals.define(&mut definition, limits)?;
        warnings.extend(more_warnings);
        warnings.extend_from_slice(terminals.warnings());
        Ok(Self {
            language: GrammarLanguage::Lexed(Box::new(LexedGrammar::new(&definition, limits)?)),
            source: rules.source().clone(),
            rules: Some(Arc::new(rules)),
            warnings,
            relaxations: terminals.relaxations().to_vec(),
        })
    }

    /// The rules, and the findings about them; `None` if the grammar has a lexer.
    pub(crate) fn rules_without_lexer(&self) -> Option<(&Arc<Grammar>, &[Diagnostic], &[Diagnostic])> {
        match &self.language {
            GrammarLanguage::ContextFree { grammar, .. } => {
                Some((grammar, &self.warnings, &self.relaxations))
            }
            GrammarLanguage::Lexed(_) => None,
        }
    }
}
