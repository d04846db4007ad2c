//! Types and rules of the registry, without I/O and without async.
//!
//! Everything that decides something lives here and can be tested with a table: names, versions and their order,
//! the validator of `server.json`, statuses, events and every bound. Reading order: [`limits`], [`name`],
//! [`version`], [`document`], [`record`], [`event`].

pub mod alert;
pub mod builder;
pub mod characters;
pub mod diff;
pub mod digest;
pub mod document;
pub mod event;
pub mod find;
pub mod finding;
pub mod json;
pub mod launch;
pub mod limits;
pub mod lock;
pub mod manifest;
pub mod name;
pub mod permission;
pub mod profile;
pub mod provenance;
pub mod reason;
pub mod record;
pub mod rules;
pub mod sarif;
pub mod scan;
pub mod settings;
pub mod snapshot;
pub mod status;
pub mod target;
pub mod timestamp;
pub mod token;
pub mod validation;
pub mod version;
