//! When a message that was not taken is sent again.

/// Seconds between one attempt and the next: at once, then slower and slower, three days in all.
const WAITS: [i64; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * 3600,
    5 * 3600,
    10 * 3600,
    14 * 3600,
    20 * 3600,
    24 * 3600,
];

/// How often a message is sent at most.
pub const ATTEMPTS: i64 = 10;
/// Longest wait a receiver may ask for, in seconds.
const LONGEST_ASKED: i64 = 24 * 3600;

/// Seconds until the next attempt after `attempts` that failed, none when that was the last. `asked` is what the
/// receiver asks for, `chance` from 0 to 1 spreads the waits over a tenth, so that many do not come back together.
pub fn wait_secs(attempts: i64, asked: Option<i64>, chance: f64) -> Option<i64> {
    let index = usize::try_from(attempts.max(1) - 1).ok()?;
    let own = *WAITS.get(index)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "at most a tenth of a day"
    )]
    let spread = (own as f64 / 10.0 * chance.clamp(0.0, 1.0)) as i64;
    Some((own + spread).max(asked.unwrap_or(0).min(LONGEST_ASKED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_spread_and_end() {
        let plain: Vec<Option<i64>> = (1..=ATTEMPTS).map(|n| wait_secs(n, None, 0.0)).collect();
        assert_eq!(
            plain,
            [
                Some(5),
                Some(300),
                Some(1800),
                Some(7200),
                Some(18_000),
                Some(36_000),
                Some(50_400),
                Some(72_000),
                Some(86_400),
                None
            ]
        );
        assert_eq!(wait_secs(2, None, 1.0), Some(330));
        assert_eq!(wait_secs(1, Some(120), 0.0), Some(120));
        assert_eq!(wait_secs(1, Some(i64::MAX), 0.0), Some(86_400));
        assert_eq!(wait_secs(5, Some(1), 0.0), Some(18_000));
    }
}
