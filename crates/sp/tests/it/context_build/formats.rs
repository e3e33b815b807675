//! Each format of documents, from the file to the pack.

use serde_json::json;

use super::*;

const SENTENCES: &str =
    "Relays deliver webhooks to every shop. Always sign webhooks with the secret of the shop.";

#[test]
fn cp_12_pack_from_sufficient_documents_has_no_warnings() {
    let world = world_with_notes();
    let report = build(&world, PROMPT);
    sp(&world, &["check", "pack", "--strict"]).ok();
    let files: Vec<&str> =
        list(&report, "files").iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(
        files,
        [
            "AGENTS.md",
            "cursor.md",
            "pack.json",
            "prompts.md",
            "skills.md",
            "sources.md",
            "tasks.md"
        ],
        "{report}"
    );
    assert_eq!(report["documents"], 4);
    assert_eq!(list(&report, "sources").len(), 4);
    assert_rule(
        &world,
        "Use a limit of ten attempts for every webhook.",
        "https://docs.example.com/retries",
    );
    assert_rule(
        &world,
        "Never retry a webhook whose receiver answered with 410.",
        "https://docs.example.com/retries",
    );
    let manifest = manifest(&world);
    assert_eq!(manifest["user_prompt"], "How do I deliver webhooks without losing any?");
    assert_eq!(
        manifest["project"],
        json!({"name": NAME, "description": DESCRIPTION, "stack": ["rust", "postgres"]})
    );
    assert_eq!(
        manifest["window"],
        json!({"from": "2026-03-14T00:00:00Z", "to": "2026-04-03T00:00:00Z"})
    );
}

#[test]
fn cp_12_notes_with_frontmatter_are_read() {
    let world = world_with(&NOTES[..1]);
    build(&world, &[]);
    assert_valid(&world);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(source["title"], "Retries of webhooks");
    assert_eq!(source["kind"], "docs");
    assert_eq!(source["published_at"], "2025-11-30T00:00:00Z");
    assert_eq!(source["captured_at"], "2026-04-02T00:00:00Z");
    let tasks = read(&world, "pack/tasks.md");
    let id = source_id(&world, "https://docs.example.com/retries");
    assert!(tasks.contains("## 1. Set up the retry queue\n"), "{tasks}");
    assert!(
        tasks.contains(&format!(
            "- Acceptance: You should see an empty queue after a minute. [^{id}]\n"
        )),
        "{tasks}"
    );
}

#[test]
fn cp_12_obsidian_vaults_are_read() {
    let world = world_with(&[
        (
            "kb/Webhooks.md",
            "---\nsource: https://example.com/vault\ncreated: 2026-04-05\n---\n\n# Webhooks\n\n\
             [[Relay|Relays]] deliver webhooks to [[Shops]] in order. #webhooks/out %%never said aloud%%\n\n\
             > [!warning] Careful\n> The payload of a webhook is lost on restart.\n\n\
             > [!tip]\n> Keep the payload of a webhook below a megabyte. ^block\n\n\
             - [ ] Measure how many webhooks a shop gets\n- [x] Read about webhooks of old\n",
        ),
        (
            "kb/.obsidian/app.md",
            "---\nurl: https://example.com/hidden\ndate: 2026-04-05\n---\nHidden words on webhooks.\n",
        ),
        (
            "kb/.trash/old.md",
            "---\nurl: https://example.com/trash\ndate: 2026-04-05\n---\nThrown away words on webhooks.\n",
        ),
    ]);
    let report = build(&world, &[]);
    assert_eq!(report["documents"], 1);
    assert_valid(&world);
    let url = "https://example.com/vault";
    assert_rule(&world, "The payload of a webhook is lost on restart.", url);
    assert_rule(&world, "Keep the payload of a webhook below a megabyte.", url);
    assert_rule(&world, "Measure how many webhooks a shop gets", url);
    assert!(read(&world, "pack/sources.md").contains("Relays deliver webhooks to Shops in order."));
    let text = pack_text(&world);
    for removed in
        ["never said aloud", "^block", "#webhooks", "[[", "Careful", "of old", "Hidden", "Thrown"]
    {
        assert!(!text.contains(removed), "{removed}: {text}");
    }
    let report = kb(&world, &["list", "kb"]);
    assert_eq!(report["documents"][0]["tags"], json!(["webhooks/out"]));
}

