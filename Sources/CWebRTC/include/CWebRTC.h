#pragma once
// One peer connection of GStreamer's webrtcbin with one data channel, without GLib's types: signals and promises are
// macros and variadic functions, which Swift cannot call.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A connection. All that it does, and all that it tells, happens on one thread of its own, which ends with it.
typedef struct cwebrtc_connection cwebrtc_connection;

/// What a connection tells; each with one text.
typedef enum {
  /// The offer, which is the local description now: a session description.
  CWEBRTC_OFFER,
  /// A candidate of our own, `candidate:` and what follows; `line` is the index of its media section.
  CWEBRTC_CANDIDATE,
  /// All candidates are gathered, and none of them is from a TURN server, though there are some: none was reached, or
  /// none let us in. libnice does not say which. Empty.
  CWEBRTC_NO_RELAY,
  /// The channel is open: the peer's certificate, PEM. Nobody has compared it with the answer yet.
  CWEBRTC_OPEN,
  /// A text message; or a piece of one that has CWEBRTC_PIECE_SIZE bytes or more: the first piece has at least so many.
  CWEBRTC_MESSAGE,
  /// A binary message: the text is its bytes, without an end, and `line` is their number.
  CWEBRTC_DATA,
  /// The channel is closed; empty.
  CWEBRTC_CLOSED,
  /// Why it failed.
  CWEBRTC_FAILED,
  /// The buffered amount fell to the threshold; empty.
  CWEBRTC_LOW,
  /// Nothing is left of the connection: no thread, no socket. The last event of all; empty.
  CWEBRTC_FREED,
} cwebrtc_event;

/// GStreamer hands over a message of so many bytes or more as it comes, in pieces, and does not say which is the last:
/// usrsctp delivers such messages in part, and sctpdec passes over its mark of the end (MSG_EOR).
#define CWEBRTC_PIECE_SIZE 65536

/// Called on the connection's own thread; `text` is valid for that long. Where it answers false, the connection is
/// closed, and nothing but CWEBRTC_FREED is told.
typedef bool (*cwebrtc_deliver)(void *owner, cwebrtc_event event, const char *text, unsigned line);

/// Loads GStreamer. NULL, or the name of the first element that is not installed.
const char *cwebrtc_missing_element(void);

/// Makes a connection, which asks no server and opens no socket before its offer. The offer says that messages of
/// `maximum_message_size` bytes are taken. `deliver` is called with `owner` until CWEBRTC_FREED. `stun_server` is a
/// `stun://` URI or NULL, `turn_servers` are `turn://` URIs with their user and password, NULL behind the last. Give it
/// up by cwebrtc_close and cwebrtc_release.
cwebrtc_connection *cwebrtc_make(const char *label, uint64_t maximum_message_size, uint64_t low_threshold,
                                 const char *stun_server, const char *const turn_servers[], cwebrtc_deliver deliver,
                                 void *owner);

/// Makes the offer.
void cwebrtc_create_offer(cwebrtc_connection *connection);
/// Sets the remote description.
void cwebrtc_set_answer(cwebrtc_connection *connection, const char *sdp);
/// Adds a candidate of the peer's, `a=candidate:` and what follows.
void cwebrtc_add_candidate(cwebrtc_connection *connection, unsigned line, const char *candidate);
/// Sends a text message.
void cwebrtc_send(cwebrtc_connection *connection, const char *text);
/// Sends a binary message.
void cwebrtc_send_data(cwebrtc_connection *connection, const uint8_t *bytes, size_t count);
/// Bytes that were given to cwebrtc_send and are not sent yet.
uint64_t cwebrtc_buffered_amount(cwebrtc_connection *connection);
/// Closes channel and connection: what is buffered is given a second. A second call does nothing.
void cwebrtc_close(cwebrtc_connection *connection);
/// The pointer is used no more.
void cwebrtc_release(cwebrtc_connection *connection);
