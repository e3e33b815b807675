//! Plugins of Claude Code: `enabledPlugins` and `extraKnownMarketplaces` in its settings.
//!
//! A plugin is `<plugin>@<marketplace>`. Its skills are in the repository of the marketplace, or in
//! one that the marketplace names, so an entry has the source of the marketplace and the plugin.

use std::collections::BTreeMap;

use sp_tree::Limits;

use super::ForeignSelection;
use super::reader::{EntryDraft, ForeignMap, ForeignReader, local_source};
use super::syntax::{ForeignMember, ForeignSyntax, ForeignValue};
use crate::printable::printable;

/// The marketplaces that Claude Code knows without settings.
const KNOWN_MARKETPLACES: &[(&str, &str)] = &[
    ("claude-plugins-official", "anthropics/claude-plugins-official"),
    ("anthropic-agent-skills", "anthropics/skills"),
];

/// The source of a marketplace, or why it cannot be used.
type MarketplaceSource = Result<PluginSource, String>;

#[derive(Debug, Clone)]
struct PluginSource {
    source: String,
    version: Option<String>,
}

pub(super) fn read_settings(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Json, limits) else { return };
    let Some(root) = reader.map(&root, "the settings") else { return };
    let marketplaces = read_marketplaces(reader, &root);
    let Some(plugins) = reader.map_member(&root, "enabledPlugins") else { return };
    for plugin in plugins.members {
        read_plugin(reader, plugin, &marketplaces);
    }
}

fn read_marketplaces(
    reader: &mut ForeignReader<'_>,
    root: &ForeignMap<'_>,
) -> BTreeMap<String, MarketplaceSource> {
    let source = |text: &str| PluginSource { source: text.into(), version: None };
    let known = KNOWN_MARKETPLACES.iter();
    let mut marketplaces: BTreeMap<String, MarketplaceSource> =
        known.map(|(name, text)| ((*name).to_owned(), Ok(source(text)))).collect();
    let Some(extra) = reader.map_member(root, "extraKnownMarketplaces") else {
        return marketplaces;
    };
    for member in extra.members {
        let Some(map) = reader.map(&member.node, "a marketplace") else { continue };
        let Some(source) = reader.map_member(&map, "source") else {
            let start = map.span.start;
            reader.error(start..start, "`source` is missing", "write `\"source\": {…}`");
            continue;
        };
        if let Some(source) = read_marketplace_source(reader, &source) {
            marketplaces.insert(member.key.clone(), source);
        }
    }
    marketplaces
}

fn read_marketplace_source(
    reader: &mut ForeignReader<'_>,
    map: &ForeignMap<'_>,
) -> Option<MarketplaceSource> {
    let kind = reader.required(map, "source")?;
    let version = reader.text_member(map, "ref");
    let source = match kind.text {
        "github" => reader.required(map, "repo")?.text.to_owned(),
        "git" => reader.required(map, "url")?.text.to_owned(),
        "directory" => local_source(reader.required(map, "path")?.text),
        other => {
            return Some(Err(format!(
                "its kind of source, `{}`, is not supported",
                printable(other)
            )));
        }
    };
    Some(Ok(PluginSource { source, version }))
}

fn read_plugin(
    reader: &mut ForeignReader<'_>,
    member: &ForeignMember,
    marketplaces: &BTreeMap<String, MarketplaceSource>,
) {
    let (span, name) = (member.key_span.clone(), member.key.as_str());
    // A list has the wanted versions; anything but `false` enables the plugin.
    if matches!(member.node.value, ForeignValue::Bool(false) | ForeignValue::Null) {
        reader.skip(span, name, "the plugin is disabled");
        return;
    }
    let Some((plugin, marketplace)) = name.rsplit_once('@') else {
        reader.error(
            span,
            "expected `<plugin>@<marketplace>`",
            "name the marketplace of the plugin",
        );
        return;
    };
    match marketplaces.get(marketplace) {
        Some(Ok(PluginSource { source, version })) => {
            let selection =
                ForeignSelection { plugin: Some(plugin.into()), ..ForeignSelection::default() };
            let (source, version) = (source.clone(), version.clone());
            reader.add(EntryDraft { span, name: name.into(), source, version, selection });
        }
        Some(Err(why)) => {
            let reason =
                format!("the marketplace `{}` cannot be used: {why}", printable(marketplace));
            reader.skip(span, name, reason);
        }
        None => {
            let reason = format!(
                "the source of the marketplace `{}` is not in these settings",
                printable(marketplace)
            );
            reader.skip(span, name, reason);
        }
    }
}
