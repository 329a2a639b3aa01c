//! System calls that no library offers: running a program on a given frame, waiting for packets in transit, and
//! reading the error of the clock.
#![allow(
    unsafe_code,
    reason = "bpf(2) and adjtimex(2) take pointers, and libc has no safe face for any of these calls"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `BPF_PROG_TEST_RUN` of bpf(2): include/uapi/linux/bpf.h, `union bpf_attr`, `test`.
const BPF_PROG_TEST_RUN: libc::c_long = 10;
/// `MEMBARRIER_CMD_GLOBAL` of membarrier(2).
const MEMBARRIER_CMD_GLOBAL: libc::c_long = 1;

/// `struct __sk_buff` of include/uapi/linux/bpf.h, as far as programs and callers share it here.
pub(crate) const CONTEXT: usize = 192;

#[repr(C)]
#[derive(Default)]
struct Attributes {
    program: u32,
    returned: u32,
    size_in: u32,
    size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    padding: u32,
}

/// Result of a run.
pub(crate) struct TestRunResult {
    pub(crate) returned: u32,
    /// Mean of the repetitions.
    pub(crate) nanos: u32,
    /// Bytes of the frame that came out; the buffer has them if it is large enough.
    pub(crate) size: usize,
}

/// Runs a classifier on a frame. `context` is a `struct __sk_buff`, before and after.
pub(crate) fn test_run(
    program: BorrowedFd<'_>,
    frame: &[u8],
    out: &mut [u8],
    context: &mut [u8; CONTEXT],
    repeat: u32,
) -> io::Result<TestRunResult> {
    let before = *context;
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput);
    let mut attributes = Attributes {
        program: program.as_raw_fd().cast_unsigned(),
        size_in: length(frame)?,
        size_out: length(out)?,
        data_in: frame.as_ptr() as u64,
        data_out: if out.is_empty() { 0 } else { out.as_mut_ptr() as u64 },
        repeat,
        context_size_in: CONTEXT as u32,
        context_size_out: CONTEXT as u32,
        context_in: before.as_ptr() as u64,
        context_out: context.as_mut_ptr() as u64,
        ..Attributes::default()
    };
    // SAFETY: all pointers are of buffers that outlive the call, with the sizes given; the kernel writes to `out` and `context` only.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_TEST_RUN, &raw mut attributes, size_of::<Attributes>() as libc::c_ulong)
    };
    match result {
        0 => Ok(TestRunResult {
            returned: attributes.returned,
            nanos: attributes.duration,
            size: attributes.size_out as usize,
        }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until every program that runs now has ended (an RCU grace period): only then may memory of a removed map entry be used again.
pub(crate) fn wait_for_programs() -> io::Result<()> {
    // SAFETY: it takes two numbers, and changes no memory.
    match unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the maximum error of the time of day in us, as set in the kernel by the program that synchronizes it;
/// `None` where none does.
pub(crate) fn clock_error_us() -> io::Result<Option<u64>> {
    // SAFETY: all of its fields are numbers, and any of them may be 0.
    let mut asked: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is of a value that outlives the call; without modes nothing is set.
    if unsafe { libc::adjtimex(&raw mut asked) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(asked.maxerror).ok().filter(|_| asked.status & libc::STA_UNSYNC == 0))
}
