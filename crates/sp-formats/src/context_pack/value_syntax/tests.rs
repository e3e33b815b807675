use super::*;

#[test]
fn cp_02_pack_ids_are_ulids_or_uuids() {
    for good in [
        "pk_01KPZXWZQR5NRHCGNQ4TR480B2",
        "01kpzxwzqr5nrhcgnq4tr480b2",
        "0190a7f2-1c7e-7abc-8def-0123456789AB",
    ] {
        assert!(is_pack_id(good), "{good}");
    }
    for bad in [
        "",
        "pk_",
        "pk_01HXYZ...",
        "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "01KPZXWZQR5NRHCGNQ4TR480BI",
        "pk_pk_01KPZXWZQR5NRHCGNQ4TR480B2",
        "0190a7f21c7e7abc8def0123456789ab",
    ] {
        assert!(!is_pack_id(bad), "{bad}");
    }
}

#[test]
fn cp_02_urls_are_absolute() {
    for good in [
        "https://example.com",
        "HTTP://[::1]:8080/x?y={z}|^#a",
        "mailto:a@example.com",
        "urn:isbn:0451450523",
        "file:///a/b",
        "https://例え.jp/パス",
        "obsidian://open?vault=a",
    ] {
        assert!(is_url(good), "{good}");
    }
    for bad in [
        "",
        "example.com",
        "https:",
        "https://",
        "https:///x",
        "https:example.com",
        "//example.com",
        "C:\\x",
        "https://a b",
        "https://a\n",
        "1x://a",
        "<https://a>",
    ] {
        assert!(!is_url(bad), "{bad}");
    }
}
