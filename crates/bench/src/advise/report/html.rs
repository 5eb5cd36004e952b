//! The advice as one HTML file, in the look of the other reports: no script, no font, no address outside.
//!
//! Invariants: every text goes through [`Text`]; a drawing's figures are in a table, too.

use std::fmt::Write;

use super::{Advice, Driver, border_text, cpu_text, heat_map, held, how_text, paste, scatter};
use crate::report::html::escape::Text;
use crate::report::number::{capital, or_dash, short};

/// The whole file.
pub(super) fn html(advice: &Advice<'_>) -> String {
    let findings = advice.findings;
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Advice about compression</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<main class=\"page\">\n<header>\n\
         <p class=\"kicker\">wirepress advise, {}</p>\n<h1>What compression would do here</h1>\n\
         <p class=\"question\">{}</p>\n<p class=\"byline\">Link: {}.</p>\n</header>\n",
        include_str!("../../report/html/style.css"),
        Text(&findings.server.to_string()),
        Text(&advice.sentence()),
        Text(&advice.link()),
    );
    // A String takes everything.
    writeln!(html, "<p>{}</p>", Text(&advice.how_sure())).ok();
    if let Some(money) = advice.money() {
        writeln!(html, "<p>{}</p>", Text(&capital(&money))).ok();
    }
    writeln!(
        html,
        "<section>\n<h2>Where it pays</h2>\n<p>{}</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Heat \
         map\">\n{}</div>\n<details>\n<summary>As a table</summary>\n{}</details>\n</section>",
        Text(&heat_map::caption(advice)),
        heat_map::svg(advice),
        heat_map::table(advice)
    )
    .ok();
    if let Some(svg) = scatter::svg(advice) {
        writeln!(
            html,
            "<section>\n<h2>What it gains and costs</h2>\n<p>On the sampled replies, packed as wirepress packs, and, in \
             rings, as a server does.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Chart\">\n{svg}</div>\n</section>"
        )
        .ok();
    }
    push_candidates(&mut html, advice);
    push_money(&mut html, advice);
    html.push_str("<section>\n<h2>To paste</h2>\n");
    for (title, lines) in paste::lines(advice, &Driver::ALL) {
        let lines: Vec<String> = lines.iter().map(|line| Text(line).to_string()).collect();
        writeln!(html, "<h3>{}</h3>", Text(&title.replace('\n', " "))).ok();
        if !lines.is_empty() {
            let lines = lines.join("\n");
            writeln!(html, "<div class=\"scroll\" tabindex=\"0\"><pre><code>{lines}</code></pre></div>").ok();
        }
    }
    html.push_str("</section>\n<section>\n<h2>What must be known besides</h2>\n<ul>\n");
    for note in &findings.notes {
        writeln!(html, "<li>{}</li>", Text(note)).ok();
    }
    html + "</ul>\n</section>\n<footer>Made by wirepress advise. Beside this file: advice.json.</footer>\n</main>\n</body>\n</html>\n"
}

fn push_candidates(html: &mut String, advice: &Advice<'_>) {
    write!(
        html,
        "<section>\n<h2>All candidates</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All \
         candidates\"><table><caption>Over this link; {} changes stay within their interval</caption>\n\
         <thead><tr><th scope=\"col\">candidate</th>",
        held()
    )
    .ok();
    let per = advice.findings.per;
    for head in ["known by", "ratio", "CPU s per GB", per.heading(), "× none", "interval", "pays below"] {
        write!(html, "<th scope=\"col\">{head}</th>").ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    writeln!(
        html,
        "<tr><th scope=\"row\">none</th><td>{}</td><td>1.00</td><td>0</td><td>{}</td><td>1.00</td><td></td><td></td></tr>",
        per.none_known_by(),
        per.shown(advice.findings.none_time_s)
    )
    .ok();
    for one in &advice.findings.judged {
        writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"ratio\">{:.2}</td>\
             <td>{:.2}–{:.2}</td><td>{}</td></tr>",
            Text(&one.candidate.to_string()),
            how_text(one),
            short(one.ratio),
            cpu_text(one),
            per.shown(one.time_s),
            one.change.value,
            one.change.low,
            one.change.high,
            border_text(one.border),
        )
        .ok();
    }
    html.push_str("</tbody></table></div>\n</section>\n");
}

/// What each candidate does to the bill, if a month's bytes are known.
fn push_money(html: &mut String, advice: &Advice<'_>) {
    let Some(gb) = advice.prices.gb_per_month else { return };
    // A String takes everything.
    write!(
        html,
        "<section>\n<h2>Money</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Money\"><table><caption>Of \
         {} GB a month</caption>\n<thead><tr><th scope=\"col\">candidate</th>",
        short(gb)
    )
    .ok();
    for head in ["GB on the link", "saved on traffic", "core hours", "their cost", "gained"] {
        write!(html, "<th scope=\"col\">{head}</th>").ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for one in &advice.findings.judged {
        let Some(money) = advice.money_of(one) else { continue };
        let cells = [money.saved, money.core_hours, money.spent, money.remaining()];
        let cells: String = cells.into_iter().map(|cell| format!("<td>{}</td>", or_dash(cell))).collect();
        writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td>{cells}</tr>",
            Text(&one.candidate.to_string()),
            short(money.crossing_gb),
        )
        .ok();
    }
    html.push_str("</tbody></table></div>\n</section>\n");
}
