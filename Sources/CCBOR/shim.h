#pragma once
#include <cbor.h>

// Takes the reference by value: cbor_decref is a function in some releases of libcbor and inline in others.
static inline void cbor_door_release(cbor_item_t *item) { cbor_decref(&item); }
