//! The folders inside a crate are layers: a file imports from its own folder and from those in lower layers.

use std::collections::BTreeSet;

use xtask::Repository;
use xtask::imports::Imports;

/// The layers of folders in a crate, the lowest first. Folders of one layer do not import each other.
const LAYERS: [(&str, &[&[&str]]); 2] = [
    ("crates/grammask-earley/src/", &[&["lowering"], &["recognizer"], &["masks"]]),
    (
        "crates/grammask-json-schema/src/",
        &[&["document"], &["strings", "numbers"], &["values"], &["keywords"], &["emit"], &["members"]],
    ),
];

#[test]
fn folders_import_downwards() {
    let repository = Repository::read();
    for (folder, layers) in LAYERS {
        // A file beside the folders, such as `options.rs`, has no layer.
        let layer_of = |module: &str| {
            let name = module.split("::").next().unwrap_or_default();
            let layer = layers.iter().position(|layer| layer.contains(&name));
            assert!(layer.is_some() || name == module, "{folder}{name} has no layer");
            Some((layer?, name.to_owned()))
        };
        let imports = Imports::of_folder(&repository, folder);
        let mut upward = BTreeSet::new();
        for (from, to) in imports.arrows() {
            if let (Some((from_layer, from_folder)), Some((to_layer, to_folder))) =
                (layer_of(from), layer_of(to))
                && from_folder != to_folder
                && from_layer <= to_layer
            {
                upward.insert(format!("{from} -> {to}"));
            }
        }
        assert!(upward.is_empty(), "{folder}: {upward:#?}");
    }
}
