//! Looks at one target and says what it declares: both generations of the protocol, over stdio and Streamable HTTP,
//! within limits, and whatever the other side does.
//!
//! The seam: a [`Launch`] says what to run, a [`Start`] runs it with piped stdio (in a sandbox; bare only in tests),
//! and the session talks through it without knowing which. A [`Take`] is what one session gave; two takes under
//! different [`Condition`]s make a snapshot. Not for keeping anything: the store is not known here.

pub mod bare;
mod condition;
mod launch;
mod take;

pub use condition::Condition;
pub use launch::{Ending, Launch, Process, Start, StartFailure, Started};
pub use take::{EraEvidence, Take};
