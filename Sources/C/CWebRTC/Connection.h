#pragma once
#include "../CGStreamer/shim.h"
#include "CWebRTC.h"
#include "Certificate.h"
#include <sys/time.h>

struct cwebrtc_connection {
  cwebrtc_deliver deliver;
  void *owner;
  char *label, *stun_server, **turn_servers, *certificate;
  char fingerprint[CWEBRTC_FINGERPRINT_SIZE];
  guint64 maximum_message_size, low_threshold;
  GMainContext *context;
  GMainLoop *loop;
  // The following fields belong to the connection's own thread.
  GstElement *pipeline, *bin;
  // Whether CLOSED or FAILED was delivered, or cwebrtc_close was called: after that only FREED is delivered.
  gboolean has_ended, is_closing, is_open, is_channel_closed;
  gboolean has_relay, is_gathered;
  gint64 deadline;
  // For the checks of a silent peer: the arrival time of the last packet, and how many checks found the same one.
  GSource *listening;
  struct timeval last_packet;
  unsigned silent_looks;
  // The following fields are written under the lock.
  GMutex lock;
  GstWebRTCDataChannel *channel;
  gboolean is_gone;
  guint64 waiting_bytes;
};

/// A task for the connection's own thread.
typedef void (*peer_action)(cwebrtc_connection *connection, const char *text, unsigned number);

/// Runs an action on the connection's own thread, from any thread; in order, and not after the end. The text is copied;
/// NULL means empty.
void peer_post(cwebrtc_connection *connection, peer_action action, const char *text, unsigned number);

/// Connects a handler to a signal; the handler keeps a reference to the connection.
void peer_connect_signal(cwebrtc_connection *connection, gpointer object, const char *name, GCallback handler);

/// Delivers an event; does nothing after the last one.
void peer_report_event(cwebrtc_connection *connection, cwebrtc_event event, const char *text, unsigned line);

/// The same as an action; the number is the event.
void peer_report(cwebrtc_connection *connection, const char *text, unsigned event);

/// Makes pipeline, webrtcbin and channel: the first action.
void peer_start(cwebrtc_connection *connection, const char *text, unsigned number);

/// Closes: the last action.
void peer_begin_closing(cwebrtc_connection *connection, const char *text, unsigned number);

/// From the open channel on, delivers CLOSED within 20 seconds after the peer has become silent.
void peer_begin_listening(cwebrtc_connection *connection);

/// Call it before the loop ends.
void peer_end_listening(cwebrtc_connection *connection);

/// The main function of the connection's own thread, from the first action to the last.
gpointer peer_run(gpointer connection);

/// The bytes that a channel has accepted and not sent.
guint64 peer_buffered_in(GstWebRTCDataChannel *channel);
