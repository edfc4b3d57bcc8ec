#include "CUHID.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const unsigned char *cuhid_output(const struct uhid_event *event, size_t *size) {
  const size_t told = event->u.output.size;
  *size = told <= sizeof event->u.output.data ? told : sizeof event->u.output.data;
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

struct uhid_event cuhid_input2(const unsigned char *report, size_t size, size_t *length) {
  struct uhid_event event = {.type = UHID_INPUT2};
  event.u.input2.size = size <= sizeof event.u.input2.data ? size : sizeof event.u.input2.data;
  memcpy(event.u.input2.data, report, event.u.input2.size);
  *length = offsetof(struct uhid_event, u.input2.data) + event.u.input2.size;
  return event;
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
