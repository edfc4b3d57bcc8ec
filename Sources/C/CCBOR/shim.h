#pragma once
#include <cbor.h>

// One item of an encoding: a whole item, or the head of an array or map whose elements follow.
//
// The streaming decoder of libcbor calls one of two dozen functions with it; here they fill in one structure.
enum cbor_shim_kind {
  CBOR_SHIM_NONE,  // a tag, an indefinite length or a break: EncodingWalk refuses all of them
  CBOR_SHIM_UNSIGNED,
  CBOR_SHIM_NEGATIVE,
  CBOR_SHIM_BYTES,
  CBOR_SHIM_TEXT,
  CBOR_SHIM_ARRAY,
  CBOR_SHIM_MAP,
  CBOR_SHIM_BOOL,
  CBOR_SHIM_NULL,
  CBOR_SHIM_FLOAT,
};

struct cbor_shim_item {
  enum cbor_shim_kind kind;
  uint64_t number;    // an integer's argument; the number of bytes, elements or pairs; 1 for true
  cbor_data content;  // of a string
  double real;
};

static inline void cbor_shim_set(void *item, enum cbor_shim_kind kind, uint64_t number) {
  ((struct cbor_shim_item *)item)->kind = kind;
  ((struct cbor_shim_item *)item)->number = number;
}

static void cbor_shim_uint8(void *item, uint8_t number) { cbor_shim_set(item, CBOR_SHIM_UNSIGNED, number); }
static void cbor_shim_uint16(void *item, uint16_t number) { cbor_shim_set(item, CBOR_SHIM_UNSIGNED, number); }
static void cbor_shim_uint32(void *item, uint32_t number) { cbor_shim_set(item, CBOR_SHIM_UNSIGNED, number); }
static void cbor_shim_uint64(void *item, uint64_t number) { cbor_shim_set(item, CBOR_SHIM_UNSIGNED, number); }
static void cbor_shim_negint8(void *item, uint8_t number) { cbor_shim_set(item, CBOR_SHIM_NEGATIVE, number); }
static void cbor_shim_negint16(void *item, uint16_t number) { cbor_shim_set(item, CBOR_SHIM_NEGATIVE, number); }
static void cbor_shim_negint32(void *item, uint32_t number) { cbor_shim_set(item, CBOR_SHIM_NEGATIVE, number); }
static void cbor_shim_negint64(void *item, uint64_t number) { cbor_shim_set(item, CBOR_SHIM_NEGATIVE, number); }
static void cbor_shim_bytes(void *item, cbor_data content, size_t count) {
  cbor_shim_set(item, CBOR_SHIM_BYTES, count);
  ((struct cbor_shim_item *)item)->content = content;
}
static void cbor_shim_text(void *item, cbor_data content, size_t count) {
  cbor_shim_set(item, CBOR_SHIM_TEXT, count);
  ((struct cbor_shim_item *)item)->content = content;
}
static void cbor_shim_array(void *item, size_t count) { cbor_shim_set(item, CBOR_SHIM_ARRAY, count); }
static void cbor_shim_map(void *item, size_t count) { cbor_shim_set(item, CBOR_SHIM_MAP, count); }
static void cbor_shim_bool(void *item, bool truth) { cbor_shim_set(item, CBOR_SHIM_BOOL, truth); }
static void cbor_shim_null(void *item) { cbor_shim_set(item, CBOR_SHIM_NULL, 0); }
static void cbor_shim_double(void *item, double number) {
  cbor_shim_set(item, CBOR_SHIM_FLOAT, 0);
  ((struct cbor_shim_item *)item)->real = number;
}
static void cbor_shim_float(void *item, float number) { cbor_shim_double(item, number); }
static void cbor_shim_none(void *item) { cbor_shim_set(item, CBOR_SHIM_NONE, 0); }
static void cbor_shim_tag(void *item, uint64_t number) { cbor_shim_set(item, CBOR_SHIM_NONE, number); }

// Reads one item; returns its size in bytes, or 0 if libcbor refuses it.
static inline size_t cbor_shim_next(cbor_data bytes, size_t count, struct cbor_shim_item *item) {
  static const struct cbor_callbacks callbacks = {
      .uint8 = cbor_shim_uint8,
      .uint16 = cbor_shim_uint16,
      .uint32 = cbor_shim_uint32,
      .uint64 = cbor_shim_uint64,
      .negint8 = cbor_shim_negint8,
      .negint16 = cbor_shim_negint16,
      .negint32 = cbor_shim_negint32,
      .negint64 = cbor_shim_negint64,
      .byte_string_start = cbor_shim_none,
      .byte_string = cbor_shim_bytes,
      .string_start = cbor_shim_none,
      .string = cbor_shim_text,
      .indef_array_start = cbor_shim_none,
      .array_start = cbor_shim_array,
      .indef_map_start = cbor_shim_none,
      .map_start = cbor_shim_map,
      .tag = cbor_shim_tag,
      .float2 = cbor_shim_float,
      .float4 = cbor_shim_float,
      .float8 = cbor_shim_double,
      .undefined = cbor_shim_null,
      .null = cbor_shim_null,
      .boolean = cbor_shim_bool,
      .indef_break = cbor_shim_none,
  };
  struct cbor_decoder_result result = cbor_stream_decode(bytes, count, &callbacks, item);
  return result.status == CBOR_DECODER_FINISHED ? result.read : 0;
}
