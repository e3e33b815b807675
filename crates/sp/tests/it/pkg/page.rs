//! `sp pkg graph --to html`: the page in a browser, and output files.

use serde_json::{Value, json};
use sp_formats::percent::decode_utf8;
use sp_testkit::{Browser, WebResponse, WebServer, World, eventually};

use super::{pkg, pkg_json, project, read, refused, write};

/// The result of a script in a browser, and the paths that the browser requested.
struct BrowserRun {
    result: Value,
    requests: Vec<String>,
}

/// Opens a page in a browser and runs a script there, with the functions of `page.html`.
#[track_caller]
fn browse(page: &str, script: &str) -> BrowserRun {
    let server = WebServer::start();
    let harness = include_str!("page.html").replace("/* THE TEST */", script);
    server.respond("/page", WebResponse::Bytes(page.into()));
    let url = server.respond("/", WebResponse::Bytes(harness.into()));
    let mut browser = Browser::open(&url);
    let result = eventually(|| {
        assert!(!browser.is_gone(), "the browser exited: {:?}", server.requested_paths());
        let paths = server.requested_paths();
        paths.iter().find_map(|path| Some(path.strip_prefix("/result?")?.to_owned()))
    });
    let result: Value = serde_json::from_str(&decode_utf8(&result).unwrap()).unwrap();
    assert_eq!(result.get("failed"), None);
    // Browsers request an icon, and open connections in advance.
    let is_ours =
        |path: &String| !path.starts_with("/result?") && path != "/favicon.ico" && !path.is_empty();
    BrowserRun { result, requests: server.requested_paths().into_iter().filter(is_ours).collect() }
}

/// A project with the package `k` with this graph in the store.
fn project_with_graph(nodes: &[Value], edges: &[Value]) -> World {
    let world = project();
    write(
        &world,
        "project/k.json",
        json!({"name": "k", "nodes": nodes, "edges": edges}).to_string(),
    );
    pkg(&world, &["create", "--input", "k.json"]).ok();
    world
}

/// The HTML page of a graph.
fn page_of(nodes: &[Value], edges: &[Value]) -> String {
    let world = project_with_graph(nodes, edges);
    pkg(&world, &["graph", "k", "--to", "html", "--output", "k.html"]).ok();
    read(&world, "project/k.html")
}

fn node(id: &str, kind: &str, content: &str) -> Value {
    json!({"id": id, "type": kind, "content": content})
}

fn edge(from: &str, kind: &str, to: &str) -> Value {
    json!({"from": from, "to": to, "type": kind, "weight": 1.0})
}

/// A graph of six nodes with a contradiction and a superseded node.
fn shop() -> (Vec<Value>, Vec<Value>) {
    let pool = json!({
        "id": "G1", "type": "gotcha", "content": "The pool has 20 connections.\n\n  More of them\thang.",
        "file_path": "src/db/pool.rs", "line_start": 14, "line_end": 31, "confidence": 0.75,
        // The time of a test world is 2026-09-21T14:13:20Z.
        "activation": 0.8, "created_at": "2026-09-11T14:13:20Z", "decay_half_life_days": 10,
    });
    let nodes = vec![
        node("F1", "fact", "Uses PostgreSQL 16"),
        node("F2", "fact", "Uses PostgreSQL 15"),
        pool,
        node("D1", "decision", "Tokens are JWT"),
        node("D0", "decision", "Tokens are cookies"),
        node("C1", "code_function", "fn connect()"),
    ];
    let edges = vec![
        edge("F1", "contradicts", "F2"),
        edge("F1", "supports", "G1"),
        edge("C1", "depends_on", "G1"),
        edge("D1", "supersedes", "D0"),
    ];
    (nodes, edges)
}

fn shop_page() -> String {
    let (nodes, edges) = shop();
    page_of(&nodes, &edges)
}

