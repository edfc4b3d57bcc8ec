#pragma once
// One peer connection of GStreamer's webrtcbin with one data channel, without GLib's types: signals and promises are
// macros and variadic functions, which Swift cannot call.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A connection. All its work and all its callbacks happen on one thread of its own, which ends with it.
typedef struct cwebrtc_connection cwebrtc_connection;

/// The events of a connection; each has one text.
typedef enum {
  /// The offer, which is now the local description: a session description.
  CWEBRTC_OFFER,
  /// A local candidate, `candidate:` and what follows; `line` is the index of its media section.
  CWEBRTC_CANDIDATE,
  /// All candidates are gathered, and none of them is from a TURN server, though there are some: none was reachable, or
  /// none accepted the credentials. libnice does not report which. Empty.
  CWEBRTC_NO_RELAY,
  /// The channel is open: the peer's certificate, PEM. It has not been compared with the answer yet.
  CWEBRTC_OPEN,
  /// A text message; or a piece of one with CWEBRTC_PIECE_SIZE bytes or more: the first piece has at least that many.
  CWEBRTC_MESSAGE,
  /// A binary message: the text is its bytes, without a terminating NUL, and `line` is their number.
  CWEBRTC_DATA,
  /// The channel is closed; empty.
  CWEBRTC_CLOSED,
  /// The connection failed; the text is the reason.
  CWEBRTC_FAILED,
  /// The buffered amount fell to the threshold; empty.
  CWEBRTC_LOW,
  /// The connection is freed: no thread, no socket is left. Always the last event; empty.
  CWEBRTC_FREED,
} cwebrtc_event;

/// GStreamer delivers a message of this many bytes or more in pieces as it arrives, and does not mark the last: usrsctp
/// delivers such messages in part, and sctpdec ignores its end mark (MSG_EOR).
#define CWEBRTC_PIECE_SIZE 65536

/// Called on the connection's own thread; `text` is valid during the call. If it returns false, the connection is
/// closed, and only CWEBRTC_FREED follows.
typedef bool (*cwebrtc_deliver)(void *owner, cwebrtc_event event, const char *text, unsigned line);

/// Makes the faults of GLib's libraries one line each of standard error, and their remarks none. Call it before they are
/// used.
void cwebrtc_report_faults(void);

/// Loads GStreamer. Returns NULL, or the name of the first element that is not installed.
const char *cwebrtc_missing_element(void);

/// Makes a connection, which contacts no server and opens no socket before its offer. The offer announces messages of
/// up to `maximum_message_size` bytes. `deliver` is called with `owner` until CWEBRTC_FREED. `stun_server` is a
/// `stun://` URI or NULL, `turn_servers` are `turn://` URIs with their user and password, ending with NULL. Dispose of
/// it with cwebrtc_close and cwebrtc_release.
cwebrtc_connection *cwebrtc_make(const char *label, uint64_t maximum_message_size, uint64_t low_threshold,
                                 const char *stun_server, const char *const turn_servers[], cwebrtc_deliver deliver,
                                 void *owner);

/// Makes the offer.
void cwebrtc_create_offer(cwebrtc_connection *connection);
/// Sets the remote description.
void cwebrtc_set_answer(cwebrtc_connection *connection, const char *sdp);
/// Adds a candidate of the peer, `a=candidate:` and what follows.
void cwebrtc_add_candidate(cwebrtc_connection *connection, unsigned line, const char *candidate);
/// Sends a text message.
void cwebrtc_send(cwebrtc_connection *connection, const char *text);
/// Sends a binary message.
void cwebrtc_send_data(cwebrtc_connection *connection, const uint8_t *bytes, size_t count);
/// The bytes that were given to cwebrtc_send and cwebrtc_send_data and are not sent yet.
uint64_t cwebrtc_buffered_amount(cwebrtc_connection *connection);
/// Closes channel and connection; buffered data has one second to be sent. A second call does nothing.
void cwebrtc_close(cwebrtc_connection *connection);
/// Releases the caller's reference.
void cwebrtc_release(cwebrtc_connection *connection);
