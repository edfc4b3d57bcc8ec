#pragma once
#include "../CGStreamer/shim.h"

/// 32 bytes in hexadecimal, separated by colons, and the terminating NUL.
#define CWEBRTC_FINGERPRINT_SIZE (32 * 3)

/// Makes a certificate and its private key in PEM, to be freed with g_free, and the certificate's SHA-256 fingerprint.
/// Returns 0 if OpenSSL fails.
///
/// ECDSA over P-256, as in browsers. GStreamer's own certificate is RSA, for which aiortc, for example, has no cipher.
int cwebrtc_make_certificate(char **pem, char fingerprint[CWEBRTC_FINGERPRINT_SIZE]);