#[test]
fn pk_15_page_shows_a_clicked_node_and_links_to_its_neighbors() {
    let run = browse(
        &shop_page(),
        r#"
        await until(() => drawn("state") === "settled", "layout settled");
        await search("POOL connections");
        const found = [text("found"), ...rows("hits")];
        press("Enter", $("search"));
        await pause(600);
        const [x, y] = drawn("at").split(" ").map(Number);
        press("Escape", $("search"));
        press("Escape", canvas());
        await nextFrame();
        const closed = $("panel").hidden && drawn("at") === undefined;
        clickAt(x, y);
        const panel = [text("panel-kind"), text("panel-text"), text("panel-file"), text("panel-facts")];
        const near = rows("panel-near");
        button("panel-near", "fn connect()").click();
        const next = [text("panel-kind"), text("panel-text"), $("panel-place").hidden];
        await pause(600);
        const [nx, ny] = drawn("at").split(" ").map(Number);
        clickAt(nx + 300, ny + 200);
        return { found, closed, panel, near, next, emptied: $("panel").hidden };
        "#,
    );
    let result = &run.result;
    assert_eq!(
        result["found"],
        json!(["1 of 6", "The pool has 20 connections.gotcha · src/db/pool.rs"])
    );
    assert_eq!(result["closed"], true);
    assert_eq!(result["panel"][0], "gotcha");
    assert_eq!(result["panel"][1], "The pool has 20 connections.\n\n  More of them\thang.");
    assert_eq!(result["panel"][2], "src/db/pool.rs:14–31");
    assert_eq!(result["near"], json!(["Uses PostgreSQL 16← supports", "fn connect()← depends_on"]));
    assert_eq!(result["next"], json!(["code_function", "fn connect()", true]));
    assert_eq!(result["emptied"], true, "a click on the background closes the panel");
    assert_eq!(run.requests, ["/", "/page"]);
}

#[test]
fn pk_17_page_shows_the_current_and_the_stored_activation() {
    let run = browse(
        &shop_page(),
        r#"await search("src/db"); press("Enter", $("search")); return [text("panel-facts"), text("moment")];"#,
    );
    let mut facts = run.result[0].as_str().unwrap();
    for value in ["0.40", "0.80", "0.75", "2026-09-11T14:13:20Z", "G1"] {
        facts = facts.split_once(value).unwrap_or_else(|| panic!("no {value}: {}", run.result)).1;
    }
    assert!(run.result[1].as_str().unwrap().contains("2026-09-21 14:13 UTC"), "{}", run.result);
}

#[test]
fn pk_15_page_legend_counts_and_filters_types() {
    let run = browse(
        &shop_page(),
        r#"
        const counts = async () => (await nextFrame(), await nextFrame(), [drawn("nodes"), drawn("edges")].map(Number));
        const steps = [rows("types"), rows("edges"), text("figures"), await counts()];
        button("types", "fact").click();
        steps.push(await counts(), button("types", "fact").getAttribute("aria-pressed"), $("all-types").hidden);
        button("types", "decision").dispatchEvent(new frame.contentWindow.MouseEvent("dblclick", { bubbles: true }));
        steps.push(await counts());
        $("all-types").click();
        steps.push(await counts());
        const alt = new frame.contentWindow.MouseEvent("click", { bubbles: true, altKey: true });
        button("types", "gotcha").dispatchEvent(alt);
        steps.push(await counts());
        $("all-types").click();
        button("edges", "supports").click();
        steps.push(await counts());
        return steps;
        "#,
    );
    assert_eq!(
        run.result,
        json!([
            ["decision2", "fact2", "code_function1", "gotcha1"],
            ["contradicts1", "depends_on1", "supersedes1", "supports1"],
            "6 nodes · 4 edges",
            [6, 4],
            [4, 2],
            "false",
            false,
            [2, 1],
            [6, 4],
            [1, 0],
            [6, 3]
        ])
    );
}

#[test]
fn pk_19_page_can_show_only_contradictions() {
    let run = browse(
        &shop_page(),
        r#"
        const before = [text("disputes"), $("disputes").getAttribute("aria-pressed")];
        $("disputes").click();
        await nextFrame();
        await nextFrame();
        const alone = [drawn("nodes"), drawn("edges"), $("disputes").getAttribute("aria-pressed")];
        await search("postgresql 15");
        press("Enter", $("search"));
        const near = [...$("panel-near").children].map((row) => [row.className, row.textContent]);
        await search("cookies");
        press("Enter", $("search"));
        return { before, alone, near, old: !$("panel-old").hidden };
        "#,
    );
    assert_eq!(run.result["before"], json!(["1 contradiction", "false"]));
    assert_eq!(run.result["alone"], json!(["2", "1", "true"]));
    assert_eq!(run.result["near"], json!([["against", "Uses PostgreSQL 16← contradicts"]]));
    assert_eq!(run.result["old"], true, "a superseded node is marked");
}

