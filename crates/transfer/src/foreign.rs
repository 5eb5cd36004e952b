//! zstd of other programs: any frames one after the other, by one thread, as `zstd -d` reads them.
//!
//! Not here: whether it is all that was sent. Such a stream doesn't say where it ends, unless it ends inside a frame.

use std::io::{Read, Write};

use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use crate::{Fault, Meter, Summary, memory, reader};

/// Reads frames to the end of the input and writes what they hold.
pub(crate) fn unpack(
    mut input: impl Read,
    mut output: impl Write,
    memory_len: u64,
    meter: &Meter,
) -> Result<Summary, Fault> {
    let mut context = DCtx::try_create().ok_or(Fault::LibraryFailed { name: "no memory" })?;
    let window_log = memory::window_log_max(memory_len);
    context.set_parameter(DParameter::WindowLogMax(window_log)).map_err(Fault::library)?;
    let mut packed = vec![0; DCtx::in_size()];
    let mut plain = vec![0; DCtx::out_size()];
    let mut summary = Summary::default();
    let mut is_inside = false;
    loop {
        let len = reader::fill(&mut input, &mut packed)?;
        if len == 0 {
            break;
        }
        meter.add(0, len);
        summary.packed_len += len as u64;
        let mut from = InBuffer::around(packed.get(..len).unwrap_or_default());
        loop {
            let mut to = OutBuffer::around(plain.as_mut_slice());
            let plain_len = summary.plain_len;
            let wanted = context.decompress_stream(&mut to, &mut from).map_err(|code| {
                let name = zstd_safe::get_error_name(code);
                if name == WINDOW_TOO_LARGE {
                    let needed_len =
                        memory::foreign_len(window_len(from.src).unwrap_or(1 << (window_log + 1)));
                    return Fault::MemoryExceeded { needed_len, permitted_len: memory_len };
                }
                Fault::ForeignCorrupt { plain_len, name }
            })?;
            is_inside = wanted > 0;
            output.write_all(to.as_slice()).map_err(Fault::Write)?;
            let was_full = to.pos() == to.capacity();
            meter.add(to.pos(), 0);
            summary.plain_len += to.pos() as u64;
            if from.pos == from.src.len() && !(was_full && is_inside) {
                break;
            }
        }
    }
    if is_inside { Err(Fault::ForeignCutOff { plain_len: summary.plain_len }) } else { Ok(summary) }
}

/// The window that a frame at the beginning of these bytes declares.
///
/// Source: RFC 8878, 3.1.1.1.2.
fn window_len(bytes: &[u8]) -> Option<u64> {
    let &[0x28, 0xb5, 0x2f, 0xfd, descriptor, window, ..] = bytes else { return None };
    if descriptor & SINGLE_SEGMENT != 0 {
        return zstd_safe::get_frame_content_size(bytes).ok().flatten();
    }
    let base = 1_u64 << (10 + (window >> 3));
    Some(base + base / 8 * u64::from(window & 7))
}

/// libzstd's own words for ZSTD_error_frameParameter_windowTooLarge.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";
/// Single_Segment_flag of the frame header descriptor.
const SINGLE_SEGMENT: u8 = 0x20;
