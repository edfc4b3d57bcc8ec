// Flips one bit of each signature that the libraries compute, as a fault of the processor would: for LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>

// The last bit of s, in DER.
int ECDSA_sign(
    int type, const unsigned char *digest, int size, unsigned char *signature, unsigned int *count, void *key) {
  int (*real)(int, const unsigned char *, int, unsigned char *, unsigned int *, void *) = dlsym(RTLD_NEXT, "ECDSA_sign");
  int done = real(type, digest, size, signature, count, key);
  signature[*count - 1] ^= 1;
  return done;
}

// The first bit of S.
int crypto_sign_detached(
    unsigned char *signature, unsigned long long *count, const unsigned char *message, unsigned long long size,
    const unsigned char *key) {
  int (*real)(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long, const unsigned char *) =
      dlsym(RTLD_NEXT, "crypto_sign_detached");
  int done = real(signature, count, message, size, key);
  signature[32] ^= 1;
  return done;
}

// The last step of a signature by an Algorand account: S = r + h * kL.
void crypto_core_ed25519_scalar_add(unsigned char *sum, const unsigned char *a, const unsigned char *b) {
  void (*real)(unsigned char *, const unsigned char *, const unsigned char *) =
      dlsym(RTLD_NEXT, "crypto_core_ed25519_scalar_add");
  real(sum, a, b);
  sum[0] ^= 1;
}
