//! toolmark-server
