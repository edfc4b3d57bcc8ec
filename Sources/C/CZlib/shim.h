#pragma once
#include <stddef.h>
#include <string.h>
#include <zlib.h>

// zlib's streams are initialized by macros, which Swift cannot call. Both functions use bare DEFLATE (RFC 1951, no zlib
// header), and process all data at once.

/// Inflates into exactly `output_count` bytes. Returns 1 if the input yields that many and ends there, with nothing
/// after it.
static inline int zlib_shim_inflate(const unsigned char *input, size_t input_count, unsigned char *output,
                                    size_t output_count) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return 0;
  stream.next_in = (unsigned char *)input;
  stream.avail_in = (uInt)input_count;
  stream.next_out = output;
  stream.avail_out = (uInt)output_count;
  int result = inflate(&stream, Z_FINISH);
  int whole = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole;
}

/// Deflates into at most `capacity` bytes. Returns their number, or 0 if they do not fit.
static inline size_t zlib_shim_deflate(const unsigned char *input, size_t input_count, unsigned char *output,
                                       size_t capacity) {
  z_stream stream;
  memset(&stream, 0, sizeof stream);
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
  stream.next_in = (unsigned char *)input;
  stream.avail_in = (uInt)input_count;
  stream.next_out = output;
  stream.avail_out = (uInt)capacity;
  int result = deflate(&stream, Z_FINISH);
  size_t count = result == Z_STREAM_END ? (size_t)stream.total_out : 0;
  deflateEnd(&stream);
  return count;
}
