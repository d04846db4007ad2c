//! Alerts: who wants which events, and what they are sent. Rules only; rows are in `store`, sending in `registry`.

pub mod filter;
pub mod glob;
pub mod matcher;
pub mod message;
pub mod schedule;

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// When a match is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cadence {
    /// At once, each event by itself.
    Instant,
    /// Together, at the full hour.
    Hourly,
    /// Together, at midnight UTC.
    Daily,
}

impl Cadence {
    /// Every cadence, the fastest first.
    pub const ALL: [Self; 3] = [Self::Instant, Self::Hourly, Self::Daily];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cadence| cadence.as_str() == text)
    }

    /// When something that happened at `at` is told.
    pub fn due(self, at: Timestamp) -> Timestamp {
        let period = match self {
            Self::Instant => return at,
            Self::Hourly => 3600,
            Self::Daily => 24 * 3600,
        };
        Timestamp::from_micros((at.as_secs().div_euclid(period) + 1) * period * 1_000_000)
    }
}

/// Where messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// An https address, by the Standard Webhooks specification.
    Webhook,
    /// A mail address.
    Email,
}

impl Channel {
    /// Every channel.
    pub const ALL: [Self; 2] = [Self::Webhook, Self::Email];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Email => "email",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.as_str() == text)
    }
}

/// The form of a webhook's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// `type`, `timestamp`, `data`.
    #[default]
    Standard,
    /// What an incoming webhook of Slack takes.
    Slack,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Slack];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Slack => "slack",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_due_at_the_next_full_hour_or_midnight() {
        let due = |cadence: Cadence, at: &str| cadence.due(at.parse().unwrap()).to_string();
        assert_eq!(
            due(Cadence::Instant, "2026-03-01T12:34:56.5Z"),
            "2026-03-01T12:34:56.5Z"
        );
        assert_eq!(
            due(Cadence::Hourly, "2026-03-01T12:34:56Z"),
            "2026-03-01T13:00:00Z"
        );
        assert_eq!(
            due(Cadence::Hourly, "2026-03-01T12:00:00Z"),
            "2026-03-01T13:00:00Z"
        );
        assert_eq!(
            due(Cadence::Daily, "2026-12-31T23:59:59Z"),
            "2027-01-01T00:00:00Z"
        );
    }

    #[test]
    fn every_word_reads_back() {
        for cadence in Cadence::ALL {
            assert_eq!(Cadence::parse(cadence.as_str()), Some(cadence));
            assert_eq!(serde_json::to_value(cadence).unwrap(), cadence.as_str());
        }
        for channel in Channel::ALL {
            assert_eq!(Channel::parse(channel.as_str()), Some(channel));
        }
        for shape in Shape::ALL {
            assert_eq!(Shape::parse(shape.as_str()), Some(shape));
        }
    }
}
