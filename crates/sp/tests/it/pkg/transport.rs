//! `sp pkg send`, `sp pkg receive` and `sp pkg inbox`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::sync::mpsc;

use sp_formats::package::envelope::{Envelope, EnvelopeSender, EnvelopeSignatureScheme};

use super::*;

const SECRET: &str = "canary-5f0c1e-shared";
const NOW: i64 = 1_790_000_000;

/// A running `sp pkg receive`, which is killed when dropped.
struct Receiver {
    child: Child,
    address: String,
    events: mpsc::Receiver<String>,
}

impl Receiver {
    fn start(world: &World, args: &[&str]) -> Self {
        Self::start_with(world, args, Some(SECRET))
    }

    fn start_without_secret(world: &World, args: &[&str]) -> Self {
        Self::start_with(world, args, None)
    }

    fn start_with(world: &World, args: &[&str], secret: Option<&str>) -> Self {
        let args =
            [&["pkg", "receive", "--listen", "127.0.0.1:0", "--format", "json"], args].concat();
        let mut command = world.command(&args);
        command.current_dir(world.path("project")).env("TOKEN", "canary-token");
        command.envs(secret.map(|secret| ("SP_TRANSPORT_SECRET", secret)));
        let log = std::fs::File::create(world.path("receive.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut receiver = Self { child, address: String::new(), events };
        receiver.address = receiver.event()["address"].as_str().unwrap().into();
        receiver
    }

    /// Waits for the next event.
    #[track_caller]
    fn event(&self) -> Value {
        let line = self.events.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_matches_schema("pkg receive", &line);
        serde_json::from_str(&line).unwrap()
    }

    /// Sends these bytes, and returns the status and the body of the response.
    fn send(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = stream.write_all(bytes);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (status, text.split_once("\r\n\r\n").map(|(_, body)| body.into()).unwrap_or_default())
    }

    fn post(&self, envelope: &Envelope) -> (u16, String) {
        self.send(&request(&envelope.to_json(), ""))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request with this body and these additional headers.
fn request(body: &str, headers: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes()
}

/// An envelope with a package, signed with the shared secret.
fn envelope(package: &TestPackage) -> Envelope {
    envelope_at(package, NOW, EnvelopeSignatureScheme::V3)
}

fn envelope_at(package: &TestPackage, second: i64, scheme: EnvelopeSignatureScheme) -> Envelope {
    let mut envelope = Envelope {
        sent_at: jiff::Timestamp::from_second(second).unwrap(),
        sender: EnvelopeSender {
            agent_id: "ada".into(),
            agent_type: "test".into(),
            ..EnvelopeSender::default()
        },
        recipient: None,
        metadata: std::collections::BTreeMap::new(),
        payload: package.to_json(),
        signature: None,
    };
    envelope.sign(SECRET.as_bytes(), scheme);
    envelope
}

/// Runs `sp pkg send` with the secret.
fn send(world: &World, receiver: &Receiver, args: &[&str]) -> Run {
    let mut command =
        world.command(&[&["pkg", "send", "--target", &receiver.address], args].concat());
    command
        .current_dir(world.path("project"))
        .env("SP_TRANSPORT_SECRET", SECRET)
        .env("TOKEN", "canary-token");
    world.run(command)
}

// Sending.

#[test]
fn pk_14_packages_arrive_unchanged_in_both_envelope_versions() {
    for version in ["v3", "v2"] {
        let (here, there) = (project(), project());
        import(&here, &[notes("1.0.0").signed(1, SignatureScope::Full)]);
        let receiver = Receiver::start(&there, &["--as", "peer"]);
        let run = send(
            &here,
            &receiver,
            &["--envelope", version, "--as", "me", "--to", "peer", "--format", "json"],
        )
        .ok();
        assert_matches_schema("pkg send", &run.stdout);
        let event = receiver.event();
        assert_eq!(
            (&event["event"], &event["package"], &event["sender"]),
            (&json!("imported"), &json!("notes@1.0.0"), &json!("me"))
        );
        pkg(&there, &["export", "notes", "--output", "notes.ctxpkg"]).ok();
        assert_eq!(
            read(&there, "project/notes.ctxpkg"),
            notes("1.0.0").signed(1, SignatureScope::Full).to_json(),
            "{version}"
        );
        let info = pkg_json(&there, &["info", "notes"]);
        assert!(info["from"].as_str().unwrap().ends_with(" me"), "{info}");
        assert_no_leftovers(&there, version);
    }
}

#[test]
fn pk_14_envelopes_with_wrong_credentials_time_or_recipient_are_refused() {
    let (here, there) = (project(), project());
    import(&here, &[notes("1.0.0")]);
    let receiver = Receiver::start(&there, &["--as", "peer", "--token-env", "TOKEN"]);
    let sent = |args: &[&str], secret: &str, token: &str, second: i64| {
        let target = ["--target", &receiver.address, "--token-env", "TOKEN", "--format", "json"];
        let args = [&["pkg", "send", "notes"], &target[..], args].concat();
        let mut command = here.command(&args);
        command
            .current_dir(here.path("project"))
            .env("SP_TRANSPORT_SECRET", secret)
            .env("TOKEN", token);
        command.env("SOURCE_DATE_EPOCH", second.to_string());
        here.run(command)
    };
    let token = "canary-token";
    for (args, secret, token, second, status) in [
        (&["--to", "peer"][..], "wrong", token, NOW, "401"),
        (&["--to", "peer"], SECRET, "wrong", NOW, "401"),
        (&["--to", "peer"], SECRET, token, NOW - 301, "403"),
        (&["--to", "peer"], SECRET, token, NOW + 301, "403"),
        (&["--to", "other"], SECRET, token, NOW, "403"),
        (&[], SECRET, token, NOW, "403"),
        (&["--to", "peer", "--envelope", "v2"], "wrong", token, NOW, "401"),
    ] {
        let error = sent(args, secret, token, second).error();
        assert_eq!(error.code, "E-receiver-refused", "{error:?}");
        assert_mentions(&error, status);
        assert_eq!(receiver.event()["event"], "refused");
        assert_eq!(stored(&there), [""; 0]);
    }
    sent(&["--to", "peer"], SECRET, token, NOW - 300).ok();
    assert_eq!(receiver.event()["event"], "imported");
    let replay = sent(&["--to", "peer"], SECRET, token, NOW).error();
    assert_eq!(replay.code, "E-receiver-refused");
    assert_mentions(&replay, "409");
    let error = pkg_error(&here, &["send", "notes", "--target", "127.0.0.1:1"]);
    assert_eq!(error.code, "E-network");
}

#[test]
fn pk_14_remote_targets_require_https() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    for target in ["http://agent.example", "ftp://x", "http://127.0.0.1@evil.example", ""] {
        let error = pkg_error(&world, &["send", "notes", "--target", target]);
        assert_eq!(error.code, "E-invalid-url", "{target}: {error:?}");
    }
}

// Receiving.

#[test]
fn pk_14_replayed_envelopes_are_refused() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"))).0, 200);
    for again in [
        envelope(&notes("1.0.0")),
        envelope_at(&notes("1.0.0"), NOW - 5, EnvelopeSignatureScheme::V2),
    ] {
        assert_eq!(receiver.post(&again).0, 409);
    }
    drop(receiver);
    let receiver = Receiver::start(&there, &[]);
    assert_eq!(
        receiver.post(&envelope(&notes("1.0.0"))).0,
        409,
        "a restart does not forget the envelope"
    );
    assert_eq!(receiver.post(&envelope(&notes("1.0.1"))).0, 200);
}

#[test]
fn pk_14_se_11_modified_envelopes_and_packages_are_refused() {
    let there = project();
    import(&there, &[TestPackage::new("pinned", "1.0.0").signed(1, SignatureScope::Full)]);
    let before = records(&there);
    let receiver = Receiver::start(&there, &[]);
    let good = envelope(&notes("1.0.0").signed(1, SignatureScope::Full));
    let changed = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = good.clone();
        change(&mut envelope);
        envelope
    };
    let with_payload = |payload: &str| {
        let mut envelope = good.clone();
        envelope.payload = payload.into();
        envelope.sign(SECRET.as_bytes(), EnvelopeSignatureScheme::V3);
        envelope
    };
    let evil = notes("1.0.0")
        .signed(1, SignatureScope::Full)
        .to_json()
        .replace("\"A test.\"", "\"A trap.\"");
    for (case, envelope, status) in [
        (
            "payload",
            changed(&|envelope| envelope.payload = envelope.payload.replace("A test", "A trap")),
            401,
        ),
        ("sender", changed(&|envelope| envelope.sender.agent_type = "other".into()), 401),
        ("recipient", changed(&|envelope| envelope.recipient = Some("you".into())), 401),
        ("no signature", changed(&|envelope| envelope.signature = None), 401),
        ("an empty signature", changed(&|envelope| envelope.signature = Some(String::new())), 401),
        ("a forged package", with_payload(&evil), 403),
        ("not a package", with_payload("{}"), 422),
        ("not JSON", with_payload("["), 422),
        (
            "another key",
            with_payload(
                &TestPackage::new("pinned", "1.0.1").signed(2, SignatureScope::Full).to_json(),
            ),
            403,
        ),
        ("a removed signature", with_payload(&TestPackage::new("pinned", "1.0.1").to_json()), 403),
        (
            "different content",
            with_payload(
                &TestPackage::new("pinned", "1.0.0")
                    .with_text("x")
                    .signed(1, SignatureScope::Full)
                    .to_json(),
            ),
            403,
        ),
    ] {
        let (actual, body) = receiver.post(&envelope);
        assert_eq!(actual, status, "{case}: {body}");
        assert_eq!(receiver.event()["event"], "refused", "{case}");
        assert_eq!(records(&there), before, "{case}");
    }
    assert_eq!(receiver.post(&good).0, 200, "the server still works");
}

#[test]
fn pk_14_pk_13_unsigned_packages_are_refused_if_signatures_are_required() {
    for (args, config) in
        [(&["--require-signed"][..], ""), (&["--queue"], "packages: {require-signed: true}\n")]
    {
        let there = project();
        write(&there, "home/.skillpack/config.yaml", config);
        let receiver = Receiver::start(&there, args);
        assert_eq!(receiver.post(&envelope(&notes("1.0.0"))).0, 403);
        assert!(receiver.post(&envelope(&notes("1.0.0").signed(1, SignatureScope::Full))).0 < 300);
    }
}

#[test]
fn pk_14_se_14_invalid_requests_are_refused_with_a_status() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let body = envelope(&notes("1.0.0")).to_json();
    let head = "POST /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\n";
    for (case, bytes, status) in [
        ("get", b"GET /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), 405),
        ("another path", b"POST /other HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_vec(), 404),
        (
            "a path with dots",
            b"POST /v1/a2a/handoff/../x HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_vec(),
            404,
        ),
        ("no length", format!("{head}\r\n{body}").into_bytes(), 411),
        (
            "chunked",
            format!("{head}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n").into_bytes(),
            411,
        ),
        ("chunked with a length", request(&body, "transfer-encoding: chunked\r\n"), 411),
        ("two lengths", request(&body, "content-length: 3\r\n"), 400),
        ("a negative length", format!("{head}content-length: -1\r\n\r\n").into_bytes(), 400),
        (
            "a huge length",
            format!("{head}content-length: 99999999999999999999999\r\n\r\n").into_bytes(),
            400,
        ),
        (
            "a length over the limit",
            format!("{head}content-length: 2000001\r\n\r\n").into_bytes(),
            413,
        ),
        (
            "not HTTP",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello there\r\n\r\n".to_vec(),
            400,
        ),
        ("an empty body", request("", ""), 400),
        ("a long head", format!("{head}x: {}\r\n\r\n", "x".repeat(40_000)).into_bytes(), 431),
        ("many headers", format!("{head}{}\r\n", "x: y\r\n".repeat(100)).into_bytes(), 431),
        ("not an envelope", request("[]", ""), 400),
        ("a million brackets", request(&"[".repeat(1_000_000), ""), 400),
    ] {
        let (actual, response) = receiver.send(&bytes);
        assert_eq!(actual, status, "{case}: {response}");
        assert!(
            response.is_empty() || serde_json::from_str::<Value>(&response).is_ok(),
            "{case}: {response}"
        );
    }
    assert_eq!(receiver.send(&request(&body, "")).0, 200, "the server still works");
}

#[test]
fn pk_14_envelope_size_is_limited() {
    let (here, there) = (project(), project());
    let fill = |size: usize| notes("1.0.0").with("x-fill", json!("x".repeat(size)));
    let receiver = Receiver::start(&there, &[]);
    let length = |size: usize| envelope(&fill(size)).to_json().len();
    let space = 2_000_000 - length(0);
    assert_eq!(length(space), 2_000_000);
    assert_eq!(receiver.post(&envelope(&fill(space + 1))).0, 413);
    assert_eq!(receiver.post(&envelope(&fill(space))).0, 200);
    import(&here, &[fill(space + 1000)]);
    let error = send(&here, &receiver, &["--format", "json"]).error();
    assert_eq!(error.code, "E-limit-exceeded");
    assert_mentions(&error, "2000000");
}

#[test]
fn pk_14_slow_clients_do_not_block_others() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&receiver.address).unwrap();
            stream.write_all(b"POST /v1/a2a/hand").unwrap();
            stream
        })
        .collect();
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"))).0, 200);
    drop(slow);
}

