//! `sp bag run` and `sp bag params`.

use std::io::Write;

use sp_engine::workspace::{self, RunSkillRequest};
use sp_engine::{Context, Error, ErrorCode, Event, Result};
use sp_formats::output::{ParameterItem, ParameterList, ParameterValueItem, WorkspaceRunReport};
use sp_formats::printable::{printable, printable_text};
use sp_formats::workspace::USER_CONTEXT_FILE;

use crate::terminal::{STRONG, Terminal};

pub(super) fn run_skill(
    context: &Context<'_>,
    request: &RunSkillRequest,
    terminal: &Terminal,
) -> Result<()> {
    let run = workspace::run(context, request)?;
    terminal.print(&run, |out| write_run(&run, out))?;
    if let (false, Some(plan)) = (run.saved, &run.plan) {
        context.emit(Event::Hint(format!(
            "would save the values in `{USER_CONTEXT_FILE}`; add `--plan {plan}` to save them"
        )));
    }
    if run.missing.is_empty() { Ok(()) } else { Err(missing_values(&run)) }
}

fn missing_values(run: &WorkspaceRunReport) -> Error {
    let names = run.missing.join("`, `");
    Error::new(
        ErrorCode::MissingParameter,
        format!("`{}` requires a value for `{names}`", run.skill.name),
    )
    .hint(format!(
        "pass `--set {}=<VALUE>`, or set it under `Parameters` in `USER_CONTEXT.md` or \
         `CONTEXT.md`",
        run.missing[0]
    ))
}

fn write_run(run: &WorkspaceRunReport, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# {}\n", run.skill.name)?;
    if !run.parameters.is_empty() {
        writeln!(out, "## Values\n")?;
        for parameter in &run.parameters {
            let value =
                parameter.from.as_ref().map_or("(not set)".into(), |from| value_text(&from.value));
            writeln!(out, "- {}: {}", printable(&parameter.name), printable(&value))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", printable_text(&run.skill.instructions))?;
    for companion in &run.companions {
        writeln!(
            out,
            "\n# {} (companion)\n\n{}",
            companion.name,
            printable_text(&companion.instructions)
        )?;
    }
    Ok(())
}

fn value_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

pub(super) fn print_parameters(
    list: &ParameterList,
    skill: &str,
    explain: bool,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(list, |out| {
        if list.parameters.is_empty() {
            return writeln!(out, "`{}` has no parameters", printable(skill));
        }
        list.parameters.iter().try_for_each(|parameter| write_parameter(parameter, explain, out))
    })
}

fn write_parameter(
    parameter: &ParameterItem,
    explain: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let value = parameter.from.as_ref().map(|from| value_text(&from.value));
    let value = value
        .unwrap_or_else(|| if parameter.required { "missing".into() } else { "not set".into() });
    writeln!(out, "{STRONG}{}{STRONG:#}: {}", printable(&parameter.name), printable(&value))?;
    if !explain {
        return Ok(());
    }
    let location = |origin: &ParameterValueItem| match origin.line {
        Some(line) => format!("{}:{line} ({})", printable(&origin.file), origin.level),
        None => format!("{} ({})", printable(&origin.file), origin.level),
    };
    if let Some(from) = &parameter.from {
        writeln!(out, "  from {}", location(from))?;
    }
    for overridden in &parameter.overrode {
        writeln!(
            out,
            "  overrides {} from {}",
            printable(&value_text(&overridden.value)),
            location(overridden)
        )?;
    }
    for blocked in &parameter.kept_out {
        let by = blocked.prohibited_by.as_deref().unwrap_or_default();
        writeln!(
            out,
            "  ignores {} from {}: prohibited in {}",
            printable(&value_text(&blocked.value)),
            location(blocked),
            printable(by)
        )?;
    }
    Ok(())
}
