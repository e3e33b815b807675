//! Each form in which people keep things, from the file to the pack.

use serde_json::json;

use super::*;

const SENTENCES: &str =
    "Relays deliver webhooks to every shop. Always sign webhooks with the secret of the shop.";

#[test]
fn cp_12_a_rich_knowledge_base_gives_a_pack_without_a_warning() {
    let world = rich();
    let answer = build(&world, PROMPT);
    sp(&world, &["check", "pack", "--strict"]).ok();
    let files: Vec<&str> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
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
        "{answer}"
    );
    assert_eq!((&answer["documents"], answer["sources"].as_array().unwrap().len()), (&4.into(), 4));
    says(
        &world,
        "Use a limit of ten attempts for every webhook.",
        "https://docs.example.com/retries",
    );
    says(
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
fn cp_12_notes_with_frontmatter() {
    let world = with(&NOTES[..1]);
    build(&world, &[]);
    is_valid(&world);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(
        (&source["title"], &source["kind"], &source["published_at"], &source["captured_at"]),
        (
            &"Retries of webhooks".into(),
            &"docs".into(),
            &"2025-11-30T00:00:00Z".into(),
            &"2026-04-02T00:00:00Z".into()
        )
    );
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
fn cp_12_an_obsidian_vault() {
    let world = with(&[
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
    let answer = build(&world, &[]);
    assert_eq!(answer["documents"], 1);
    is_valid(&world);
    let url = "https://example.com/vault";
    says(&world, "The payload of a webhook is lost on restart.", url);
    says(&world, "Keep the payload of a webhook below a megabyte.", url);
    says(&world, "Measure how many webhooks a shop gets", url);
    assert!(read(&world, "pack/sources.md").contains("Relays deliver webhooks to Shops in order."));
    let text = all(&world);
    for left in
        ["never said aloud", "^block", "#webhooks", "[[", "Careful", "of old", "Hidden", "Thrown"]
    {
        assert!(!text.contains(left), "{left}: {text}");
    }
    let listed = kb(&world, &["list", "kb"]);
    assert_eq!(listed["documents"][0]["tags"], json!(["webhooks/out"]));
}

#[test]
fn cp_12_saved_pages() {
    let article = "<p>Relays deliver webhooks to every shop that asked for them, however slow its servers may be.</p>\
                   <p>Always answer a webhook before you work on it, because senders wait for a few seconds only.</p>\
                   <p>Workers read webhooks from a queue, which survives when the relay is started again.</p>";
    let page = format!(
        "<!DOCTYPE html>\n<!-- saved from url=(0029)https://example.com/page?utm_source=x -->\n<html><head><title>Webhooks of shops</title>\
         <meta property=\"article:published_time\" content=\"2026-02-01T10:00:00Z\"><meta name=\"date\" content=\"2026-04-01\"></head>\
         <body><nav>Home Blog About</nav><article><h1>Webhooks of shops</h1>{article}</article>\
         <script>track('webhooks')</script><footer>All rights reserved</footer></body></html>"
    );
    let world = with(&[("kb/pages/webhooks.html", &page)]);
    build(&world, &[]);
    is_valid(&world);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(
        (&source["url"], &source["title"], &source["published_at"], &source["captured_at"]),
        (
            &"https://example.com/page".into(),
            &"Webhooks of shops".into(),
            &"2026-02-01T10:00:00Z".into(),
            &"2026-04-01T00:00:00Z".into()
        )
    );
    let advice = "Always answer a webhook before you work on it, because senders wait for a few seconds only.";
    says(&world, advice, "https://example.com/page");
    let text = all(&world);
    assert!(
        !text.contains("track(") && !text.contains("Home Blog") && !text.contains("All rights"),
        "{text}"
    );
}

#[test]
fn cp_12_captures_in_lines_of_json() {
    let lines = [
        json!({"url": "https://example.com/one", "title": "Deliver webhooks", "saved_at": "2026-04-01", "text": SENTENCES}),
        json!({"href": "https://example.com/two", "title": "Queue webhooks", "time_added": 1_775_000_000,
               "highlights": [{"quote": "Use one queue of webhooks for each shop."}, "Shops deliver webhooks in turn."]}),
        json!({"url": "https://example.com/three", "title": "Small webhooks", "created": "2026-04-01T10:00:00+02:00", "type": "video",
               "html": "<p>Shops deliver webhooks within a second.</p><p>Keep webhooks small for slow shops.</p>"}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n\n")).collect();
    let world = with(&[("kb/captures.jsonl", &lines)]);
    assert_eq!(build(&world, &[])["documents"], 3);
    is_valid(&world);
    quotes(&world, "Always sign webhooks with the secret of the shop.", "https://example.com/one");
    quotes(&world, "Use one queue of webhooks for each shop.", "https://example.com/two");
    quotes(&world, "Keep webhooks small for slow shops.", "https://example.com/three");
    let manifest = manifest(&world);
    let three = manifest["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["title"] == "Small webhooks")
        .unwrap();
    assert_eq!(
        (&three["kind"], &three["captured_at"]),
        (&"video".into(), &"2026-04-01T08:00:00Z".into())
    );
}

const BOOKMARKS: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n<DT><H3>Webhooks</H3>\n<DL><p>\n\
    <DT><A HREF=\"https://www.example.com/one/?utm_medium=feed#top\" ADD_DATE=\"1775000000\" TAGS=\"relay\">Webhooks &amp; shops</A>\n\
    <DD>Relays deliver webhooks to every shop. Always sign webhooks with the secret of the shop.\n\
    <DT><A HREF=\"javascript:alert('webhooks')\" ADD_DATE=\"1775000000\">Webhooks in a bookmarklet</A>\n\
    <DT><A HREF=\"https://example.com/alone\" ADD_DATE=\"1775000000\">Deliver webhooks</A>\n</DL><p>\n</DL><p>\n";

#[test]
fn cp_12_bookmarks() {
    let world = with(&[("kb/bookmarks.html", BOOKMARKS)]);
    let answer = build(&world, &["--explain"]);
    assert_eq!((&answer["documents"], answer["sources"].as_array().unwrap().len()), (&2.into(), 1));
    is_valid(&world);
    says(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://www.example.com/one",
    );
    assert_eq!(manifest(&world)["sources"][0]["title"], "Webhooks & shops");
    assert!(!all(&world).contains("bookmarklet"));
    let left = answer["left"].as_array().unwrap();
    assert!(
        left.iter()
            .any(|left| left["url"] == "https://example.com/alone" && left["text"].is_null()),
        "{left:?}"
    );
    assert_eq!(kb(&world, &["list", "kb"])["documents"].as_array().unwrap().len(), 2);
}

#[test]
fn cp_12_a_list_of_links_for_models() {
    let list = "# Relay\n\n> All about webhooks.\n\n## Guides\n\n\
                - [Signing](https://docs.example.com/signing): Shops verify every webhook. Always sign webhooks with the newest secret.\n\
                - [Queues](https://docs.example.com/queues): Queues keep webhooks for shops that sleep. Use one queue of webhooks for each shop.\n";
    let world = with(&[
        ("kb/site/llms.txt", list),
        ("kb/site/llms.txt.json", "{\"captured_at\": \"2026-04-01\"}"),
    ]);
    assert_eq!(build(&world, &[])["documents"], 2);
    is_valid(&world);
    quotes(
        &world,
        "Always sign webhooks with the newest secret.",
        "https://docs.example.com/signing",
    );
    quotes(&world, "Use one queue of webhooks for each shop.", "https://docs.example.com/queues");
    assert_eq!(manifest(&world)["sources"][0]["kind"], "docs");
}

#[test]
fn cp_12_a_folder_of_docs_has_its_address_in_kb_yaml() {
    let world = with(&[
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
        ("kb/loose.md", "# Loose\n\nNobody knows where these webhooks are from.\n"),
    ]);
    let answer = build(&world, &[]);
    is_valid(&world);
    assert_eq!(skipped(&answer), ["loose.md: it has no `url`"]);
    quotes(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://docs.example.com/v2",
    );
    quotes(
        &world,
        "Use one queue of webhooks for each shop.",
        "https://docs.example.com/v2/guide/queues",
    );
    quotes(
        &world,
        "Delete webhooks that no shop wants.",
        "https://docs.example.com/v2/guide/deep/own",
    );
    let manifest = manifest(&world);
    let own = manifest["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["title"] == "Delete webhooks")
        .unwrap();
    assert_eq!(
        (&own["kind"], &own["captured_at"]),
        (&"docs".into(), &"2026-03-01T00:00:00Z".into())
    );
}

/// A package as it is exported, with one node that says something.
fn package(said: &str) -> String {
    let node = json!({"id": "n1", "type": "fact", "content": said, "activation": 1.0});
    let code = json!({"id": "n2", "type": "function", "content": "fn webhooks_are_code() {}", "activation": 1.0});
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{node},{code}],"edges":[]}}}}"#
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
fn cp_12_packages() {
    let world = with(&[("kb/relay.ctxpkg", &package(SENTENCES))]);
    assert_eq!(build(&world, &[])["documents"], 1);
    is_valid(&world);
    let url = "https://example.com/relay-notes";
    says(&world, "Always sign webhooks with the secret of the shop.", url);
    let source = &manifest(&world)["sources"][0];
    assert_eq!(
        (&source["kind"], &source["title"]),
        (&"package".into(), &"relay-notes 1.0.0".into())
    );
    assert!(!all(&world).contains("webhooks_are_code"));
    let forged = package(SENTENCES).replace("Always sign", "Never sign");
    put(&world, "kb/relay.ctxpkg", forged);
    let run = sp(&world, &building(&["--force"])).fails(1);
    assert!(run.stderr.contains("it is no package that can be trusted"), "{run}");
}

#[test]
fn cp_12_packages_of_skills() {
    let skill = format!(
        "---\nname: relay\ndescription: Delivers webhooks to shops.\n---\n\n# Relay\n\n{SENTENCES}\n"
    );
    let world = with(&[
        ("made/relay/SKILL.md", &skill),
        ("kb/kb.yaml", "base_url: https://example.com/packages\ncaptured_at: 2026-04-01\n"),
    ]);
    let made = world.path("work/made/relay").display().to_string();
    world.sp(&["pkg", "create", "--kind", "skills", "--name", "relay", &made]).ok();
    world
        .sp(&[
            "pkg",
            "export",
            "relay",
            "--output",
            &world.path("work/kb/relay.ctxpkg").display().to_string(),
        ])
        .ok();
    assert_eq!(build(&world, &[])["documents"], 1);
    is_valid(&world);
    says(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://example.com/packages/relay",
    );
}

#[test]
fn cp_12_skills() {
    let skill = format!(
        "---\nname: relay\ndescription: Delivers webhooks to shops.\nmetadata:\n  source: https://example.com/skills/relay\n  captured_at: 2026-04-01\n---\n\n{SENTENCES}\n"
    );
    let world = with(&[("kb/skills/relay/SKILL.md", &skill)]);
    build(&world, &[]);
    is_valid(&world);
    says(
        &world,
        "Always sign webhooks with the secret of the shop.",
        "https://example.com/skills/relay",
    );
    let source = &manifest(&world)["sources"][0];
    assert_eq!((&source["kind"], &source["title"]), (&"skill".into(), &"relay".into()));
}

#[test]
fn cp_12_a_bookmark_a_saved_page_and_a_highlight_of_one_address_are_one_source() {
    let page = "<html><head><title>Webhooks &amp; shops - Example</title><link rel=canonical href='https://example.com/one'>\
                <meta name=date content='2026-03-01'></head><body><p>Workers take webhooks in turn.</p><p>Keep webhooks small for slow shops.</p></body></html>";
    let capture = json!({"url": "http://example.com/one/", "title": "Webhooks & shops", "saved_at": "2026-04-20",
                         "highlights": ["Use one queue of webhooks for each shop."]});
    let world = with(&[
        ("kb/bookmarks.html", BOOKMARKS),
        ("kb/page.html", page),
        ("kb/captures.jsonl", &format!("{capture}\n")),
    ]);
    let answer = build(&world, &[]);
    is_valid(&world);
    assert_eq!(
        (&answer["documents"], answer["sources"].as_array().unwrap().len()),
        (&2.into(), 1),
        "{answer}"
    );
    let source = &answer["sources"][0];
    assert_eq!(
        (&source["title"], &source["captured_at"]),
        (&"Webhooks & shops".into(), &"2026-04-20T00:00:00Z".into())
    );
    let url = source["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("https://") && url.ends_with("example.com/one"), "{url}");
    says(&world, "Always sign webhooks with the secret of the shop.", &url);
    says(&world, "Keep webhooks small for slow shops.", &url);
    says(&world, "Use one queue of webhooks for each shop.", &url);
}

#[test]
fn cp_12_a_file_beside_another_tells_of_it() {
    for (beside, text) in [
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
        let world = with(&[("kb/plain.md", SENTENCES), (beside, text)]);
        build(&world, &[]);
        says(
            &world,
            "Always sign webhooks with the secret of the shop.",
            "https://example.com/beside",
        );
        let captured = manifest(&world)["sources"][0]["captured_at"].as_str().unwrap().to_owned();
        assert!(
            captured.starts_with("2026-04-01T") || captured.starts_with("2026-03-31T"),
            "{beside}: {captured}"
        );
    }
    let world = with(&[("kb/plain.md", SENTENCES)]);
    put(&world, "kb/plain.json", b"{\"url\": \"\xff\"}");
    let run = sp(&world, &building(&[])).fails(1);
    assert!(run.stderr.contains("`plain.md`: what tells of it cannot be read"), "{run}");
}

#[test]
fn cp_12_only_what_was_captured_since_counts() {
    let world = rich();
    for (since, sources, from) in [
        ("30d", 2, "2026-03-25T00:00:00Z"),
        ("6w", 4, "2026-03-13T00:00:00Z"),
        ("1m", 2, "2026-03-24T00:00:00Z"),
        ("1y", 4, "2025-04-24T00:00:00Z"),
        ("2026-04-03", 1, "2026-04-03T00:00:00Z"),
    ] {
        let answer = build(&world, &["--since", since]);
        assert_eq!(answer["sources"].as_array().unwrap().len(), sources, "{since}: {answer}");
        assert_eq!(
            (&answer["documents"], &answer["in_window"]),
            (&4.into(), &sources.into()),
            "{since}"
        );
        assert_eq!(manifest(&world)["window"], json!({"from": from, "to": WHEN}), "{since}");
        is_valid(&world);
    }
    let before = bytes(&world, "pack");
    let run = sp(&world, &building(&["--since", "2d"])).fails(1);
    assert!(run.stderr.contains("none was captured since 2026-04-22T00:00:00Z"), "{run}");
    for bad in ["soon", "d", "-3d", "99999999999d", "2026-02-30"] {
        let run = sp(&world, &[&building(&[])[..], &[&format!("--since={bad}")]].concat()).fails(2);
        assert!(run.stderr.contains("`--since` is neither a span nor a day"), "{bad}: {run}");
    }
    assert_eq!(bytes(&world, "pack"), before);
}

#[test]
fn cp_12_what_is_not_in_the_pack_is_in_the_ledger() {
    let world = rich();
    put(
        &world,
        "kb/far.md",
        note(
            "https://example.com/far",
            "Bread",
            "Bread rises overnight. Use cold water for webhooks of bread.",
        ),
    );
    let answer = build(&world, &["--explain"]);
    let left = answer["left"].as_array().unwrap();
    assert!(!left.is_empty());
    let text = all(&world);
    for one in left.iter().filter(|one| one["text"].is_null()) {
        assert!(!text.contains(one["url"].as_str().unwrap()), "{one}");
    }
    let short = build(&world, &["--explain", "--budget", "520"]);
    let has_no_room = |one: &&Value| one["why"].as_str().unwrap().ends_with("has no room for it");
    assert_eq!(left.iter().filter(has_no_room).count(), 0, "{left:?}");
    assert!(
        short["left"].as_array().unwrap().iter().filter(has_no_room).count() > 0,
        "less room leaves more out"
    );
    assert!(build(&world, &[])["left"].is_null(), "nobody asked");
}

#[test]
fn cp_12_each_file_fits_into_its_budget_or_it_is_told_what_is_needed() {
    let world = rich();
    let mut built = 0;
    for budget in [1, 64, 150, 250, 400, 500, 700, 1000, 2000] {
        let run = sp(&world, &building(&["--force", "--budget", &budget.to_string()]));
        if run.code == Some(1) {
            let needs = run.stderr.rsplit("`--budget ").next().unwrap().split('`').next().unwrap();
            assert!(run.stderr.contains("does not fit into"), "{run}");
            assert!(needs.parse::<u64>().is_ok_and(|needs| needs > budget), "{run}");
            continue;
        }
        built += 1;
        for file in json(&run.ok())["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["path"] != "pack.json")
        {
            assert!(file["tokens"].as_u64().unwrap() <= budget, "{budget}: {file}");
        }
        is_valid(&world);
    }
    assert!((3..9).contains(&built), "some budgets are enough, and some are not: {built}");
}
