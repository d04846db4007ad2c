//! The verifier against the corpus of evidence, against attacks minted here, and against noise.
#![expect(clippy::unwrap_used, reason = "a step that fails fails its test")]

mod answers;
mod attacks;
mod corpus;
mod fetching;
mod mint;
mod readers;
mod support;
mod tampered;
