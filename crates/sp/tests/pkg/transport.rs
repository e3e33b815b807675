//! `sp pkg send` and `sp pkg receive`: what goes over the wire, and what is refused there.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::sync::mpsc;

use sp_formats::package::envelope::{Envelope, EnvelopeSender, EnvelopeSignatureScheme};

use super::*;

const SECRET: &str = "canary-5f0c1e-shared";
const NOW: i64 = 1_790_000_000;

/// A `sp pkg receive` that runs until it is dropped.
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
        let (tell, events) = mpsc::channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let mut receiver = Self { child, address: String::new(), events };
        receiver.address = receiver.event()["address"].as_str().unwrap().into();
        receiver
    }

    /// The next thing that it tells.
    #[track_caller]
    fn event(&self) -> Value {
        let line = self.events.recv_timeout(Duration::from_secs(20)).unwrap();
        fits("pkg receive", &line);
        serde_json::from_str(&line).unwrap()
    }

    /// What it answers to these bytes: status and body.
    fn ask(&self, bytes: &[u8]) -> (u16, String) {
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
        self.ask(&request(&envelope.to_json(), ""))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request with this body and these headers besides.
fn request(body: &str, headers: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes()
}

/// An envelope of this second that holds a package, signed with the shared secret.
fn envelope(made: &Made, second: i64, form: EnvelopeSignatureScheme) -> Envelope {
    let mut envelope = Envelope {
        sent_at: jiff::Timestamp::from_second(second).unwrap(),
        sender: EnvelopeSender {
            agent_id: "ada".into(),
            agent_type: "test".into(),
            ..EnvelopeSender::default()
        },
        recipient: None,
        metadata: std::collections::BTreeMap::new(),
        payload: made.text(),
        signature: None,
    };
    envelope.sign(SECRET.as_bytes(), form);
    envelope
}

fn notes(version: &str) -> Made {
    Made::new("notes", version).says(version)
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
fn pk_14_both_forms_arrive_to_the_letter() {
    for form in ["v3", "v2"] {
        let (here, there) = (project(), project());
        import(&here, &[notes("1.0.0").signed(1, Signs::Whole)]);
        let receiver = Receiver::start(&there, &["--as", "peer"]);
        let run = send(
            &here,
            &receiver,
            &["--envelope", form, "--as", "me", "--to", "peer", "--format", "json"],
        )
        .ok();
        fits("pkg send", &run.stdout);
        let event = receiver.event();
        assert_eq!(
            (&event["event"], &event["package"], &event["sender"]),
            (&json!("imported"), &json!("notes@1.0.0"), &json!("me"))
        );
        pkg(&there, &["export", "notes", "--output", "notes.ctxpkg"]).ok();
        assert_eq!(
            read(&there, "project/notes.ctxpkg"),
            notes("1.0.0").signed(1, Signs::Whole).text(),
            "{form}"
        );
        let info = answer(&there, &["info", "notes"]);
        assert_eq!(info["from"], "sent by me");
        no_leftovers(&there, form);
    }
}

#[test]
fn pk_14_what_does_not_fit_is_refused_with_exit_code_4_and_nothing_is_stored() {
    let (here, there) = (project(), project());
    import(&here, &[notes("1.0.0")]);
    let receiver = Receiver::start(&there, &["--as", "peer", "--token-env", "TOKEN"]);
    let sent = |args: &[&str], secret: &str, token: &str, second: i64| {
        let args = [
            &["pkg", "send", "notes", "--target", &receiver.address, "--token-env", "TOKEN"],
            args,
        ]
        .concat();
        let mut command = here.command(&args);
        command
            .current_dir(here.path("project"))
            .env("SP_TRANSPORT_SECRET", secret)
            .env("TOKEN", token);
        command.env("SOURCE_DATE_EPOCH", second.to_string());
        here.run(command)
    };
    let token = "canary-token";
    for (args, secret, said, second, status) in [
        (&["--to", "peer"][..], "wrong", token, NOW, "401"),
        (&["--to", "peer"], SECRET, "wrong", NOW, "401"),
        (&["--to", "peer"], SECRET, token, NOW - 301, "403"),
        (&["--to", "peer"], SECRET, token, NOW + 301, "403"),
        (&["--to", "other"], SECRET, token, NOW, "403"),
        (&[], SECRET, token, NOW, "403"),
        (&["--to", "peer", "--envelope", "v2"], "wrong", token, NOW, "401"),
    ] {
        let run = sent(args, secret, said, second).fails(4);
        assert!(run.stderr.contains(status), "{status} is not in {run}");
        assert_eq!(receiver.event()["event"], "refused", "{run}");
        assert_eq!(stored(&there), [""; 0]);
    }
    sent(&["--to", "peer"], SECRET, token, NOW - 300).ok();
    assert_eq!(receiver.event()["event"], "imported");
    let run = sent(&["--to", "peer"], SECRET, token, NOW).fails(4);
    assert!(run.stderr.contains("409"), "a replay: {run}");
    let mut nobody = here.command(&["pkg", "send", "notes", "--target", "127.0.0.1:1"]);
    nobody.current_dir(here.path("project")).env("SP_TRANSPORT_SECRET", SECRET);
    here.run(nobody).fails(5);
}

#[test]
fn pk_14_a_target_elsewhere_is_never_spoken_to_in_the_clear() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    for target in ["http://agent.example", "ftp://x", "http://127.0.0.1@evil.example", ""] {
        let mut command = world.command(&["pkg", "send", "notes", "--target", target]);
        command.env("SP_TRANSPORT_SECRET", SECRET);
        world.run(command).fails(2);
    }
}

// Receiving.

#[test]
fn pk_14_an_envelope_is_taken_once_however_it_is_wrapped() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3)).0, 200);
    for again in [
        envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3),
        envelope(&notes("1.0.0"), NOW - 5, EnvelopeSignatureScheme::V2),
    ] {
        assert_eq!(receiver.post(&again).0, 409);
    }
    drop(receiver);
    let receiver = Receiver::start(&there, &[]);
    assert_eq!(
        receiver.post(&envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3)).0,
        409,
        "it is remembered"
    );
    assert_eq!(receiver.post(&envelope(&notes("1.0.1"), NOW, EnvelopeSignatureScheme::V3)).0, 200);
}

