//! Hosts of the URLs in a text.

use std::ops::Range;

/// Returns the byte range of the host in each `scheme://…`. The range is empty for a placeholder.
pub(crate) fn host_ranges(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices("://").map(|(at, separator)| {
        let start = at + separator.len();
        let is_end = |c: char| c.is_whitespace() || "/?#\"'`<>()[]{}|\\,;*".contains(c);
        let end = text[start..].find(is_end).map_or(text.len(), |length| start + length);
        let start = text[start..end].rfind('@').map_or(start, |at| start + at + 1);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        let end = text[start..end].find(|c| !is_part(c)).map_or(end, |length| start + length);
        start..end
    })
}

/// Normalizes a host; `None` if it has no dot or names the local machine.
pub(crate) fn external_host(host: &str) -> Option<String> {
    let host = host.trim_end_matches(['.', '-', '_']).to_lowercase();
    let is_here = host.starts_with("127.") || host == "0.0.0.0" || host.ends_with(".localhost");
    (host.contains('.') && !host.starts_with('.') && !is_here).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_09_host_excludes_user_and_port() {
        let text = "<https://a.example/x> git+ssh://me:pw@B.example:22/r, `http://c.example` (http://$HOST/) http://[::1]/";
        let hosts: Vec<&str> = host_ranges(text).map(|range| &text[range]).collect();
        assert_eq!(hosts, ["a.example", "B.example", "c.example", "", ""]);
        let external: Vec<String> = hosts.into_iter().filter_map(external_host).collect();
        assert_eq!(external, ["a.example", "b.example", "c.example"]);
        assert_eq!(
            ["localhost", "127.0.0.1", "host", "x.localhost"].map(super::external_host),
            [const { None }; 4]
        );
    }
}
