//! Requests that a registry sends to servers whose URLs its users chose, such as the issuers of
//! identity tokens.
//!
//! A URL from a user must not be a way into the network of the registry. So a host is refused if
//! any of its addresses is not public. The check is part of resolving the name, so the connection
//! uses the addresses that were checked. If a proxy is configured, the proxy resolves names, and
//! has to protect its network.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use sp_formats::web_url::WebUrl;
use thiserror::Error as ThisError;
use ureq::http::Request;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, AsSendBody};

use super::{HttpError, HttpPolicy, HttpResponse, config};

/// The addresses that a host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressReach {
    /// Those that are reachable from everywhere.
    Public,
    /// Any, because an administrator named the host.
    Any,
}

/// Limits on a response.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingLimits {
    pub reach: AddressReach,
    pub timeout: Duration,
    pub max_bytes: u64,
}

/// A response, whatever its status is.
#[derive(Debug)]
pub struct OutgoingResponse {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Why there is no response. Contains neither the request nor its URL.
#[derive(Debug, ThisError)]
#[error(transparent)]
pub struct OutgoingError(#[from] HttpError);

/// A form to send.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingForm<'a> {
    /// Encoded as `application/x-www-form-urlencoded`.
    pub body: &'a str,
    /// The header `Authorization`.
    pub authorization: Option<&'a str>,
}

/// Fetches JSON. Redirects are not followed, and plain HTTP is allowed only to this machine.
pub fn fetch_json(url: &str, limits: OutgoingLimits) -> Result<OutgoingResponse, OutgoingError> {
    let request = Request::get(url).header("accept", "application/json");
    send(url, request.body(()).map_err(|e| invalid(&e))?, limits)
}

/// Sends a form, and reads the response. Redirects are not followed.
pub fn post_form(
    url: &str,
    form: OutgoingForm<'_>,
    limits: OutgoingLimits,
) -> Result<OutgoingResponse, OutgoingError> {
    let mut request = Request::post(url)
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded");
    if let Some(authorization) = form.authorization {
        request = request.header("authorization", authorization);
    }
    send(url, request.body(form.body.to_owned()).map_err(|e| invalid(&e))?, limits)
}

fn invalid(error: &ureq::http::Error) -> HttpError {
    HttpError::Invalid(error.to_string())
}

fn send(
    url: &str,
    request: Request<impl AsSendBody>,
    limits: OutgoingLimits,
) -> Result<OutgoingResponse, OutgoingError> {
    let config = config(url, HttpPolicy::one_server(limits.timeout, ""));
    let agent = match limits.reach {
        AddressReach::Any => Agent::new_with_config(config),
        AddressReach::Public => {
            let host = WebUrl::parse(url).map_err(|e| HttpError::Invalid(e.to_string()))?;
            let literal = host.host().trim_matches(['[', ']']).parse::<IpAddr>();
            if literal.is_ok_and(|address| !is_public(address)) {
                return Err(HttpError::PrivateAddress.into());
            }
            Agent::with_parts(config, DefaultConnector::default(), PublicResolver::default())
        }
    };
    let request = agent.configure_request(request).timeout_global(Some(limits.timeout)).build();
    let reply = HttpResponse(agent.run(request).map_err(HttpError::from)?).read(limits.max_bytes);
    Ok(OutgoingResponse { status: reply.status.as_u16(), body: reply.body? })
}

/// Refuses names with an address that is not public.
#[derive(Debug, Default)]
struct PublicResolver(DefaultResolver);

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let is_proxy = config.proxy().is_some_and(|proxy| proxy.uri() == uri);
        if is_proxy || found.iter().all(|address| is_public(address.ip())) {
            Ok(found)
        } else {
            Err(ureq::Error::Io(io::Error::other(HttpError::PrivateAddress)))
        }
    }
}

/// Whether an address is reachable from everywhere.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [192, 0, 0 | 2, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Addresses that contain one of IPv4.
        [0x2002, high, low, ..] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2001, 0 | 0xdb8, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use sp_testkit::{WebResponse, WebServer};

    use super::*;

    #[test]
    fn rg_67_addresses_inside_a_network_are_not_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    fn limits(reach: AddressReach) -> OutgoingLimits {
        OutgoingLimits { reach, timeout: Duration::from_secs(20), max_bytes: 100 }
    }

    #[test]
    fn rg_67_private_host_is_refused_unless_an_administrator_named_it() {
        let server = WebServer::start();
        server.respond("/x", WebResponse::Bytes(b"{}".to_vec()));
        for url in [server.url("/x"), server.url("/x").replace("127.0.0.1", "localhost")] {
            let error = fetch_json(&url, limits(AddressReach::Public)).unwrap_err();
            assert!(matches!(error.0, HttpError::PrivateAddress), "{url}: {error:?}");
            let form = OutgoingForm { body: "a=b", authorization: None };
            assert!(post_form(&url, form, limits(AddressReach::Public)).is_err());
        }
        let response = fetch_json(&server.url("/x"), limits(AddressReach::Any)).unwrap();
        assert_eq!((response.status, response.body), (200, b"{}".to_vec()));
        assert_eq!(server.requested_paths().len(), 1);
    }

    #[test]
    fn rg_66_redirects_are_not_followed_and_long_responses_are_refused() {
        let server = WebServer::start();
        server.respond("/away", WebResponse::Redirect(server.url("/x")));
        server.respond("/x", WebResponse::Bytes(b"{}".to_vec()));
        server.respond("/long", WebResponse::Bytes(vec![b' '; 101]));
        let fetch = |path: &str| fetch_json(&server.url(path), limits(AddressReach::Any));
        assert_eq!(fetch("/away").unwrap().status, 302);
        assert!(matches!(fetch("/long").unwrap_err().0, HttpError::TooLarge { .. }));
        assert!(fetch_json("http://issuer.example/", limits(AddressReach::Any)).is_err());
    }
}
