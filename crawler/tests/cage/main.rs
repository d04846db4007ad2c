//! The sandbox, tried from inside: what a process in it can see, reach, use up and leave behind.

mod bounds;
mod reach;
mod sight;
mod support;
