//! What a link did when it was calibrated, beside what was wished and what can be had of that.
//!
//! Invariants: files of versions that did not write a promise are read; what they promised follows from the link's name.
//!
//! Not here: measuring it (`calibrate`), whether it is good enough (`shortfall`).

use lab::kernel_link::{KernelLink, PAYLOAD_SHARE};
use serde::{Deserialize, Serialize};

/// What a link did when it was calibrated, beside what was wished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkCheck {
    /// As in [`Cell::link`](super::Cell::link).
    pub link: String,
    /// `user space`, `kernel (TUN)`, `kernel (tbf)`, `real`.
    pub kind: String,
    /// Wished rate; none is unlimited.
    pub wished_mbit_per_s: Option<f64>,
    /// What bulk data got, to the client.
    pub achieved_mbit_per_s: f64,
    /// Wished round trip.
    pub wished_round_trip_ms: f64,
    /// Median of a ping-pong of one byte.
    pub achieved_round_trip_ms: f64,
    /// TCP's congestion control where the kernel's TCP sees the link.
    pub congestion_control: Option<String>,
    /// What can be had of the wish; none in older files, see [`LinkCheck::promise`].
    #[serde(default)]
    pub promise: Option<LinkPromise>,
}

/// What a client can have of what was wished.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkPromise {
    /// TCP's share of the rate at most: 1, or what frames' headers leave.
    pub payload_share: f64,
    /// Whether bulk data get that rate. Over a link that loses packets TCP makes the rate.
    pub is_rate_promised: bool,
    /// A packet is later by up to this, each way.
    pub jitter_ms: f64,
}

impl LinkCheck {
    /// What can be had of the wish.
    #[must_use]
    pub fn promise(&self) -> LinkPromise {
        self.promise.unwrap_or_else(|| LinkPromise::by_name(&self.link))
    }

    /// Achieved rate in terms of what TCP can have of the wished one; none without a rate.
    #[must_use]
    pub fn rate_share(&self) -> Option<f64> {
        Some(self.achieved_mbit_per_s / (self.wished_mbit_per_s? * self.promise().payload_share))
    }
}

impl LinkPromise {
    /// That of a link in user space: its rate is of what TCP carries.
    pub const USER_SPACE: Self = Self { payload_share: 1.0, is_rate_promised: true, jitter_ms: 0.0 };

    /// That of a kernel link: its rate is of frames.
    #[must_use]
    pub fn of_kernel(link: &KernelLink) -> Self {
        Self {
            payload_share: PAYLOAD_SHARE,
            is_rate_promised: link.loss_ppm == 0,
            jitter_ms: link.jitter.as_secs_f64() * 1e3,
        }
    }

    /// That of the link that cells call so.
    fn by_name(name: &str) -> Self {
        let kernel = name.strip_prefix(super::KERNEL).and_then(|link| KernelLink::parse(link).ok());
        kernel.map_or(Self::USER_SPACE, |link| Self::of_kernel(&link))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn older(link: &str) -> LinkCheck {
        let line = format!(
            "{{\"link\":\"{link}\",\"kind\":\"\",\"wished_mbit_per_s\":100.0,\"achieved_mbit_per_s\":47.82,\
             \"wished_round_trip_ms\":0.0,\"achieved_round_trip_ms\":0.1,\"congestion_control\":null}}"
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn an_older_files_promise_follows_from_the_links_name() {
        assert_eq!(older("100mbit").promise(), LinkPromise::USER_SPACE);
        assert_eq!(older("no link").promise(), LinkPromise::USER_SPACE);
        let kernel = older("kernel 100mbit,1.4ms,loss=1%,jitter=5ms");
        let promise = LinkPromise { payload_share: PAYLOAD_SHARE, is_rate_promised: false, jitter_ms: 5.0 };
        assert_eq!(kernel.promise(), promise);
        assert!((kernel.rate_share().unwrap() - 0.5).abs() < 1e-4);
    }

    #[test]
    fn a_promise_that_was_written_is_read_again() {
        let written = LinkCheck {
            promise: Some(LinkPromise { payload_share: 0.9, is_rate_promised: false, jitter_ms: 2.0 }),
            ..older("100mbit")
        };
        let read: LinkCheck = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        assert_eq!((read.promise().jitter_ms, &read), (2.0, &written));
    }
}
