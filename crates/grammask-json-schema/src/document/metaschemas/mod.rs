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

/// The draft with the meta-schema or hyper-schema `uri` (without a fragment).
pub(crate) fn draft_of(uri: &str) -> Option<Draft> {
    let (draft, _) =
        path_of(uri)?.rsplit_once('/').filter(|&(_, name)| matches!(name, "schema" | "hyper-schema"))?;
    Some(match draft {
        "draft-04" => Draft::Draft4,
        "draft-06" => Draft::Draft6,
        "draft-07" => Draft::Draft7,
        "draft/2019-09" => Draft::Draft2019,
        "draft/2020-12" => Draft::Draft2020,
        _ => return None,
    })
}

/// Whether `uri` (without a fragment) is the meta-schema of a version of JSON Schema that has other keywords than the
/// drafts here: the first three, and those after 2020-12.
pub(crate) fn is_of_other_version(uri: &str) -> bool {
    let is_in = |path: &str, folder| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path_of(uri).is_some_and(|path| {
        ["draft-01", "draft-02", "draft-03", "draft/next", "v1"].iter().any(|folder| is_in(path, folder))
    })
}

/// The path of a URI of the organisation that publishes JSON Schema.
fn path_of(uri: &str) -> Option<&str> {
    let address = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))?;
    address.strip_prefix("json-schema.org/")
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

    #[test]
    fn meta_schemas_name_versions() {
        assert_eq!(draft_of("https://json-schema.org/draft-07/schema"), Some(Draft::Draft7));
        assert_eq!(draft_of("http://json-schema.org/draft-04/hyper-schema"), Some(Draft::Draft4));
        assert_eq!(draft_of("http://json-schema.org/schema"), None);
        for uri in ["http://json-schema.org/draft-03/schema", "https://json-schema.org/v1"] {
            assert!(is_of_other_version(uri), "{uri}");
        }
        for uri in ["http://json-schema.org/schema", "https://json-schema.org/v10", "https://example.org/v1"]
        {
            assert!(!is_of_other_version(uri), "{uri}");
        }
    }
}
