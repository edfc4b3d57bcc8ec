// Preloaded into the wallet: a socket of L2CAP is a Unix socket of the same type, whose abstract name is in L2CAP_NAME.
//
// Without a name there are no sockets of Bluetooth, as in a container. The other side takes packets of 64 bytes.
// With L2CAP_NO_CIPHER, OpenSSL has no cipher for the advert.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { PSM = 0x82, PACKET_SIZE = 64 };

static int listener = -1;

int socket(int family, int type, int protocol) {
  int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");
  if (family != AF_BLUETOOTH) return next(family, type, protocol);
  if (!getenv("L2CAP_NAME")) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return next(AF_UNIX, type, 0);
}

int bind(int descriptor, __CONST_SOCKADDR_ARG address, socklen_t size) {
  int (*next)(int, __CONST_SOCKADDR_ARG, socklen_t) = dlsym(RTLD_NEXT, "bind");
  if (address.__sockaddr__->sa_family != AF_BLUETOOTH) return next(descriptor, address, size);
  struct sockaddr_un other = {.sun_family = AF_UNIX};
  const char *name = getenv("L2CAP_NAME");
  const size_t length = strlen(name);
  if (length >= sizeof other.sun_path) abort();
  memcpy(other.sun_path + 1, name, length);
  listener = descriptor;
  return next(descriptor, (struct sockaddr *)&other, offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)length);
}

int getsockname(int descriptor, __SOCKADDR_ARG address, socklen_t *size) {
  int (*next)(int, __SOCKADDR_ARG, socklen_t *) = dlsym(RTLD_NEXT, "getsockname");
  if (descriptor != listener) return next(descriptor, address, size);
  const uint16_t psm = PSM;
  memcpy((char *)address.__sockaddr__ + sizeof(sa_family_t), &psm, sizeof psm);
  listener = -1;
  return 0;
}

int setsockopt(int descriptor, int level, int option, const void *value, socklen_t size) {
  int (*next)(int, int, int, const void *, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");
  return level == SOL_BLUETOOTH ? 0 : next(descriptor, level, option, value, size);
}

int getsockopt(int descriptor, int level, int option, void *value, socklen_t *size) {
  int (*next)(int, int, int, void *, socklen_t *) = dlsym(RTLD_NEXT, "getsockopt");
  if (level != SOL_BLUETOOTH) return next(descriptor, level, option, value, size);
  const uint16_t packet = PACKET_SIZE;
  memcpy(value, &packet, sizeof packet);
  return 0;
}

const void *EVP_aes_256_cbc(void) {
  const void *(*next)(void) = dlsym(RTLD_NEXT, "EVP_aes_256_cbc");
  return getenv("L2CAP_NO_CIPHER") ? NULL : next();
}
