//! The web page's files, which are part of the binary.
//!
//! Invariants: they need nothing from elsewhere; no user's data is in them.
//! Not here: the files (`page/` beside `src/`), what they show (`feed`).

/// Type and text of a file.
pub(crate) fn file(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(name, ..)| *name == path).map(|(_, kind, text)| (*kind, *text))
}

/// What the page may do: load its own files and ask where it came from. Nothing inline runs, and no text can become markup.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

const FILES: [(&str, &str, &str); 11] = [
    ("/", HTML, include_str!("../page/index.html")),
    ("/page/style.css", CSS, include_str!("../page/style.css")),
    ("/page/icon.svg", SVG, include_str!("../page/icon.svg")),
    ("/page/main.js", JS, include_str!("../page/main.js")),
    ("/page/stream.js", JS, include_str!("../page/stream.js")),
    ("/page/figures.js", JS, include_str!("../page/figures.js")),
    ("/page/dom.js", JS, include_str!("../page/dom.js")),
    ("/page/chart.js", JS, include_str!("../page/chart.js")),
    ("/page/panels.js", JS, include_str!("../page/panels.js")),
    ("/page/table.js", JS, include_str!("../page/table.js")),
    ("/page/theme.js", JS, include_str!("../page/theme.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_name_only_each_other() {
        for (name, kind, text) in FILES {
            // The namespace of SVG is a name and is never asked for.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for elsewhere in
                ["http://", "https://", "//cdn", "url(", "@import", "innerHTML", "style=\"", "onclick="]
            {
                assert!(!text.contains(elsewhere), "{name} has {elsewhere}");
            }
            let quoted = text.split(['"', '\'']).skip(1).step_by(2);
            let quoted =
                quoted.filter(|it| it.ends_with(".js") || it.ends_with(".css") || it.ends_with(".svg"));
            for path in quoted.filter(|_| kind == HTML || kind == JS) {
                let path = path.trim_start_matches('.').trim_start_matches('/').trim_start_matches("page/");
                assert!(file(&format!("/page/{path}")).is_some(), "{name} names {path}");
            }
        }
    }
}
