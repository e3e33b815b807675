//! Zip archives, written by hand, with uncompressed members.

/// Returns a zip archive with these members. A path that ends with `/` is a directory.
pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (path, content) in members {
        let offset = bytes.len() as u32;
        let common = common(path, content);
        bytes.extend([b"PK\x03\x04".as_slice(), &common, path.as_bytes(), content].concat());
        let (unix, mode) = (0x031e_u16.to_le_bytes(), mode(path).to_le_bytes());
        // No comment, the first disk, no internal attributes; then mode and offset.
        let tail = [[0; 6].as_slice(), &mode, &offset.to_le_bytes()].concat();
        directory
            .extend([b"PK\x01\x02".as_slice(), &unix, &common, &tail, path.as_bytes()].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (size, start) =
        ((directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    bytes.extend(directory);
    bytes.extend(
        [b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &start, &[0, 0]].concat(),
    );
    bytes
}

/// Returns the fields that a local header and a directory entry share: from the version to the name
/// lengths.
fn common(path: &str, content: &[u8]) -> Vec<u8> {
    let (version, stored, date) = (20_u16.to_le_bytes(), [0; 4], [0, 0, 0x21, 0x5c]);
    let (crc, size) = (crc32(content).to_le_bytes(), (content.len() as u32).to_le_bytes());
    let name = (path.len() as u16).to_le_bytes();
    [version.as_slice(), &stored, &date, &crc, &size, &size, &name, &[0, 0]].concat()
}

/// Scripts are executable.
fn mode(path: &str) -> u32 {
    let mode = match path {
        _ if path.ends_with('/') => 0o040_755,
        _ if path.ends_with(".sh") => 0o100_755,
        _ => 0o100_644,
    };
    mode << 16
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}
