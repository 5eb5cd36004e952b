//! What follows from it: which candidate to use over the link, what that changes, and how sure that is.
//!
//! Invariants: no verdict on too little, see [`wants`]; a gain below [`GAIN_MIN`], or one whose interval holds none, is
//! no reason to change anything; of candidates that are as fast as each other within [`TIE`] the one that costs the
//! least CPU is taken, and of those whose CPU is the same within [`CPU_TIE`] one that needs no further process.
//!
//! Not here: words (`report`), the model (`forecast`).

use super::candidate::{Candidate, CodecRates, Packer};
use super::forecast::{Border, Change, LinkShape, Way, border, change};

/// A candidate over the link.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// What.
    pub(crate) candidate: Candidate,
    /// How the workload travels under it.
    pub(crate) way: Way,
    /// It was measured as a whole, not computed from codec rates.
    pub(crate) is_measured: bool,
    /// Time of the workload over the link, s.
    pub(crate) time_s: f64,
    /// That in terms of none's.
    pub(crate) change: Change,
    /// Plain bytes in terms of packed ones.
    pub(crate) ratio: f64,
    /// CPU for a GB, both ends, as far as it is known.
    pub(crate) cpu_s_per_gb: Option<f64>,
    /// Up to which rate it is faster than none, at the link's round trip.
    pub(crate) border: Border,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The candidate of this place.
    Use(usize),
    /// Nothing gains enough to tell.
    Leave,
}

/// A candidate that is to be judged.
pub(crate) struct Entrant {
    /// What.
    pub(crate) candidate: Candidate,
    /// How the workload travels under it.
    pub(crate) way: Way,
    /// It was measured as a whole.
    pub(crate) is_measured: bool,
    /// Its codec on samples.
    pub(crate) rates: Option<CodecRates>,
}

/// Lays a candidate beside none.
pub(crate) fn judge(entrant: Entrant, none: &Way, link: &LinkShape) -> Judged {
    let Entrant { candidate, way, is_measured, rates } = entrant;
    Judged {
        candidate,
        is_measured,
        time_s: way.time_s(link),
        change: change(&way, none, link),
        ratio: none.packed_bytes() / way.packed_bytes().max(1.0),
        cpu_s_per_gb: rates.map(|rates| rates.cpu_s_per_gb()),
        border: border(&way, none, link.round_trip_s),
        way,
    }
}

/// Chooses among all candidates, none not among them.
pub(crate) fn choose(judged: &[Judged]) -> Choice {
    let gains = |one: &Judged| one.change.value <= 1.0 - GAIN_MIN && one.change.high < 1.0;
    let fastest =
        judged.iter().filter(|one| gains(one)).map(|one| one.change.value).fold(f64::INFINITY, f64::min);
    let tied = || {
        let all = judged.iter().enumerate();
        all.filter(|(_, one)| gains(one) && one.change.value <= fastest * (1.0 + TIE))
    };
    // What is not known costs most.
    let cost = |one: &Judged| one.cpu_s_per_gb.unwrap_or(f64::INFINITY);
    let cheapest = tied().map(|(_, one)| cost(one)).fold(f64::INFINITY, f64::min);
    tied()
        .filter(|(_, one)| cost(one) <= cheapest * (1.0 + CPU_TIE))
        .min_by(|(_, a), (_, b)| {
            let is_further_process = |one: &Judged| one.candidate.packer == Packer::Wirepress;
            is_further_process(a).cmp(&is_further_process(b)).then(cost(a).total_cmp(&cost(b)))
        })
        .map_or(Choice::Leave, |(place, _)| Choice::Use(place))
}

/// What helps where there is too little.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remedies {
    /// Of exchanges.
    pub(crate) exchanges: &'static str,
    /// Of bytes of replies.
    pub(crate) replies: &'static str,
    /// Of agreement between the times.
    pub(crate) spread: &'static str,
}

/// What is missing for a verdict, of so many exchanges `timed` and bytes of replies sampled; empty if nothing is.
/// `spread` is half the interval of none's time over the link, in terms of it.
pub(crate) fn wants(timed: usize, sampled_bytes: usize, spread: f64, remedies: &Remedies) -> Vec<String> {
    let mut wants = Vec::new();
    if timed < EXCHANGES_MIN {
        wants.push(format!(
            "{timed} exchanges were timed, at least {EXCHANGES_MIN} are wanted: {}",
            remedies.exchanges
        ));
    }
    if sampled_bytes < SAMPLE_BYTES_MIN {
        wants.push(format!(
            "the replies hold {sampled_bytes} bytes, at least {SAMPLE_BYTES_MIN} are wanted: {}",
            remedies.replies
        ));
    }
    if spread > SPREAD_MAX {
        wants.push(format!(
            "without compression the time over this link is known to ± {:.0} %, at most ± {:.0} % is wanted: {}",
            spread * 100.0,
            SPREAD_MAX * 100.0,
            remedies.spread
        ));
    }
    wants
}

