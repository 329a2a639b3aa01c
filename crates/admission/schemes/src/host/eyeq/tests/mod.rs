//! EyeQ's machine shaper: the control equation alone, one machine's inputs, and machines in a fluid network.

mod machine;
mod meter;
mod network;
