//! Looks at one target and says what it declares: both generations of the protocol, over stdio and Streamable HTTP,
//! within limits, and whatever the other side does.
//!
//! The seam: a [`Launch`] says what to run, a [`Start`] runs it with piped stdio (in a sandbox; bare only in tests),
//! and the session talks through it without knowing which. A [`Take`] is what one session gave; two takes under
//! different [`Condition`]s make an [`Observation`]. Not for keeping anything: the store is not known here.

mod access;
pub mod bare;
mod bounds;
mod classify;
mod condition;
mod header_annotations;
mod http;
pub mod install;
mod launch;
mod lists;
mod mask;
mod message;
mod notes;
mod observe;
pub mod placeholder;
mod progress;
pub mod sandbox;
mod session;
mod sse;
mod stdio;
mod take;
mod wire;

pub use bounds::Bounds;
pub use condition::Condition;
pub use launch::{Ending, Launch, Process, Start, StartFailure, Started};
pub use notes::Conduct;
pub use observe::{Look, Observation, Remote, observe_process, observe_remote};
pub use progress::{Progress, Stage};
pub use take::{EraEvidence, Take, take_process, take_remote};