#[test]
fn cp_12_saved_web_pages_are_read() {
    let article = "<p>Relays deliver webhooks to every shop that asked for them, however slow its servers may be.</p>\
                   <p>Always report a webhook before you work on it, because senders wait for a few seconds only.</p>\
                   <p>Workers read webhooks from a queue, which survives when the relay is started again.</p>";
    let page = format!(
        "<!DOCTYPE html>\n<!-- saved from url=(0029)https://example.com/page?utm_source=x -->\n<html><head><title>Webhooks of shops</title>\
         <meta property=\"article:published_time\" content=\"2026-02-01T10:00:00Z\"><meta name=\"date\" content=\"2026-04-01\"></head>\
         <body><nav>Home Blog About</nav><article><h1>Webhooks of shops</h1>{article}</article>\
         <script>track('webhooks')</script><footer>All rights reserved</footer></body></html>"
    );
    let world = world_with(&[("kb/pages/webhooks.html", &page)]);
    build(&world, &[]);
    assert_valid(&world);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(source["url"], "https://example.com/page");
    assert_eq!(source["title"], "Webhooks of shops");
    assert_eq!(source["published_at"], "2026-02-01T10:00:00Z");
    assert_eq!(source["captured_at"], "2026-04-01T00:00:00Z");
    let advice = "Always report a webhook before you work on it, because senders wait for a few seconds only.";
    assert_rule(&world, advice, "https://example.com/page");
    let text = pack_text(&world);
    assert!(
        !text.contains("track(") && !text.contains("Home Blog") && !text.contains("All rights"),
        "{text}"
    );
}

