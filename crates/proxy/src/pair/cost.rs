//! Which frames of a pair stream are packed by `--policy cost`: those that the budgets have room for.
//!
//! The level is the stream's: a history can't change it. Bytes of stored frames never enter a history, so both kinds mix.
//!
//! Not here: the choice (`codec::pace::Thrift`), frames (`wire::pair`), legs of the standard protocol (`relay::paced`).

use std::sync::Arc;
use std::time::Duration;

use codec::Algorithm;
use codec::pace::{Choice, Limits, Thrift};
use wire::pair::{FRAME_PLAIN_LEN_MAX, Writer};

use crate::budgets::Budgets;
use crate::codec_time::{Begun, CodecTime};
use crate::links::Link;
use crate::meter::Decision;

/// Of one direction of a session.
pub(crate) struct PairCost {
    thrift: Thrift,
    budgets: Budgets,
    link: Arc<Link>,
    time: CodecTime,
    last: Option<Choice>,
}

/// A frame that is to be packed.
pub(super) struct Begins {
    work: Begun,
    plain_len: usize,
}

impl PairCost {
    pub(crate) fn new(writer: &Writer, budgets: Budgets, link: Arc<Link>) -> Self {
        let level = match writer.algorithm() {
            Algorithm::Zstd => writer.level().get(),
            _ => 1,
        };
        let thrift = Thrift::at_level(writer.algorithm(), level);
        Self { thrift, budgets, link, time: CodecTime::default(), last: None }
    }

    /// Whether to pack the frame that `len` bytes begin; none: it goes stored.
    pub(super) fn begin(&mut self, len: usize) -> Option<Begins> {
        let plain_len = len.min(FRAME_PLAIN_LEN_MAX);
        let added_max = self.budgets.added_max(self.link.reply_p99());
        let (mut cpu, now) = self.budgets.cpu.hold();
        let choice = self.thrift.choose(plain_len, &mut Limits { cpu: &mut cpu, now, added_max });
        self.last = Some(choice);
        choice.level.map(|_| Begins { work: Begun::now(plain_len), plain_len })
    }

    /// It was packed into so many bytes, or went stored all the same.
    pub(super) fn end(&mut self, begun: Begins, packed_len: Option<usize>) {
        let took = self.time.end(begun.work, begun.plain_len);
        let (mut cpu, _) = self.budgets.cpu.hold();
        let (Some(packed_len), Some(level)) = (packed_len, self.last.and_then(|last| last.level)) else {
            return self.thrift.left(&mut cpu);
        };
        let cpu_time = Duration::from_nanos(took.cpu_ns);
        let lens = [begun.plain_len, packed_len];
        let added = self.thrift.packed(level, lens, took.wall, cpu_time, &mut cpu);
        self.budgets.exchange.add(added);
    }

    /// The last choice, to be shown.
    pub(super) fn decision(&self) -> Option<Decision> {
        self.last.map(Decision::of)
    }
}
