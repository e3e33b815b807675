//! Picking skills from the keyboard.

use std::io::{self, BufRead, IsTerminal, Write};

use sp_engine::{Error, ErrorCode, Result, SkillPicker};
use sp_formats::output::SourceContent;
use sp_formats::printable::printable;
use sp_formats::text::{group_digits, truncate_printable};

use crate::cli::OutputFormat;
use crate::terminal::{DIM, STRONG, Terminal};

const MAX_DESCRIPTION_LEN: usize = 70;
/// A longer answer is not read to its end.
const MAX_ANSWER_LEN: u64 = 4096;

/// Lists skills with numbers, and reads the numbers of those to install.
pub(super) struct TerminalPicker<'t> {
    pub terminal: &'t Terminal,
}

impl SkillPicker for TerminalPicker<'_> {
    fn pick(&self, content: &SourceContent) -> Result<Option<Vec<String>>> {
        let is_interactive = self.terminal.format == OutputFormat::Human
            && io::stdin().is_terminal()
            && io::stderr().is_terminal();
        if !is_interactive {
            return Ok(None);
        }
        let mut text = format!("{STRONG}{}{STRONG:#}\n\n", printable(&content.source));
        for (number, skill) in content.skills.iter().enumerate() {
            let tokens = group_digits(skill.cost.always + skill.cost.body);
            text += &format!(
                "{:>4}  {STRONG}{}{STRONG:#}  {DIM}{tokens} tokens{DIM:#}  {}\n",
                number + 1,
                printable(&skill.name),
                truncate_printable(&skill.description, MAX_DESCRIPTION_LEN)
            );
        }
        self.terminal.print_stderr(&text);
        loop {
            self.terminal
                .print_stderr("\nnumbers of the skills to add, such as `1,3-5` or `all`: ");
            let answer = read_answer()?;
            match parse_answer(&answer, content.skills.len()) {
                Ok(picked) => {
                    let ids = picked.into_iter().map(|at| content.skills[at].id.clone());
                    return Ok(Some(ids.collect()));
                }
                Err(why) => self.terminal.print_stderr(&format!("{why}\n")),
            }
        }
    }
}

fn read_answer() -> Result<String> {
    let mut answer = String::new();
    let failed = |e: io::Error| Error::new(ErrorCode::Io, "cannot read the answer").because(e);
    io::stderr().flush().map_err(failed)?;
    let mut input = io::Read::take(io::stdin().lock(), MAX_ANSWER_LEN);
    let read = io::BufReader::new(&mut input).read_line(&mut answer).map_err(failed)?;
    if read == 0 {
        return Err(
            Error::new(ErrorCode::Cancelled, "no skill was picked").hint("nothing was changed")
        );
    }
    Ok(answer)
}

/// Parses numbers from 1 and ranges of them. Returns positions from 0, sorted.
fn parse_answer(answer: &str, count: usize) -> std::result::Result<Vec<usize>, String> {
    let answer = answer.trim();
    if answer.eq_ignore_ascii_case("all") {
        return Ok((0..count).collect());
    }
    let mut picked = std::collections::BTreeSet::new();
    let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
    for word in words {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let number = |text: &str| {
            let number = text.parse::<usize>().ok();
            number
                .filter(|number| (1..=count).contains(number))
                .ok_or_else(|| format!("`{}` is not a number from 1 to {count}", printable(text)))
        };
        picked.extend(number(first)? - 1..number(last)?);
    }
    Ok(picked.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_10_answers_are_numbers_and_ranges() {
        assert_eq!(parse_answer("1,3-4 2\n", 5).unwrap(), [0, 1, 2, 3]);
        assert_eq!(parse_answer("all", 2).unwrap(), [0, 1]);
        assert_eq!(parse_answer("", 2).unwrap(), [0; 0]);
        for answer in ["0", "3", "x", "1-9", "-1", "\u{1b}[2J"] {
            assert!(parse_answer(answer, 2).is_err(), "{answer}");
        }
    }
}
