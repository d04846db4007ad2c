//! toolmark-registry
