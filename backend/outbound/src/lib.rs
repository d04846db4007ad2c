//! toolmark-outbound