#[test]
fn cp_12_json_lines_captures_are_read() {
    let lines = [
        json!({"url": "https://example.com/one", "title": "Deliver webhooks", "saved_at": "2026-04-01", "text": SENTENCES}),
        json!({"href": "https://example.com/two", "title": "Queue webhooks", "time_added": 1_775_000_000,
               "highlights": [{"quote": "Use one queue of webhooks for each shop."}, "Shops deliver webhooks in turn."]}),
        json!({"url": "https://example.com/three", "title": "Small webhooks", "created": "2026-04-01T10:00:00+02:00", "type": "video",
               "html": "<p>Shops deliver webhooks within a second.</p><p>Keep webhooks small for slow shops.</p>"}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n\n")).collect();
    let world = world_with(&[("kb/captures.jsonl", &lines)]);
    assert_eq!(build(&world, &[])["documents"], 3);
    assert_valid(&world);
    assert_quoted(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://example.com/one",
    );
    assert_quoted(&world, "Use one queue of webhooks for each shop.", "https://example.com/two");
    assert_quoted(&world, "Keep webhooks small for slow shops.", "https://example.com/three");
    let source = source_with(&world, "title", "Small webhooks");
    assert_eq!(source["kind"], "video");
    assert_eq!(source["captured_at"], "2026-04-01T08:00:00Z");
}

const BOOKMARKS: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n<DT><H3>Webhooks</H3>\n<DL><p>\n\
    <DT><A HREF=\"https://www.example.com/one/?utm_medium=feed#top\" ADD_DATE=\"1775000000\" TAGS=\"relay\">Webhooks &amp; shops</A>\n\
    <DD>Relays deliver webhooks to every shop. Always sign webhooks with the secret of the shop.\n\
    <DT><A HREF=\"javascript:alert('webhooks')\" ADD_DATE=\"1775000000\">Webhooks in a bookmarklet</A>\n\
    <DT><A HREF=\"https://example.com/alone\" ADD_DATE=\"1775000000\">Deliver webhooks</A>\n</DL><p>\n</DL><p>\n";

#[test]
fn cp_12_bookmarks_are_read() {
    let world = world_with(&[("kb/bookmarks.html", BOOKMARKS)]);
    let report = build(&world, &["--explain"]);
    assert_eq!(report["documents"], 2);
    assert_eq!(list(&report, "sources").len(), 1);
    assert_valid(&world);
    assert_rule(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://www.example.com/one",
    );
    assert_eq!(manifest(&world)["sources"][0]["title"], "Webhooks & shops");
    assert!(!pack_text(&world).contains("bookmarklet"));
    let is_omitted =
        |item: &Value| item["url"] == "https://example.com/alone" && item["text"].is_null();
    assert!(list(&report, "left").iter().any(is_omitted), "{report}");
    assert_eq!(list(&kb(&world, &["list", "kb"]), "documents").len(), 2);
}

#[test]
fn cp_12_llms_txt_is_read() {
    let links = "# Relay\n\n> All about webhooks.\n\n## Guides\n\n\
                - [Signing](https://docs.example.com/signing): Shops verify every webhook. Always sign webhooks with the newest secret.\n\
                - [Queues](https://docs.example.com/queues): Queues keep webhooks for shops that sleep. Use one queue of webhooks for each shop.\n";
    let world = world_with(&[
        ("kb/site/llms.txt", links),
        ("kb/site/llms.txt.json", "{\"captured_at\": \"2026-04-01\"}"),
    ]);
    assert_eq!(build(&world, &[])["documents"], 2);
    assert_valid(&world);
    assert_quoted(
        &world,
        "Always sign webhooks with the newest secret.",
        "https://docs.example.com/signing",
    );
    assert_quoted(
        &world,
        "Use one queue of webhooks for each shop.",
        "https://docs.example.com/queues",
    );
    assert_eq!(manifest(&world)["sources"][0]["kind"], "docs");
}

#[test]
fn cp_12_directory_of_docs_has_its_base_url_in_kb_yaml() {
    let world = world_with(&[
        (
            "kb/docs/kb.yaml",
            "base_url: https://docs.example.com/v2/\ncaptured_at: 2026-04-01\nkind: docs\n",
        ),
        ("kb/docs/index.md", &format!("# Deliver webhooks\n\n{SENTENCES}\n")),
        (
            "kb/docs/guide/queues.md",
            "# Queue webhooks\n\nShops deliver webhooks at night. Use one queue of webhooks for each shop.\n",
        ),
        ("kb/docs/guide/deep/kb.yaml", "captured_at: 2026-03-01\n"),
        (
            "kb/docs/guide/deep/own.md",
            "# Delete webhooks\n\nShops deliver webhooks that grow old. Delete webhooks that no shop wants.\n",
        ),
        ("kb/loose.md", "# Loose\n\nThe origin of these webhooks is unknown.\n"),
    ]);
    let report = build(&world, &[]);
    assert_valid(&world);
    assert_skipped(&skipped(&report), &[("loose.md", "`url`")]);
    assert_quoted(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://docs.example.com/v2",
    );
    assert_quoted(
        &world,
        "Use one queue of webhooks for each shop.",
        "https://docs.example.com/v2/guide/queues",
    );
    assert_quoted(
        &world,
        "Delete webhooks that no shop wants.",
        "https://docs.example.com/v2/guide/deep/own",
    );
    let source = source_with(&world, "title", "Delete webhooks");
    assert_eq!(source["kind"], "docs");
    assert_eq!(source["captured_at"], "2026-03-01T00:00:00Z");
}

/// An exported package, with a node for this fact and one with code.
fn package(fact: &str) -> String {
    let fact = json!({"id": "n1", "type": "fact", "content": fact, "activation": 1.0});
    let code = json!({"id": "n2", "type": "function", "content": "fn webhooks_are_code() {}", "activation": 1.0});
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{fact},{code}],"edges":[]}}}}"#
    );
    let hash = sp_tree::Digest::of(content.as_bytes()).hex();
    let sha256 = sp_tree::Digest::of(format!("relay-notes:1.0.0:{hash}").as_bytes()).hex();
    let manifest = json!({
        "schema_version": 2, "name": "relay-notes", "version": "1.0.0", "description": "Notes on webhooks.",
        "created_at": "2026-04-01T00:00:00Z", "layers": [], "conformance_level": 1,
        "repository": "https://example.com/relay-notes", "provenance": {"tool": "hand", "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    format!("{{\"manifest\":{manifest},\"content\":{content}}}")
}

#[test]
fn cp_12_packages_are_read_unless_they_are_forged() {
    let world = world_with(&[("kb/relay.ctxpkg", &package(SENTENCES))]);
    assert_eq!(build(&world, &[])["documents"], 1);
    assert_valid(&world);
    let url = "https://example.com/relay-notes";
    assert_rule(&world, "Always sign webhooks with the secret of the shop.", url);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(source["kind"], "package");
    assert_eq!(source["title"], "relay-notes 1.0.0");
    assert!(!pack_text(&world).contains("webhooks_are_code"));
    let forged = package(SENTENCES).replace("Always sign", "Never sign");
    write(&world, "kb/relay.ctxpkg", forged);
    let error = build_error(&world, &["--force"]);
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.because[0].contains("`relay.ctxpkg`"), "{error:?}");
}

#[test]
fn cp_12_packages_of_skills_are_read() {
    let skill = format!(
        "---\nname: relay\ndescription: Delivers webhooks to shops.\n---\n\n# Relay\n\n{SENTENCES}\n"
    );
    let world = world_with(&[
        ("skills/relay/SKILL.md", &skill),
        ("kb/kb.yaml", "base_url: https://example.com/packages\ncaptured_at: 2026-04-01\n"),
    ]);
    let create = ["pkg", "create", "--kind", "skills", "--name", "relay", "skills/relay"];
    world.sp_in("work", &create).ok();
    world.sp_in("work", &["pkg", "export", "relay", "--output", "kb/relay.ctxpkg"]).ok();
    assert_eq!(build(&world, &[])["documents"], 1);
    assert_valid(&world);
    assert_rule(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://example.com/packages/relay",
    );
}

#[test]
fn cp_12_skills_are_read() {
    let skill = format!(
        "---\nname: relay\ndescription: Delivers webhooks to shops.\nmetadata:\n  source: https://example.com/skills/relay\n  captured_at: 2026-04-01\n---\n\n{SENTENCES}\n"
    );
    let world = world_with(&[("kb/skills/relay/SKILL.md", &skill)]);
    build(&world, &[]);
    assert_valid(&world);
    assert_rule(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://example.com/skills/relay",
    );
    let source = &manifest(&world)["sources"][0];
    assert_eq!(source["kind"], "skill");
    assert_eq!(source["title"], "relay");
}

#[test]
fn cp_12_documents_with_the_same_url_are_one_source() {
    let page = "<html><head><title>Webhooks &amp; shops - Example</title><link rel=canonical href='https://example.com/one'>\
                <meta name=date content='2026-03-01'></head><body><p>Workers take webhooks in turn.</p><p>Keep webhooks small for slow shops.</p></body></html>";
    let capture = json!({"url": "http://example.com/one/", "title": "Webhooks & shops", "saved_at": "2026-04-20",
                         "highlights": ["Use one queue of webhooks for each shop."]});
    let world = world_with(&[
        ("kb/bookmarks.html", BOOKMARKS),
        ("kb/page.html", page),
        ("kb/captures.jsonl", &format!("{capture}\n")),
    ]);
    let report = build(&world, &[]);
    assert_valid(&world);
    assert_eq!(report["documents"], 2, "{report}");
    assert_eq!(list(&report, "sources").len(), 1, "{report}");
    let source = &report["sources"][0];
    assert_eq!(source["title"], "Webhooks & shops");
    assert_eq!(source["captured_at"], "2026-04-20T00:00:00Z");
    let url = source["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://") && url.ends_with("example.com/one"), "{url}");
    assert_rule(&world, "Always sign webhooks with the secret of the shop.", &url);
    assert_rule(&world, "Keep webhooks small for slow shops.", &url);
    assert_rule(&world, "Use one queue of webhooks for each shop.", &url);
}

#[test]
fn cp_12_metadata_is_read_from_sidecar_files() {
    for (sidecar, text) in [
        (
            "kb/plain.md.json",
            "{\"url\": \"https://example.com/beside\", \"captured_at\": \"2026-04-01\"}",
        ),
        ("kb/plain.md.yaml", "url: https://example.com/beside\ncaptured_at: 2026-04-01\n"),
        (
            "kb/plain.meta.json",
            "{\"source\": \"https://example.com/beside\", \"date\": 1775000000}",
        ),
        (
            "kb/plain.json",
            "{\"link\": \"https://example.com/beside\", \"saved\": \"April 1, 2026\"}",
        ),
        ("kb/plain.yml", "canonical: https://example.com/beside\nclipped: 2026-04-01 10:00\n"),
    ] {
        let world = world_with(&[("kb/plain.md", SENTENCES), (sidecar, text)]);
        build(&world, &[]);
        assert_rule(
            &world,
            "Always sign webhooks with the secret of the shop.",
            "https://example.com/beside",
        );
        let captured = manifest(&world)["sources"][0]["captured_at"].as_str().unwrap().to_owned();
        assert!(
            captured.starts_with("2026-04-01T") || captured.starts_with("2026-03-31T"),
            "{sidecar}: {captured}"
        );
    }
    let world = world_with(&[("kb/plain.md", SENTENCES)]);
    write(&world, "kb/plain.json", b"{\"url\": \"\xff\"}");
    let error = build_error(&world, &[]);
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.because[0].contains("`plain.md`"), "{error:?}");
    assert!(error.because[0].contains("UTF-8"), "{error:?}");
}

