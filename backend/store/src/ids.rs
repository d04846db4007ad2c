//! The one place where ids are made.

use uuid::Uuid;

/// A UUID of version 7: sorted by the time it was made.
pub(crate) fn new_id() -> Uuid {
    Uuid::now_v7()
}
