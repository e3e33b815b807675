//! Hashes and signatures.

use super::*;

/// The position of the value of a member of `integrity`.
fn position_of(text: &str, member: &str) -> String {
    let key = format!("\"{member}\":");
    let offset = text.find(&key).unwrap_or_else(|| panic!("no {member}")) + key.len();
    format!("bomb.ctxpkg:1:{}", offset + 1)
}

#[test]
fn pk_10_packages_with_wrong_hashes_or_signatures_are_refused() {
    let world = project();
    let text = valid().to_json();
    let integrity = valid().manifest()["integrity"].clone();
    let with = |key: &str, value: Value| {
        let mut integrity = integrity.clone();
        integrity[key] = value;
        valid().with("integrity", integrity).to_json()
    };
    for (case, text, wrong_member) in [
        ("content", text.replace("It is so.", "It is No."), "content_hash"),
        ("a space in a string", text.replace("It is so.", "It  is so."), "content_hash"),
        ("an escape", text.replace("It is so.", "\\u0049t is so."), "content_hash"),
        ("the spelling of a number", text.replace("1.0}", "1.00}"), "content_hash"),
        ("name", text.replace("\"name\":\"x\"", "\"name\":\"y\""), "sha256"),
        ("version", text.replace("\"1.0.0\"", "\"1.0.1\""), "sha256"),
        ("composite hash", with("sha256", json!("0".repeat(64))), "sha256"),
        ("size", with("byte_size", json!(1)), "byte_size"),
        (
            "upper case",
            with("content_hash", json!(integrity["content_hash"].as_str().unwrap().to_uppercase())),
            "content_hash",
        ),
    ] {
        let position = position_of(&text, wrong_member);
        assert_forged(&world, case, &text, "error[PK-08]");
        assert_forged(&world, case, &text, &position);
    }
    for (case, text) in [
        ("no hash", with("sha256", Value::Null)),
        ("a string as size", with("byte_size", json!("1"))),
        ("a negative size", with("byte_size", json!(-1))),
    ] {
        assert_invalid(&world, case, text, "error[PK-08]");
    }
    let signed = valid().signed(1, SignatureScope::Full).to_json();
    let signature = valid().signed(1, SignatureScope::Full).manifest()["signature"].clone();
    let value = signature["value"].as_str().unwrap();
    for (case, text) in [
        ("another key", signed.replace(&public_key(1), &public_key(2))),
        ("a key of zeros", signed.replace(&public_key(1), &"0".repeat(64))),
        ("another algorithm", signed.replace("ed25519", "none")),
        ("another description", signed.replace("A test.", "A trap.")),
        ("an added member", signed.replace("\"layers\"", "\"more\":1,\"layers\"")),
        ("a string as signature", signed.replace(&signature.to_string(), "\"yes\"")),
        ("an empty signature", signed.replace(&signature.to_string(), "{}")),
        ("upper case", signed.replace(value, &value.to_uppercase())),
    ] {
        assert_forged(&world, case, text, "error[PK-1");
    }
}
