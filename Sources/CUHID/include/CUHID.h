#pragma once
// Constants and layout of uhid and hidraw, from the kernel's own headers.
#include <linux/hidraw.h>
#include <linux/input.h>
#include <linux/uhid.h>
#include <stddef.h>

/// The bytes of a UHID_OUTPUT event, report number included, in `*size` bytes.
const unsigned char *cuhid_output(const struct uhid_event *event, size_t *size);

/// A UHID_CREATE2 event for a USB device of version 0 without a country; texts are cut to their fields.
struct uhid_event cuhid_create2(
    const char *name, const char *phys, const char *uniq, unsigned vendor, unsigned product,
    const unsigned char *descriptor, size_t size);

/// A UHID_INPUT2 event; `*length` is how much of it must be written.
struct uhid_event cuhid_input2(const unsigned char *report, size_t size, size_t *length);

/// The refusal of a UHID_GET_REPORT or UHID_SET_REPORT; `*length` as above, 0 when the event is neither.
struct uhid_event cuhid_refusal(const struct uhid_event *request, size_t *length);
