// roundtrips COUNT PAUSE ASSERTION NODE...: measure how long keys take to answer over hidraw, in turns within one run.
//   COUNT      number of repetitions of each operation
//   PAUSE      milliseconds before each, so that a traced key becomes idle
//   ASSERTION  a file: a request of authenticatorGetAssertion, command byte first
//   NODE       /dev/hidraw* of a key
// Prints a line for each node and operation: NODE ping|assertion MEDIAN P99, in nanoseconds.
// With an empty ASSERTION, only pings are sent.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { report_size = 64, first_part = 57, next_part = 59, message_size = 7609, most_keys = 8 };
// The number of measurements of one kind in a turn.
enum { turn = 10 };
enum { PING = 0x81, INIT = 0x86, CBOR = 0x90, KEEPALIVE = 0xBB };

struct key {
  const char *path;
  int node;
  unsigned char channel[4];
  uint64_t *taken[2];
};

static void fail(const char *action) {
  perror(action);
  exit(1);
}

// Writes a message, and reads the whole answer without keepalives; returns the number of bytes in `answer`.
static size_t exchange(
    const struct key *key, unsigned char command, const unsigned char *bytes, size_t size, unsigned char *answer) {
  unsigned char sequence = 0;
  for (size_t sent = 0, first = 1; first || sent < size; first = 0) {
    unsigned char report[1 + report_size] = {0}; // hidraw expects the report number first
    size_t head = first ? 8 : 6, part = first ? first_part : next_part;
    if (part > size - sent) part = size - sent;
    memcpy(report + 1, key->channel, 4);
    report[5] = first ? command : sequence++;
    if (first) report[6] = size >> 8, report[7] = size;
    memcpy(report + head, bytes + sent, part);
    sent += part;
    if (write(key->node, report, sizeof report) != sizeof report) fail(key->path);
  }
  size_t expected = 0, received = 0;
  do {
    unsigned char report[report_size];
    if (read(key->node, report, sizeof report) != sizeof report) fail(key->path);
    if (memcmp(report, key->channel, 4) != 0 || report[4] == KEEPALIVE) continue;
    if (!received) {
      expected = report[5] << 8 | report[6];
      if (report[4] != command || expected > message_size) {
        fprintf(stderr, "roundtrips: %s answers %02x with %02x\n", key->path, command, report[4]);
        exit(1);
      }
    }
    size_t part = received ? next_part : first_part;
    memcpy(answer + received, report + (received ? 5 : 7), part);
    received += part;
  } while (!received || received < expected);
  return expected;
}

static uint64_t now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int compare(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

int main(int count, char **arguments) {
  if (count < 5 || count - 4 > most_keys) {
    fputs("usage: roundtrips COUNT PAUSE ASSERTION NODE...\n", stderr);
    return 2;
  }
  size_t samples = strtoul(arguments[1], NULL, 10), keys = count - 4;
  struct timespec pause = {.tv_nsec = atoi(arguments[2]) * 1000000l};
  static unsigned char ping[first_part], request[message_size], answer[message_size + next_part];
  memset(ping, 'p', sizeof ping);
  FILE *file = fopen(arguments[3], "rb");
  if (!file) fail(arguments[3]);
  size_t size = fread(request, 1, sizeof request, file);
  fclose(file);

  struct key list[most_keys];
  for (size_t number = 0; number < keys; number++) {
    struct key *key = &list[number];
    *key = (struct key){arguments[4 + number], open(arguments[4 + number], O_RDWR), {255, 255, 255, 255}, {0}};
    if (key->node < 0) fail(key->path);
    for (int kind = 0; kind < 2; kind++) key->taken[kind] = calloc(samples + turn, sizeof(uint64_t));
    if (exchange(key, INIT, (const unsigned char *)"a nonce!", 8, answer) != 17) fail("INIT");
    memcpy(key->channel, answer + 8, 4);
  }
  for (size_t done = 0; done < samples; done += turn)
    for (size_t number = 0; number < keys; number++)
      for (int kind = 0; kind < 2; kind++)
        for (size_t sample = done; sample < done + turn; sample++) {
          if (pause.tv_nsec) nanosleep(&pause, NULL);
          uint64_t began = now();
          if (kind == 0)
            exchange(&list[number], PING, ping, sizeof ping, answer);
          else if (size && exchange(&list[number], CBOR, request, size, answer) < 2)
            return fprintf(stderr, "roundtrips: %s refuses: %02x\n", list[number].path, answer[0]), 1;
          list[number].taken[kind][sample] = now() - began;
        }
  for (size_t number = 0; samples && number < keys; number++)
    for (int kind = 0; kind < (size ? 2 : 1); kind++) {
      uint64_t *taken = list[number].taken[kind];
      qsort(taken, samples, sizeof *taken, compare);
      printf("%s %s %llu %llu\n", list[number].path, kind ? "assertion" : "ping",
             (unsigned long long)taken[(samples - 1) / 2], (unsigned long long)taken[(samples - 1) * 99 / 100]);
    }
  return 0;
}
