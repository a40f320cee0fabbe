//! References against base URIs, as RFC 3986 section 5 resolves them, and the decoding of fragments.

/// The parts of a URI reference (RFC 3986, appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
    fragment: Option<&'u str>,
}

fn split(reference: &str) -> Parts<'_> {
    let (rest, fragment) = cut(reference, '#');
    let (rest, query) = cut(rest, '?');
    let (scheme, rest) = match rest.find([':', '/']) {
        Some(at) if rest.as_bytes()[at] == b':' && at > 0 => (Some(&rest[..at]), &rest[at + 1..]),
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query, fragment }
}

fn cut(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// `reference` resolved against `base`.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    let (base, parts) = (split(base), split(reference));
    let merged;
    let target = if parts.scheme.is_some() {
        parts
    } else if parts.authority.is_some() {
        Parts { scheme: base.scheme, ..parts }
    } else if parts.path.is_empty() {
        Parts { query: parts.query.or(base.query), fragment: parts.fragment, ..base }
    } else {
        merged = if parts.path.starts_with('/') {
            without_dots(parts.path)
        } else {
            let directory = match base.path.rfind('/') {
                Some(slash) => &base.path[..=slash],
                None if base.authority.is_some() => "/",
                None => "",
            };
            without_dots(&format!("{directory}{}", parts.path))
        };
        Parts { scheme: base.scheme, authority: base.authority, path: &merged, ..parts }
    };
    let mut text = String::new();
    if let Some(scheme) = target.scheme {
        text.push_str(scheme);
        text.push(':');
    }
    if let Some(authority) = target.authority {
        text.push_str("//");
        text.push_str(authority);
    }
    text.push_str(target.path);
    if let Some(query) = target.query {
        text.push('?');
        text.push_str(query);
    }
    if let Some(fragment) = target.fragment {
        text.push('#');
        text.push_str(fragment);
    }
    text
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}

/// A URI without its fragment, and the fragment, percent-decoded.
pub(crate) fn split_fragment(uri: &str) -> (&str, String) {
    let (document, fragment) = cut(uri, '#');
    (document, decode(fragment.unwrap_or("")))
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_the_examples_of_the_standard() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("urn:uuid:1", "#a"), "urn:uuid:1#a");
    }

    #[test]
    fn decodes_fragments() {
        assert_eq!(split_fragment("a#/b%25c%7B"), ("a", "/b%c{".to_owned()));
        assert_eq!(split_fragment("a"), ("a", String::new()));
    }
}
