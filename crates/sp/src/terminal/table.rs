//! Tables without borders that fit the terminal.
//!
//! If the columns are too wide, cells are wrapped between words and after slashes. If that is not
//! enough, each row becomes a list with one cell per line.

use sp_formats::printable::printable;

use super::layout::{columns, wrap_lines};

const GAP: usize = 2;

pub(crate) fn table(heading: &[&str], rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut heading: Vec<String> = heading.iter().map(|title| title.to_uppercase()).collect();
    let escape = |row: Vec<String>| -> Vec<String> {
        row.iter().map(|cell| printable(cell).into_owned()).collect()
    };
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(escape).collect();
    drop_empty_columns(&mut heading, &mut rows);
    let all = || std::iter::once(&heading).chain(&rows);
    let widest = |measure: fn(&str) -> usize| -> Vec<usize> {
        let column = |number: usize| all().filter_map(move |row| row.get(number));
        (0..heading.len())
            .map(|number| column(number).map(|cell| measure(cell)).max().unwrap_or(0))
            .collect()
    };
    let natural = widest(columns);
    let Some(width) = width.map(usize::from).filter(|width| total(&natural) > *width) else {
        // It fits, or this is not a terminal: one line per row, regardless of its length.
        return all().map(|row| write_row(row, &natural)).collect();
    };
    let minimum = widest(widest_part);
    if total(&minimum) > width {
        let lists: String = rows.iter().map(|row| write_list(&heading, row)).collect();
        return wrap_lines(&lists, u16::try_from(width).unwrap_or(u16::MAX));
    }
    let widths = distribute(minimum, &natural, width);
    all().map(|row| write_row(row, &widths)).collect()
}

/// Drops columns without a title in which no row has a cell.
fn drop_empty_columns(heading: &mut Vec<String>, rows: &mut [Vec<String>]) {
    for number in (0..heading.len()).rev() {
        let is_empty = |row: &Vec<String>| row.get(number).is_none_or(String::is_empty);
        if heading[number].is_empty() && rows.iter().all(is_empty) {
            heading.remove(number);
            for row in rows.iter_mut().filter(|row| row.len() > number) {
                row.remove(number);
            }
        }
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Widens the columns in turn, until each has its natural width or the table the given one.
fn distribute(mut widths: Vec<usize>, natural: &[usize], width: usize) -> Vec<usize> {
    let mut room = width.saturating_sub(total(&widths));
    while room > 0 {
        let narrow = widths.iter_mut().zip(natural).filter(|(width, natural)| **width < **natural);
        let mut is_done = true;
        for (width, _) in narrow.take(room) {
            *width += 1;
            room -= 1;
            is_done = false;
        }
        if is_done {
            break;
        }
    }
    widths
}

/// Writes a row, with as many lines as its highest cell.
fn write_row(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| wrap_cell(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in 0..height {
        let mut row_line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.get(line).map_or("", String::as_str);
            row_line += part;
            row_line += &" ".repeat(width.saturating_sub(columns(part)) + GAP);
        }
        text += row_line.trim_end();
        text.push('\n');
    }
    text
}

/// Writes a row as a list: its first cell, and each other one on a line of its own.
fn write_list(heading: &[String], row: &[String]) -> String {
    let mut text = String::new();
    for (number, (title, cell)) in heading.iter().zip(row).enumerate() {
        if number == 0 {
            text += &format!("{cell}\n");
        } else if title.is_empty() && !cell.is_empty() {
            text += &format!("  {cell}\n");
        } else if !cell.is_empty() {
            text += &format!("  {}: {cell}\n", title.to_lowercase());
        }
    }
    text
}

/// Returns the parts of a cell between which it can be wrapped, each with the spaces after it.
fn parts(cell: &str) -> impl Iterator<Item = &str> {
    cell.split_inclusive([' ', '/'])
}

fn widest_part(cell: &str) -> usize {
    parts(cell).map(|part| columns(part.trim_end())).max().unwrap_or(0)
}

fn wrap_cell(cell: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // A cell that fits is not split, whatever it contains.
    let is_short = columns(cell) <= width;
    let whole = is_short.then_some(cell);
    for part in whole.into_iter().chain(parts(cell).filter(|_| !is_short)) {
        if !line.is_empty() && columns(&line) + columns(part.trim_end()) > width {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line += part;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        vec![
            row([
                "review",
                "~/work/very/long/path/of/skills",
                "2",
                "Reviews a diff in 日本語 before it is merged.",
            ]),
            row(["write-commit-message", "~/x", "12", ""]),
        ]
    }

    const HEADING: [&str; 4] = ["skill", "path", "files", "description"];

    #[test]
    fn tables_fit_terminals_of_40_80_and_200_columns() {
        for width in [40, 80, 200] {
            let text = table(&HEADING, rows(), Some(width));
            for line in text.lines() {
                assert!(columns(line) <= usize::from(width), "{width}: {line:?}\n{text}");
            }
        }
        assert_eq!(table(&HEADING, rows(), None), table(&HEADING, rows(), Some(200)));
        let lines = |width| table(&HEADING, rows(), Some(width)).lines().count();
        assert_eq!((lines(80), lines(200)), (4, 3), "cells are wrapped only if they have to be");
    }

    #[test]
    fn a_table_that_cannot_fit_is_a_list() {
        insta::assert_snapshot!(table(&HEADING, rows(), Some(40)), @"
        review
          path: ~/work/very/long/path/of/skills
          files: 2
          description: Reviews a diff in 日本語
            before it is merged.
        write-commit-message
          path: ~/x
          files: 12
        ");
    }
}
