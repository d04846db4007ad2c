//! The clock: every record is dated by it.

use std::time::{Duration, SystemTime};

use toolmark_domain::timestamp::Timestamp;

use super::{Check, State};

pub(super) fn check() -> Check {
    let written = std::env::current_exe()
        .and_then(|path| path.metadata()?.modified())
        .ok();
    judge(SystemTime::now(), written)
}

/// A clock that is behind the writing of this program is wrong; whether one ahead of it is right cannot be told
/// without asking another machine.
fn judge(now: SystemTime, program_written: Option<SystemTime>) -> Check {
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let shown = Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX)).to_string();
    let slack = Duration::from_mins(1);
    if program_written.is_some_and(|written| now + slack < written) {
        return Check::new(
            "clock",
            "time",
            State::Missing,
            format!("{shown} is before this program was written"),
        )
        .hint("set the clock, or keep it with `apt-get install systemd-timesyncd`");
    }
    Check::new("clock", "time", State::Ok, shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_behind_the_program_is_wrong() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        assert_eq!(judge(now, Some(now)).state, State::Ok);
        assert_eq!(judge(now, None).state, State::Ok);
        assert_eq!(
            judge(now, Some(now + Duration::from_hours(1))).state,
            State::Missing
        );
    }
}