#[test]
fn pk_14_se_11_what_was_tampered_with_is_refused_and_nothing_is_stored() {
    let there = project();
    import(&there, &[Made::new("pinned", "1.0.0").signed(1, Signs::Whole)]);
    let before = records(&there);
    let receiver = Receiver::start(&there, &[]);
    let good = envelope(&notes("1.0.0").signed(1, Signs::Whole), NOW, EnvelopeSignatureScheme::V3);
    let bent = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = good.clone();
        change(&mut envelope);
        envelope
    };
    let resigned = |made: &str| {
        let mut envelope = good.clone();
        envelope.payload = made.into();
        envelope.sign(SECRET.as_bytes(), EnvelopeSignatureScheme::V3);
        envelope
    };
    let evil = notes("1.0.0").signed(1, Signs::Whole).text().replace("\"A test.\"", "\"A trap.\"");
    for (what, envelope, status) in [
        ("payload", bent(&|one| one.payload = one.payload.replace("A test", "A trap")), 401),
        ("sender", bent(&|one| one.sender.agent_type = "other".into()), 401),
        ("recipient", bent(&|one| one.recipient = Some("you".into())), 401),
        ("no signature", bent(&|one| one.signature = None), 401),
        ("an empty one", bent(&|one| one.signature = Some(String::new())), 401),
        ("a forged package", resigned(&evil), 403),
        ("no package", resigned("{}"), 422),
        ("no JSON", resigned("["), 422),
        (
            "another key",
            resigned(&Made::new("pinned", "1.0.1").signed(2, Signs::Whole).text()),
            403,
        ),
        ("a stripped one", resigned(&Made::new("pinned", "1.0.1").text()), 403),
        (
            "another content",
            resigned(&Made::new("pinned", "1.0.0").says("x").signed(1, Signs::Whole).text()),
            403,
        ),
    ] {
        let (is, body) = receiver.post(&envelope);
        assert_eq!(is, status, "{what}: {body}");
        assert_eq!(receiver.event()["event"], "refused", "{what}");
        assert_eq!(records(&there), before, "{what}");
    }
    assert_eq!(receiver.post(&good).0, 200, "and it still listens");
}

