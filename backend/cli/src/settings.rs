//! The settings of the program: where each value comes from, and what is wrong with it.
//!
//! Flags win over `TOOLMARK_SECTION__KEY` in the environment, which wins over the settings file, which wins over the
//! defaults. What a setting means stands at its declaration, in the crate that uses it or in [`sections`].

mod file;
mod mask;
mod sample;
mod sections;
mod sources;

#[cfg(test)]
mod tests;

pub(crate) use mask::{masked, masked_text};
pub(crate) use sample::sample;
pub(crate) use sections::{
    LogFormat, LogSettings, RankingMode, Settings, SmtpTls, StoreSettings as StoreSection,
};
pub(crate) use sources::{Loaded, Problem, Sources, load};
