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

// Decodes a point of the group in compressed form (02 or 03, then X) to 04 ‖ X ‖ Y. 0 if no point has this X.
static inline int liquid_p256_decompress(
    const EC_GROUP *group, const unsigned char compressed[33], unsigned char point[65]) {
  EC_POINT *decoded = EC_POINT_new(group);
  int done = decoded && EC_POINT_oct2point(group, decoded, compressed, 33, NULL) == 1
      && EC_POINT_point2oct(group, decoded, POINT_CONVERSION_UNCOMPRESSED, point, 65, NULL) == 65;
  EC_POINT_free(decoded);
  return done;
}

// Computes a public key (04 ‖ X ‖ Y) under which an ECDSA signature in DER over a SHA-256 digest is valid, by SEC 1
// §4.1.6: Q = (s·R - e·G) / r, where X of R is r, and `isOdd` says which of two points R is. 0 if there is none.
//
// X of R can also be r + n, with a probability below 2^-127; that key is not found.
static inline int liquid_p256_recover(
    const EC_GROUP *group, const unsigned char digest[32], const unsigned char *signature, long count, int isOdd,
    unsigned char point[65]) {
  int done = 0;
  BN_CTX *context = BN_CTX_new();
  ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &signature, count);
  EC_POINT *start = EC_POINT_new(group), *key = EC_POINT_new(group);
  BIGNUM *e = BN_bin2bn(digest, 32, NULL), *inverse = BN_new(), *s = BN_new();
  const BIGNUM *order = EC_GROUP_get0_order(group);
  if (context && pair && start && key && e && inverse && s) {
    const BIGNUM *r = ECDSA_SIG_get0_r(pair);
    done = BN_mod_inverse(inverse, r, order, context) != NULL
        && EC_POINT_set_compressed_coordinates(group, start, r, isOdd, context) == 1
        && BN_mod_mul(s, ECDSA_SIG_get0_s(pair), inverse, order, context) == 1
        && BN_mod_mul(e, e, inverse, order, context) == 1
        && BN_sub(e, order, e) == 1
        && EC_POINT_mul(group, key, e, start, s, context) == 1
        && EC_POINT_point2oct(group, key, POINT_CONVERSION_UNCOMPRESSED, point, 65, context) == 65;
  }
  BN_free(s);
  BN_free(inverse);
  BN_free(e);
  EC_POINT_free(key);
  EC_POINT_free(start);
  ECDSA_SIG_free(pair);
  BN_CTX_free(context);
  return done;
}
