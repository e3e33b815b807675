//! Numbers are read as the nearest `f64` and written with the fewest digits. Signatures depend on
//! it.

use std::path::Path;

use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize};
use sp_formats::package::{SignatureCoverage, read};
use sp_formats::yaml;
use sp_tree::{Digest, Limits, PrivateKey};

/// The finite sample values of RFC 8785, appendix B: the bits and the ECMAScript notation.
const RFC_8785: [(u64, &str); 24] = [
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

/// Numbers that are easily misread: long fractions, ties, and the limits of the format.
const DIFFICULT: [&str; 12] = [
    "0.22805621850967914",
    "0.2425281724644782",
    "0.30000000000000004",
    "2.2250738585072011e-308",
    "2.2250738585072014e-308",
    "4.9406564584124654e-324",
    "9007199254740993.0",
    "8.41e21",
    "9.5e-7",
    "1.448997445238699",
    "6.283185307179586",
    "179769313486231570000.5",
];

/// Returns the shortest digits of a number and the exponent of the first one. Ties are resolved to
/// even, as ECMAScript and RFC 8785 require.
fn shortest(number: f64) -> (String, i32) {
    let parts = |text: String| {
        let (mantissa, exponent) = text.split_once('e').unwrap();
        (mantissa.replace('.', ""), exponent.parse::<i32>().unwrap())
    };
    let (digits, exponent) = parts(format!("{:e}", number.abs()));
    // No finite number has more digits than this.
    let (exact, _) = parts(format!("{:.800e}", number.abs()));
    let (head, tail) = exact.split_at(digits.len());
    let is_halfway =
        tail.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    let is_even = head.bytes().last().is_some_and(|digit| digit % 2 == 0);
    if is_halfway && is_even { (head.to_owned(), exponent) } else { (digits, exponent) }
}

/// Splits digits into an integer part of this length and a fraction, padded with zeros.
fn split_at_point(digits: &str, integer_len: i32) -> (String, String) {
    let length = i32::try_from(digits.len()).unwrap();
    match integer_len {
        ..=0 => {
            ("0".into(), format!("{}{digits}", "0".repeat(integer_len.unsigned_abs() as usize)))
        }
        _ if integer_len >= length => {
            (format!("{digits}{}", "0".repeat((integer_len - length) as usize)), String::new())
        }
        _ => (digits[..integer_len as usize].into(), digits[integer_len as usize..].into()),
    }
}

fn scientific(digits: &str, exponent: i32, plus: &str) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let plus = if exponent > 0 { plus } else { "" };
    format!("{first}{point}{rest}e{plus}{exponent}")
}

/// Formats a number as ECMAScript and RFC 8785 do.
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let (digits, exponent) = shortest(number);
    let text = match exponent {
        -6..=20 => match split_at_point(&digits, exponent + 1) {
            (integer, fraction) if fraction.is_empty() => integer,
            (integer, fraction) => format!("{integer}.{fraction}"),
        },
        _ => scientific(&digits, exponent, "+"),
    };
    format!("{}{text}", if number < 0.0 { "-" } else { "" })
}

/// Formats a number as `serde_json` formats an `f64`: always with a point or an exponent.
fn as_serde_json(number: f64) -> String {
    let (digits, exponent) = shortest(number);
    let text = match exponent {
        _ if number == 0.0 => "0.0".into(),
        -5..=15 => match split_at_point(&digits, exponent + 1) {
            (integer, fraction) if fraction.is_empty() => format!("{integer}.0"),
            (integer, fraction) => format!("{integer}.{fraction}"),
        },
        _ => scientific(&digits, exponent, "+"),
    };
    format!("{}{text}", if number.is_sign_negative() { "-" } else { "" })
}

/// Parses a number and formats it again.
fn reformat(text: &str, numbers: JsonNumberFormat) -> String {
    let json = JsonDocument::parse(text, &Limits::default()).unwrap();
    canonicalize(json.root(), "", numbers).unwrap()
}

/// Asserts that every parser and formatter preserves the number.
fn assert_round_trips(text: &str) {
    let number: f64 = text.parse().unwrap();
    let is_integer = text
        .parse::<i128>()
        .is_ok_and(|integer| i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok());
    let expected = if is_integer { text.to_owned() } else { as_serde_json(number) };
    assert_eq!(reformat(text, JsonNumberFormat::Rounded), expected, "{text}");
    let lossless = reformat(text, JsonNumberFormat::Lossless);
    assert_eq!(
        lossless.parse::<f64>().unwrap().to_bits(),
        number.to_bits(),
        "{text} became {lossless}"
    );
    let json = JsonDocument::parse(text, &Limits::default()).unwrap();
    assert_eq!(json.root().as_f64().unwrap().to_bits(), number.to_bits(), "{text}");
    let read: f64 = serde_json::from_str(text).unwrap();
    assert_eq!(read.to_bits(), number.to_bits(), "{text}");
    let yaml = yaml::parse(text, &Limits::default()).unwrap();
    for value in [yaml.to_json(), yaml.to_core_json().unwrap()] {
        assert_eq!(value.as_f64().unwrap(), number, "{text} became {value}");
    }
}

