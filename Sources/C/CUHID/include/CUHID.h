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

/// Writes reports of 64 bytes, up to 32 in each system call.
///
/// The kernel handles each buffer of a writev(2) on /dev/uhid as one write: one UHID_INPUT2 event for each report. A
/// report that the kernel refuses is lost.
void cuhid_write_reports(int uhid, const unsigned char *reports, size_t count);

/// The refusal of a UHID_GET_REPORT or UHID_SET_REPORT; `*length` is its size in bytes, 0 if the event is neither.
struct uhid_event cuhid_refusal(const struct uhid_event *request, size_t *length);
