//! Reads latency histograms from their interchange form, which may come from anywhere.
//! In: HDR V2, deflated, in base64. Out: a histogram, or why it is rejected; a text of any content costs at most a few MiB.
//! A histogram declares its own sizes, so these are checked against the actual data before they are used.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use std::io::Read;

/// Longest text, in bytes: ours have some thousands.
pub const TEXT_LIMIT: usize = 1 << 20;
/// Most bytes that a text may unpack to: as many counts as three digits up to 2^64 ns need, at nine bytes each, take half of it.
const UNPACKED_LIMIT: usize = 1 << 20;
/// Most significant digits; five would need a hundred times the memory of three.
const MOST_DIGITS: u32 = 3;
/// Most values that one histogram may count: beyond this, shares are no longer exact, and sums overflow.
const MOST_COUNTED: u64 = 1 << 53;
/// The longest number in this encoding.
const LONGEST: [u8; 9] = [0xff; 9];
/// Magic numbers of the two forms.
const PLAIN: u32 = 0x1c84_9313;
const DEFLATED: u32 = 0x1c84_9314;
/// Bytes of the plain form before the counts, and the offsets of the length of the counts and of the digits.
const HEAD: usize = 40;
const LENGTH: usize = 4;
const DIGITS: usize = 12;

/// Why a text is not a readable histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// The text is too long.
    #[error("a histogram is longer than {} KiB", TEXT_LIMIT >> 10)]
    TooLong,
    /// The text has another format.
    #[error("a histogram is not in the HDR V2 format")]
    Form,
    /// It declares more than it holds, or more than any of ours can hold.
    #[error(
        "a histogram declares more data than it holds, more digits than {MOST_DIGITS} or more values than can be counted"
    )]
    Size,
}

/// A histogram from its interchange form.
///
/// # Errors
/// A text that is too long, of another format, or whose sizes do not fit its content.
pub fn read(text: &str) -> Result<Histogram<u64>, HistogramError> {
    if text.len() > TEXT_LIMIT {
        return Err(HistogramError::TooLong);
    }
    let packed = BASE64_STANDARD.decode(text).map_err(|_| HistogramError::Form)?;
    let plain = unpacked(&packed)?;
    let holds = plain.len().checked_sub(HEAD).ok_or(HistogramError::Form)?;
    let announced = number(&plain, LENGTH).ok_or(HistogramError::Form)?;
    let digits = number(&plain, DIGITS).ok_or(HistogramError::Form)?;
    if number(&plain, 0) != Some(PLAIN) {
        return Err(HistogramError::Form);
    }
    if announced as usize > holds || digits > MOST_DIGITS {
        return Err(HistogramError::Size);
    }
    // The decoder's negation of this one number would overflow 64 bits.
    if plain[HEAD..].windows(LONGEST.len()).any(|bytes| bytes == LONGEST) {
        return Err(HistogramError::Size);
    }
    let read: Histogram<u64> =
        Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|_| HistogramError::Form)?;
    let count = read.iter_recorded().try_fold(0u64, |sum, bucket| sum.checked_add(bucket.count_at_value()));
    match count {
        Some(count) if count <= MOST_COUNTED => Ok(read),
        _ => Err(HistogramError::Size),
    }
}

/// The plain form of a deflated histogram.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, HistogramError> {
    let length = number(packed, LENGTH).ok_or(HistogramError::Form)? as usize;
    if number(packed, 0) != Some(DEFLATED) {
        return Err(HistogramError::Form);
    }
    let body = &packed[2 * size_of::<u32>()..];
    let body = body.get(..length).ok_or(HistogramError::Size)?;
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(body).take(UNPACKED_LIMIT as u64 + 1).read_to_end(&mut plain);
    match read {
        Ok(bytes) if bytes > UNPACKED_LIMIT => Err(HistogramError::Size),
        Ok(_) => Ok(plain),
        Err(_) => Err(HistogramError::Form),
    }
}

/// The big-endian number at an offset.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + size_of::<u32>())?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
