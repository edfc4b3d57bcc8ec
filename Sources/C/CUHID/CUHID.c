#include "CUHID.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

const unsigned char *cuhid_output(const struct uhid_event *event, size_t *size) {
  const size_t reported = event->u.output.size;
  *size = reported <= sizeof event->u.output.data ? reported : sizeof event->u.output.data;
  return event->u.output.data;
}

struct uhid_event cuhid_create2(
    const char *name, const char *phys, const char *uniq, unsigned vendor, unsigned product,
    const unsigned char *descriptor, size_t size) {
  struct uhid_event event = {.type = UHID_CREATE2};
  struct uhid_create2_req *device = &event.u.create2;
  snprintf((char *)device->name, sizeof device->name, "%s", name);
  snprintf((char *)device->phys, sizeof device->phys, "%s", phys);
  snprintf((char *)device->uniq, sizeof device->uniq, "%s", uniq);
  device->bus = BUS_USB;
  device->vendor = vendor;
  device->product = product;
  device->rd_size = size <= sizeof device->rd_data ? size : sizeof device->rd_data;
  memcpy(device->rd_data, descriptor, device->rd_size);
  return event;
}

void cuhid_write_reports(int uhid, const unsigned char *reports, size_t count) {
  enum { report_size = 64, burst = 32 };
  // A shortened event: the kernel reads what is missing as zero.
  struct __attribute__((packed)) {
    __u32 type;
    __u16 size;
    unsigned char data[report_size];
  } events[burst];
  struct iovec parts[burst];
  while (count > 0) {
    int number = 0;
    for (; number < burst && count > 0; number++, count--, reports += report_size) {
      events[number].type = UHID_INPUT2;
      events[number].size = report_size;
      memcpy(events[number].data, reports, report_size);
      parts[number] = (struct iovec){&events[number], sizeof events[number]};
    }
    ssize_t written = writev(uhid, parts, number);
    (void)written;
  }
}

struct uhid_event cuhid_refusal(const struct uhid_event *request, size_t *length) {
  struct uhid_event event = {0};
  *length = 0;
  if (request->type == UHID_GET_REPORT) {
    event.type = UHID_GET_REPORT_REPLY;
    event.u.get_report_reply.id = request->u.get_report.id;
    event.u.get_report_reply.err = EIO;
    *length = offsetof(struct uhid_event, u) + sizeof event.u.get_report_reply;
  } else if (request->type == UHID_SET_REPORT) {
    event.type = UHID_SET_REPORT_REPLY;
    event.u.set_report_reply.id = request->u.set_report.id;
    event.u.set_report_reply.err = EIO;
    *length = offsetof(struct uhid_event, u) + sizeof event.u.set_report_reply;
  }
  return event;
}
