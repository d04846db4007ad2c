//! A moment in UTC, cut to microseconds, the precision both databases keep.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970-01-01T00:00:00Z. Shown as RFC 3339 in UTC with `Z`, trailing zeros of the fraction dropped,
/// as the official registry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 9999-12-30T21:59:59.999999Z, the last moment that can be written whatever the offset.
const LAST: i64 = 253_402_207_199_999_999;

/// Text that is not an RFC 3339 time.
#[derive(Debug, thiserror::Error)]
#[error("not an RFC 3339 time: `{0}`")]
pub struct TimestampError(String);

impl Timestamp {
    /// From microseconds since the Unix epoch, clamped to the years RFC 3339 can write.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(-62_135_596_800_000_000, LAST))
    }

    /// Microseconds since the Unix epoch.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// This moment plus `secs` seconds (negative: earlier).
    #[must_use]
    pub fn plus_secs(self, secs: i64) -> Self {
        Self::from_micros(self.0.saturating_add(secs.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => f.write_str("0001-01-01T00:00:00Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// RFC 3339 only: a date, `T`, a time and an offset.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || TimestampError(text.chars().take(64).collect());
        let bytes = text.as_bytes();
        let shaped = bytes.len() >= 20
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && bytes[4] == b'-'
            && matches!(bytes[10], b'T' | b't')
            && bytes[13] == b':'
            && bytes[16] == b':'
            && !text.contains('[');
        if !shaped {
            return Err(bad());
        }
        let at: jiff::Timestamp = match text.parse() {
            Ok(at) => at,
            // The last hours of the last year: a time, and beyond what the calendar library reads.
            Err(_)
                if text.starts_with("9999-12-3")
                    && text
                        .get(..19)
                        .is_some_and(|text| text.parse::<jiff::civil::DateTime>().is_ok()) =>
            {
                return Ok(Self(LAST));
            }
            Err(_) => return Err(bad()),
        };
        Ok(Self::from_micros(at.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_read_and_written_as_the_official_registry_does() {
        for (read, written) in [
            ("2025-09-10T13:57:43.256739Z", "2025-09-10T13:57:43.256739Z"),
            ("2025-09-10T13:57:43.256739999Z", "2025-09-10T13:57:43.256739Z"),
            ("2025-09-10T13:57:43.250000Z", "2025-09-10T13:57:43.25Z"),
            ("2025-09-10T15:57:43+02:00", "2025-09-10T13:57:43Z"),
            ("9999-12-31T23:59:59Z", "9999-12-30T21:59:59.999999Z"),
        ] {
            assert_eq!(read.parse::<Timestamp>().unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_not_rfc3339_is_refused() {
        for text in [
            "",
            "2025-09-10",
            "2025-09-10 13:57:43Z",
            "2025-09-10T13:57:43",
            "yesterday",
            "2025-13-10T13:57:43Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
