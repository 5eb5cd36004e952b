//! A table in plain text, ready to be pasted into `docs/`.
//!
//! Not here: reports of runs (`report`).

use std::fmt;

/// A heading, then columns: the first to the left, the others to the right.
#[derive(Debug, Clone)]
pub(super) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(title: &str, columns: &[&str]) -> Self {
        Self { title: title.to_owned(), rows: vec![columns.iter().map(|&name| name.to_owned()).collect()] }
    }

    pub(super) fn add<const N: usize>(&mut self, row: [String; N]) {
        self.rows.push(row.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let width = |column: usize| {
            let lengths = self.rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count());
            lengths.max().unwrap_or(0)
        };
        for row in &self.rows {
            let mut line = String::new();
            for (column, text) in row.iter().enumerate() {
                let width = width(column);
                line +=
                    &if column == 0 { format!("    {text:width$}") } else { format!("   {text:>width$}") };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new("Rates", &["link", "Mbit/s"]);
        table.add(["10mbit,40ms".to_owned(), "9.5".to_owned()]);
        assert_eq!(table.to_string(), "Rates\n\n    link          Mbit/s\n    10mbit,40ms      9.5\n");
    }
}
