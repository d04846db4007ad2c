//! Evidence bytes in, verdict out: who built an artifact, from which source, by which workflow, and how far that is
//! proved. The check has no network and no clock: the time is an input, so that a stored verdict can be reached again.
//! Only [`examine()`] asks others, for the artifact and for evidence, and writes down how each of them answered.
//!
//! Three layers. In front a strict reader ([`evidence`], `bundle`, `statement`), in the middle the Sigstore project's
//! own verifier (`crypto`), behind it our binding and identity policy (`binding`, `policy`). The verifier's answer
//! alone is never a verdict. Reading order: [`checker`], `bundle`, `crypto`, `policy`.

mod attestation;
mod binding;
mod bundle;
mod certificate;
pub mod checker;
mod crypto;
mod discover;
mod document;
pub mod evidence;
pub mod examine;
mod keys;
mod names;
mod oci;
mod outcome;
mod pep740;
mod policy;
mod predicate;
pub mod record;
mod registry_key;
mod release;
pub mod report;
mod repository;
mod roots;
mod signature;
mod statement;
pub mod suite;

pub use checker::{Artifact, Checker, Declared, Ecosystem, Request, unusable_root};
pub use evidence::{Evidence, EvidenceFormat, Gathered, Observation};
pub use examine::{Examined, Question, examine, examine_file};
pub use keys::{KeyList, KeyListError};
pub use policy::{IssuerRule, POLICY, Policy};
pub use record::{Marks, Place, PlaceAnswer, Record, RecordedArtifact, ReplayError, basis_of};
pub use report::{Claims, Report, Step, StepName, StepState};
pub use repository::Repository;
pub use roots::{RootError, TrustedRoots};
