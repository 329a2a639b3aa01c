//! Programs run on given frames (`BPF_PROG_TEST_RUN`): for tests and measurements, never for traffic.

use std::os::fd::AsFd;

use aya::programs::SchedClassifier;

use crate::error::Error;
use crate::sys;

/// Verdict of a classifier: the packet continues to the machine's own stack (`TC_ACT_OK`).
pub const TO_STACK: u32 = 0;
/// Verdict of a classifier: the packet is dropped (`TC_ACT_SHOT`).
pub const DROPPED: u32 = 2;
/// Verdict of a classifier: the packet leaves by another interface (`TC_ACT_REDIRECT`).
pub const REDIRECTED: u32 = 7;

/// Offsets in `struct __sk_buff` (include/uapi/linux/bpf.h).
const MARK: usize = 8;
const PRIORITY: usize = 32;
const INGRESS_IFINDEX: usize = 36;
const IFINDEX: usize = 40;
const GSO_SEGMENTS: usize = 164;
const GSO_SIZE: usize = 176;

/// The longest frame that comes back.
const LONGEST: usize = 4096;

/// A packet as a program sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestPacket<'a> {
    /// The interface at which it comes; it has to exist in the network namespace of this thread. 1 is the loopback.
    pub ifindex: u32,
    /// The packet, from its destination address on; at least 14 bytes.
    pub frame: &'a [u8],
    /// Payload of one segment of a super-frame; 0 for an ordinary frame.
    pub gso_size: u32,
}

/// Result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestVerdict {
    /// [`TO_STACK`], [`DROPPED`] or [`REDIRECTED`].
    pub verdict: u32,
    /// The packet.
    pub frame: Vec<u8>,
    /// Interface by which it leaves; programs report it when their clock is set.
    pub out: u32,
    /// Its class.
    pub priority: u32,
    /// Run time of the program, in ns.
    pub nanos: u32,
}

/// Runs a program on a packet, `repeat` times on the same one if it leaves it as it is.
///
/// # Errors
/// If the kernel does not run it: an interface that is not there, a frame below 14 bytes.
pub fn run(program: &SchedClassifier, input: TestPacket<'_>, repeat: u32) -> Result<TestVerdict, Error> {
    let failed = |error: &dyn std::error::Error| Error::Failed {
        doing: "running a program on a frame".to_owned(),
        why: error.to_string(),
    };
    let fd = program.fd().map_err(|error| failed(&error))?;
    let mut context = [0; sys::CONTEXT];
    let mut put = |at: usize, value: u32| context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    put(IFINDEX, input.ifindex);
    put(INGRESS_IFINDEX, input.ifindex);
    put(GSO_SIZE, input.gso_size);
    put(GSO_SEGMENTS, u32::from(input.gso_size > 0));
    let mut frame = vec![0; LONGEST];
    let ran =
        sys::test_run(fd.as_fd(), input.frame, &mut frame, &mut context, repeat).map_err(|error| failed(&error))?;
    frame.truncate(ran.size);
    let get = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| context[at + byte]));
    Ok(TestVerdict { verdict: ran.returned, frame, out: get(MARK), priority: get(PRIORITY), nanos: ran.nanos })
}