/// Five percent is what people notice, and what the forecasts are held to.
pub(crate) const GAIN_MIN: f64 = 0.05;
/// Times that differ by less are the same: the model is no better.
const TIE: f64 = 0.05;
/// CPU that differs by less is the same: two runs of a codec differ by as much.
const CPU_TIE: f64 = 0.1;
/// Fewer exchanges have no interval worth the name.
const EXCHANGES_MIN: usize = 5;
/// A codec's first frame of 16 KiB says little about the rest.
const SAMPLE_BYTES_MIN: usize = 64 << 10;
const SPREAD_MAX: f64 = 0.25;

#[cfg(test)]
mod tests {
    use codec::Algorithm;

    use super::*;
    use crate::advise::traffic::{Exchange, Timed};
    use crate::client::Compression;
    use crate::stats::Estimate;

    fn timed(time_s: f64, passes: usize) -> Timed {
        let pass_s = Estimate { value: time_s, low: time_s, high: time_s, confidence: 0.95 };
        Timed {
            exchanges_s: vec![time_s],
            firsts_s: vec![0.0],
            pass_s,
            packed_bytes: vec![1e6 / time_s],
            passes,
        }
    }

    fn exchanges() -> Vec<Exchange> {
        vec![Exchange { request_bytes: 10.0, plain_bytes: 1e6, rows: Some(1) }]
    }

    fn judged(change: (f64, f64, f64), cpu_s_per_gb: Option<f64>) -> Judged {
        let link = LinkShape { rate_bytes_per_s: 1e6, round_trip_s: 0.0 };
        let compression = Compression { algorithm: Algorithm::Zstd, level: 3 };
        let candidate = Candidate { packer: Packer::Server, compression };
        let way = Way::measured(&exchanges(), &timed(1.0, 9), &timed(1.0, 9), &[1e6], &candidate, &link);
        let (low, value, high) = change;
        Judged {
            candidate,
            way,
            is_measured: true,
            time_s: value,
            change: Change { value, low, high },
            ratio: 2.0,
            cpu_s_per_gb,
            border: Border::Always,
        }
    }

    #[test]
    fn the_fastest_is_chosen_and_among_equals_the_cheapest() {
        let all = [
            judged((0.4, 0.5, 0.6), Some(4.0)),
            judged((0.41, 0.51, 0.61), Some(2.0)),
            judged((0.6, 0.7, 0.8), Some(1.0)),
            judged((0.4, 0.5, 0.6), None),
        ];
        assert_eq!(choose(&all), Choice::Use(1));
    }

    #[test]
    fn of_equal_times_wirepress_is_chosen_where_the_server_takes_more_cpu_or_nobody_knows_how_much() {
        let by = |packer, cpu_s_per_gb| {
            let mut one = judged((0.4, 0.5, 0.6), cpu_s_per_gb);
            one.candidate.packer = packer;
            one
        };
        let chosen =
            |server, wirepress| choose(&[by(Packer::Server, server), by(Packer::Wirepress, wirepress)]);
        assert_eq!(chosen(Some(3.0), Some(1.0)), Choice::Use(1));
        assert_eq!(chosen(None, Some(9.0)), Choice::Use(1));
        assert_eq!(chosen(Some(1.0), Some(3.0)), Choice::Use(0));
        // The same but for the noise of measuring: no further process.
        assert_eq!(chosen(Some(1.05), Some(1.0)), Choice::Use(0));
    }

    #[test]
    fn small_or_unsure_gains_change_nothing() {
        assert_eq!(
            choose(&[judged((0.95, 0.96, 0.97), Some(1.0)), judged((0.6, 0.9, 1.2), Some(1.0))]),
            Choice::Leave
        );
        assert_eq!(choose(&[]), Choice::Leave);
    }

    #[test]
    fn too_little_is_told_with_what_would_be_enough() {
        let remedies = Remedies { exchanges: "wait", replies: "read more", spread: "be quiet" };
        let few = wants(3, 0, 0.0, &remedies);
        assert_eq!(few.len(), 2, "{few:?}");
        assert!(few[0].contains("3 exchanges") && few[1].contains("0 bytes"), "{few:?}");
        let noisy = wants(9, 1 << 20, 0.5, &remedies);
        assert!(
            noisy.len() == 1 && noisy[0].contains("± 50 %") && noisy[0].ends_with(": be quiet"),
            "{noisy:?}"
        );
        assert!(wants(9, 1 << 20, 0.1, &remedies).is_empty());
    }
}
