#pragma once
#include "../CSoup/shim.h"
#include "CNetwork.h"

struct cnetwork {
  GMainContext *context;
  GThread *thread;
  // In addition to the certificates of the system; NULL if there is no file.
  GTlsDatabase *authorities;
  // The following fields belong to the network's own thread.
  SoupSession *session;
  // The cancellables of exchanges and connections whose work is not over.
  GHashTable *running;
  gboolean is_stopping;
  // Written under the lock.
  GMutex lock;
  gboolean is_gone;
};

/// Runs `action` on the network's thread, then `release`, both with `data`; returns FALSE, and calls neither, after its end.
gboolean network_post(cnetwork *network, void (*action)(void *data), void (*release)(void *data), void *data);

/// A timer on the network's thread; `data` must outlive it.
GSource *network_timer(cnetwork *network, unsigned milliseconds, GSourceFunc action, gpointer data);

/// Destroys a source and sets the pointer to NULL; does nothing if it is NULL.
void network_end_source(GSource **source);

/// Connects a handler to a signal, with `data` and a reference to it, which `release` releases with the handler.
void network_connect_signal(gpointer object, const char *name, GCallback handler, gpointer data, GClosureNotify release);

/// Verifies a certificate that the system's authorities do not vouch for with the other ones. Sets `faults` to what is wrong
/// by both.
gboolean network_accepts(const cnetwork *network, GTlsCertificate *certificate, GTlsCertificateFlags *faults,
                         GSocketConnectable *identity);

/// Whether the handshake gave TLS 1.2 or later.
gboolean network_is_modern(GTlsProtocolVersion version);

/// A copy of the descriptor of TLS's socket, from which network_end_of learns how a handshake failed; -1 without one.
int network_handshake_socket(GIOStream *tls);

/// Closes such a copy, and sets it to -1; does nothing if it is -1.
void network_end_handshake(int *socket);

/// How an exchange or a connection ended with this error. `handshake` is the copied descriptor during a handshake, or -1;
/// `faults` are those of the certificate.
cnetwork_end network_end_of(const GError *error, int handshake, GTlsCertificateFlags faults, int *number);
