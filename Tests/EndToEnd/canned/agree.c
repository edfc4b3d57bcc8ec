// agree: a pinentry that approves at once, and starts as fast as possible.

#include <string.h>
#include <unistd.h>

int main(void) {
  char bytes[4096];
  ssize_t count;
  if (write(1, "OK\n", 3) < 0) return 1;
  while ((count = read(0, bytes, sizeof bytes)) > 0) {
    // One OK for each line, even if lines arrive in pieces.
    for (char *end = bytes; (end = memchr(end, '\n', bytes + count - end)); end++)
      if (write(1, "OK\n", 3) < 0) return 1;
  }
  return 0;
}
