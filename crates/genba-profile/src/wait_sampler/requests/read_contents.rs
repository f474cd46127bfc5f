//! What the bytes of a read say of a connection: whether requests share it (HTTP/2), or it is encrypted.

/// What was read from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadContents {
    /// Frames of HTTP/2, so many of which begin a request.
    Http2 {
        /// Frames of type HEADERS.
        requests: u32,
    },
    /// A record of TLS.
    Encrypted,
    /// Neither; or it has been overwritten since.
    Other,
}

/// Most bytes of a read that are looked at.
pub const MAX_LOOKED_AT: usize = 16 << 10;
/// Bytes before the buffer that are looked at as well: OpenSSL reads the head of a record first.
pub const TLS_HEAD: usize = 5;

/// What a client of HTTP/2 sends first (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD: usize = 9;
/// Most bytes of a frame where nothing else was agreed on (RFC 9113, 6.5.2).
const MAX_FRAME: usize = 16 << 10;

/// Returns what a read of `length` bytes had, of which `bytes` are the first; `before` is what stands before them.
pub fn read_contents(before: &[u8], bytes: &[u8], length: u64) -> ReadContents {
    if bytes.is_empty() {
        return ReadContents::Other;
    }
    if let Some(requests) = http2_requests(bytes, length) {
        return ReadContents::Http2 { requests };
    }
    let is_head = tls_record(bytes).is_some_and(|of_record| {
        // The head alone, or with all or a part of what follows.
        length == TLS_HEAD as u64 || length >= (TLS_HEAD + of_record) as u64
    });
    let is_body = tls_record(before).is_some_and(|of_record| of_record as u64 == length);
    match is_head || is_body {
        true => ReadContents::Encrypted,
        false => ReadContents::Other,
    }
}

/// The bytes in a record of TLS by its head (RFC 8446, 5.1).
fn tls_record(head: &[u8]) -> Option<usize> {
    match head.first_chunk::<TLS_HEAD>()? {
        [20..=23, 3, 1..=4, high, low] => Some(usize::from(u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

/// How many requests begin in a read, if it has frames of HTTP/2 from its first to its last byte. The last
/// frame may go on in the next read where it is the body of a request.
fn http2_requests(bytes: &[u8], length: u64) -> Option<u32> {
    let has_preface = bytes.starts_with(PREFACE);
    let mut at = if has_preface { PREFACE.len() } else { 0 };
    let mut requests = 0;
    let mut frames = u32::from(has_preface);
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let frame = Frame::parse(head)?;
        requests += u32::from(frame.is_headers);
        at += FRAME_HEAD + frame.length;
        frames += 1;
        if at as u64 > length {
            return (frame.is_data && frames > 1).then_some(requests);
        }
    }
    // What is beyond the bytes that were looked at is not known.
    let is_looked_at = at + FRAME_HEAD > bytes.len() && (bytes.len() as u64) < length;
    let whole = at as u64 == length || is_looked_at;
    (whole && frames > 0).then_some(requests)
}

struct Frame {
    length: usize,
    is_headers: bool,
    is_data: bool,
}

impl Frame {
    /// The frame of a head as a client may send it (RFC 9113, 6).
    fn parse(head: &[u8; FRAME_HEAD]) -> Option<Self> {
        let [a, b, c, kind, _flags, stream @ ..] = *head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(stream);
        // Clients have the odd streams; 0 is the connection.
        let of_stream = stream % 2 == 1;
        let fits = match kind {
            // DATA, HEADERS, CONTINUATION.
            0 | 1 | 9 => of_stream,
            // PRIORITY.
            2 => stream != 0 && length == 5,
            // RST_STREAM.
            3 => stream != 0 && length == 4,
            // SETTINGS.
            4 => stream == 0 && length.is_multiple_of(6),
            // PING.
            6 => stream == 0 && length == 8,
            // GOAWAY.
            7 => stream == 0 && length >= 8,
            // WINDOW_UPDATE.
            8 => (stream == 0 || of_stream) && length == 4,
            // PRIORITY_UPDATE.
            16 => stream == 0 && length > 4,
            _ => false,
        };
        (fits && stream >> 31 == 0 && length <= MAX_FRAME).then_some(Self {
            length,
            is_headers: kind == 1,
            is_data: kind == 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        let mut all = vec![length[1], length[2], length[3], kind, 0];
        all.extend(stream.to_be_bytes());
        all.extend(payload);
        all
    }

    fn contents(bytes: &[u8]) -> ReadContents {
        read_contents(&[], bytes, bytes.len() as u64)
    }

    #[test]
    fn frames_of_http2_are_recognised_and_requests_counted() {
        let mut first = PREFACE.to_vec();
        first.extend(frame(4, 0, &[0; 12]));
        first.extend(frame(8, 0, &[0, 0, 255, 255]));
        assert_eq!(contents(&first), ReadContents::Http2 { requests: 0 });
        let mut two = frame(1, 3, &[0x82; 17]);
        two.extend(frame(1, 5, &[0x82; 21]));
        assert_eq!(contents(&two), ReadContents::Http2 { requests: 2 });
        // A body goes on in the next read; what lies beyond the bytes that were read is not looked at.
        let mut posted = frame(1, 3, &[0x83; 17]);
        posted.extend(&frame(0, 3, &[b'x'; 900])[..300]);
        assert_eq!(contents(&posted), ReadContents::Http2 { requests: 1 });
        let many: Vec<u8> = (0..2000)
            .flat_map(|at| frame(1, 2 * at + 1, &[0x82; 17]))
            .collect();
        let found = read_contents(&[], &many[..MAX_LOOKED_AT], many.len() as u64);
        assert_eq!(found, ReadContents::Http2 { requests: 630 });
    }

    #[test]
    fn other_protocols_and_overwritten_buffers_are_not_http2() {
        let mysql = b"\x20\x00\x00\x00\x03SELECT id FROM t WHERE k = 12345";
        let postgres = b"Q\x00\x00\x00\x18SELECT balance FROM a\x00";
        let mut cut = frame(1, 3, &[0x82; 17]);
        cut.pop();
        let texts: [&[u8]; 7] = [
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            mysql,
            postgres,
            &cut,
            &[0; 64],
            &frame(1, 2, &[0x82; 17]),
        ];
        for text in texts {
            assert_eq!(contents(text), ReadContents::Other, "{text:?}");
        }
        assert_eq!(read_contents(&[], &[], 12), ReadContents::Other);
    }

    #[test]
    fn records_of_tls_are_recognised_with_and_without_their_head() {
        let mut record = vec![23, 3, 3, 0, 40];
        record.extend([0x5a; 40]);
        assert_eq!(contents(&record), ReadContents::Encrypted);
        assert_eq!(contents(&record[..5]), ReadContents::Encrypted);
        let (head, body) = record.split_at(TLS_HEAD);
        assert_eq!(read_contents(head, body, 40), ReadContents::Encrypted);
        assert_eq!(read_contents(head, body, 41), ReadContents::Other);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            before in prop::collection::vec(any::<u8>(), 0..8),
            bytes in prop::collection::vec(prop_oneof![0u8..10, any::<u8>()], 0..100),
            length in 0u64..200,
        ) {
            let _ = read_contents(&before, &bytes, length);
        }
    }
}
