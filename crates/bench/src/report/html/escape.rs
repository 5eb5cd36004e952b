//! Texts of a file inside HTML.
//!
//! Invariants: what is written through [`Text`] is text, in an element as well as in a quoted attribute, whatever it
//! says.

use std::fmt;

use crate::report::number::printable;

/// Writes a text with everything escaped that HTML gives a meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_keeps_a_meaning() {
        assert_eq!(
            Text("<a href=\"x\" t='y'>&\0").to_string(),
            "&lt;a href=&quot;x&quot; t=&#39;y&#39;&gt;&amp;\u{fffd}"
        );
    }
}
