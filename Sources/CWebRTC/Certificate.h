#pragma once
#include "../CGStreamer/shim.h"

/// 32 bytes in hexadecimal with colons between them, and the end of the string.
#define CWEBRTC_FINGERPRINT_SIZE (32 * 3)

/// Makes a certificate and its private key, PEM, to be given up by g_free, and the certificate's fingerprint by
/// SHA-256. Returns 0 if OpenSSL makes none.
///
/// ECDSA over P-256, as browsers have it. GStreamer's own is RSA, for which aiortc, for one, has no cipher.
int cwebrtc_make_certificate(char **pem, char fingerprint[CWEBRTC_FINGERPRINT_SIZE]);
