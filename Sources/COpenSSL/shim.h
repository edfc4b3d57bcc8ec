#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>

// Makes a P-256 key from its point (04 ‖ X ‖ Y) and, for a pair, its scalar, 32 bytes in the machine's byte order, as
// OSSL_PARAM stores numbers. Either may be absent. A parameter list is an array on the stack that ends with a macro's
// cast, which Swift does not import. Returns NULL on failure, with the reason in the error queue.
static inline EVP_PKEY *liquid_p256_key(unsigned char *point, unsigned char *scalar) {
  char group[] = "P-256";
  OSSL_PARAM params[4];
  OSSL_PARAM *param = params;
  *param++ = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
  if (point) *param++ = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 65);
  if (scalar) *param++ = OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, scalar, 32);
  *param = OSSL_PARAM_construct_end();

  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  if (context && EVP_PKEY_fromdata_init(context) == 1
      && EVP_PKEY_fromdata(context, &key, scalar ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) != 1) {
    EVP_PKEY_free(key);
    key = NULL;
  }
  EVP_PKEY_CTX_free(context);
  return key;
}

// An EC_KEY of P-256, for liquid_p256_sign. Its scalar is 1, a number in OpenSSL's locked heap with room for every
// other scalar. NULL on failure.
//
// An EVP_PKEY would build the curve anew for each key, which takes as long as the signature. OpenSSL 3 deprecates
// EC_KEY but has no other way to reuse the curve.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static inline EC_KEY *liquid_p256_signer(void) {
  EC_KEY *signer = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  BIGNUM *scalar = BN_secure_new();
  int done = signer && scalar && BN_set_word(scalar, 1) == 1 && EC_KEY_set_private_key(signer, scalar) == 1;
  BN_clear_free(scalar);
  if (done) return signer;
  EC_KEY_free(signer);
  return NULL;
}

// Signs a SHA-256 digest with a scalar of the group (32 bytes, big-endian): ECDSA in DER, at most ECDSA_size bytes. 0
// on failure.
//
// Until this returns, the signer has the scalar. Then 32 bytes of ones overwrite it in place: a shorter number would
// leave some of its words there, and OpenSSL before 3.0.6 keeps the scalar when it is set to NULL.
static inline int liquid_p256_sign(
    EC_KEY *signer, const unsigned char scalar[32], const unsigned char digest[32], unsigned char *signature,
    unsigned int *count) {
  static const unsigned char ones[32] = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
  };
  int done = EC_KEY_oct2priv(signer, scalar, 32) == 1
      && ECDSA_sign(0, digest, 32, signature, count, signer) == 1;
  EC_KEY_oct2priv(signer, ones, 32);
  return done;
}

// An EC_KEY of P-256 without a key, for liquid_p256_verify. NULL on failure.
static inline EC_KEY *liquid_p256_verifier(void) { return EC_KEY_new_by_curve_name(NID_X9_62_prime256v1); }

// Verifies an ECDSA signature in DER over a SHA-256 digest with a public key, the point 04 ‖ X ‖ Y: 1 if it is valid. The
// verifier keeps the point until the next call.
static inline int liquid_p256_verify(
    EC_KEY *verifier, const unsigned char point[65], const unsigned char digest[32], const unsigned char *signature,
    int count) {
  return EC_KEY_oct2key(verifier, point, 65, NULL) == 1 ? ECDSA_verify(0, digest, 32, signature, count, verifier) : 0;
}
#pragma clang diagnostic pop
