//! Type names are mostly unique, and not vague.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Ident, ItemEnum, ItemStruct, ItemTrait, ItemType};

use crate::source::shipped;

/// The maximum percentage of types that share their name with another type.
const MAX_SHARED_PERCENT: usize = 8;

/// Names that do not say what a type is.
const VAGUE: &[&str] = &[
    "Answer", "Place", "Found", "Wanted", "Asked", "Offer", "Kept", "Shelf", "Stock", "Desk",
    "Door", "Work", "Chosen", "Gathered", "Standing", "Served",
];

#[derive(Default)]
struct Types(Vec<String>);

impl Types {
    fn add(&mut self, ident: &Ident) {
        self.0.push(ident.to_string());
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add(&item.ident);
    }
}

/// Returns each type name with the modules that declare it.
fn declarations() -> BTreeMap<String, Vec<String>> {
    let mut declarations: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for krate in shipped() {
        for module in &krate.modules {
            let mut types = Types::default();
            module.items.iter().for_each(|item| types.visit_item(item));
            for name in types.0 {
                declarations.entry(name).or_default().push(format!(
                    "{}/{}",
                    krate.name,
                    module.display()
                ));
            }
        }
    }
    declarations
}

#[test]
fn few_types_share_a_name() {
    let declarations = declarations();
    let total: usize = declarations.values().map(Vec::len).sum();
    let shared: Vec<_> = declarations.iter().filter(|(_, modules)| modules.len() > 1).collect();
    let count: usize = shared.iter().map(|(_, modules)| modules.len()).sum();
    assert!(
        count * 100 <= total * MAX_SHARED_PERCENT,
        "{count} of {total} types share a name with another: {shared:#?}"
    );
}

#[test]
fn no_type_has_a_vague_name() {
    let declarations = declarations();
    let vague: Vec<_> =
        VAGUE.iter().filter_map(|name| Some((name, declarations.get(*name)?))).collect();
    assert!(vague.is_empty(), "rename these types: {vague:#?}");
}
