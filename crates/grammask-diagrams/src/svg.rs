//! Writes SVG: escaped text, measured labels, paths, and the style of all diagrams.

use std::fmt::{self, Write};

/// Width of one column of the monospaced font of 13 px, in px. `textLength` makes every font keep to it.
const COLUMN_WIDTH: i32 = 8;
/// Maximum length of a label, in characters; the rest is in its title.
const MAX_LABEL_CHARACTERS: usize = 48;
/// Maximum length of a title, in characters.
const MAX_TITLE_CHARACTERS: usize = 400;

/// The style of all diagrams. The colours are variables, so that a page can set them.
const STYLE: &str = "\
.grammask-diagram{--gm-ink:#1f2933;--gm-line:#52606d;--gm-terminal:#e3f4e8;--gm-rule:#e3edfb;--gm-paper:#fff;\
color-scheme:light dark;color:var(--gm-ink);background:var(--gm-paper);font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}\
@media(prefers-color-scheme:dark){.grammask-diagram{--gm-ink:#e4e7eb;--gm-line:#9aa5b1;--gm-terminal:#1d3b2a;\
--gm-rule:#1f3350;--gm-paper:#15191e}}\
.grammask-diagram text{fill:var(--gm-ink);stroke:none}\
.grammask-diagram .name{font-weight:bold}\
.grammask-diagram .note{font-size:11px}\
.grammask-diagram path{fill:none;stroke:var(--gm-line);stroke-width:1.5}\
.grammask-diagram .arrow,.grammask-diagram .end{fill:var(--gm-line)}\
.grammask-diagram rect,.grammask-diagram circle{fill:none;stroke:var(--gm-line)}\
.grammask-diagram .terminal rect{fill:var(--gm-terminal)}\
.grammask-diagram .reference rect,.grammask-diagram .state circle{fill:var(--gm-rule)}\
.grammask-diagram .undefined rect,.grammask-diagram .frame{stroke-dasharray:4 3}\
.grammask-diagram .active rect,.grammask-diagram .active circle{stroke-width:3}";

/// `text` with the characters escaped that XML reserves in texts and attributes. Characters that XML forbids become
/// U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// `text`, or its first `max` characters with an ellipsis.
fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text of limited length, with its width.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The shown text.
    text: String,
    /// The whole text, where it is longer than the shown one.
    title: Option<String>,
    /// Width in px.
    pub(crate) width: i32,
}

impl Label {
    /// The label of a text.
    pub(crate) fn new(text: &str) -> Self {
        let shown = shortened(text, MAX_LABEL_CHARACTERS);
        let columns: i32 = shown.chars().map(|character| if is_wide(character) { 2 } else { 1 }).sum();
        let title = (shown.len() != text.len()).then(|| shortened(text, MAX_TITLE_CHARACTERS));
        Self { text: shown, title, width: columns * COLUMN_WIDTH }
    }
}

/// Whether a character takes two columns: East Asian characters and pictographs. An approximation suffices, because
/// `textLength` fits the text into its place.
fn is_wide(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

/// A point of a drawing, in px.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

/// An SVG element that is being written.
#[derive(Debug, Default)]
pub(crate) struct Drawing {
    body: String,
}

impl Drawing {
    /// Writes markup as it is.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Writes a path with the given data.
    pub(crate) fn path(&mut self, data: &str) {
        let _ = write!(self.body, "<path d=\"{data}\"/>");
    }

    /// Writes a text that begins at `at`, the left end of its base line.
    pub(crate) fn text(&mut self, at: Point, class: &str, label: &Label) {
        let Point { x, y } = at;
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\"{class}");
        if label.width > 0 {
            let _ = write!(self.body, " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", label.width);
        }
        self.body.push('>');
        if let Some(title) = &label.title {
            let _ = write!(self.body, "<title>{}</title>", escape(title));
        }
        let _ = write!(self.body, "{}</text>", escape(&label.text));
    }

    /// The finished element, of `width` and `height` px. `attributes` are further attributes of the root, escaped.
    pub(crate) fn finish(self, title: &str, attributes: &str, width: i32, height: i32) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"grammask-diagram\" {attributes} role=\"group\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"><title>{}</title>\
             <style>{STYLE}</style>{}</svg>",
            escape(title),
            self.body
        )
    }
}

/// Markup is written as it is.
impl Write for Drawing {
    fn write_str(&mut self, markup: &str) -> fmt::Result {
        self.raw(markup);
        Ok(())
    }
}
