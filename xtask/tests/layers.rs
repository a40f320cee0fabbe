//! The folders inside a crate are layers: a file imports from its own folder and from those in lower layers.

use std::collections::BTreeSet;

use xtask::Repository;
use xtask::imports::Imports;

/// The layers of folders in a crate, the lowest first. Folders of one layer do not import each other.
const LAYERS: [(&str, &[&[&str]]); 1] = [(
    "crates/grammask-json-schema/src/",
    &[&["document"], &["strings", "numbers"], &["values"], &["keywords"], &["emit"], &["members"]],
)];

#[test]
fn folders_import_downwards() {
    let repository = Repository::read();
    for (folder, layers) in LAYERS {
        let layer_of = |name: &str| layers.iter().position(|layer| layer.contains(&name));
        let imports = Imports::of_folder(&repository, folder);
        let mut upward = BTreeSet::new();
        for (from, to) in imports.arrows() {
            let (Some((from_folder, _)), Some((to_folder, _))) = (from.split_once("::"), to.split_once("::"))
            else {
                continue;
            };
            let [from_layer, to_layer] = [from_folder, to_folder]
                .map(|name| layer_of(name).unwrap_or_else(|| panic!("{folder}{name} has no layer")));
            if from_folder != to_folder && from_layer <= to_layer {
                upward.insert(format!("{from} -> {to}"));
            }
        }
        assert!(upward.is_empty(), "{folder}: {upward:#?}");
    }
}