#[test]
fn cp_12_since_selects_documents_by_capture_date() {
    let world = world_with_notes();
    for (since, sources, from) in [
        ("30d", 2, "2026-03-25T00:00:00Z"),
        ("6w", 4, "2026-03-13T00:00:00Z"),
        ("1m", 2, "2026-03-24T00:00:00Z"),
        ("1y", 4, "2025-04-24T00:00:00Z"),
        ("2026-04-03", 1, "2026-04-03T00:00:00Z"),
    ] {
        let report = build(&world, &["--since", since]);
        assert_eq!(list(&report, "sources").len(), sources, "{since}: {report}");
        assert_eq!(report["documents"], 4, "{since}");
        assert_eq!(report["in_window"], sources, "{since}");
        assert_eq!(
            manifest(&world)["window"],
            json!({"from": from, "to": GENERATED_AT}),
            "{since}"
        );
        assert_valid(&world);
    }
    let before = dir_bytes(&world, "pack");
    let error = build_error(&world, &["--since", "2d"]);
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.because[0].contains("2026-04-22T00:00:00Z"), "{error:?}");
    for invalid in ["soon", "d", "-3d", "99999999999d", "2026-02-30"] {
        let error = build_error(&world, &[&format!("--since={invalid}")]);
        assert_eq!(error.code, "E-invalid-time", "{invalid}");
    }
    assert_eq!(dir_bytes(&world, "pack"), before);
}

