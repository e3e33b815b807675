//! Hashes.

use super::*;

#[test]
fn pk_10_what_does_not_hash_to_what_it_says_is_refused_by_exit_code_4() {
    let world = project();
    let made = good();
    let integrity = made.manifest()["integrity"].clone();
    let with = |key: &str, value: Value| {
        let mut integrity = integrity.clone();
        integrity[key] = value;
        good().with("integrity", integrity).text()
    };
    for (what, text, words) in [
        (
            "content",
            made.text().replace("It is so.", "It is No."),
            "content is not what was hashed",
        ),
        (
            "a space in a string",
            made.text().replace("It is so.", "It  is so."),
            "content is not what was hashed",
        ),
        (
            "another spelling",
            made.text().replace("It is so.", "\\u0049t is so."),
            "content is not what was hashed",
        ),
        ("another number", made.text().replace("1.0}", "1.00}"), "content is not what was hashed"),
        ("name", made.text().replace("\"name\":\"x\"", "\"name\":\"y\""), "do not belong together"),
        ("version", made.text().replace("\"1.0.0\"", "\"1.0.1\""), "do not belong together"),
        ("composite", with("sha256", json!("0".repeat(64))), "do not belong together"),
        ("size", with("byte_size", json!(1)), "size"),
        (
            "upper case",
            with("content_hash", json!(integrity["content_hash"].as_str().unwrap().to_uppercase())),
            "PK-08",
        ),
    ] {
        bomb(&world, what, text, 4, words);
    }
    for (what, text) in [
        ("no integrity", with("sha256", Value::Null)),
        ("a size of text", with("byte_size", json!("1"))),
        ("a negative size", with("byte_size", json!(-1))),
    ] {
        bomb(&world, what, text, 3, "PK-08");
    }
    let signed = good().signed(1, Signs::Whole).text();
    let value = good().signed(1, Signs::Whole).manifest()["signature"].clone();
    for (what, text) in [
        ("another key", signed.replace(&public(1), &public(2))),
        ("a key of zeros", signed.replace(&public(1), &"0".repeat(64))),
        ("another algorithm", signed.replace("ed25519", "none")),
        ("a description", signed.replace("A test.", "A trap.")),
        ("a member more", signed.replace("\"layers\"", "\"more\":1,\"layers\"")),
        ("a signature of text", signed.replace(&value.to_string(), "\"yes\"")),
        ("an empty signature", signed.replace(&value.to_string(), "{}")),
        (
            "upper case",
            signed.replace(
                value["value"].as_str().unwrap(),
                &value["value"].as_str().unwrap().to_uppercase(),
            ),
        ),
    ] {
        bomb(&world, what, text, 4, "PK-1");
    }
}