#[test]
fn pk_12_numbers_of_rfc_8785_keep_their_value() {
    for (bits, text) in RFC_8785 {
        let number = f64::from_bits(bits);
        assert_eq!(ecmascript(number), text, "the formatter of this test");
        assert_round_trips(text);
        assert_round_trips(&as_serde_json(number));
        assert_eq!(
            reformat(&as_serde_json(number), JsonNumberFormat::Rounded),
            as_serde_json(number)
        );
    }
    for text in DIFFICULT {
        assert_round_trips(text);
    }
}

#[test]
fn pk_12_random_numbers_keep_their_value() {
    // SplitMix64 with a fixed seed.
    let mut state = 0x5eed_u64;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut count = 0;
    while count < 10_000 {
        let bits = random();
        // Half of them are arbitrary, and half are between 0 and 1, like ratios.
        let number = if count % 2 == 0 {
            f64::from_bits(bits)
        } else {
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        if !number.is_finite() {
            continue;
        }
        count += 1;
        assert_round_trips(&as_serde_json(number));
        assert_round_trips(&ecmascript(number));
    }
}

/// Returns a package like those of other tools, which sign the manifest as it is.
fn signed_with_ratio(ratio: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/vector.ctxpkg");
    let vector = std::fs::read_to_string(path).unwrap();
    let content = &vector[vector.find("\"content\":{").unwrap()..];
    let sha256 = "dcbf28dfd29b380b7eed107a1888c1ec458d4cc4dc8a2d13ce57e81f068d065c";
    let content_hash = "6e14f8bf295402b83f1e11e2b64e800ed1c105173c8af51addf23e68256cb356";
    // Sorted for signing; `signature` belongs between `schema_version` and `stats`.
    let before = format!(
        "\"conformance_level\":1,\"created_at\":\"2026-05-22T00:00:00Z\",\"description\":\"d\",\"integrity\":\
         {{\"byte_size\":124,\"content_hash\":\"{content_hash}\",\"sha256\":\"{sha256}\"}},\"layers\":[],\"name\":\"vec\",\
         \"provenance\":{{\"tool\":\"t\",\"tool_version\":\"1\"}},\"schema_version\":2"
    );
    let after = format!(
        "\"stats\":{{\"compression_ratio\":{ratio},\"gotcha_count\":0,\"graph_edges\":0,\"graph_nodes\":1,\
         \"knowledge_facts\":0,\"pattern_count\":0}},\"version\":\"1.0.0\""
    );
    let key = PrivateKey::from_seed(&[7; 32]);
    let sign = |message: String| key.sign(Digest::of(message.as_bytes()).hex().as_bytes()).hex();
    let value = sign(format!("ctxpkg-sign-v1:vec:1.0.0:{sha256}"));
    let manifest_value = sign(format!("ctxpkg-sign-manifest-v1:{{{before},{after}}}"));
    format!(
        "{{\"manifest\":{{{before},\"signature\":{{\"algorithm\":\"ed25519\",\"public_key\":\"{}\",\"value\":\"{value}\",\
         \"manifest_value\":\"{manifest_value}\"}},{after}}},{content}",
        key.public().hex()
    )
}

#[test]
fn pk_12_signatures_over_long_fractions_are_valid() {
    let fractions = [
        "0.22805621850967914",
        "0.2425281724644782",
        "1.448997445238699",
        "0.30000000000000004",
        "1e-7",
        "0.0",
    ];
    let rfc = RFC_8785.into_iter().map(|(bits, _)| as_serde_json(f64::from_bits(bits)));
    for ratio in fractions.into_iter().map(str::to_owned).chain(rfc) {
        let read = read("vec", signed_with_ratio(&ratio).into_bytes(), &Limits::default());
        let signer = read.package.and_then(|package| package.signer);
        assert_eq!(
            signer.map(|signer| signer.coverage),
            Some(SignatureCoverage::Whole),
            "{ratio}: {:?}",
            read.steps
        );
    }
    // Older releases of the other tool omit the sign of the exponent.
    let older = read("vec", signed_with_ratio("1e22").into_bytes(), &Limits::default());
    assert!(older.package.is_some(), "{:?}", older.steps);
    // A number that was changed after signing.
    let changed = signed_with_ratio("0.22805621850967914")
        .replace("0.22805621850967914", "0.22805621850967911");
    assert!(read("vec", changed.into_bytes(), &Limits::default()).package.is_none());
}
