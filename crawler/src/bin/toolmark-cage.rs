//! The inner half of the sandbox alone, for the tests of this crate; in the product it is the program itself.

use std::process::ExitCode;

use toolmark_crawler::sandbox::cage;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == cage::CAGE) {
        return cage::enter(&arguments.next().unwrap_or_default());
    }
    ExitCode::from(2)
}
