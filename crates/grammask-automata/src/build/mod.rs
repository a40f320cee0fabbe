//! Builders of languages: word lists, character classes, substrings and texts.

mod substring;
mod text;
mod word_list;