#[test]
fn pk_14_pk_13_unsigned_packages_are_refused_where_signed_ones_are_asked_for() {
    for (args, config) in
        [(&["--require-signed"][..], ""), (&["--queue"], "packages: {require-signed: true}\n")]
    {
        let there = project();
        write(&there, "home/.skillpack/config.yaml", config);
        let receiver = Receiver::start(&there, args);
        assert_eq!(
            receiver.post(&envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3)).0,
            403
        );
        assert!(
            receiver
                .post(&envelope(
                    &notes("1.0.0").signed(1, Signs::Whole),
                    NOW,
                    EnvelopeSignatureScheme::V3
                ))
                .0
                < 300
        );
    }
}

#[test]
fn pk_14_se_14_what_is_no_request_for_us_is_refused_by_its_status() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let body = envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3).to_json();
    let head = "POST /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\n";
    for (what, bytes, status) in [
        ("get", b"GET /v1/a2a/handoff HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), 405),
        ("another path", b"POST /other HTTP/1.1\r\ncontent-length: 0\r\n\r\n".to_vec(), 404),
        (
            "a path that leads up",
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
        ("two lengths", request(&body, "content-length: 3\r\n"), 411),
        ("a negative length", format!("{head}content-length: -1\r\n\r\n").into_bytes(), 411),
        (
            "a huge length",
            format!("{head}content-length: 99999999999999999999999\r\n\r\n").into_bytes(),
            411,
        ),
        ("too large", format!("{head}content-length: 2000001\r\n\r\n").into_bytes(), 413),
        (
            "no HTTP",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello there\r\n\r\n".to_vec(),
            400,
        ),
        ("no UTF-8", [request("", "").as_slice(), b""].concat(), 400),
        ("a long head", format!("{head}x: {}\r\n\r\n", "x".repeat(40_000)).into_bytes(), 431),
        ("many headers", format!("{head}{}\r\n", "x: y\r\n".repeat(100)).into_bytes(), 400),
        ("no envelope", request("[]", ""), 400),
        ("a million brackets", request(&"[".repeat(1_000_000), ""), 400),
    ] {
        let (is, answer) = receiver.ask(&bytes);
        assert_eq!(is, status, "{what}: {answer}");
        assert!(
            answer.is_empty() || serde_json::from_str::<Value>(&answer).is_ok(),
            "{what}: {answer}"
        );
    }
    assert_eq!(receiver.ask(&request(&body, "")).0, 200, "and it still listens");
}

#[test]
fn pk_14_an_envelope_at_the_limit_is_taken_and_one_past_it_is_not() {
    let (here, there) = (project(), project());
    let fill = |size: usize| notes("1.0.0").with("x-fill", json!("x".repeat(size)));
    let receiver = Receiver::start(&there, &[]);
    let length =
        |size: usize| envelope(&fill(size), NOW, EnvelopeSignatureScheme::V3).to_json().len();
    let room = 2_000_000 - length(0);
    assert_eq!(length(room), 2_000_000);
    assert_eq!(receiver.post(&envelope(&fill(room + 1), NOW, EnvelopeSignatureScheme::V3)).0, 413);
    assert_eq!(receiver.post(&envelope(&fill(room), NOW, EnvelopeSignatureScheme::V3)).0, 200);
    import(&here, &[fill(room + 1000)]);
    let run = send(&here, &receiver, &[]).fails(3);
    assert!(run.stderr.contains("2000000"), "{run}");
}

#[test]
fn pk_14_a_slow_client_keeps_nobody_else_waiting() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&receiver.address).unwrap();
            stream.write_all(b"POST /v1/a2a/hand").unwrap();
            stream
        })
        .collect();
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3)).0, 200);
    drop(slow);
}