#[test]
fn page_can_be_used_with_the_keyboard() {
    let run = browse(
        &shop_page(),
        r#"
        await until(() => drawn("state") === "settled", "layout settled");
        press("/", frame.contentDocument.body);
        const focused = frame.contentDocument.activeElement.id;
        await search("uses");
        press("ArrowDown");
        press("ArrowDown");
        const marked = $($("search").getAttribute("aria-activedescendant")).textContent;
        press("ArrowUp");
        press("Enter");
        const chosen = text("panel-text");
        press("Escape");
        const cleared = [$("search").value, text("found"), $("hits").hidden, $("panel").hidden];
        press("Escape");
        press("Escape", frame.contentDocument.body);
        const closed = $("panel").hidden;
        await search("uses");
        press("Enter");
        await pause(600);
        canvas().focus();
        const place = () => drawn("at").split(" ").map(Number);
        const from = place();
        press("ArrowRight");
        await nextFrame();
        await nextFrame();
        const moved = place()[0] - from[0];
        canvas().dispatchEvent(new frame.contentWindow.WheelEvent("wheel", { deltaY: -300, bubbles: true, cancelable: true }));
        await nextFrame();
        await nextFrame();
        const zoomed = place()[0] !== from[0] - 60;
        return { focused, marked, chosen, cleared, closed, moved, zoomed };
        "#,
    );
    assert_eq!(
        run.result,
        json!({
            "focused": "search", "marked": "Uses PostgreSQL 15fact", "chosen": "Uses PostgreSQL 16",
            "cleared": ["", "", true, false], "closed": true, "moved": -60, "zoomed": true,
        })
    );
}

