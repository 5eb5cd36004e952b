//! Draws a view, on whatever size there is.
//!
//! ```text
//! title, where, how many                                    paused
//! leg and direction  plain/s  packed/s  ratio  cpu%  ▁▂▃ plain  ▁▂▃ packed     (four lines)
//! what is wrong, if anything
//! connections
//! keys, or a question
//! ```
//! Invariants: what comes from clients can't steer the terminal: `ratatui` leaves control characters out.
//! Not here: what the numbers are (`view`), the columns (`column`).

use std::time::Duration;

use admin::Flow;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line as TextLine, Span, Text};
use ratatui::widgets::{
    Block, Cell, Clear, Paragraph, RenderDirection, Row, Sparkline, Table, TableState, Wrap,
};

use super::column::Column;
use super::figures;
use super::keys::HELP;
use super::view::{Line, Mode, Rates, View};

/// Draws it; how many connections are shown at once. `silent`: for how long the admin port owes an answer.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View, admin: &str, silent: Option<Duration>) -> usize {
    let wrong = trouble(view, admin, silent);
    // On a low screen the connections are what is looked for.
    let flows_height = if frame.area().height < 10 { 0 } else { FLOWS_HEIGHT };
    let wrong_height = wrong.as_ref().map_or(0, |text| lines_of(text, frame.area().width));
    let [title, flows, wrong_area, list, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(flows_height),
        Constraint::Length(wrong_height),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_title(frame, title, view, admin);
    draw_flows(frame, flows, view);
    if let Some(wrong) = wrong {
        frame.render_widget(Paragraph::new(wrong).wrap(Wrap { trim: true }).bold().reversed(), wrong_area);
    }
    draw_list(frame, list, view);
    frame.render_widget(foot_line(view), foot);
    if view.mode == Mode::Help {
        draw_help(frame);
    }
    usize::from(list.height.saturating_sub(1))
}

fn trouble(view: &View, admin: &str, silent: Option<Duration>) -> Option<String> {
    if let Some(why) = &view.lost {
        return Some(format!("NO CONNECTION to {admin}, trying again; what is below is old: {why}"));
    }
    silent.map(|silent| format!("NO ANSWER from {admin} for {} s; what is below is old", silent.as_secs()))
}

/// How many lines it takes, three at most.
fn lines_of(text: &str, width: u16) -> u16 {
    let lines = text.chars().count().div_ceil(usize::from(width.max(1)));
    u16::try_from(lines.min(3)).unwrap_or(3)
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, view: &View, admin: &str) {
    let (all, active) = view.count();
    let mut text = format!("wirepress top  connections: {all}, active: {active}  {admin}");
    if !view.filter.is_empty() {
        text = format!(
            "wirepress top  connections: {} of {all}, with '{}'  {admin}",
            view.shown().len(),
            view.filter
        );
    }
    let paused = if view.is_paused { " PAUSED " } else { "" };
    let [left, right] = Layout::horizontal([
        Constraint::Min(0),
        Constraint::Length(u16::try_from(paused.len()).unwrap_or(0)),
    ])
    .areas(area);
    frame.render_widget(TextLine::from(text).bold(), left);
    frame.render_widget(TextLine::from(paused).bold().reversed(), right);
}

