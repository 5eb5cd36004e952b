//! What two ends say to each other.
//!
//! ```text
//! kind u8 | number u64 | len u32 | len bytes          little-endian
//!   H hello      number 0          stream id (16 bytes)                    sender, first
//!   W welcome    number: delivered so far                                  receiver, first
//!   P piece      its number        its bytes                               sender
//!   L last       its number        its bytes: no piece follows             sender
//!   A delivered  up to here                                                receiver
//!   K alive                                                                both
//!   D done                                                                 receiver; and the sender, when it has read that
//!   F failed                       why                                     both
//! ```
//! Not here: when which is said (`send`, `receive`).

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hello,
    Welcome,
    Piece,
    Last,
    Delivered,
    Alive,
    Done,
    Failed,
}

/// A message that was read.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: Kind,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
}

impl Message {
    /// Reads the next one, of at most `len_max` bytes, while no more than `silence` passes without a byte.
    ///
    /// However long a piece takes on a slow line, the connection isn't silent. Errors: what is no message, or is longer than
    /// it can be, is `InvalidData`.
    pub(super) async fn read(
        input: &mut (impl AsyncRead + Unpin),
        len_max: usize,
        silence: Duration,
    ) -> io::Result<Self> {
        let mut head = [0; HEAD_LEN];
        fill(input, &mut head, silence).await?;
        let [letter, rest @ ..] = head;
        let (number, len) = rest.split_first_chunk::<8>().ok_or(io::ErrorKind::InvalidData)?;
        let len = len.first_chunk().map_or(0, |len| u32::from_le_bytes(*len)) as usize;
        let kind = KINDS.iter().find(|(_, it)| *it == letter).ok_or(io::ErrorKind::InvalidData)?.0;
        let kind_len_max = if kind.is_piece() { PIECE_LEN_MAX } else { WORDS_LEN_MAX };
        if len > kind_len_max.min(len_max) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; len];
        fill(input, &mut bytes, silence).await?;
        Ok(Self { kind, number: u64::from_le_bytes(*number), bytes })
    }
}

impl Kind {
    pub(super) const fn is_piece(self) -> bool {
        matches!(self, Self::Piece | Self::Last)
    }
}

/// Reads until it is full; each part has to come in time.
async fn fill(
    input: &mut (impl AsyncRead + Unpin),
    mut room: &mut [u8],
    silence: Duration,
) -> io::Result<()> {
    while !room.is_empty() {
        let len = timeout(silence, input.read(room)).await??;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        room = room.get_mut(len..).unwrap_or_default();
    }
    Ok(())
}

/// The message as it goes out: in one piece, so that its head is no packet of its own.
pub(super) fn to_bytes(kind: Kind, number: u64, bytes: &[u8]) -> Vec<u8> {
    let letter = KINDS.iter().find(|(it, _)| *it == kind).map_or(0, |(_, letter)| *letter);
    // Whoever reads it refuses far shorter ones.
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEAD_LEN + bytes.len());
    message.push(letter);
    message.extend_from_slice(&number.to_le_bytes());
    message.extend_from_slice(&len.to_le_bytes());
    message.extend_from_slice(bytes);
    message
}

/// Writes one message and flushes it.
pub(super) async fn write(
    output: &mut (impl AsyncWrite + Unpin),
    kind: Kind,
    number: u64,
    bytes: &[u8],
) -> io::Result<()> {
    output.write_all(&to_bytes(kind, number, bytes)).await?;
    output.flush().await
}

/// What comes after the last word is read, and forgotten.
pub(super) async fn until_end(mut input: impl AsyncRead + Unpin) {
    let mut unread = vec![0; UNREAD_LEN];
    while input.read(&mut unread).await.is_ok_and(|len| len > 0) {}
}

/// How long the last word may take.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);
const UNREAD_LEN: usize = 64 << 10;
const HEAD_LEN: usize = 13;
/// Chunks have at most 8 MiB (`memory::chunk_len`); a frame is little longer.
pub(super) const PIECE_LEN_MAX: usize = 9 << 20;
/// A stream's id, or why somebody failed.
pub(super) const WORDS_LEN_MAX: usize = 1 << 10;
const KINDS: [(Kind, u8); 8] = [
    (Kind::Hello, b'H'),
    (Kind::Welcome, b'W'),
    (Kind::Piece, b'P'),
    (Kind::Last, b'L'),
    (Kind::Delivered, b'A'),
    (Kind::Alive, b'K'),
    (Kind::Done, b'D'),
    (Kind::Failed, b'F'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_others_are_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let silence = Duration::from_secs(10);
        let read = async |input: &mut &[u8]| Message::read(input, PIECE_LEN_MAX, silence).await;
        runtime.block_on(async {
            let mut bytes = Vec::new();
            for (kind, _) in KINDS {
                write(&mut bytes, kind, 77, b"words").await.unwrap();
            }
            let mut input = &bytes[..];
            for (kind, _) in KINDS {
                let message = read(&mut input).await.unwrap();
                assert_eq!((message.kind, message.number, &message.bytes[..]), (kind, 77, &b"words"[..]));
            }
            let end = read(&mut input).await.unwrap_err();
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
            bytes[0] = b'x';
            assert_eq!(read(&mut &bytes[..]).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
            let short = Message::read(&mut &bytes[HEAD_LEN + 5..], 4, silence).await;
            assert_eq!(short.unwrap_err().kind(), io::ErrorKind::InvalidData);
            let long = [&b"P\0\0\0\0\0\0\0\0"[..], &u32::MAX.to_le_bytes()].concat();
            assert_eq!(read(&mut &long[..]).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        });
    }
}
