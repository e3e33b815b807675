//! Signatures.

use super::*;

#[test]
fn pk_11_the_known_answer_vector_is_signed_anew_to_the_same_bytes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/vector.ctxpkg");
    let vector = holds(&std::fs::read_to_string(path).unwrap());
    let again = holds(&write_lean_ctx_compatible(&vector, Some(&key()), &limits()).unwrap());
    let [known, made] =
        [&vector, &again].map(|package| plain(package.raw_manifest())["signature"].clone());
    for member in ["algorithm", "public_key", "value", "manifest_value"] {
        assert!(known[member].is_string(), "{member}");
        assert_eq!(made[member], known[member], "{member}");
    }
    assert_eq!(again.content().raw(), vector.content().raw());
}

#[test]
fn pk_12_another_key_signs_otherwise_and_any_change_of_the_manifest_is_seen() {
    let content =
        json!({"context_graph": {"nodes": [{"id": "a", "type": "fact", "content": "x"}]}})
            .to_string();
    let text = write(&draft(content), Some(&key()), &limits()).unwrap();
    assert_eq!(holds(&text).signer.unwrap().key, key().public());
    let other = "0".repeat(128);
    let value =
        plain(holds(&text).raw_manifest())["signature"]["value"].as_str().unwrap().to_owned();
    for (from, to) in [
        ("Notes.", "Other."),
        (TIME, "2026-05-23T00:00:00Z"),
        ("\"tags\":[]", "\"tags\":[\"x\"]"),
        (&value, &other),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let read = read("changed", changed.into_bytes(), &limits());
        assert!(read.package.is_none() && read.is_forged(), "{from}");
    }
}
