//! A TCP relay between `sp` and a git daemon that changes the traffic.

use super::*;

/// How a [`Relay`] changes the traffic.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RelayMode {
    /// Removes the request for protocol 2, so that the daemon responds like an old server.
    OldProtocol,
    /// Stops forwarding after this number of bytes of a response.
    StallAfter(usize),
}

/// A relay in front of a git daemon.
pub(super) struct Relay {
    pub(super) port: u16,
    stop: Arc<AtomicBool>,
    stalled: Arc<AtomicUsize>,
    /// The connections, which the relay closes when it is dropped.
    clients: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    pub(super) fn start(daemon: &Daemon, mode: RelayMode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = daemon.url("").trim_start_matches("git://").trim_end_matches('/').to_owned();
        let relay =
            Self { port, stop: Arc::default(), stalled: Arc::default(), clients: Arc::default() };
        let (stop, stalled) = (Arc::clone(&relay.stop), Arc::clone(&relay.stalled));
        let clients = Arc::clone(&relay.clients);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                clients.lock().unwrap().push(client.try_clone().unwrap());
                let (server, stalled) = (server.clone(), Arc::clone(&stalled));
                std::thread::spawn(move || relay_connection(client, &server, mode, &stalled));
            }
        });
        relay
    }

    pub(super) fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }

    pub(super) fn wait_until_stalled(&self) {
        eventually(|| (self.stalled.load(Ordering::SeqCst) > 0).then_some(()));
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        for client in &*self.clients.lock().unwrap() {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

pub(super) fn relay_connection(
    mut client: TcpStream,
    server: &str,
    mode: RelayMode,
    stalled: &AtomicUsize,
) {
    let mut length = [0; 4];
    let Ok(()) = client.read_exact(&mut length) else { return };
    let size = usize::from_str_radix(std::str::from_utf8(&length).unwrap(), 16).unwrap();
    let mut request = vec![0; size - 4];
    client.read_exact(&mut request).unwrap();
    let version = b"\0version=2\0";
    if mode == RelayMode::OldProtocol && request.ends_with(version) {
        request.truncate(request.len() - version.len());
    }
    let mut server = TcpStream::connect(server).unwrap();
    write!(server, "{:04x}", request.len() + 4).unwrap();
    server.write_all(&request).unwrap();
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let requests = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut buffer, mut forwarded) = ([0; 4096], 0);
    while let Ok(count) = server.read(&mut buffer)
        && count > 0
        && client.write_all(&buffer[..count]).is_ok()
    {
        forwarded += count;
        if matches!(mode, RelayMode::StallAfter(max) if forwarded > max) {
            stalled.fetch_add(1, Ordering::SeqCst);
            // Waits until the client hangs up, or the relay is dropped.
            requests.join().unwrap();
            return;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
