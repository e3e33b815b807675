//! Signatures of packages.

use super::*;

#[test]
fn pk_11_signing_reproduces_the_known_answer_vector() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/vector.ctxpkg");
    let vector = read_valid(&std::fs::read_to_string(path).unwrap());
    let signed_again =
        read_valid(&write_lean_ctx_compatible(&vector, Some(&key()), &limits()).unwrap());
    let [expected, actual] = [&vector, &signed_again]
        .map(|package| to_value(package.raw_manifest())["signature"].clone());
    for member in ["algorithm", "public_key", "value", "manifest_value"] {
        assert!(expected[member].is_string(), "{member}");
        assert_eq!(actual[member], expected[member], "{member}");
    }
    assert_eq!(signed_again.content().raw(), vector.content().raw());
}

#[test]
fn pk_12_any_change_to_a_signed_manifest_is_detected() {
    let content =
        json!({"context_graph": {"nodes": [{"id": "a", "type": "fact", "content": "x"}]}})
            .to_string();
    let text = write(&draft(content), Some(&key()), &limits()).unwrap();
    assert_eq!(read_valid(&text).signer.unwrap().key, key().public());
    let other = "0".repeat(128);
    let value = to_value(read_valid(&text).raw_manifest())["signature"]["value"]
        .as_str()
        .unwrap()
        .to_owned();
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
