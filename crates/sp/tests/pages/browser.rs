//! The pages in a browser.

use sp_testkit::Tab;

use super::*;

#[test]
fn a_reader_finds_a_package_from_the_keyboard() {
    let place = Place::new();
    place.knowledge("acme/postgres-notes", "1.2.0", "What we learned from PostgreSQL.");
    place.skill(
        "acme/reader",
        "# How to read\n\nRead **twice**.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n",
    );
    let mut tab = Tab::open();
    tab.go(&place.url("/"));
    tab.press("/");
    assert_eq!(tab.eval("document.activeElement.id"), "search");
    tab.write("postgers");
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname + location.search"), "/search?q=postgers");
    assert_eq!(tab.eval("document.querySelectorAll('.list > li').length"), 1);
    // From the beginning of the page the keyboard reaches everything that can be followed, first of
    // all the content.
    tab.eval("document.activeElement.blur()");
    tab.press("Tab");
    assert_eq!(tab.eval("document.activeElement.className"), "skip");
    let mut reached = false;
    for _ in 0..12 {
        tab.press("Tab");
        reached |= tab.eval("document.activeElement.getAttribute('href')")
            == "/packages/acme/postgres-notes";
        if reached {
            break;
        }
    }
    assert!(reached);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("document.querySelector('h1').textContent"), "@acme/postgres-notes");
    assert_eq!(tab.eval("document.querySelectorAll('svg.graph circle').length"), 12);
    assert_eq!(
        tab.eval("document.getElementById('c1').textContent"),
        "sp pkg install @acme/postgres-notes@^1.2"
    );
    let copied = tab.eval(
        "(async () => { const button = document.querySelector('[data-copy=c1]'); button.click();
           await new Promise((done) => setTimeout(done, 300)); return [button.hidden, button.textContent]; })()",
    );
    assert_eq!(copied[0], false);
    assert!(["Copied", "Selected"].contains(&copied[1].as_str().unwrap()), "{copied}");
    tab.go(&place.url("/packages/acme/reader"));
    assert_eq!(tab.eval("document.querySelector('.prose h3').textContent"), "How to read");
    assert_eq!(tab.eval("document.querySelector('.prose strong').textContent"), "twice");
    assert_eq!(tab.complaints, Vec::<String>::new());
    assert!(
        tab.asked.iter().all(|address| address.starts_with(&place.url("/"))),
        "{:?}",
        tab.asked
    );
}

#[test]
fn an_admin_makes_a_token_and_revokes_it_in_the_browser() {
    let place = Place::new();
    let mut tab = Tab::open();
    tab.go(&place.url("/tokens"));
    assert_eq!(tab.eval("location.pathname"), "/login");
    tab.eval("document.getElementById('token').focus()");
    tab.write(&place.admin);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname"), "/tokens");
    assert_eq!(tab.eval("document.cookie"), "", "a script sees no session");
    tab.eval("document.getElementById('user').focus()");
    tab.write("dave");
    tab.follow(|tab| tab.press("Enter"));
    let made = tab.eval("document.getElementById('minted').textContent");
    let made = made.as_str().unwrap();
    let whoami = || place.registry.ask("GET /api/v1/whoami", Some(made), b"");
    assert_eq!(whoami().json(), json!({"user": "dave", "scope": "publish"}));
    tab.go(&place.url("/tokens"));
    assert_eq!(
        tab.eval(&format!("document.body.textContent.includes('{made}')")),
        false,
        "it is shown once"
    );
    tab.follow(|tab| {
        tab.eval("[...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes('dave')).querySelector('button').click()");
    });
    assert_eq!(whoami().status, 401);
    tab.follow(|tab| {
        tab.eval("document.querySelector('nav form button').click()");
    });
    assert_eq!(tab.eval("document.querySelector('nav').textContent.includes('Log in')"), true);
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[test]
fn every_page_fits_a_telephone_in_the_light_and_in_the_dark() {
    let place = Place::new();
    let long = "word".repeat(60);
    place.knowledge(&format!("acme/{}", "n".repeat(64)), "1.0.0-alpha.beta.gamma.delta", &long);
    let wide = format!(
        "# {long}\n\n| {long} | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n\n```\n{long} {long}\n```\n\n`{long}`\n"
    );
    place.skill("acme/wide", &wide);
    let mut tab = Tab::open();
    tab.look(1280, "light");
    tab.go(&place.url("/login?next=/tokens"));
    tab.eval("document.getElementById('token').focus()");
    tab.write(&place.admin);
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
        tab.go(&place.url(path));
        for (width, scheme) in [(360, "light"), (360, "dark"), (820, "light"), (1280, "dark")] {
            tab.look(width, scheme);
            let widest = tab.eval("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(widest <= u64::from(width), "{path} is {widest} wide in {width}");
            let faint = tab.eval(CONTRAST);
            assert_eq!(faint, json!([]), "{path} in the {scheme}");
        }
    }
    let unexpected: Vec<&String> =
        tab.complaints.iter().filter(|one| !one.contains("404")).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

/// Every text that has less contrast than 4.5 : 1 with what is behind it.
const CONTRAST: &str = r#"(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgb = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = rgb(getComputedStyle(at).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255];
    };
    const faint = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || element.closest("script, svg, [hidden]")) continue;
        const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(`${element.className}: ${texts.currentNode.textContent.trim().slice(0, 30)}`);
    }
    return [...faint];
})()"#;

#[test]
fn an_empty_registry_says_what_to_do_first() {
    let place = Place::new();
    let page = place.page("/").text();
    assert!(page.contains("Nothing has been published yet"), "{page}");
    assert!(page.contains(&format!("sp login {}", place.url(""))), "{page}");
    assert!(place.page("/search?q=anything").text().contains("No package fits."));
}
