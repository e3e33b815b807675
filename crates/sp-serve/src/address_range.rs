//! Ranges of IP addresses, such as `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, or all addresses with a common prefix. IPv4 addresses in IPv6 notation are equal to
/// IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    prefix_bits: u8,
}

impl AddressRange {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let mask = |address: IpAddr| bits(address) & high_bits(self.prefix_bits, address);
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && mask(address) == bits(self.first)
    }
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> Self {
        let first = address.to_canonical();
        Self { first, prefix_bits: width(first) }
    }
}

impl FromStr for AddressRange {
    type Err = String;

    /// Parses `10.0.0.1`, `10.0.0.0/8` or `fd00::/8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            "expected an address or a range of addresses, such as `10.0.0.1` or `10.0.0.0/8`"
                .to_owned()
        };
        let Some((address, prefix)) = text.split_once('/') else {
            return text.parse::<IpAddr>().map(Self::from).map_err(|_| invalid());
        };
        let first: IpAddr = address.parse().map_err(|_| invalid())?;
        let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix_bits = prefix.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
        if prefix_bits > width(first) {
            return Err(invalid());
        }
        if bits(first) & !high_bits(prefix_bits, first) != 0 {
            return Err(format!("`{address}` is not the first address of the range `{text}`"));
        }
        Ok(Self { first, prefix_bits })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix_bits)
    }
}

/// The number of bits in an address.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address as a number, aligned to the high bits.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => address.into(),
    }
}

/// A mask of the first `count` bits.
fn high_bits(count: u8, address: IpAddr) -> u128 {
    match count.min(width(address)) {
        0 => 0,
        count => u128::MAX << (128 - u32::from(count)),
    }
}

/// Returns what identifies a client: its address, or its network for IPv6, since a client usually
/// has a whole /64 network.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = !0 << 64;
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & NETWORK).into()),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_106_ranges_contain_their_addresses_only() {
        for (range, inside, outside) in [
            ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.1.1", "::a00:1"),
            ("0.0.0.0/0", "203.0.113.7", "::1"),
            ("192.168.4.0/30", "192.168.4.3", "192.168.4.4"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "::1", "1.1.1.1"),
            ("2001:db8::7", "2001:db8::7", "2001:db8::8"),
            ("10.0.0.7/32", "10.0.0.7", "10.0.0.6"),
        ] {
            let parsed: AddressRange = range.parse().unwrap();
            assert!(parsed.contains(inside.parse().unwrap()), "{range} {inside}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{range} {outside}");
        }
    }

    #[test]
    fn rg_106_invalid_ranges_are_refused() {
        for text in
            ["", "10.0.0", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "::/129", "x/8"]
        {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
    }
}
