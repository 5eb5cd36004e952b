//! `never-slower`: the latency policy against no compression and against every fixed setting; and the pair beside.
//!
//! What must hold of each cell, and the share of cells that it holds of, are [`Verdict`]'s; nothing of it was published by
//! anybody. A pair's cells are compared with the standard protocol's besides (`pair`).
//!
//! ```text
//!                             replies                       requests (bulk inserts)
//!  wirepress (beside server)  the policy, frame by frame    our own client packs: not measured
//!  wirepress beside app       the server packs, by what     the policy, frame by frame, on a leg
//!                             is chosen at login            that is packed at all
//!  wirepress pair             the policy, frame by frame    the policy, frame by frame
//! ```
//! A choice at login goes by what the link has shown, so beside the app cells of the policy, and those of none that they are held
//! against, are measured behind uncounted connections with a long reply: one, and a second where several clients log in at once,
//! of which only one would be let try what was not seen yet. Where the work's replies are others three send its statements then.

mod again;
mod incompressible;
mod pair;
mod regret;
mod verdict;

pub(super) use self::regret::FIXED;

use lab::link::Link;

use self::verdict::Verdict;
use super::work::Work;
use super::{Batch, Judgement, Plan, Scale, Step, World};
use crate::job::Job;
use crate::record::{Cell, Metric, Path, Setting};
use crate::results::Results;

/// Never slower than none.
#[derive(Debug)]
pub(super) struct NeverSlower;

impl Plan for NeverSlower {
    fn name(&self) -> &'static str {
        "never-slower"
    }

    fn title(&self) -> &'static str {
        "Never slower: the latency policy against none and every fixed setting"
    }

    fn question(&self) -> &'static str {
        "Is the latency policy ever slower than no compression through the same proxy, and how far is it from the best \
         fixed setting?"
    }

    fn primary(&self) -> Metric {
        Metric::TransactionsPerS
    }

    fn columns(&self) -> &'static [Metric] {
        &[
            Metric::TransactionsPerS,
            Metric::LatencyP99Ms,
            Metric::WireBytesPerTx,
            Metric::WireBytes,
            Metric::ServerCpuUsPerTx,
            Metric::ProxyCpuUsPerTx,
            Metric::ClientCpuUsPerTx,
            Metric::ServerCpuS,
            Metric::ProxyCpuS,
            Metric::ClientCpuS,
        ]
    }

    fn links(&self) -> &'static [&'static str] {
        &["unlimited", "1gbit,500us", "100mbit,1.4ms", "10mbit,40ms"]
    }

    fn takes_turns(&self) -> bool {
        true
    }

    /// Only those cells that need it are measured more often ([`again`]).
    fn repetitions(&self, _scale: Scale) -> u32 {
        2
    }

    fn steps(&self, world: &World) -> anyhow::Result<Vec<Step>> {
        Ok(together(comparisons(world).into_iter().flat_map(|comparison| comparison.steps)))
    }

    fn next(&self, world: &World, results: &Results) -> Batch {
        let rounds_max = match world.scale {
            Scale::Smoke => return Batch::default(),
            Scale::Laptop => again::ROUNDS_MAX_LAPTOP,
            Scale::Full => again::ROUNDS_MAX,
        };
        again::batch(comparisons(world), results, world.repetitions, rounds_max)
    }

    fn has_heat_maps(&self) -> bool {
        true
    }

    fn summary(&self, results: &Results) -> Vec<String> {
        let mut lines = Verdict::of(results).lines();
        lines.extend(incompressible::lines(results));
        lines.extend(pair::lines(results));
        lines
    }

    fn judgements(&self, results: &Results) -> Vec<Judgement> {
        Verdict::of(results).judgements()
    }
}

/// A cell of the latency policy, and all that it is compared with.
struct Comparison {
    latency: Cell,
    steps: Vec<Step>,
}

fn comparisons(world: &World) -> Vec<Comparison> {
    let works = Work::all();
    let mut groups = Vec::new();
    for (link_name, link) in &world.links {
        for work in &works {
            for path in [Path::Wirepress, Path::WirepressBesideApp, Path::WirepressPair] {
                if is_decided_by_policy(work, path, world) {
                    groups.push((link_name, link, work, path));
                }
            }
        }
    }
    let wanted = match world.scale {
        Scale::Smoke => 8,
        Scale::Laptop => 20,
        Scale::Full => groups.len(),
    };
    let groups = world.drawn(groups, wanted, |(link, _, work, path): &(&String, _, &Work, Path)| {
        work.cell(link, *path, Setting::None)
    });
    groups.into_iter().map(|(name, link, work, path)| comparison(name, link, work, path, world)).collect()
}

/// Whether it is the proxy's policy by which the large direction is packed or not.
fn is_decided_by_policy(work: &Work, path: Path, world: &World) -> bool {
    match path {
        // What a client sends is packed by the client, which here is our own.
        Path::Wirepress => !work.is_sent(),
        Path::WirepressBesideApp => world.server_has_zstd,
        _ => true,
    }
}

fn comparison(name: &str, link: &Link, work: &Work, path: Path, world: &World) -> Comparison {
    let job = work.job(link, world);
    let standard = (path == Path::WirepressPair).then(|| pair::standard_path(work.is_sent()));
    let standard = standard.filter(|standard| is_decided_by_policy(work, *standard, world));
    let steps = SETTINGS
        .map(|setting| (path, setting))
        .into_iter()
        .chain(standard.map(|path| (path, pair::COMPARED)))
        .chain([(Path::Direct, Setting::None)])
        .map(|way| Step {
            before: before(work, way, link, world),
            ..Step::new(work.cell(name, way.0, way.1), job.clone())
        })
        .collect();
    Comparison { latency: work.cell(name, path, Setting::Latency), steps }
}

