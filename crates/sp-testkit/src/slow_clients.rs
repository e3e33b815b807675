//! Clients that occupy a server: they send the start of a request and then nothing, or never read.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::hang::HANG_TIMEOUT;

/// Open connections to a server. Each has sent the same bytes.
pub struct SlowClients {
    streams: Vec<TcpStream>,
}

impl SlowClients {
    /// Opens connections and sends bytes on each.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn open(address: &str, count: usize, bytes: &[u8]) -> Self {
        let limit = getrlimit(Resource::Nofile);
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        let open = |_| {
            let mut stream = TcpStream::connect(address).expect("a connection");
            stream.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
            stream.write_all(bytes).expect("a server that accepts the start of a request");
            stream
        };
        Self { streams: (0..count).map(open).collect() }
    }

    /// Sends more bytes on each connection. The server may have closed it.
    pub fn send(&mut self, bytes: &[u8]) {
        for stream in &mut self.streams {
            let _ = stream.write_all(bytes);
        }
    }

    /// Reads each connection until the server closes it, and returns what it sent.
    pub fn read_to_end(self) -> Vec<Vec<u8>> {
        let read = |mut stream: TcpStream| {
            let mut answer = Vec::new();
            match stream.read_to_end(&mut answer) {
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("the server does not close a stalled connection")
                }
                // A reset closes the connection, too.
                _ => answer,
            }
        };
        self.streams.into_iter().map(read).collect()
    }
}
