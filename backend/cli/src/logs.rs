//! Logs: to standard error, as the settings say.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, LogSettings};

/// Sets up logging for the rest of the program's life. A second call changes nothing.
pub(crate) fn start(settings: &LogSettings) {
    // The level was read when the settings were loaded, so the lossy reading loses nothing.
    let filter = EnvFilter::builder().parse_lossy(&settings.level);
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    let _ = match settings.format {
        LogFormat::Json => logs.json().flatten_event(true).try_init().ok(),
        LogFormat::Text => logs
            .with_ansi(stderr().is_terminal())
            .with_target(false)
            .try_init()
            .ok(),
    };
}
