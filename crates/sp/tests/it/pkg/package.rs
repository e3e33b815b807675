//! Packages as another tool would write them.

use serde_json::{Map, Value, json};
use sp_testkit::World;
use sp_tree::{Digest, PrivateKey};

use super::write;

/// How much of a package its signature covers.
#[derive(Clone, Copy)]
pub(crate) enum SignatureScope {
    Content,
    Full,
}

/// A builder of packages. It computes hashes and signatures independently of `sp`.
#[derive(Clone)]
pub(crate) struct TestPackage {
    pub(crate) manifest: Map<String, Value>,
    content: String,
    signer: Option<(u8, SignatureScope)>,
}

impl TestPackage {
    /// A package with one node.
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let manifest = json!({
            "schema_version": 2, "name": name, "version": version, "description": "A test.",
            "created_at": "2026-05-22T00:00:00Z", "layers": [], "conformance_level": 1,
            "provenance": {"tool": "hand", "tool_version": "1"},
        });
        let Value::Object(manifest) = manifest else { panic!("an object") };
        Self { manifest, content: String::new(), signer: None }.with_text("It is so.")
    }

    /// A package of skills with these files.
    pub(crate) fn skills(name: &str, version: &str, files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| {
            (sp_tree::RelPath::new(path).unwrap(), false, text.as_bytes().to_vec())
        };
        let files: Vec<_> = files.iter().map(file).collect();
        let mut package = Self::new(name, version).with("kind", json!("skills"));
        package.manifest.remove("conformance_level");
        package.content =
            format!("{{\"documents\":{}}}", sp_formats::package::write_documents(&files));
        package
    }

    /// Replaces the text of the only node.
    pub(crate) fn with_text(self, text: &str) -> Self {
        let node = json!({"id": "n1", "type": "fact", "content": text, "activation": 1.0});
        self.with_content(&format!(
            r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{node}],"edges":[]}}}}"#
        ))
    }

    /// Replaces the content with this JSON, byte for byte.
    pub(crate) fn with_content(mut self, content: &str) -> Self {
        self.content = content.into();
        self
    }

    /// Sets a member of the manifest.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest.insert(key.into(), value);
        self
    }

    /// Sets the required dependencies, as names and version ranges.
    pub(crate) fn with_dependencies(self, dependencies: &[(&str, &str)]) -> Self {
        let dependencies = dependencies
            .iter()
            .map(|(name, range)| json!({"name": name, "version_req": range, "optional": false}))
            .collect();
        self.with("dependencies", Value::Array(dependencies))
    }

    pub(crate) fn signed(mut self, seed: u8, scope: SignatureScope) -> Self {
        self.signer = Some((seed, scope));
        self
    }

    pub(crate) fn manifest(&self) -> Value {
        let content = compact(&self.content);
        let text = |key: &str| self.manifest[key].as_str().unwrap_or_default();
        let hash = Digest::of(content.as_bytes()).hex();
        let (name, version) = (text("name"), text("version"));
        let sha256 = Digest::of(format!("{name}:{version}:{hash}").as_bytes()).hex();
        let mut manifest = self.manifest.clone();
        let integrity = json!({"sha256": sha256, "content_hash": hash, "byte_size": content.len()});
        manifest.entry("integrity").or_insert(integrity);
        if let Some((seed, scope)) = self.signer {
            let key = PrivateKey::from_seed(&[seed; 32]);
            let sign = |text: String| key.sign(Digest::of(text.as_bytes()).hex().as_bytes()).hex();
            let mut sorted = Value::Object(manifest.clone());
            sorted.sort_all_objects();
            let mut signature = json!({
                "algorithm": "ed25519", "public_key": key.public().hex(),
                "value": sign(format!("ctxpkg-sign-v1:{name}:{version}:{sha256}")),
            });
            if matches!(scope, SignatureScope::Full) {
                signature["manifest_value"] =
                    sign(format!("ctxpkg-sign-manifest-v1:{sorted}")).into();
            }
            manifest.insert("signature".into(), signature);
        }
        Value::Object(manifest)
    }

    pub(crate) fn to_json(&self) -> String {
        format!("{{\"manifest\":{},\"content\":{}}}", self.manifest(), self.content)
    }

    /// Writes the package to a file of a world, and returns the file's path.
    pub(crate) fn write_to(&self, world: &World, path: &str) -> String {
        write(world, path, self.to_json())
    }

    pub(crate) fn sha256(&self) -> String {
        self.manifest()["integrity"]["sha256"].as_str().unwrap().into()
    }

    /// The SHA-256 of the complete file.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.to_json().as_bytes())
    }
}

/// The public key for the private key with this seed.
pub(crate) fn public_key(seed: u8) -> String {
    PrivateKey::from_seed(&[seed; 32]).public().hex()
}

/// Removes the white space between the tokens of a JSON text.
pub(crate) fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let mut keep = |c: char| {
        let blank = !quoted && matches!(c, ' ' | '\t' | '\n' | '\r');
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        !blank
    };
    json.chars().filter(|c| keep(*c)).collect()
}
