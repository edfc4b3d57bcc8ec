// canned UNIQ GETINFO ASSERTION [--sign] [--pinentry PROGRAM]: a security key with fixed answers, with which
// `scripts/bench --guest` compares the authenticator. One thread, minimal parsing, no sleep.
//   UNIQ       the device's HID_UNIQ; its other properties are those of liquid-authenticator
//   GETINFO    a file: the answer to authenticatorGetInfo, status byte first
//   ASSERTION  a file: the answer to authenticatorGetAssertion
//   --sign     make one ECDSA signature before each assertion, and discard it
//   --pinentry show a dialog of this program before each assertion

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CUHID.h"

enum { report_size = 64, first_part = 57, next_part = 59, message_size = 7609, message_reports = 129 };
enum { PING = 0x81, INIT = 0x86, CBOR = 0x90, CANCEL = 0x91, ERROR = 0xBF };
enum { get_assertion = 0x02, get_info = 0x04 };
static const uint32_t broadcast = 0xFFFFFFFF;

// CTAP §11.2.8.1, as in Sources/Programs/liquid-authenticator/Transports/UHIDIdentity.swift.
static const unsigned char descriptor[] = {
    0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95,
    0x40, 0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
};

struct answer {
  size_t size;
  unsigned char bytes[message_size];
};

static int uhid;
static struct answer info, assertion;
static EVP_PKEY *key;
static const char *pinentry;

static void fail(const char *action) {
  perror(action);
  exit(1);
}

static void load(struct answer *answer, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path);
  answer->size = fread(answer->bytes, 1, sizeof answer->bytes, file);
  fclose(file);
}

static void put(const void *event, size_t size) {
  if (write(uhid, event, size) < 0) fail("write to /dev/uhid");
}

// Sends a message in as many reports as it takes.
static void send_message(uint32_t channel, unsigned char command, const unsigned char *bytes, size_t size) {
  unsigned char reports[message_reports][report_size] = {{0}};
  size_t count = 0, sent = 0;
  do {
    unsigned char *report = reports[count];
    size_t head = count ? 5 : 7, part = count ? next_part : first_part;
    if (part > size - sent) part = size - sent;
    report[0] = channel >> 24, report[1] = channel >> 16, report[2] = channel >> 8, report[3] = channel;
    report[4] = count ? count - 1 : command;
    if (!count) report[5] = size >> 8, report[6] = size;
    memcpy(report + head, bytes + sent, part);
    sent += part;
    count++;
  } while (sent < size && count < message_reports);
  cuhid_write_reports(uhid, reports[0], count);
}

// The unavoidable cost of an ECDSA signature: the floor of an assertion.
static void sign(void) {
  unsigned char data[37 + 32] = {1}, signature[80];
  size_t size = sizeof signature;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
      EVP_DigestSign(context, signature, &size, data, sizeof data) != 1)
    exit(1);
  EVP_MD_CTX_free(context);
}

// Reads until the program says OK.
static void await_ok(int output) {
  char line[1000];
  size_t size = 0;
  while (size < sizeof line && read(output, line + size, 1) == 1) {
    if (line[size++] != '\n') continue;
    if (strncmp(line, "OK", 2) == 0) return;
    break;
  }
  fputs("canned: the pinentry did not agree\n", stderr);
  exit(1);
}

// The dialog of a sign-in, with the texts and steps of liquid-authenticator. Returns the program, which is about to end.
static pid_t ask(void) {
  static const char *lines[] = {
      "OPTION lc-ctype=C.UTF-8\n", "OPTION lc-messages=C.UTF-8\n", "SETTIMEOUT 120\n", "SETTITLE Liquid Auth\n",
      "SETDESC Sign in to localhost?\n",
      "SETPROMPT Passphrase:\n", "SETOK Sign in\n", "SETCANCEL Cancel\n", "CONFIRM\n",
  };
  int input[2], output[2];
  if (pipe(input) || pipe(output)) fail("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  for (int end = 0; end < 2; end++) {
    posix_spawn_file_actions_addclose(&actions, input[end]);
    posix_spawn_file_actions_addclose(&actions, output[end]);
  }
  extern char **environ;
  pid_t process;
  char *arguments[] = {(char *)pinentry, NULL};
  if (posix_spawn(&process, pinentry, &actions, NULL, arguments, environ)) fail(pinentry);
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]), close(output[1]);
  await_ok(output[0]);
  for (size_t number = 0; number < sizeof lines / sizeof *lines; number++) {
    if (write(input[1], lines[number], strlen(lines[number])) < 0) fail("write to the pinentry");
    await_ok(output[0]);
  }
  close(input[1]), close(output[0]);
  return process;
}

