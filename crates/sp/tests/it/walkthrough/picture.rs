//! The picture of a terminal in the README: an SVG with the output of real commands.
//!
//! A test compares it with the file. With `INSTA_UPDATE=always`, it writes the file.

use std::fmt::Write;
use std::process::Command;

use super::page::root;
use super::runner::{PageRunner, is_update};

const FILE: &str = "docs/images/terminal.svg";

/// The commands of the picture, which run in a copy of the example repository.
const COMMANDS: &[&str] =
    &["sp show everyone", "sp install everyone --agent claude,codex", "sp cost --agent claude"];

/// Sizes in pixels.
const CHAR_WIDTH: usize = 8;
const LINE_HEIGHT: usize = 18;
const PADDING: usize = 20;
const BAR_HEIGHT: usize = 30;
/// The maximum number of characters in a line.
const MAX_COLUMNS: usize = 100;

const STYLE: &str = "text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', \
    monospace; fill: #d6dae0; white-space: pre } .prompt { fill: #7f8894 } .c1 { fill: #f2777a } \
    .c2 { fill: #7ec699 } .c3 { fill: #f0c674 } .c4, .c6 { fill: #79b8ff } .c5 { fill: #c594c5 } \
    .b { font-weight: 700 } .d { fill: #8b949e }";

/// How characters are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TextStyle {
    is_bold: bool,
    is_dim: bool,
    /// The number of an ANSI color, from 0 to 7.
    color: Option<u8>,
}

impl TextStyle {
    /// Applies the parameters of an escape sequence such as `1;32`.
    fn apply(&mut self, parameters: &str) {
        for parameter in parameters.split(';') {
            match parameter.parse().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                code @ 30..=37 => self.color = Some(code - 30),
                code @ 90..=97 => self.color = Some(code - 90),
                code => panic!("the picture does not support the escape code {code}"),
            }
        }
    }

    /// Returns the classes of [`STYLE`].
    fn classes(self) -> String {
        let color = self.color.map(|color| format!("c{color}"));
        let bold = self.is_bold.then(|| "b".to_owned());
        let dim = self.is_dim.then(|| "d".to_owned());
        [color, bold, dim].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Returns the parts of a line with their styles.
fn styled_parts(line: &str) -> Vec<(TextStyle, String)> {
    let mut style = TextStyle::default();
    let mut parts: Vec<(TextStyle, String)> = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let (parameters, after) = sequence.split_once('m').expect("a complete escape sequence");
            style.apply(parameters);
            rest = after;
            continue;
        }
        let (text, after) = rest.split_at(rest.find('\u{1b}').unwrap_or(rest.len()));
        parts.push((style, text.to_owned()));
        rest = after;
    }
    parts
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn line_svg(line: &str, y: usize) -> String {
    let mut svg = format!("<text x=\"{PADDING}\" y=\"{y}\">");
    for (style, text) in styled_parts(line) {
        let (classes, text) = (style.classes(), escape(&text));
        if classes.is_empty() {
            svg += &text;
        } else {
            write!(svg, "<tspan class=\"{classes}\">{text}</tspan>").unwrap();
        }
    }
    svg + "</text>\n"
}

/// Draws a terminal with these lines. A command line starts with `$ `.
fn terminal_svg(lines: &[String]) -> String {
    let width = MAX_COLUMNS * CHAR_WIDTH + 2 * PADDING;
    let height = BAR_HEIGHT + lines.len() * LINE_HEIGHT + PADDING;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"A terminal session with sp\">\n\
         <style>{STYLE}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#16191d\"/>\n"
    );
    for (number, color) in ["#f2777a", "#f0c674", "#7ec699"].into_iter().enumerate() {
        let x = PADDING + number * 18;
        writeln!(svg, "<circle cx=\"{x}\" cy=\"16\" r=\"5\" fill=\"{color}\"/>").unwrap();
    }
    for (number, line) in lines.iter().enumerate() {
        let y = BAR_HEIGHT + (number + 1) * LINE_HEIGHT;
        match line.strip_prefix("$ ") {
            Some(command) => writeln!(
                svg,
                "<text x=\"{PADDING}\" y=\"{y}\"><tspan class=\"prompt\">$ </tspan>\
                 <tspan class=\"b\">{}</tspan></text>",
                escape(command)
            )
            .unwrap(),
            None if line.is_empty() => {}
            None => svg += &line_svg(line, y),
        }
    }
    svg + "</svg>\n"
}

/// Runs the commands in the example repository, and returns the lines of the terminal.
fn session_lines() -> Vec<String> {
    let runner = PageRunner::new();
    let dir = runner.world.home().join("team");
    let mut copy = Command::new("cp");
    copy.arg("-R").arg(root().join("examples/team")).arg(&dir);
    runner.world.run(copy).ok();
    let mut lines = Vec::new();
    for command in COMMANDS {
        let mut shell = runner.shell(&format!("{command} 2>&1"), &dir);
        shell.env("CLICOLOR_FORCE", "1");
        let output = runner.world.run(shell).ok().stdout.replace("[WORLD]/home", "~");
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(format!("$ {command}"));
        lines.extend(output.lines().map(str::to_owned));
    }
    lines
}

#[test]
fn terminal_picture_shows_the_current_output() {
    let svg = terminal_svg(&session_lines());
    let file = root().join(FILE);
    if is_update() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, svg).unwrap();
        return;
    }
    let message =
        "update it with `INSTA_UPDATE=always cargo test -p sp --test it terminal_picture`";
    assert!(
        std::fs::read_to_string(file).is_ok_and(|old| old == svg),
        "{FILE} is stale: {message}"
    );
}

#[test]
fn terminal_picture_has_lines_that_fit() {
    for line in session_lines() {
        let text: String = styled_parts(&line).into_iter().map(|(_, text)| text).collect();
        assert!(text.chars().count() <= MAX_COLUMNS, "{text}");
    }
}
