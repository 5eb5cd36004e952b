//! What passes per second, out of two counts.
//!
//! Not here: whose counts (`scope`, `line`).

use crate::Flow;

/// What came to `later` since it was `earlier`.
pub(super) fn since(later: &[Flow; 4], earlier: &[Flow; 4]) -> [Flow; 4] {
    let mut flows = *later;
    for (flow, before) in flows.iter_mut().zip(earlier) {
        flow.plain_len = flow.plain_len.saturating_sub(before.plain_len);
        flow.packed_len = flow.packed_len.saturating_sub(before.packed_len);
        flow.cpu_ns = flow.cpu_ns.saturating_sub(before.cpu_ns);
    }
    flows
}

/// For each flow plain and packed bytes per second, and the codec's millionths of a CPU.
pub(super) fn per_second(flows: &[Flow; 4], seconds: f64) -> [u64; 12] {
    let mut numbers = [0; 12];
    let all = flows.iter().flat_map(|flow| [flow.plain_len, flow.packed_len, flow.cpu_ns / 1000]);
    numbers.iter_mut().zip(all).for_each(|(number, count)| *number = rounded(count as f64 / seconds));
    numbers
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts per a positive time")]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_came_by_the_time_that_it_took() {
        let flow = |plain_len, packed_len, cpu_ns| Flow { plain_len, packed_len, cpu_ns, ..Flow::default() };
        let flows = [flow(1000, 500, 3_000_000), flow(0, 0, 0), flow(8, 8, 0), flow(7, 5, 0)];
        let rates = per_second(&since(&flows, &[flow(0, 100, 0); 4]), 2.0);
        assert_eq!(rates, [500, 200, 1500, 0, 0, 0, 4, 0, 0, 4, 0, 0]);
    }
}