/// Whether something was omitted because a file had no room for it. Such a reason names the file.
fn exceeds_budget(omission: &Value) -> bool {
    omission["why"].as_str().unwrap().contains(".md`")
}

#[test]
fn cp_12_explain_lists_what_was_omitted() {
    let world = world_with_notes();
    let body = "Bread rises overnight. Use cold water for webhooks of bread.";
    write(&world, "kb/far.md", note("https://example.com/far", "Bread", body));
    let report = build(&world, &["--explain"]);
    let omitted = list(&report, "left");
    assert!(!omitted.is_empty());
    let text = pack_text(&world);
    for document in omitted.iter().filter(|item| item["text"].is_null()) {
        assert!(!text.contains(document["url"].as_str().unwrap()), "{document}");
    }
    assert!(!omitted.iter().any(exceeds_budget), "{omitted:?}");
    let report = build(&world, &["--explain", "--budget", "520"]);
    assert!(list(&report, "left").iter().any(exceeds_budget), "{report}");
    assert!(build(&world, &[])["left"].is_null(), "only with `--explain`");
}

/// Returns the number in the hint `--budget <tokens>`.
fn required_budget(error: &CliError) -> u64 {
    let (_, hint) = error.hints[0].split_once("--budget ").unwrap();
    hint.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn cp_12_files_fit_into_the_budget_or_the_error_has_the_required_one() {
    let world = world_with_notes();
    let mut built = 0;
    for budget in [1_u64, 64, 150, 250, 400, 500, 700, 1000, 2000] {
        let number = budget.to_string();
        let options = ["--force", "--budget", &number, "--format", "json"];
        let run = sp(&world, &build_args(&options));
        if run.code == Some(1) {
            let error = run.error();
            assert_eq!(error.code, "E-budget-too-small");
            assert!(required_budget(&error) > budget, "{error:?}");
            continue;
        }
        built += 1;
        let report = json(&run.ok());
        for file in list(&report, "files").iter().filter(|file| file["path"] != "pack.json") {
            assert!(file["tokens"].as_u64().unwrap() <= budget, "{budget}: {file}");
        }
        assert_valid(&world);
    }
    assert!((3..9).contains(&built), "some budgets are enough, and some are not: {built}");
}