#[test]
fn se_01_pk_14_eight_senders_at_once_lose_nothing() {
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    let made = |at: usize| Made::new(&format!("p{at}"), "1.0.0");
    std::thread::scope(|scope| {
        for at in 0..8 {
            let receiver = &receiver.address;
            scope.spawn(move || {
                let bytes =
                    request(&envelope(&made(at), NOW, EnvelopeSignatureScheme::V3).to_json(), "");
                let mut stream = TcpStream::connect(receiver).unwrap();
                stream.write_all(&bytes).unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            });
        }
    });
    assert_eq!(stored(&there), (0..8).map(|at| format!("p{at} 1.0.0")).collect::<Vec<_>>());
    swept(&there, "after eight senders");
}

#[test]
fn pk_14_once_ends_after_one_package() {
    let there = project();
    let mut receiver = Receiver::start(&there, &["--once"]);
    assert_eq!(receiver.ask(b"GET / HTTP/1.1\r\n\r\n").0, 404);
    assert_eq!(receiver.post(&envelope(&notes("1.0.0"), NOW, EnvelopeSignatureScheme::V3)).0, 200);
    eventually(|| receiver.child.try_wait().unwrap());
}

#[test]
fn se_08_who_sends_is_shown_escaped() {
    for args in [&[][..], &["--queue"]] {
        let there = project();
        let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r";
        let receiver = Receiver::start(&there, args);
        for (at, made) in
            [notes("1.0.0"), notes("1.0.1").with("kind", json!("x"))].iter().enumerate()
        {
            let mut envelope = envelope(made, NOW, EnvelopeSignatureScheme::V3);
            envelope.sender.agent_id = evil.into();
            envelope.sign(SECRET.as_bytes(), EnvelopeSignatureScheme::V3);
            let (status, answer) = receiver.post(&envelope);
            assert_eq!(status < 300, at == 0, "{answer}");
            let event = receiver.events.recv_timeout(Duration::from_secs(20)).unwrap();
            assert!(
                !answer.contains(char::is_control) && !event.contains(char::is_control),
                "{answer:?} {event:?}"
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
        let odd = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        let shown: Vec<&str> =
            texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains(odd)).collect();
        assert!(shown.is_empty(), "{shown:?}");
    }
}

// The queue.

#[test]
fn pk_14_what_is_queued_waits_until_somebody_takes_or_refuses_it() {
    let there = project();
    let receiver = Receiver::start(&there, &["--queue"]);
    for version in ["1.0.0", "1.0.1"] {
        assert_eq!(
            receiver.post(&envelope(&notes(version), NOW, EnvelopeSignatureScheme::V3)).0,
            202
        );
        assert_eq!(receiver.event()["event"], "waiting");
    }
    drop(receiver);
    assert_eq!(stored(&there), [""; 0], "nothing is taken by itself");
    let waiting = answer(&there, &["inbox"]);
    let ids: Vec<String> = waiting["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap().into())
        .collect();
    assert_eq!(ids.len(), 2, "{waiting}");
    let human = pkg(&there, &["inbox"]).ok().stdout;
    assert!(human.contains("ada") && human.contains(&ids[0]), "{human}");
    refused(&there, &["inbox", "--accept", "000000000000"], 1, &ids[0]);
    refused(&there, &["inbox", "--accept", &ids[0], "--require-signed"], 4, "is not signed");
    pkg(&there, &["inbox", "--accept", &ids[0]]).ok();
    assert_eq!(stored(&there), ["notes 1.0.0"]);
    pkg(&there, &["inbox", "--reject", &ids[1]]).ok();
    assert_eq!(stored(&there), ["notes 1.0.0"]);
    assert!(pkg(&there, &["inbox"]).ok().stdout.contains("nothing is waiting"));
    swept(&there, "after the inbox is empty");
    refused(&there, &["inbox", "--accept", &ids[0]], 1, "nothing is waiting");
}

// Secrets.

#[test]
fn pk_14_a_secret_file_that_others_can_read_is_refused() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    let file = write(&world, "secret", format!("{SECRET}\n"));
    let there = project();
    let receiver = Receiver::start(&there, &[]);
    for (mode, code) in [(0o644, 4), (0o640, 4), (0o606, 4), (0o600, 0)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let run =
            pkg(&world, &["send", "notes", "--target", &receiver.address, "--secret-file", &file]);
        assert_eq!(run.code, Some(code), "{mode:o}: {run}");
    }
    // A secret that was named must be there; without one nothing is received unless that was
    // allowed.
    let run =
        pkg(&world, &["send", "notes", "--target", &receiver.address, "--secret-env", "NOTHING"])
            .fails(2);
    assert!(run.stderr.contains("NOTHING"), "{run}");
    for (args, env) in [
        (&["--secret-env", "NOTHING"][..], "NOTHING"),
        (&["--secret-env", "NOTHING", "--allow-unsigned"], "NOTHING"),
        (&[], "SP_TRANSPORT_SECRET"),
    ] {
        let run = pkg(&world, &[&["receive", "--listen", "127.0.0.1:0"], args].concat()).fails(2);
        assert!(run.stderr.contains(env), "{run}");
    }
    let empty = write(&world, "empty", "\n");
    std::fs::set_permissions(&empty, std::fs::Permissions::from_mode(0o600)).unwrap();
    pkg(&world, &["send", "notes", "--target", &receiver.address, "--secret-file", &empty])
        .fails(2);
}

#[test]
fn pk_14_an_unsigned_envelope_is_sent_with_a_warning_and_received_only_where_that_is_allowed() {
    let here = project();
    import(&here, &[notes("1.0.0")]);
    let unsigned =
        |receiver: &Receiver| pkg(&here, &["send", "notes", "--target", &receiver.address]);

    let there = project();
    let strict = Receiver::start(&there, &[]);
    let refused = unsigned(&strict).fails(4);
    assert!(refused.stderr.contains("the envelope is not signed"), "{refused}");
    assert_eq!(strict.event()["event"], "refused");
    drop(strict);

    // With a secret of its own, it accepts what is unsigned and what is signed well, and nothing
    // else.
    let lenient = Receiver::start(&there, &["--allow-unsigned"]);
    let sent = unsigned(&lenient).ok();
    assert!(
        sent.stderr.contains("the envelope is not signed")
            && sent.stderr.contains("--allow-unsigned"),
        "{sent}"
    );
    assert_eq!(lenient.event()["event"], "imported");
    let mut forged = envelope(&notes("1.1.0"), NOW, EnvelopeSignatureScheme::V3);
    forged.sign(b"another secret", EnvelopeSignatureScheme::V3);
    assert_eq!(lenient.post(&forged).0, 401);
    assert_eq!(lenient.event()["event"], "refused");
    assert_eq!(lenient.post(&envelope(&notes("1.1.0"), NOW, EnvelopeSignatureScheme::V3)).0, 200);
    assert_eq!(lenient.event()["event"], "imported");
    drop(lenient);
    let log = std::fs::read_to_string(there.path("receive.log")).unwrap();
    assert!(log.contains("unsigned envelopes are accepted"), "{log}");

    // Without a secret, a signature cannot be verified.
    let without = Receiver::start_without_secret(&there, &["--allow-unsigned"]);
    assert_eq!(without.post(&envelope(&notes("1.2.0"), NOW, EnvelopeSignatureScheme::V3)).0, 401);
    assert_eq!(without.event()["event"], "refused");
    let mut plain = envelope(&notes("1.2.0"), NOW, EnvelopeSignatureScheme::V3);
    plain.signature = None;
    assert_eq!(without.post(&plain).0, 200);
    assert_eq!(without.event()["event"], "imported");
    assert_eq!(without.post(&plain).0, 409, "an unsigned envelope counts once, too");
}

#[test]
fn se_07_the_secret_and_the_token_are_in_no_output_and_in_no_file() {
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
    let with = format!("http://user:canary-password@{}", receiver.address);
    outputs.push(send(&here, &receiver, &["notes@1.0.0"]).to_string());
    let mut command = here.command(&["pkg", "send", "notes", "--target", &with, "--verbose"]);
    command.current_dir(here.path("project")).env("SP_TRANSPORT_SECRET", SECRET);
    outputs.push(here.run(command).to_string());
    outputs.extend(receiver.events.try_iter());
    drop(receiver);
    outputs.push(read(&there, "receive.log"));
    for text in &outputs {
        assert!(!text.contains("canary-"), "{text}");
    }
    for world in [&here, &there] {
        let found =
            Command::new("grep").args(["-rl", "canary-"]).arg(world.root()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    }
}
