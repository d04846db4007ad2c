//! Where packages come from: coordinates, what the registry of origin says of a release, and its files, streamed and
//! hashed. Used by the check of provenance, by the crawler and by the registry's jobs.
//!
//! No package registry's address is written here: it comes from the settings or from the package client's own
//! configuration (npm, pip, cargo). Credentials are read here, sent only to the origin they are for, and never given
//! out except as a header for such an origin.
//!
//! Reading order: [`Coordinate`], [`Packages`], [`Release`], [`Fetched`]; then [`Config`] for where addresses and
//! credentials come from.

mod cargo;
mod clients;
mod coordinate;
mod credentials;
mod error;
mod fetch;
mod github;
mod http;
mod npm;
mod nuget;
mod oci;
mod packages;
mod pypi;
mod release;
mod simple_page;
mod sources;

pub use coordinate::{Coordinate, CoordinateError, Kind};
pub use credentials::{Credential, Credentials};
pub use error::PackageError;
pub use fetch::{Difference, Fetched, Hashing};
pub use oci::{ImageReference, OciAnswer};
pub use packages::Packages;
pub use release::{File, Release, Said, VersionEntry, Versions};
pub use sources::{Config, Environment, Source};
