#include "Certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

static int fill(X509 *certificate, EVP_PKEY *key) {
  const long day = 24 * 60 * 60;
  X509_NAME *name = X509_get_subject_name(certificate);
  // Peers check only the digest of the bytes: RFC 8827, section 6.5.
  return X509_set_version(certificate, X509_VERSION_3) && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -day) &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * day) &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"WebRTC", -1, -1, 0) &&
         X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, key) &&
         X509_sign(certificate, key, EVP_sha256());
}

/// `AB:CD:…`, RFC 8122, section 5.
static int write_fingerprint(X509 *certificate, char fingerprint[CWEBRTC_FINGERPRINT_SIZE]) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  if (!X509_digest(certificate, EVP_sha256(), digest, NULL)) return 0;
  for (size_t index = 0; index < sizeof digest; index++)
    g_snprintf(fingerprint + 3 * index, 4, index + 1 < sizeof digest ? "%02X:" : "%02X", digest[index]);
  return 1;
}

static int write_pem(X509 *certificate, EVP_PKEY *key, char **pem) {
  char *bytes;
  long count = 0;
  BIO *output = BIO_new(BIO_s_mem());
  if (output && PEM_write_bio_X509(output, certificate) &&
      PEM_write_bio_PrivateKey(output, key, NULL, NULL, 0, NULL, NULL))
    count = BIO_get_mem_data(output, &bytes);
  if (count > 0) *pem = g_strndup(bytes, (gsize)count);
  BIO_free(output);
  return count > 0;
}

int cwebrtc_make_certificate(char **pem, char fingerprint[CWEBRTC_FINGERPRINT_SIZE]) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  const int is_made = key && certificate && fill(certificate, key) && write_fingerprint(certificate, fingerprint) &&
                      write_pem(certificate, key, pem);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return is_made;
}