/// Where the server packs, the choice at login is scored from the second connection on.
const fn connections_before(work: &Work, (path, setting): (Path, Setting)) -> usize {
    match (path, setting) {
        (Path::WirepressBesideApp, Setting::Latency | Setting::None) if work.threads > 1 => 2,
        (Path::WirepressBesideApp, Setting::Latency | Setting::None) => 1,
        _ => 0,
    }
}

fn before(work: &Work, way: (Path, Setting), link: &Link, world: &World) -> Vec<Job> {
    let count = connections_before(work, way);
    let long_replies = vec![Job::Scan(work.long_reply(link, world)); count];
    let first = if count > 0 { work.first_statements(link, world) } else { None };
    long_replies.into_iter().chain(first).collect()
}

/// Each once: comparisons share cells.
fn together(steps: impl Iterator<Item = Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in steps {
        if !all.iter().any(|known| known.cell == step.cell) {
            all.push(step);
        }
    }
    all
}

/// None, every fixed setting, and ours.
const SETTINGS: [Setting; 6] =
    [Setting::None, Setting::Zlib, Setting::Zstd(1), Setting::Zstd(3), Setting::Zstd(7), Setting::Latency];

#[cfg(test)]
mod tests {
    use super::*;

    fn world(server_has_zstd: bool) -> World {
        World {
            scale: Scale::Full,
            workloads: Vec::new(),
            links: vec![("10mbit".to_owned(), Link::parse("10mbit").unwrap())],
            server_has_zstd,
            is_real: true,
            is_private: true,
            is_private_mariadb: !server_has_zstd,
            repetitions: 2,
            seed: 1,
        }
    }

    /// Workloads with their clients, by the path of the policy's cell.
    fn works(world: &World, path: Path) -> Vec<String> {
        let cells = comparisons(world).into_iter().map(|comparison| comparison.latency);
        let cells = cells.filter(|cell| cell.path == path);
        cells.map(|cell| format!("{} {}", cell.workload, cell.threads)).collect()
    }

    #[test]
    fn every_workload_is_measured_wherever_the_policy_decides_about_it_and_nowhere_else() {
        let all = works(&world(true), Path::WirepressPair);
        assert_eq!(all.len(), 12);
        assert_eq!(works(&world(true), Path::WirepressBesideApp), all);
        let replies: Vec<&String> = all.iter().filter(|work| *work != "bulk insert 1").collect();
        assert_eq!(works(&world(true), Path::Wirepress).iter().collect::<Vec<_>>(), replies);
        // Nobody beside the app can make such a server pack with zstd.
        assert_eq!(works(&world(false), Path::WirepressBesideApp), [""; 0]);
        assert_eq!(works(&world(false), Path::WirepressPair), all);
    }

    #[test]
    fn beside_the_app_the_policy_and_none_go_behind_uncounted_long_replies() {
        let world = world(true);
        let steps = NeverSlower.steps(&world).unwrap();
        for step in &steps {
            let Cell { path, setting, threads, .. } = step.cell;
            let is_compared =
                path == Path::WirepressBesideApp && [Setting::None, Setting::Latency].contains(&setting);
            let wanted = if is_compared { threads.min(2) as usize } else { 0 };
            let is_scan = |job: &Job| matches!(job, Job::Scan(_));
            let long = step.before.iter().take_while(|job| is_scan(job)).count();
            assert_eq!(long, wanted, "{}", step.cell);
            let is_select = matches!(step.cell.workload.as_str(), "point select" | "range of 100 rows");
            assert_eq!(step.before.len() - long, usize::from(is_compared && is_select), "{}", step.cell);
        }
        let inserts =
            steps.iter().find(|step| !step.before.is_empty() && step.cell.workload == "bulk insert");
        let Some(Job::Scan(before)) = inserts.unwrap().before.first() else { panic!() };
        // As much of it as this link carries in two seconds.
        assert!((12_000..13_000).contains(&before.rows), "{before:?}");
        let tables: Vec<String> = inserts.unwrap().tables().into_iter().map(|table| table.name).collect();
        assert_eq!(tables, ["inserted", "sbtest1"]);
    }

    #[test]
    fn a_pair_stands_beside_the_standard_protocol_where_somebody_of_ours_speaks_it() {
        let standard = |world: &World, workload: &str| {
            let comparison = comparisons(world).into_iter().find(|comparison| {
                comparison.latency.path == Path::WirepressPair && comparison.latency.workload == workload
            });
            let steps = comparison.unwrap().steps.into_iter().map(|step| step.cell);
            let others = steps.filter(|cell| !matches!(cell.path, Path::WirepressPair | Path::Direct));
            others.map(|cell| (cell.path, cell.setting)).collect::<Vec<_>>()
        };
        let of = |path| vec![(path, pair::COMPARED)];
        assert_eq!(standard(&world(true), "scan of text"), of(Path::Wirepress));
        assert_eq!(standard(&world(true), "bulk insert"), of(Path::WirepressBesideApp));
        assert_eq!(standard(&world(false), "bulk insert"), []);
    }

    #[test]
    fn fewer_long_rows_cross_a_slow_link() {
        let steps = NeverSlower.steps(&world(true)).unwrap();
        let long = steps.iter().find(|step| step.cell.workload == "scan of rows of 1 MiB").unwrap();
        let Job::Scan(scan) = &long.job else { panic!("{long:?}") };
        assert_eq!((scan.rows, scan.table.rows), (6, 40));
    }
}