#[test]
fn se_01_pk_14_concurrent_senders_lose_nothing() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let package = |index: usize| TestPackage::new(&format!("p{index}"), "1.0.0");
    std::thread::scope(|scope| {
        for index in 0..8 {
            let receiver = &receiver.address;
            scope.spawn(move || {
                let bytes = request(&envelope(&package(index)).to_json(), "");
                let mut stream = TcpStream::connect(receiver).unwrap();
                stream.write_all(&bytes).unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            });
        }
    });
    assert_eq!(stored(&there), (0..8).map(|index| format!("p{index} 1.0.0")).collect::<Vec<_>>());
    assert_store_is_consistent(&there, "after concurrent senders");
}

#[test]
fn pk_14_once_exits_after_one_package() {
    let there = project();
    let mut receiver = Receiver::start(&there, &["--once"]);
    assert_eq!(receiver.send(b"GET / HTTP/1.1\r\n\r\n").0, 404);
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"))).0, 200);
    eventually(|| receiver.child.try_wait().unwrap());
}

#[test]
fn se_08_sender_is_escaped() {
    for args in [&[][..], &["--queue"]] {
        let there = project();
        let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r";
        let receiver = Receiver::start(&there, args);
        let invalid = notes("1.0.1").with("kind", json!("x"));
        for (package, is_valid) in [(notes("1.0.0"), true), (invalid, false)] {
            let mut envelope = envelope(&package);
            envelope.sender.agent_id = evil.into();
            envelope.sign(SECRET.as_bytes(), EnvelopeSignatureScheme::V3);
            let (status, response) = receiver.post(&envelope);
            assert_eq!(status < 300, is_valid, "{response}");
            let event = receiver.events.recv_timeout(Duration::from_secs(20)).unwrap();
            assert!(
                !response.contains(char::is_control) && !event.contains(char::is_control),
                "{response:?} {event:?}"
            );
        }
        drop(receiver);
        let mut texts = vec![read(&there, "receive.log")];
        for args in [&["list"][..], &["inbox"], &["info", "notes"], &["log", "notes"]] {
            for format in ["human", "plain"] {
                let run = pkg(&there, &[args, &["--format", format]].concat());
                texts.extend([run.stdout, run.stderr]);
            }
        }
        texts.iter().for_each(|text| assert_eq!(unescaped_lines(text), [""; 0]));
    }
}

