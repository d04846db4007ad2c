//! What shows that something is being waited for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says how far one look is: on standard error, and only where that is a terminal.
pub(crate) fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
