/* Preloaded into a browser: a hidraw node is the authenticator's own socket.
 *
 * hidraw.py has made /sys, and a link /run/hidraw/hidrawN to the socket of `liquid-authenticator --transport unix:PATH`.
 * When /dev/hidrawN does not open, this library connects to that socket. The descriptor is then a SOCK_SEQPACKET socket:
 * each packet is a report, 64 bytes to the browser and 65 from it, as at a hidraw node, so read, write and poll are the
 * kernel's. Each open is a connection of its own that gets all reports, as at a hidraw node.
 *
 * Only HIDRAW_PROGRAM itself has the library: a browser's sandboxed children start without it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hidraw.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The C library's function of this name. */
#define NEXT(name)                                                  \
  ({                                                                \
    static __typeof__(&name) next;                                  \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);   \
    next;                                                           \
  })

/* What the kernel answers for each of our devices: hidraw.py has written it, from Sources/Linux/UHID/UHIDIdentity.swift. */
static struct {
  struct hidraw_devinfo identity;
  unsigned char descriptor[HID_MAX_DESCRIPTOR_SIZE];
} device;
static int descriptor_size;

/* Programs before the browser, such as a shell script, pass the library on; the browser does not. */
__attribute__((constructor)) static void begin(void) {
  const char *program = getenv("HIDRAW_PROGRAM");
  if (!program || strcmp(program, program_invocation_short_name) != 0) return;
  unsetenv("LD_PRELOAD");
  FILE *file = fopen("/run/hidraw/device", "r");
  if (!file) return;
  descriptor_size = (int)fread(&device, 1, sizeof device, file) - (int)sizeof device.identity;
  fclose(file);
}

/* Connects to the socket in the place of a node; returns -1 and errno as open(2) does. */
static int open_node(const char *path, int flags) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "/run/hidraw/%s", path + strlen("/dev/"));
  int type = SOCK_SEQPACKET | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0) | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
  int file = socket(AF_UNIX, type, 0);
  if (file < 0 || connect(file, (struct sockaddr *)&address, sizeof address) == 0) return file;
  close(file);
  return errno = ENOENT, -1;
}

static int is_missing_node(int file, const char *path) {
  return file < 0 && errno == ENOENT && strncmp(path, "/dev/hidraw", strlen("/dev/hidraw")) == 0;
}

#define OPENS(name, parameters, ...)                                              \
  int name parameters {                                                           \
    va_list rest;                                                                 \
    va_start(rest, flags);                                                        \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;     \
    va_end(rest);                                                                 \
    int file = NEXT(name)(__VA_ARGS__, mode);                                     \
    return is_missing_node(file, path) ? open_node(path, flags) : file;           \
  }
OPENS(open, (const char *path, int flags, ...), path, flags)
OPENS(open64, (const char *path, int flags, ...), path, flags)
OPENS(openat, (int folder, const char *path, int flags, ...), folder, path, flags)
OPENS(openat64, (int folder, const char *path, int flags, ...), folder, path, flags)

int ioctl(int file, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  switch ((unsigned)request) { /* no other driver has these numbers */
  case HIDIOCGRDESCSIZE: return memcpy(argument, &descriptor_size, sizeof descriptor_size), 0;
  case HIDIOCGRDESC: {
    struct hidraw_report_descriptor *wanted = argument;
    memcpy(wanted->value, device.descriptor, descriptor_size);
    return wanted->size = descriptor_size, 0;
  }
  case HIDIOCGRAWINFO: return memcpy(argument, &device.identity, sizeof device.identity), 0;
  default: return NEXT(ioctl)(file, request, argument);
  }
}

/* libudev believes only root's messages. hidraw.py is root in its user namespace, but not in the browser's. */
ssize_t recvmsg(int file, struct msghdr *message, int flags) {
  ssize_t size = NEXT(recvmsg)(file, message, flags);
  const struct sockaddr_nl *sender = message->msg_name;
  if (size <= 0 || !sender || message->msg_namelen < sizeof *sender || sender->nl_family != AF_NETLINK) return size;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS)
      memset(CMSG_DATA(part) + offsetof(struct ucred, uid), 0, sizeof(uid_t));
  return size;
}
