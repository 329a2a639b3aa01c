//! Signatures of files that are not text: binary forms that are read here, and forms that have to be converted first.

/// Start of LogGOPSim's binary schedules: the number 4223 in eight bytes, little-endian.
pub(crate) const LOGGOPSIM: [u8; 8] = 4223_u64.to_le_bytes();

/// Starts of the binary forms that a module of this crate reads.
const READ_HERE: &[&[u8]] = &[&LOGGOPSIM];

/// Returns `true` if a module of this crate reads the binary form that begins like this.
pub(crate) fn is_supported(bytes: &[u8]) -> bool {
    READ_HERE.iter().any(|start| bytes.starts_with(start))
}

/// Returns advice for a file that is neither text nor a form that is read here.
pub(crate) fn advice(name: &str, bytes: &[u8]) -> &'static str {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it looks like UTF-16: save it as UTF-8",
        [0x1f, 0x8b, ..] => "it looks like gzip: unpack it first (gunzip)",
        [b'P', b'K', 3, 4, ..] => "it looks like a zip archive or a spreadsheet: unpack it, or export it as CSV",
        _ if name.ends_with(".bin") || name.ends_with(".goal") => {
            "if it is a schedule of LogGOPSim: its binary form begins with the number 4223; what older versions wrote is not read: name the text that it was made of (.goal)"
        }
        _ => "if it is text in another encoding (Latin-1, Windows-1252), save it as UTF-8",
    }
}
