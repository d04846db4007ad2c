//! toolmark-store
