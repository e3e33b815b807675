//! `docs/json.md`: the JSON Schema of the `--format json` output of each command.

use sp_formats::output::schemas;

pub(crate) fn page() -> Result<String, String> {
    let mut text = String::from("# JSON output\n\n");
    text += &crate::notice("`crates/sp-formats/src/output/`");
    text += "
With `--format json`, each command prints one JSON value on stdout. Releases may add members, but
do not remove or rename them: ignore members that you do not know. Warnings and hints are printed as
text on stderr.

A command that fails prints nothing on stdout, and the last line on stderr is the object described
under [`error`](#error). Its `code` is stable; see [errors.md](errors.md). Commands that look for
problems always print their report, and exit with 1 or 3 if they find problems: `sp check`,
`sp audit`, `sp packs`, `sp pkg verify` and `sp pkg stale --exit-code`.

`sp completions` and `sp man` print the same output in every format.
";
    for (command, schema) in schemas() {
        let title = if command == "error" { "`error`".into() } else { format!("`sp {command}`") };
        let mut schema = serde_json::to_value(&schema).map_err(|e| e.to_string())?;
        let about = schema.as_object_mut().and_then(|members| {
            members.shift_remove("$schema");
            members.shift_remove("description")
        });
        text += &format!("\n## {title}\n");
        // A description that only repeats the command's name is left out.
        if let Some(about) =
            about.as_ref().and_then(serde_json::Value::as_str).filter(|about| *about != title)
        {
            text += &format!("\n{about}{}\n", if about.ends_with('.') { "" } else { "." });
        }
        let schema = serde_json::to_string_pretty(&schema).map_err(|e| e.to_string())?;
        text += &format!("\n```json\n{schema}\n```\n");
    }
    Ok(text)
}
