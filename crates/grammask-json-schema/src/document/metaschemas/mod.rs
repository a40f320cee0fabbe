//! The meta-schemas of the standards, so that references to them resolve without a network.
//!
//! The texts are those published by json-schema.org (under the BSD licence or the AFL 3.0), without titles and
//! comments.

use crate::Draft;

/// The URI and text of each meta-schema and vocabulary.
const TEXTS: &[(&str, &str)] = &[
    ("http://json-schema.org/draft-04/schema", include_str!("draft4.json")),
    ("http://json-schema.org/draft-06/schema", include_str!("draft6.json")),
    ("http://json-schema.org/draft-07/schema", include_str!("draft7.json")),
    ("https://json-schema.org/draft/2019-09/schema", include_str!("2019-09.json")),
    ("https://json-schema.org/draft/2019-09/meta/applicator", include_str!("2019-09-applicator.json")),
    ("https://json-schema.org/draft/2019-09/meta/content", include_str!("2019-09-content.json")),
    ("https://json-schema.org/draft/2019-09/meta/core", include_str!("2019-09-core.json")),
    ("https://json-schema.org/draft/2019-09/meta/format", include_str!("2019-09-format.json")),
    ("https://json-schema.org/draft/2019-09/meta/meta-data", include_str!("2019-09-meta-data.json")),
    ("https://json-schema.org/draft/2019-09/meta/validation", include_str!("2019-09-validation.json")),
    ("https://json-schema.org/draft/2020-12/schema", include_str!("2020-12.json")),
    ("https://json-schema.org/draft/2020-12/meta/applicator", include_str!("2020-12-applicator.json")),
    ("https://json-schema.org/draft/2020-12/meta/content", include_str!("2020-12-content.json")),
    ("https://json-schema.org/draft/2020-12/meta/core", include_str!("2020-12-core.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("2020-12-format-annotation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("2020-12-format-assertion.json"),
    ),
    ("https://json-schema.org/draft/2020-12/meta/meta-data", include_str!("2020-12-meta-data.json")),
    ("https://json-schema.org/draft/2020-12/meta/unevaluated", include_str!("2020-12-unevaluated.json")),
    ("https://json-schema.org/draft/2020-12/meta/validation", include_str!("2020-12-validation.json")),
];

/// The draft with the meta-schema `uri` (without a fragment).
pub(crate) fn draft_of(uri: &str) -> Option<Draft> {
    Some(match uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))? {
        "json-schema.org/draft-04/schema" => Draft::Draft4,
        "json-schema.org/draft-06/schema" => Draft::Draft6,
        "json-schema.org/draft-07/schema" => Draft::Draft7,
        "json-schema.org/draft/2019-09/schema" => Draft::Draft2019,
        "json-schema.org/draft/2020-12/schema" => Draft::Draft2020,
        _ => return None,
    })
}

/// The text of the meta-schema or vocabulary `uri` (without a fragment).
pub(crate) fn text_of(uri: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == uri).map(|&(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::json::Document;

    #[test]
    fn all_are_json_with_their_own_uri() {
        for (uri, text) in TEXTS {
            let document = Document::parse(text).unwrap();
            let id = ["$id", "id"].iter().find_map(|key| document.text_member(document.root(), key)).unwrap();
            assert_eq!(id.trim_end_matches('#'), *uri);
        }
    }
}
