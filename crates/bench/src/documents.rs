//! Real text to index: the paragraphs of the distribution's own manuals, none of them twice.
//!
//! ```text
//!  texts/usr/share/doc/…/*.txt, *.rst, *.pod, *.html ─▶ paragraphs ─▶ each once ─▶ documents of about 3 kB
//! ```
//! Generated text compresses as its generator does; manuals compress as what people write.
//!
//! Invariants: the same packages give the same documents in the same order; no paragraph occurs twice, whatever manual
//! it stands in.
//!
//! Not here: fetching them (`scripts/fetch-servers --sphinx`), the table (`table`).

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lab::real::Install;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The file it is from.
    pub title: String,
    /// Paragraphs, a blank line between them.
    pub body: String,
}

/// Reads documents of at least `bytes` of text in all.
///
/// # Errors
/// They have not been fetched, or there are fewer.
pub fn load(bytes: usize) -> anyhow::Result<Vec<Document>> {
    let install = Install::find()?;
    let folder = install.path().join("servers/roots/texts/usr/share/doc");
    ensure!(folder.is_dir(), "there are no texts to index; scripts/fetch-servers --sphinx fetches them");
    let documents = read(&folder, bytes)?;
    let len: usize = documents.iter().map(|document| document.body.len()).sum();
    ensure!(
        len >= bytes,
        "{} has {} MB of paragraphs that differ, {} MB are wanted; choose a smaller scale",
        folder.display(),
        len / 1_000_000,
        bytes / 1_000_000
    );
    Ok(documents)
}

fn read(folder: &Path, bytes: usize) -> anyhow::Result<Vec<Document>> {
    let mut files = Vec::new();
    find(folder, &mut files).with_context(|| format!("cannot read {}", folder.display()))?;
    // Manuals are mixed, so that a small share of the text is not a single manual.
    files.sort_by_cached_key(|path| {
        let name = path.strip_prefix(folder).unwrap_or(path).to_owned();
        (hash(&name), name)
    });
    let (mut seen, mut documents, mut len) = (HashSet::new(), Vec::new(), 0);
    for path in files {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&text);
        let is_html = path.extension().is_some_and(|extension| extension == "html");
        let text = if is_html { without_tags(&text) } else { text.into_owned() };
        let title = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        for document in documents_of(&title, &text, &mut seen) {
            len += document.body.len();
            documents.push(document);
        }
        if len >= bytes {
            break;
        }
    }
    Ok(documents)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_text = || {
            path.extension().and_then(|extension| extension.to_str()).is_some_and(|it| TEXTS.contains(&it))
        };
        if kind.is_dir() {
            find(&path, files)?;
        } else if kind.is_file() && is_text() {
            files.push(path);
        }
    }
    Ok(())
}

/// Paragraphs that have not been seen yet, put together to documents.
fn documents_of(title: &str, text: &str, seen: &mut HashSet<u64>) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut body = String::new();
    let mut push = |body: &mut String| {
        if body.len() >= DOCUMENT_BYTES_MIN {
            let title = title.chars().take(TITLE_CHARS).collect();
            documents.push(Document { title, body: std::mem::take(body) });
        }
    };
    for paragraph in paragraphs(text) {
        if paragraph.len() < PARAGRAPH_BYTES_MIN || !seen.insert(hash(&paragraph)) {
            continue;
        }
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(&paragraph);
        if body.len() >= DOCUMENT_BYTES {
            push(&mut body);
        }
    }
    push(&mut body);
    documents
}

/// What stands between blank lines, with single spaces, so that another width is no other paragraph.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let mut words: Vec<&str> = Vec::new();
        loop {
            match lines.next() {
                Some(line) if !line.trim().is_empty() => words.extend(line.split_whitespace()),
                None if words.is_empty() => return None,
                _ if words.is_empty() => {}
                _ => return Some(words.join(" ")),
            }
        }
    })
}

/// HTML's text: tags away, what separates paragraphs as a blank line, the commonest entities as characters.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        text.push_str(before);
        let end = tag.find('>').map_or(tag.len(), |end| end + 1);
        let name = tag.trim_start_matches(['<', '/']).split(|c: char| !c.is_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let is_end = tag.starts_with("</");
        rest = tag.get(end..).unwrap_or_default();
        if !is_end && (name == "script" || name == "style") {
            let close = format!("</{name}");
            rest = rest.find(&close).and_then(|at| rest.get(at..)).unwrap_or_default();
        } else if BLOCKS.contains(&name.as_str()) {
            text.push_str("\n\n");
        }
    }
    text.push_str(rest);
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " "), ("&#8217;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (entity, character)| text.replace(entity, character))
}

fn hash(what: &(impl Hash + ?Sized)) -> u64 {
    // Without keys: the same in every run.
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Extensions of files that hold text.
const TEXTS: [&str; 4] = ["txt", "rst", "pod", "html"];
/// Elements that end a paragraph.
const BLOCKS: [&str; 19] = [
    "p",
    "div",
    "li",
    "td",
    "th",
    "tr",
    "dt",
    "dd",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "pre",
    "blockquote",
    "title",
    "section",
    "table",
    "ul",
];
/// A heading or a line of a menu is no paragraph.
const PARAGRAPH_BYTES_MIN: usize = 60;
/// An article.
const DOCUMENT_BYTES: usize = 3_000;
/// The rest of a file that is no article.
const DOCUMENT_BYTES_MIN: usize = 200;
/// Fits the column.
const TITLE_CHARS: usize = 250;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_used_once_whatever_its_width_and_place() {
        let long = "word ".repeat(60);
        let other = "another ".repeat(60);
        let mut seen = HashSet::new();
        let text = format!("{long}\n\n{}\n\n{other}", long.replace(' ', "\n"));
        let documents = documents_of("a", &text, &mut seen);
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0].body, format!("{}\n\n{}", long.trim(), other.trim()));
        assert_eq!(documents_of("b", &text, &mut seen), []);
    }

    #[test]
    fn tags_scripts_and_styles_are_no_text() {
        let html = "<html><head><style>p { a: b }</style><script>x < y</script></head><body><p>One &amp; two</p>\
                    <P>Three<b>!</b></P></body>";
        let text: Vec<String> = paragraphs(&without_tags(html)).collect();
        assert_eq!(text, ["One & two", "Three!"]);
    }

    #[test]
    fn files_are_found_and_mixed_in_the_same_order_each_time() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.txt", "b.rst", "c.html", "d.png"] {
            fs::write(folder.path().join(name), format!("{name} {}", "many words ".repeat(30))).unwrap();
        }
        let documents = read(folder.path(), usize::MAX).unwrap();
        assert_eq!(documents.len(), 3);
        assert_eq!(read(folder.path(), usize::MAX).unwrap(), documents);
        assert_eq!(read(folder.path(), 1).unwrap().len(), 1);
    }
}
