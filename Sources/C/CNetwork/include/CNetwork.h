#pragma once
// HTTP exchanges by libsoup and connections by GIO, without GLib's types: signals are macros, which Swift cannot call.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One thread, on which all exchanges and connections work, and their trust in certificates: that of the system, and that of
/// one more file. TLS is of version 1.2 or later; certificate and name are checked. No proxy is used.
typedef struct cnetwork cnetwork;
/// One HTTP exchange: HTTP/1.1, no redirects, no cookies, no passwords, no decompression.
typedef struct cnetwork_exchange cnetwork_exchange;
/// One connection over TCP, with or without TLS.
typedef struct cnetwork_connection cnetwork_connection;

/// Why there is no network.
typedef enum {
  CNETWORK_MADE,
  /// GLib has no TLS: glib-networking is not installed.
  CNETWORK_NO_TLS,
  /// The certificates of the system cannot be read.
  CNETWORK_NO_SYSTEM_CERTIFICATES,
  /// The file has no certificate.
  CNETWORK_NO_CERTIFICATE,
} cnetwork_start;

/// How an exchange or a connection ended.
typedef enum {
  /// The exchange is whole.
  CNETWORK_DONE,
  CNETWORK_CANCELLED,
  CNETWORK_TIMED_OUT,
  /// The name is unknown.
  CNETWORK_NO_NAME,
  /// No connection was made.
  CNETWORK_UNREACHABLE,
  /// The connection was lost.
  CNETWORK_LOST,
  /// The other side closed the connection, before the end of an answer.
  CNETWORK_CLOSED,
  /// The connection ended without close_notify: RFC 8446, section 6.1.
  CNETWORK_CUT_OFF,
  CNETWORK_UNTRUSTED,
  /// The certificate is trusted, but it is for another name.
  CNETWORK_OTHER_NAME,
  /// The other side does not speak TLS.
  CNETWORK_NOT_TLS,
  /// The handshake of TLS failed in another way, or gave a version before 1.2.
  CNETWORK_NO_HANDSHAKE,
  /// TLS failed after its handshake.
  CNETWORK_TLS_BROKEN,
  /// The body is longer than the limit.
  CNETWORK_TOO_LARGE,
  CNETWORK_NOT_HTTP,
} cnetwork_end;

/// Starts the thread. `authorities` is the path of a PEM file of certificates to trust as well, or NULL. If it cannot start,
/// returns NULL and the reason.
cnetwork *cnetwork_make(const char *authorities, cnetwork_start *reason);
/// Cancels all exchanges, ends all connections and the thread, and returns when nothing is left. Call it once, on another
/// thread.
void cnetwork_stop(cnetwork *network);
/// Releases the caller's reference. Call it after cnetwork_stop.
void cnetwork_release(cnetwork *network);

/// Calls `run` on the network's thread, then `release`, both with `owner`. Returns false, and calls neither, if the thread has
/// ended.
bool cnetwork_perform(cnetwork *network, void (*run)(void *owner), void (*release)(void *owner), void *owner);

// --- Exchanges.

/// A whole answer, or how the exchange failed; all pointers are valid during the call.
typedef struct {
  cnetwork_end end;
  /// The system's error number, or 0; for CNETWORK_UNREACHABLE and CNETWORK_LOST.
  int number;
  /// 100 to 999.
  int status;
  /// Names and values by turns, ending with NULL.
  const char *const *fields;
  const uint8_t *body;
  size_t body_size;
} cnetwork_answer;

/// Called exactly once for each exchange.
typedef void (*cnetwork_deliver_answer)(void *owner, const cnetwork_answer *answer);

/// Makes an exchange, which cnetwork_exchange_begin begins. `fields` are names and values by turns, ending with NULL. `body`
/// is copied; NULL sends none. The exchange may take `timeout` milliseconds, its connection `connecting` of them.
cnetwork_exchange *cnetwork_exchange_make(cnetwork *network, const char *method, const char *url,
                                          const char *const fields[], const uint8_t *body, size_t body_size,
                                          size_t maximum_body_size, unsigned connecting, unsigned timeout);
/// Begins the exchange. Calls `deliver` on the network's thread, or on the caller's if the network was stopped. Call this
/// once.
void cnetwork_exchange_begin(cnetwork_exchange *exchange, cnetwork_deliver_answer deliver, void *owner);
/// Cancels the exchange, from any thread, also before it begins.
void cnetwork_exchange_cancel(cnetwork_exchange *exchange);
/// Releases the caller's reference.
void cnetwork_exchange_release(cnetwork_exchange *exchange);

// --- Connections. All their functions are called on the network's thread.

typedef enum {
  /// The connection is made, TLS included.
  CNETWORK_CONNECTED,
  /// Bytes have arrived.
  CNETWORK_BYTES,
  /// The connection has ended; always the last event. CNETWORK_CANCELLED if it was closed here.
  CNETWORK_ENDED,
} cnetwork_event;

/// `bytes` are valid during the call; `end` and `number` are as in `cnetwork_answer`. It may call the functions of the
/// connection, which may call it again.
typedef void (*cnetwork_deliver)(void *owner, cnetwork_event event, const uint8_t *bytes, size_t count,
                                 cnetwork_end end, int number);

/// Begins a connection, which must be made, TLS included, within `connecting` milliseconds. Calls `deliver` only after this
/// function has returned.
cnetwork_connection *cnetwork_connect(cnetwork *network, const char *host, uint16_t port, bool is_secure,
                                      unsigned connecting, cnetwork_deliver deliver, void *owner);
/// Writes bytes after all earlier ones: at once as far as there is room, and the rest later.
void cnetwork_write(cnetwork_connection *connection, const uint8_t *bytes, size_t count);
/// How many bytes of cnetwork_write still wait for room.
size_t cnetwork_waiting(const cnetwork_connection *connection);
/// Closes the connection after `delay` milliseconds; bytes that wait then are dropped.
void cnetwork_close(cnetwork_connection *connection, unsigned delay);
/// Releases the caller's reference.
void cnetwork_connection_release(cnetwork_connection *connection);
