//! The trace of the mutating calls of `sp` through a pipe, which paces the process.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::Child;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};

/// The minimum that the kernel allows. It limits how many calls `sp` can be ahead of the reader.
const PIPE_BYTES: usize = 4096;

/// A named pipe for `SP_FAULT_TRACE`: `sp` writes a line to it before each mutating call.
pub struct TracePipe {
    pipe: File,
}

impl TracePipe {
    /// Creates the pipe, which must not exist.
    pub fn new(path: &Path) -> Self {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe can be made");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = openat(CWD, path, flags, Mode::empty()).expect("the pipe can be read");
        rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_BYTES).expect("a small pipe");
        Self { pipe: pipe.into() }
    }

    /// Waits until `child` is about to make its call number `call`, or has ended.
    pub fn wait_for_call(&mut self, call: u64, child: &mut Child) {
        let mut seen = 0;
        let mut byte = [0];
        while seen < call {
            match self.pipe.read(&mut byte) {
                Ok(1) => seen += u64::from(byte[0] == b'\n'),
                // There is no writer yet, or no longer.
                Ok(_) if child.try_wait().expect("the child can be asked").is_some() => return,
                Ok(_) => std::thread::yield_now(),
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(e) => panic!("the trace cannot be read: {e}"),
            }
        }
    }
}
