//! The address of the client behind trusted proxies.

use std::net::IpAddr;

use axum::http::HeaderMap;

use crate::address_range::AddressRange;

const FORWARDED_HEADER: &str = "x-forwarded-for";

/// Returns the address of the client. If the peer is a trusted proxy, that is the last address in
/// `X-Forwarded-For` that is not a trusted proxy; earlier entries can be forged.
pub(super) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &[AddressRange],
) -> IpAddr {
    let is_trusted = |address| trusted.iter().any(|range| range.contains(address));
    if !is_trusted(peer) {
        return peer.to_canonical();
    }
    let lines: Vec<&str> = headers
        .get_all(FORWARDED_HEADER)
        .iter()
        .map(|line| line.to_str().unwrap_or_default())
        .collect();
    let mut client = peer;
    for one in lines.iter().flat_map(|line| line.split(',')).rev() {
        let Ok(address) = one.trim().parse() else { break };
        client = address;
        if !is_trusted(client) {
            break;
        }
    }
    client.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_106_forwarded_for_is_honored_only_from_trusted_proxies() {
        let trusted = ["10.0.0.1", "10.0.0.2", "10.1.0.0/16"].map(|range| range.parse().unwrap());
        for (peer, forwarded, client) in [
            ("10.0.0.9", "1.1.1.1", "10.0.0.9"),
            ("10.0.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2"),
            ("10.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.2", "2.2.2.2"),
            ("10.1.2.3", "1.1.1.1, 2.2.2.2, 10.1.7.7", "2.2.2.2"),
            ("10.2.2.3", "1.1.1.1", "10.2.2.3"),
            ("10.0.0.1", "nonsense", "10.0.0.1"),
            ("10.0.0.1", "1.1.1.1, nonsense", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("::ffff:10.0.0.1", "2.2.2.2", "2.2.2.2"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(FORWARDED_HEADER, forwarded.parse().unwrap());
            let expected: IpAddr = client.parse().unwrap();
            assert_eq!(
                client_address(peer.parse().unwrap(), &headers, &trusted),
                expected,
                "{peer} {forwarded}"
            );
        }
    }
}