static void serve_cbor(uint32_t channel, unsigned char command) {
  static const unsigned char unknown[] = {0x01};
  switch (command) {
  case get_info: return send_message(channel, CBOR, info.bytes, info.size);
  case get_assertion: {
    pid_t process = pinentry ? ask() : 0;
    if (key) sign();
    send_message(channel, CBOR, assertion.bytes, assertion.size);
    if (process) waitpid(process, NULL, 0);
    return;
  }
  default: return send_message(channel, CBOR, unknown, sizeof unknown);
  }
}

static void serve(uint32_t channel, unsigned char command, const unsigned char *bytes, size_t size) {
  static uint32_t last_channel = 0;
  static const unsigned char invalid_command[] = {0x01};
  switch (command) {
  case INIT: {
    uint32_t given = channel == broadcast ? ++last_channel : channel;
    unsigned char answer[17] = {[12] = 2, [16] = 0x05}; // version 2 of CTAPHID; WINK and CBOR
    memcpy(answer, bytes, 8);
    for (int byte = 0; byte < 4; byte++) answer[8 + byte] = given >> (24 - 8 * byte);
    return send_message(channel, INIT, answer, sizeof answer);
  }
  case PING: return send_message(channel, PING, bytes, size);
  case CBOR: return serve_cbor(channel, bytes[0]);
  case CANCEL: return;
  default: return send_message(channel, ERROR, invalid_command, sizeof invalid_command);
  }
}

// One message at a time is enough: the measurement has no concurrent clients.
static void receive(const unsigned char *report) {
  static uint32_t channel;
  static unsigned char command, message[message_size + next_part];
  static size_t size, received;
  if (report[4] & 0x80) {
    channel = (uint32_t)report[0] << 24 | report[1] << 16 | report[2] << 8 | report[3];
    command = report[4];
    size = report[5] << 8 | report[6];
    received = first_part;
    memcpy(message, report + 7, first_part);
  } else if (received < size && size <= message_size) {
    memcpy(message + received, report + 5, next_part);
    received += next_part;
  } else {
    return;
  }
  if (received >= size) serve(channel, command, message, size);
}

int main(int count, char **arguments) {
  if (count < 4) {
    fputs("usage: canned UNIQ GETINFO ASSERTION [--sign] [--pinentry PROGRAM]\n", stderr);
    return 2;
  }
  load(&info, arguments[2]);
  load(&assertion, arguments[3]);
  for (int number = 4; number < count; number++) {
    if (strcmp(arguments[number], "--sign") == 0) key = EVP_EC_gen("P-256");
    if (strcmp(arguments[number], "--pinentry") == 0 && number + 1 < count) pinentry = arguments[number + 1];
  }
  uhid = open("/dev/uhid", O_RDWR | O_CLOEXEC);
  if (uhid < 0) fail("open /dev/uhid");
  struct uhid_event event = cuhid_create2(
      "Liquid Auth", "liquid-authenticator", arguments[1], 0x1209, 0x0001, descriptor, sizeof descriptor);
  put(&event, sizeof event);
  while (read(uhid, &event, sizeof event) > 0) {
    size_t size;
    const unsigned char *bytes;
    switch (event.type) {
    case UHID_OUTPUT:
      bytes = cuhid_output(&event, &size);
      if (size == report_size + 1 && bytes[0] == 0) receive(bytes + 1);
      if (size == report_size) receive(bytes);
      break;
    case UHID_GET_REPORT:
    case UHID_SET_REPORT:
      event = cuhid_refusal(&event, &size);
      put(&event, size);
    }
  }
  return 0;
}
