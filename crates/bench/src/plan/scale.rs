//! How much of a plan is run.

use std::fmt;
use std::str::FromStr;

/// How much is run, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Whether it works: at most ten minutes.
    Smoke,
    /// Whether it is so: at most an hour.
    Laptop,
    /// All of it, over several sittings if need be.
    Full,
}

impl Scale {
    /// All.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Laptop, Self::Full];

    /// The name in arguments and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Laptop => "laptop",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|scale| scale.name() == text)
            .ok_or_else(|| format!("'{text}' is no scale; there are smoke, laptop and full"))
    }
}
