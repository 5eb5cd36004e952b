//! A grid for a terminal: aligned columns, in as many blocks as the width wants.
//!
//! ```text
//!                                   published
//!                  seconds      ±     seconds       the heading's words, at the bottom
//!  direct, none      0.190  0.9 %        17.3
//! ```
//! Invariants: no line is wider than [`WIDTH_MAX`], unless one label or number alone is; each block begins with the
//! labels; a column stays with the interval on its right.

use super::grid::{Grid, Kind};
use super::number::DASH;

/// Fits a terminal of this width, and a README.
pub(crate) const WIDTH_MAX: usize = 120;

/// The grid without its caption; every line ends with a newline.
pub(crate) fn text_table(grid: &Grid) -> String {
    let labels: Vec<String> = grid.rows.iter().map(labelled).collect();
    let label_width = labels.iter().chain([&grid.corner]).map(|label| width(label)).max().unwrap_or(0);
    let columns: Vec<TextColumn> = (0..grid.heads.len()).map(|index| TextColumn::of(grid, index)).collect();
    let mut text = String::new();
    for block in blocks(grid, &columns, label_width) {
        if !text.is_empty() {
            text.push('\n');
        }
        let columns = columns.get(block).unwrap_or_default();
        let heading_lines = columns.iter().map(|column| column.heading.len()).max().unwrap_or(0);
        for line in 0..heading_lines {
            let corner = if line + 1 == heading_lines { grid.corner.as_str() } else { "" };
            let words = columns.iter().map(|column| {
                let first = heading_lines - column.heading.len();
                line.checked_sub(first).and_then(|word| column.heading.get(word)).map_or("", String::as_str)
            });
            push_line(&mut text, corner, label_width, words.zip(columns));
        }
        for (row, label) in labels.iter().enumerate() {
            let texts = columns.iter().map(|column| column.texts.get(row).map_or("", String::as_str));
            push_line(&mut text, label, label_width, texts.zip(columns));
        }
    }
    text
}

/// A column with its heading broken into lines.
struct TextColumn {
    heading: Vec<String>,
    texts: Vec<String>,
    width: usize,
    is_left: bool,
}

impl TextColumn {
    fn of(grid: &Grid, index: usize) -> Self {
        let texts: Vec<String> =
            grid.rows.iter().map(|row| row.texts.get(index).cloned().unwrap_or_default()).collect();
        let head = grid.heads.get(index);
        let words = head.map(|head| words(&head.text)).unwrap_or_default();
        let widest = texts.iter().map(|text| width(text)).max().unwrap_or(0);
        let longest = words.iter().map(|word| width(word)).max().unwrap_or(0);
        let column_width = widest.max(longest);
        let mut heading: Vec<String> = Vec::new();
        for word in words {
            match heading.last_mut() {
                Some(line) if width(line) + 1 + width(&word) <= column_width => {
                    line.push(' ');
                    line.push_str(&word);
                }
                _ => heading.push(word),
            }
        }
        // An interval is read together with the number on its left, words are words.
        let is_words = texts.iter().any(|text| text != DASH && text.starts_with(char::is_alphabetic));
        let is_left = is_words || head.is_some_and(|head| head.kind == Kind::Interval && head.text != "±");
        Self { heading, texts, width: column_width, is_left }
    }
}

/// The words of a heading; `x none` is one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if last == "x" => *last = format!("x {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Which columns go together.
fn blocks(grid: &Grid, columns: &[TextColumn], label_width: usize) -> Vec<std::ops::Range<usize>> {
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    let mut used = usize::MAX;
    let mut start = 0;
    while start < columns.len() {
        // A number and the intervals behind it are one piece.
        let is_interval =
            |index: &usize| grid.heads.get(*index).is_some_and(|head| head.kind == Kind::Interval);
        let end = (start + 1..columns.len()).find(|index| !is_interval(index)).unwrap_or(columns.len());
        let piece: usize =
            columns.get(start..end).unwrap_or_default().iter().map(|column| column.width + GAP).sum();
        match blocks.last_mut() {
            Some(block) if used.saturating_add(piece) <= WIDTH_MAX => {
                block.end = end;
                used += piece;
            }
            _ => {
                blocks.push(start..end);
                used = label_width + piece;
            }
        }
        start = end;
    }
    // A table of which nothing is known still has its labels.
    if blocks.is_empty() {
        blocks.push(0..0);
    }
    blocks
}

fn push_line<'a>(
    text: &mut String,
    label: &str,
    label_width: usize,
    texts: impl Iterator<Item = (&'a str, &'a TextColumn)>,
) {
    let mut line = format!("{label:<label_width$}");
    for (text, column) in texts {
        line.push_str(&" ".repeat(GAP));
        let blank = " ".repeat(column.width.saturating_sub(width(text)));
        if column.is_left {
            line.push_str(text);
            line.push_str(&blank);
        } else {
            line.push_str(&blank);
            line.push_str(text);
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A row's label with what is to be said of the row.
fn labelled(row: &super::grid::GridRow) -> String {
    row.mark.map_or_else(|| row.label.clone(), |mark| format!("{} ({mark})", row.label))
}

/// Columns of a terminal: our texts have no wide characters, those of a file are worth no table of widths.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Words in lines of at most the width, each line indented.
pub(crate) fn wrapped(text: &str, indent: &str, hanging: &str) -> String {
    let mut lines = String::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && width(&line) + 1 + width(word) > WIDTH_MAX {
            lines.push_str(&line);
            lines.push('\n');
            line = hanging.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// Between columns.
const GAP: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_between_words() {
        let text = wrapped(&"word ".repeat(100), "- ", "  ");
        assert!(text.lines().all(|line| width(line) <= WIDTH_MAX));
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 100);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.len() > 3 && lines[0].starts_with("- word") && lines[1].starts_with("  word"),
            "{text}"
        );
    }
}