// The inbox.

#[test]
fn pk_14_queued_packages_wait_until_accepted_or_rejected() {
    let there = project();
    let receiver = Receiver::start(&there, &["--queue"]);
    for version in ["1.0.0", "1.0.1"] {
        assert_eq!(receiver.post(&envelope(&notes(version))).0, 202);
        assert_eq!(receiver.event()["event"], "waiting");
    }
    drop(receiver);
    assert_eq!(stored(&there), [""; 0], "nothing is imported automatically");
    let waiting = pkg_json(&there, &["inbox"]);
    let ids: Vec<String> = waiting["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package["id"].as_str().unwrap().into())
        .collect();
    assert_eq!(ids.len(), 2, "{waiting}");
    let human = pkg(&there, &["inbox"]).ok().stdout;
    assert!(human.contains("ada") && human.contains(&ids[0]), "{human}");
    let error = refused(&there, &["inbox", "--accept", "000000000000"], "E-package-not-found");
    assert!(error.hints_at(&ids[0]), "{error:?}");
    refused(&there, &["inbox", "--accept", &ids[0], "--require-signed"], "E-unsigned");
    pkg(&there, &["inbox", "--accept", &ids[0]]).ok();
    assert_eq!(stored(&there), ["notes 1.0.0"]);
    pkg(&there, &["inbox", "--reject", &ids[1]]).ok();
    assert_eq!(stored(&there), ["notes 1.0.0"]);
    assert_eq!(pkg_json(&there, &["inbox"])["waiting"], json!([]));
    assert_store_is_consistent(&there, "after the inbox is empty");
    refused(&there, &["inbox", "--accept", &ids[0]], "E-package-not-found");
}

// Secrets.

#[test]
fn pk_14_secret_must_be_private_and_not_empty() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    let file = write(&world, "secret", format!("{SECRET}\n"));
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let set_mode = |file: &str, mode: u32| {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let send = ["send", "notes", "--target", &receiver.address];
    let send_with_file = [&send[..], &["--secret-file", &file]].concat();
    for mode in [0o644, 0o640, 0o606] {
        set_mode(&file, mode);
        refused(&world, &send_with_file, "E-exposed-secret");
    }
    set_mode(&file, 0o600);
    pkg(&world, &send_with_file).ok();
    // A requested secret must exist; without one, `receive` requires a flag.
    let args = [&send[..], &["--secret-env", "NOTHING"]].concat();
    assert_mentions(&refused(&world, &args, "E-invalid-secret"), "NOTHING");
    for (args, env) in [
        (&["--secret-env", "NOTHING"][..], "NOTHING"),
        (&["--secret-env", "NOTHING", "--allow-unsigned"], "NOTHING"),
        (&[], "SP_TRANSPORT_SECRET"),
    ] {
        let args = [&["receive", "--listen", "127.0.0.1:0"], args].concat();
        assert_mentions(&refused(&world, &args, "E-invalid-secret"), env);
    }
    let empty = write(&world, "empty", "\n");
    set_mode(&empty, 0o600);
    let args = [&send[..], &["--secret-file", &empty]].concat();
    refused(&world, &args, "E-invalid-secret");
}

#[test]
fn pk_14_unsigned_envelopes_are_accepted_only_with_a_flag() {
    let here = project();
    import(&here, &[notes("1.0.0")]);

    let there = project();
    let strict = Receiver::start(&there, &[]);
    let send = ["send", "notes", "--target", &strict.address];
    assert_mentions(&refused(&here, &send, "E-receiver-refused"), "401");
    assert_eq!(strict.event()["event"], "refused");
    drop(strict);

    // With a secret, unsigned envelopes and those with a valid signature are accepted.
    let lenient = Receiver::start(&there, &["--allow-unsigned"]);
    let run = pkg(&here, &["send", "notes", "--target", &lenient.address]).ok();
    assert!(run.stderr.contains("warning:") && run.stderr.contains("--allow-unsigned"), "{run}");
    assert_eq!(lenient.event()["event"], "imported");
    let mut forged = envelope(&notes("1.1.0"));
    forged.sign(b"another secret", EnvelopeSignatureScheme::V3);
    assert_eq!(lenient.post(&forged).0, 401);
    assert_eq!(lenient.event()["event"], "refused");
    assert_eq!(lenient.post(&envelope(&notes("1.1.0"))).0, 200);
    assert_eq!(lenient.event()["event"], "imported");
    drop(lenient);
    let log = std::fs::read_to_string(there.path("receive.log")).unwrap();
    assert!(log.contains("warning:"), "{log}");

    // Without a secret, a signature cannot be verified.
    let without = Receiver::start_without_secret(&there, &["--allow-unsigned"]);
    assert_eq!(without.post(&envelope(&notes("1.2.0"))).0, 401);
    assert_eq!(without.event()["event"], "refused");
    let mut plain = envelope(&notes("1.2.0"));
    plain.signature = None;
    assert_eq!(without.post(&plain).0, 200);
    assert_eq!(without.event()["event"], "imported");
    assert_eq!(without.post(&plain).0, 409, "replays of unsigned envelopes are refused");
}

#[test]
fn se_07_secret_and_token_are_neither_printed_nor_stored() {
    let (here, there) = (project(), project());
    import(&here, &[notes("1.0.0"), notes("1.0.1")]);
    let receiver = Receiver::start(&there, &["--token-env", "TOKEN", "--verbose"]);
    let mut outputs = Vec::new();
    for format in ["human", "plain", "json"] {
        for args in [
            &["notes@1.0.0"][..],
            &["notes@1.0.1", "--token-env", "TOKEN"],
            &["notes", "--verbose"],
        ] {
            outputs
                .push(send(&here, &receiver, &[args, &["--format", format]].concat()).to_string());
        }
    }
    let target = format!("http://user:canary-password@{}", receiver.address);
    outputs.push(send(&here, &receiver, &["notes@1.0.0"]).to_string());
    let mut command = here.command(&["pkg", "send", "notes", "--target", &target, "--verbose"]);
    command.current_dir(here.path("project")).env("SP_TRANSPORT_SECRET", SECRET);
    outputs.push(here.run(command).to_string());
    outputs.extend(receiver.events.try_iter());
    drop(receiver);
    outputs.push(read(&there, "receive.log"));
    for text in &outputs {
        assert!(!text.contains("canary-"), "{text}");
    }
    for world in [&here, &there] {
        let grep =
            Command::new("grep").args(["-rl", "canary-"]).arg(world.root()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&grep.stdout), "");
    }
}
