//! The pages in a browser.

use sp_testkit::Tab;

use super::*;

#[test]
fn package_is_found_with_the_keyboard() {
    let fixture = RegistryFixture::new();
    fixture.publish_knowledge("acme/postgres-notes", "1.2.0", "What we learned from PostgreSQL.");
    fixture.publish_skill(
        "acme/reader",
        "# How to read\n\nRead **twice**.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n",
    );
    let mut tab = Tab::open();
    tab.navigate(&fixture.url("/"));
    tab.press("/");
    assert_eq!(tab.eval("document.activeElement.id"), "search");
    tab.type_text("postgers");
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname + location.search"), "/search?q=postgers");
    assert_eq!(tab.eval("document.querySelectorAll('.list > li').length"), 1);
    // The first Tab stop is the link that skips to the content; the results follow.
    tab.eval("document.activeElement.blur()");
    tab.press("Tab");
    assert_eq!(tab.eval("document.activeElement.className"), "skip");
    let mut is_reached = false;
    for _ in 0..12 {
        tab.press("Tab");
        is_reached |= tab.eval("document.activeElement.getAttribute('href')")
            == "/packages/acme/postgres-notes";
        if is_reached {
            break;
        }
    }
    assert!(is_reached);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("document.querySelector('h1').textContent"), "@acme/postgres-notes");
    assert_eq!(tab.eval("document.querySelectorAll('svg.graph circle').length"), 12);
    assert_eq!(
        tab.eval("document.getElementById('c1').textContent"),
        "sp pkg install @acme/postgres-notes@^1.2"
    );
    let copied = tab.eval(
        "(async () => { const button = document.querySelector('[data-copy=c1]');
           const before = button.textContent; button.click();
           await new Promise((done) => setTimeout(done, 300));
           return [button.hidden, before, button.textContent]; })()",
    );
    assert_eq!(copied[0], false);
    assert_ne!(copied[1], copied[2], "the button confirms the click");
    tab.navigate(&fixture.url("/packages/acme/reader"));
    assert_eq!(tab.eval("document.querySelector('.prose h3').textContent"), "How to read");
    assert_eq!(tab.eval("document.querySelector('.prose strong').textContent"), "twice");
    assert_eq!(tab.complaints, Vec::<String>::new());
    assert!(
        tab.requested_urls.iter().all(|url| url.starts_with(&fixture.url("/"))),
        "{:?}",
        tab.requested_urls
    );
}

#[test]
fn admin_creates_and_revokes_a_token_in_the_browser() {
    let fixture = RegistryFixture::new();
    let mut tab = Tab::open();
    tab.navigate(&fixture.url("/tokens"));
    assert_eq!(tab.eval("location.pathname"), "/login");
    tab.eval("document.getElementById('token').focus()");
    tab.type_text(&fixture.admin);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname"), "/tokens");
    assert_eq!(tab.eval("document.cookie"), "", "scripts cannot read the session cookie");
    tab.eval("document.getElementById('user').focus()");
    tab.type_text("dave");
    tab.follow(|tab| tab.press("Enter"));
    let token = tab.eval("document.getElementById('minted').textContent");
    let token = token.as_str().unwrap();
    let whoami = || fixture.registry.request("GET /api/v1/whoami", Some(token), b"");
    assert_eq!(whoami().json(), json!({"user": "dave", "scope": "publish", "id": 3}));
    tab.navigate(&fixture.url("/tokens"));
    assert_eq!(
        tab.eval(&format!("document.body.textContent.includes('{token}')")),
        false,
        "the token is shown only once"
    );
    tab.follow(|tab| {
        tab.eval("[...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes('dave')).querySelector('button').click()");
    });
    assert_eq!(whoami().status, 401);
    tab.follow(|tab| {
        tab.eval("document.querySelector('nav form button').click()");
    });
    assert_eq!(tab.eval("document.querySelectorAll('nav a[href^=\"/login\"]').length"), 1);
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[test]
fn pages_fit_narrow_windows_and_have_enough_contrast() {
    let fixture = RegistryFixture::new();
    let long = "word".repeat(60);
    fixture.publish_knowledge(
        &format!("acme/{}", "n".repeat(64)),
        "1.0.0-alpha.beta.gamma.delta",
        &long,
    );
    let wide = format!(
        "# {long}\n\n| {long} | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n\n```\n{long} {long}\n```\n\n`{long}`\n"
    );
    fixture.publish_skill("acme/wide", &wide);
    let mut tab = Tab::open();
    tab.set_viewport(1280, "light");
    tab.navigate(&fixture.url("/login?next=/tokens"));
    tab.eval("document.getElementById('token').focus()");
    tab.type_text(&fixture.admin);
    tab.follow(|tab| tab.press("Enter"));
    let name = format!("/packages/acme/{}", "n".repeat(64));
    let search = format!("/search?q={}", "n".repeat(64));
    for path in [
        "/",
        &search,
        "/search?q=zzz",
        &name,
        "/packages/acme/wide",
        "/namespaces/acme",
        "/tokens",
        "/login",
        "/api",
        "/healthz/no",
    ] {
        tab.navigate(&fixture.url(path));
        for (width, scheme) in [(360, "light"), (360, "dark"), (820, "light"), (1280, "dark")] {
            tab.set_viewport(width, scheme);
            let page_width = tab.eval("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(
                page_width <= u64::from(width),
                "{path} has a width of {page_width} in {width}"
            );
            let faint = tab.eval(CONTRAST);
            assert_eq!(faint, json!([]), "{path}, {scheme}");
        }
    }
    let unexpected: Vec<&String> =
        tab.complaints.iter().filter(|error| !error.contains("404")).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

/// Returns every text with a contrast below 4.5:1.
const CONTRAST: &str = r#"(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgb = (color) => {
        if (!known.has(color)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
            known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(color);
    };
    const luminance = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const background = (element) => {
        for (let ancestor = element; ancestor; ancestor = ancestor.parentElement) {
            const color = rgb(getComputedStyle(ancestor).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255];
    };
    const faint = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || element.closest("script, svg, [hidden]")) continue;
        const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(background(element))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(`${element.className}: ${texts.currentNode.textContent.trim().slice(0, 30)}`);
    }
    return [...faint];
})()"#;

#[test]
fn empty_registry_shows_the_first_command() {
    let fixture = RegistryFixture::new();
    let page = fixture.page("/").text();
    assert!(page.contains(&format!("sp login {}", fixture.url(""))), "{page}");
    let search = fixture.page("/search?q=anything");
    assert_eq!(search.status, 200);
    assert!(!search.text().contains("href=\"/packages/"), "{}", search.text());
}
