//! What the controller decides about a frame, and why.

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// At this level, or stored.
    pub level: Option<u8>,
    /// Why.
    pub reason: Reason,
}

/// Why a frame is packed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A socket of this host, which carries more than packing could save.
    NoLink,
    /// The link never had a queue: nothing is known of its rate, which is more than is needed.
    LinkNotSeen,
    /// The link has nothing else to do: stored bytes are there at once.
    LinkIsIdle,
    /// No level is known to make such data smaller.
    DoesNotShrink,
    /// By what is known packing makes it slower.
    Slower,
    /// By what is known packing makes it faster.
    Faster,
    /// To learn what the level does to such data, while the link is busy with what was sent before.
    TriesLevel,
    /// The reader is what others wait for, and it gets packed bytes faster.
    ReaderGains,
    /// The reader is what others wait for, and unpacking would make it slower still.
    ReaderLoses,
    /// Each frame waits for an answer, and packed ones get it sooner, or cost nothing.
    AnswerIsSooner,
    /// Each frame waits for an answer, and packed ones were not seen to get it sooner.
    AnswerIsNotSooner,
    /// No fewer bytes were possible within the budgets.
    FewestBytes,
    /// The CPU that packing may take is gone, or saves more elsewhere.
    CpuBudget,
    /// Packing would add more to the reply than it may.
    TimeBudget,
}

impl Reason {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoLink => "a Unix socket is no link",
            Self::LinkNotSeen => "the link has never had a queue",
            Self::LinkIsIdle => "the link has nothing else to send",
            Self::DoesNotShrink => "the data does not shrink",
            Self::Slower => "packing would be slower",
            Self::Faster => "packing is faster",
            Self::TriesLevel => "to learn what the level does",
            Self::ReaderGains => "the reader reads packed frames faster",
            Self::ReaderLoses => "the reader reads stored frames faster",
            Self::AnswerIsSooner => "the next command comes sooner",
            Self::AnswerIsNotSooner => "the next command does not come sooner",
            Self::FewestBytes => "the fewest bytes within the budgets",
            Self::CpuBudget => "the CPU budget is spent, or saves more elsewhere",
            Self::TimeBudget => "packing would add more than the p99 budget allows",
        }
    }
}
