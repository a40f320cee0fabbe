//! URIs of RFC 3986, IRIs of RFC 3987, and URI templates of RFC 6570. Names are those of their ABNF grammars.

use super::addresses::ipv6;

/// `ucschar`.
const UCSCHAR: &str = "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}\
     \\u{40000}-\\u{4fffd}\\u{50000}-\\u{5fffd}\\u{60000}-\\u{6fffd}\\u{70000}-\\u{7fffd}\\u{80000}-\\u{8fffd}\\u{90000}-\\u{9fffd}\
     \\u{a0000}-\\u{afffd}\\u{b0000}-\\u{bfffd}\\u{c0000}-\\u{cfffd}\\u{d0000}-\\u{dfffd}\\u{e1000}-\\u{efffd}";

/// `iprivate`.
const IPRIVATE: &str = "\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}";

/// `pct-encoded`.
const PERCENT: &str = "%[0-9A-Fa-f]{2}";

/// The characters of `sub-delims`.
const SUB_DELIMS: &str = "!$&'()*+,;=";

/// `scheme` and the colon.
const SCHEME: &str = "[A-Za-z][A-Za-z0-9+.-]*:";

/// `URI`.
pub(super) fn uri() -> String {
    UriSyntax::new("", "").absolute()
}

/// `URI-reference`.
pub(super) fn uri_reference() -> String {
    UriSyntax::new("", "").reference()
}

/// `IRI`.
pub(super) fn iri() -> String {
    UriSyntax::new(UCSCHAR, IPRIVATE).absolute()
}

/// `IRI-reference`.
pub(super) fn iri_reference() -> String {
    UriSyntax::new(UCSCHAR, IPRIVATE).reference()
}

/// The productions that URIs and IRIs share, as patterns.
struct UriSyntax {
    /// `"//" authority path-abempty`.
    network_path: String,
    /// `path-absolute`.
    path_absolute: String,
    /// `path-rootless`.
    path_rootless: String,
    /// `path-noscheme`.
    path_noscheme: String,
    /// The optional query and the optional fragment.
    end: String,
}

impl UriSyntax {
    /// `extra` are the characters beyond those of URIs, `extra_in_query` further ones of the query.
    fn new(extra: &str, extra_in_query: &str) -> Self {
        let unreserved = format!("A-Za-z0-9._~{extra}");
        let character = |others: &str| format!("(?:[{unreserved}{SUB_DELIMS}{others}-]|{PERCENT})");
        let pchar = character(":@");
        let userinfo = character(":");
        let name = character("");
        let future = format!("[Vv][0-9A-Fa-f]+\\.[{}{SUB_DELIMS}:-]+", "A-Za-z0-9._~");
        let authority = format!("(?:{userinfo}*@)?(?:\\[(?:{}|{future})\\]|{name}*)(?::\\d*)?", ipv6());
        let segments = format!("(?:/{pchar}*)*");
        let query = character(&format!(":@/?{extra_in_query}"));
        let fragment = character(":@/?");
        Self {
            network_path: format!("//{authority}{segments}"),
            path_absolute: format!("/(?:{pchar}+{segments})?"),
            path_rootless: format!("{pchar}+{segments}"),
            path_noscheme: format!("{}+{segments}", character("@")),
            end: format!("(?:\\?{query}*)?(?:#{fragment}*)?"),
        }
    }

    fn absolute(&self) -> String {
        let Self { network_path, path_absolute, path_rootless, end, .. } = self;
        format!("(?:{SCHEME}(?:{network_path}|{path_absolute}|{path_rootless})?{end})")
    }

    fn reference(&self) -> String {
        let Self { network_path, path_absolute, path_noscheme, end, .. } = self;
        format!("(?:{}|(?:{network_path}|{path_absolute}|{path_noscheme})?{end})", self.absolute())
    }
}

/// `URI-Template`; an apostrophe is a literal, by erratum 6937.
pub(super) fn uri_template() -> String {
    let literal = format!("[!#$&'()*+,./0-9:;=?@A-Z\\[\\]_a-z~{UCSCHAR}{IPRIVATE}-]|{PERCENT}");
    let varchar = format!("(?:[A-Za-z0-9_]|{PERCENT})");
    let varspec = format!("{varchar}(?:\\.?{varchar})*(?::[1-9]\\d{{0,3}}|\\*)?");
    let operator = "[+#./;?&=,!@|]";
    format!("(?:{literal}|\\{{{operator}?{varspec}(?:,{varspec})*\\}})*")
}