#[test]
fn text_from_packages_is_not_interpreted_by_the_page() {
    let script = "</script><script>top.pwned = 1</script>";
    let picture = "<img src=x onerror=\"top.pwned = 1\"><style>*{display:none}</style>";
    let unseen = "a\u{2028}b\u{202E}c";
    let long = "long ".repeat(200_000);
    let mut nodes = vec![
        node("a", script, picture),
        node("<b>b</b>", "fact", unseen),
        node("c", "fact", &long),
    ];
    nodes[0]["file_path"] = "javascript:top.pwned=1//</textarea>".into();
    nodes[0]["created_at"] = script.into();
    let run = browse(
        &page_of(&nodes, &[edge("a", "\"><script>top.pwned=1</script>", "<b>b</b>")]),
        r#"
        const shownText = async (words) => (await search(words), press("Enter", $("search")), text("panel-text"));
        const picture = await shownText("onerror");
        const texts = [text("panel-kind"), text("panel-file"), text("panel-near"), rows("types")[1], rows("edges")[0]];
        const unseen = await shownText("<b>b</b>");
        const part = (await shownText("long long")).length;
        $("more-text").click();
        const full = text("panel-text").length;
        const injected = frame.contentDocument.querySelectorAll("img, a, iframe, script:not([type]), [onerror], main style");
        const clean = [window.pwned ?? null, injected.length, violations.length];
        // The content security policy would block injected scripts and images.
        const script = frame.contentDocument.createElement("script");
        script.textContent = "top.pwned = 1";
        const image = frame.contentDocument.createElement("img");
        image.src = "/leak";
        frame.contentDocument.body.append(script, image);
        await until(() => violations.length >= 2, "the policy blocks both");
        const fetched = frame.contentWindow.performance.getEntriesByType("resource").length;
        return { picture, texts, unseen, part, full, clean, pwned: window.pwned ?? null, violations, fetched };
        "#,
    );
    let result = &run.result;
    assert_eq!(result["picture"], picture);
    assert_eq!(result["texts"][0], script);
    assert_eq!(result["texts"][1], "javascript:top.pwned=1//</textarea>");
    assert_eq!(result["texts"][3], format!("{script}1"));
    assert_eq!(result["texts"][4], "\"><script>top.pwned=1</script>1");
    assert_eq!(result["unseen"], "a\\u{2028}b\\u{202e}c", "invisible characters are escaped");
    assert_eq!((&result["part"], &result["full"]), (&json!(20_000), &json!(1_000_000)));
    assert_eq!(result["clean"], json!([null, 0, 0]));
    assert_eq!(result["pwned"], Value::Null);
    let mut violations: Vec<_> = result["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    violations.sort_unstable();
    assert_eq!(violations, ["img-src", "script-src-elem"]);
    assert_eq!(run.requests, ["/", "/page"]);
}

#[test]
fn page_fits_a_small_screen() {
    let run = browse(
        &shop_page(),
        r#"
        frame.style.width = "380px";
        frame.style.height = "720px";
        await pause(300);
        const wide = () => frame.contentDocument.scrollingElement.scrollWidth;
        const visible = (id) => frame.contentWindow.getComputedStyle($(id)).visibility;
        const legend = [visible("legend")];
        $("filters").click();
        legend.push(visible("legend"));
        await search("jwt");
        press("Enter", $("search"));
        legend.push(visible("legend"));
        await pause(300);
        const panel = $("panel").getBoundingClientRect();
        const zoom = $("fit").getBoundingClientRect();
        return { wide: wide(), legend, panel: [panel.left, panel.right, panel.bottom], apart: zoom.bottom <= panel.top };
        "#,
    );
    assert_eq!(
        run.result,
        json!({"wide": 380, "legend": ["hidden", "visible", "hidden"], "panel": [0, 380, 720], "apart": true})
    );
}

#[test]
fn page_without_nodes_shows_an_empty_state() {
    let run = browse(
        &page_of(&[], &[]),
        r#"return [text("figures"), $("empty").hidden, $("legend").hidden];"#,
    );
    assert_eq!(run.result, json!(["0 nodes · 0 edges", false, true]));
}

/// A graph with this number of nodes, in groups of a hundred.
fn large(count: usize) -> (Vec<Value>, Vec<Value>) {
    let id = |index: usize| format!("n{index}");
    let kinds = ["fact", "decision", "gotcha", "code_function", "code_file", "convention"];
    let node = |index: usize| {
        let activation = f64::from(u32::try_from(index * 7919 % 1000).unwrap()) / 1000.0;
        json!({"id": id(index), "type": kinds[index % 6], "content": format!("Statement {index}"), "activation": activation})
    };
    let within_groups = (1..count).map(|index| {
        let start = index / 100 * 100;
        edge(&id(index), "supports", &id(start + (index * index) % (index - start).max(1)))
    });
    let across =
        (0..count / 10).map(|index| edge(&id(index * 10), "related_to", &id(index * 7919 % count)));
    ((0..count).map(node).collect(), within_groups.chain(across).collect())
}

/// Waits for the layout, then pans. The result is the median and the maximum time of a frame, in
/// milliseconds.
const PAN: &str = r#"
    await until(() => drawn("state") === "settled", "layout settled");
    point("pointerdown", 700, 860);
    const times = [];
    let last = await nextFrame();
    for (let step = 0; step < 60; step++) {
      point("pointermove", 700 + 4 * step, 860 - 3 * step);
      const now = await nextFrame();
      times.push(now - last);
      last = now;
    }
    point("pointerup", 940, 680);
    times.sort((a, b) => a - b);
    return { nodes: Number(drawn("nodes")), median: times[30], longest: times[59] };
"#;

#[test]
fn page_pans_smoothly_with_2000_nodes() {
    let (nodes, edges) = large(2000);
    let run = browse(&page_of(&nodes, &edges), PAN);
    println!("2,000 nodes: {}", run.result);
    assert_eq!(run.result["nodes"], 2000);
    assert!(run.result["median"].as_f64() < Some(250.0), "{}", run.result);
}

#[test]
fn page_with_many_nodes_shows_the_most_active_first() {
    let (nodes, edges) = large(20_000);
    let run = browse(
        &page_of(&nodes, &edges),
        r#"
        const first = [drawn("nodes"), text("notice-text"), $("notice").hidden];
        await search("n7000");
        press("Enter", $("search"));
        const found = [text("found"), text("panel-text"), drawn("nodes")];
        $("show-all").click();
        await nextFrame();
        return { first, found, all: [drawn("nodes"), $("notice").hidden] };
        "#,
    );
    let first = &run.result["first"];
    assert_eq!((&first[0], &first[2]), (&json!("5000"), &json!(false)));
    let notice = first[1].as_str().unwrap();
    assert!(notice.contains("5,000") && notice.contains("20,000"), "{notice}");
    assert_eq!(
        run.result["found"],
        json!(["1 of 20,000", "Statement 7000", "5001"]),
        "the node that was searched for is added"
    );
    assert_eq!(run.result["all"], json!(["20000", true]));
}

#[test]
fn pk_22_graph_output_replaces_a_file_only_with_force() {
    let (nodes, edges) = shop();
    let world = project_with_graph(&nodes, &edges);
    for form in ["dot", "mermaid", "json", "html"] {
        let file = format!("drawn.{form}");
        let run = pkg(&world, &["graph", "k", "--to", form, "--output", &file]).ok();
        assert!(run.stdout.contains(&format!("[WORLD]/project/{file}")), "{run}");
        let printed = pkg(&world, &["graph", "k", "--to", form]).ok().stdout;
        assert_eq!(read(&world, &format!("project/{file}")), printed, "{form}");
    }
    write(&world, "project/mine.html", "mine");
    refused(&world, &["graph", "k", "--to", "html", "--output", "mine.html"], "E-already-exists");
    let run = pkg(
        &world,
        &["graph", "k", "--to", "html", "-o", "mine.html", "--force", "--format", "plain"],
    )
    .ok();
    assert_eq!(run.stdout, "[WORLD]/project/mine.html\n");
    assert!(read(&world, "project/mine.html").starts_with("<!DOCTYPE html>"));
    let view = pkg_json(&world, &["graph", "k", "--to", "html", "--output", "again.html"]);
    assert_eq!(view["nodes"].as_array().map(Vec::len), Some(6), "JSON output is the graph");
    assert!(read(&world, "project/again.html").starts_with("<!DOCTYPE html>"));
}
