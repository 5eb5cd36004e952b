//! Rows of prose: words of a small vocabulary, common ones more often, with capitals and full stops.
//!
//! For workloads between digits (ratio 2) and repetition (ratio 100 and more): the text compresses about
//! three to three and a half times, as the published indexing experiment reports of its own.
//!
//! Invariants: exactly the asked number of bytes, ASCII.
//!
//! Not here: natural language; order of words means nothing.

use super::Sequence;

/// `len` bytes of prose, the text of row `id`.
#[must_use]
pub fn text_row(seed: u64, id: u32, len: usize) -> String {
    let mut sequence = Sequence::new(seed, u64::from(id));
    let mut text = String::with_capacity(len + LONGEST_WORD);
    let mut words_left = 0;
    let mut last = 0;
    while text.len() < len {
        last = following(&mut sequence, last);
        let word = WORDS[last];
        if words_left == 0 {
            words_left = 4 + sequence.below(12);
            if !text.is_empty() {
                text.push_str(". ");
            }
            push_capitalised(&mut text, word);
        } else {
            text.push(' ');
            text.push_str(word);
        }
        words_left -= 1;
        // A number now and then, as prices, years and identifiers in real rows.
        if sequence.below(16) == 0 {
            text.push_str(&format!(" {}", sequence.below(100_000)));
        }
    }
    text.truncate(len);
    text
}

/// The word after the word `last`.
fn following(sequence: &mut Sequence, last: usize) -> usize {
    // Two times in three one of the four that often follow it: phrases repeat, as in any language.
    if sequence.below(3) > 0 {
        return (last * 4 + sequence.below(4) as usize + 1) % WORDS.len();
    }
    // Else the smaller of two draws: a falling density, so that the first words are the common ones.
    let count = u32::try_from(WORDS.len()).unwrap_or(u32::MAX);
    sequence.below(count).min(sequence.below(count)) as usize
}

fn push_capitalised(text: &mut String, word: &str) {
    let mut letters = word.chars();
    text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
    text.push_str(letters.as_str());
}

/// Room for the last word, number and full stop before the text is cut to its length.
const LONGEST_WORD: usize = 32;

/// Common words first. Part of the pinned bytes: never reorder.
const WORDS: [&str; 159] = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "be",
    "by",
    "on",
    "not",
    "he",
    "his",
    "but",
    "at",
    "are",
    "this",
    "have",
    "from",
    "or",
    "had",
    "an",
    "they",
    "which",
    "one",
    "you",
    "were",
    "all",
    "her",
    "she",
    "there",
    "would",
    "their",
    "we",
    "him",
    "been",
    "has",
    "when",
    "who",
    "will",
    "no",
    "more",
    "if",
    "out",
    "so",
    "up",
    "said",
    "what",
    "its",
    "about",
    "than",
    "into",
    "them",
    "can",
    "only",
    "other",
    "time",
    "new",
    "some",
    "could",
    "these",
    "two",
    "may",
    "first",
    "then",
    "do",
    "any",
    "like",
    "my",
    "now",
    "over",
    "such",
    "our",
    "man",
    "me",
    "even",
    "most",
    "made",
    "after",
    "also",
    "well",
    "did",
    "many",
    "before",
    "must",
    "years",
    "back",
    "through",
    "much",
    "where",
    "your",
    "way",
    "down",
    "should",
    "because",
    "long",
    "each",
    "just",
    "state",
    "those",
    "people",
    "too",
    "world",
    "good",
    "still",
    "between",
    "work",
    "life",
    "being",
    "under",
    "never",
    "last",
    "house",
    "great",
    "order",
    "river",
    "letter",
    "market",
    "paper",
    "number",
    "winter",
    "garden",
    "engine",
    "account",
    "village",
    "question",
    "morning",
    "captain",
    "station",
    "history",
    "company",
    "evening",
    "machine",
    "customer",
    "delivery",
    "movement",
    "mountain",
    "property",
    "railway",
    "shipment",
    "standard",
    "telegraph",
    "warehouse",
    "conference",
    "department",
    "government",
    "instrument",
    "management",
    "temperature",
    "understanding",
    "correspondence",
    "administration",
    "recommendation",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_the_asked_length_and_only_ascii() {
        for len in [0, 1, 7, 500, 10_000] {
            let text = text_row(1, 1, len);
            assert_eq!(text.len(), len);
            assert!(text.is_ascii());
        }
    }
}
