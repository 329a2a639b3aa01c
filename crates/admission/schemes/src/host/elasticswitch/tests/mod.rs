//! ElasticSwitch: partitions, the curve of a rate, and machines in a fluid network.

mod network;
mod partition;
mod rate;
