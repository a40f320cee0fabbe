//! Resolution of references against base URIs (RFC 3986, section 5), and decoding of fragments.

/// The components of a URI reference (RFC 3986, appendix B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UriReference<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
    fragment: Option<&'u str>,
}

fn split(reference: &str) -> UriReference<'_> {
    let (rest, fragment) = split_at_mark(reference, '#');
    let (rest, query) = split_at_mark(rest, '?');
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
    UriReference { scheme, authority, path, query, fragment }
}

fn split_at_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// `reference` resolved against `base`.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    let (base, parts) = (split(base), split(reference));
    let merged;
    let target = if parts.scheme.is_some() {
        parts
    } else if parts.authority.is_some() {
        UriReference { scheme: base.scheme, ..parts }
    } else if parts.path.is_empty() {
        UriReference { query: parts.query.or(base.query), fragment: parts.fragment, ..base }
    } else {
        merged = if parts.path.starts_with('/') {
            remove_dot_segments(parts.path)
        } else {
            let directory = match base.path.rfind('/') {
                Some(slash) => &base.path[..=slash],
                None if base.authority.is_some() => "/",
                None => "",
            };
            remove_dot_segments(&format!("{directory}{}", parts.path))
        };
        UriReference { scheme: base.scheme, authority: base.authority, path: &merged, ..parts }
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

fn remove_dot_segments(path: &str) -> String {
    let mut output: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => output.push(""),
            "." => {}
            ".." => {
                if output.len() > 1 {
                    output.pop();
                }
                if last {
                    output.push("");
                }
            }
            _ => output.push(segment),
        }
    }
    output.join("/")
}

/// A URI without its fragment, and its percent-decoded fragment.
pub(crate) fn split_fragment(uri: &str) -> (&str, String) {
    let (document, fragment) = split_at_mark(uri, '#');
    (document, decode(fragment.unwrap_or("")))
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let decoded_byte = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(decoded_byte.unwrap_or(bytes[at]));
        at += if decoded_byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolution_matches_the_examples_of_rfc_3986() {
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