fn draw_flows(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let bars = area.width.saturating_sub(FLOW_TEXT_WIDTH);
    let [text, plain, packed] = Layout::horizontal([
        Constraint::Length(FLOW_TEXT_WIDTH.min(area.width)),
        Constraint::Length(bars / 2),
        Constraint::Length(bars / 2),
    ])
    .areas(area);
    let now = view.history.front();
    let mut lines = vec![
        TextLine::from(format!(
            "{:<19}{:>9}{:>9}{:>8}{:>6} ",
            "leg and direction", "plain/s", "packed/s", "ratio", "cpu%"
        ))
        .dim(),
    ];
    for (flow, (side, direction)) in Flow::NAMES.into_iter().enumerate() {
        let rates = now.and_then(|now| now.get(flow)).copied();
        lines.push(TextLine::from(format!(
            "{side:<6} {direction:<12}{:>9}{:>9}{:>8}{:>6} ",
            figures::bytes(rates.map(|rates| rates.plain)),
            figures::bytes(rates.map(|rates| rates.packed)),
            figures::ratio(rates.and_then(Rates::ratio)),
            figures::percent(rates.map(|rates| rates.cpu)),
        )));
        let row = |of: Rect| Rect { y: of.y + 1 + flow as u16, height: 1, ..of }.intersection(of);
        // Both by one scale, so that they can be compared.
        let series = |of: fn(Rates) -> f64| -> Vec<u64> {
            view.history.iter().filter_map(|rates| rates.get(flow)).map(|rates| of(*rates) as u64).collect()
        };
        let (plain_series, packed_series) = (series(|it| it.plain), series(|it| it.packed));
        let shown = usize::from(bars / 2);
        let highest = plain_series.iter().take(shown).chain(packed_series.iter().take(shown)).max();
        let highest = highest.copied().unwrap_or(0).max(1);
        for (at, data) in [(plain, plain_series), (packed, packed_series)] {
            let bars = Sparkline::default().data(data).max(highest).direction(RenderDirection::RightToLeft);
            let area = row(at);
            // A space between the two.
            frame.render_widget(bars, Rect { width: area.width.saturating_sub(1), ..area });
        }
    }
    frame.render_widget(Text::from(lines), text);
    for (area, name) in [(plain, "plain"), (packed, "packed")] {
        let area = Rect { height: area.height.min(1), width: area.width.saturating_sub(1), ..area };
        frame.render_widget(TextLine::from(name).alignment(Alignment::Right).dim(), area);
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let shown = view.shown();
    let columns = Column::fitting(area.width);
    let aligned = |column: &Column, text: String| {
        let alignment = if column.is_number() { Alignment::Right } else { Alignment::Left };
        Cell::from(Text::from(text).alignment(alignment))
    };
    let heading = |column: &Column| {
        let cell = aligned(column, column.title().to_owned());
        if *column == view.sort { cell.bold().underlined() } else { cell }
    };
    let row = |line: &&Line| Row::new(columns.iter().map(|column| aligned(column, column.cell(line))));
    // Only what is seen is drawn, however many there are.
    let height = usize::from(area.height.saturating_sub(1));
    let place = view.place(&shown);
    let first = place.map_or(0, |place| (place + 1).saturating_sub(height.max(1)));
    let rows = shown.iter().skip(first).take(height).map(row);
    let table = Table::new(rows, columns.iter().map(|column| Constraint::Length(column.width())))
        .header(Row::new(columns.iter().map(heading)).style(Style::new().reversed()))
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::new().with_selected(place.map(|place| place - first));
    frame.render_stateful_widget(table, area, &mut state);
}

fn foot_line(view: &View) -> TextLine<'static> {
    match &view.mode {
        Mode::Filter => {
            TextLine::from(format!("Filter: {}_  Enter keeps it, Esc shows all", view.filter)).bold()
        }
        Mode::Kill { id, whose } => {
            TextLine::from(format!("Kill connection {id} of {whose}? y: yes, any other key: no"))
                .bold()
                .reversed()
        }
        Mode::Help => TextLine::from("Any key goes back"),
        Mode::List => match &view.notice {
            Some(notice) => TextLine::from(notice.clone()).bold(),
            None => keys_line(view),
        },
    }
}

fn keys_line(view: &View) -> TextLine<'static> {
    let mut spans = Vec::new();
    for (key, what) in
        [("F1", "Help"), ("F4", "Filter"), ("F6", "Sort"), ("F9", "Kill"), ("p", "Pause"), ("F10", "Quit")]
    {
        spans.extend([Span::from(key).bold(), Span::from(what).reversed(), Span::from(" ")]);
    }
    let order = if view.descending { "descending" } else { "ascending" };
    spans.push(Span::from(format!(" by {}, {order}", view.sort.title())));
    TextLine::from(spans)
}

fn draw_help(frame: &mut Frame<'_>) {
    let mut lines: Vec<TextLine<'_>> =
        HELP.iter().map(|(keys, what)| TextLine::from(format!(" {keys:<25}  {what}"))).collect();
    lines.push(TextLine::from(""));
    lines.extend(LEGEND.map(TextLine::from));
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let area = frame.area().centered(Constraint::Max(76), Constraint::Max(height));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" wirepress top ")), area);
}

/// What the abbreviations mean.
const LEGEND: [&str; 6] = [
    " plain   what a leg without compression would carry",
    " packed  what it carries, without what TLS adds",
    " C-LEG   the client's leg: algorithm, level, packed bytes per second",
    " S-LEG   the server's leg",
    " RATIO   plain / packed, since the login",
    " CPU%    of one CPU, spent packing and unpacking",
];

/// A heading, and one for each direction of each leg.
const FLOWS_HEIGHT: u16 = 5;
/// What stands before the sparklines.
const FLOW_TEXT_WIDTH: u16 = 52;

#[cfg(test)]
mod tests;
