//! Experiments and their reports.
//!
//! * [`advise`]: what compression would do for a workload, and how good such forecasts are.
//! * [`client`]: our own MySQL client, made for scans: zlib and zstd at any level, rows counted, not copied.
//! * [`published`]: the figures of the published measurements, as data.
//! * [`plan`]: questions, their cells, and the published figures beside.
//! * [`job`]: what a client does in a cell.
//! * [`run`]: measures a plan's cells.
//! * [`calibrate`], [`links`]: what links really do, one and all of them side by side.
//! * [`link_step`]: a link whose rate changes while a scan runs.
//! * [`record`]: what a run writes down, `samples.jsonl`.
//! * [`stats`]: medians, intervals, ratios, tests.
//! * [`results`]: what was measured, by cell and metric.
//! * [`report`]: a run as a table on the terminal, Markdown, CSV, JSON and HTML.
//! * [`compare`]: two runs, cell by cell.
//! * [`table`], [`documents`], [`server_url`]: the tables, text to index, and the user's own server.
//! * [`cpu`]: CPU time of this thread, this process, another process, the machine.
//! * [`demo`]: the published full-scan experiment on this machine, in a minute.
//!
//! Invariants: no figure is written in code; what is published comes from `published/figures.toml`, what is
//! measured from a run.
//!
//! Not here: links and data (crate `lab`), the proxy (a process of its own, so that its CPU time is its own).

pub mod advise;
pub mod calibrate;
pub mod client;
pub mod compare;
pub mod cpu;
pub mod demo;
pub mod documents;
pub mod job;
pub mod link_step;
pub mod links;
pub mod plan;
pub mod published;
pub mod record;
pub mod report;
pub mod results;
pub mod run;
pub mod server_url;
mod shortfall;
pub mod stats;
pub mod table;
