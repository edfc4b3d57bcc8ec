#include "Connection.h"

#include <string.h>

// --- Events, on the connection's own thread.

static void tell_candidate(cwebrtc_connection *connection, const char *text, unsigned line) {
  if (strstr(text, " typ relay")) connection->has_relay = TRUE;
  peer_report_event(connection, CWEBRTC_CANDIDATE, text, line);
}

static void tell_closed(cwebrtc_connection *connection, const char *text, unsigned event) {
  connection->is_channel_closed = TRUE;
  peer_report(connection, text, event);
}

static void tell_data(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)number;
  gsize count;
  guchar *bytes = g_base64_decode(text, &count);
  peer_report_event(connection, CWEBRTC_DATA, (const char *)bytes, (unsigned)count);
  g_free(bytes);
}

/// GStreamer does not compare the certificate with the answer's fingerprints; the receiver of the event must.
static void tell_open(cwebrtc_connection *connection, const char *text, unsigned event) {
  (void)text;
  if (connection->has_ended) return;
  connection->is_open = TRUE;
  peer_begin_listening(connection);
  GObject *sctp = NULL, *dtls = NULL;
  char *certificate = NULL;
  g_object_get(connection->bin, "sctp-transport", &sctp, NULL);
  if (sctp) g_object_get(sctp, "transport", &dtls, NULL);
  if (dtls) g_object_get(dtls, "remote-certificate", &certificate, NULL);
  peer_report(connection, certificate ? certificate : "", event);
  g_free(certificate);
  g_clear_object(&dtls);
  g_clear_object(&sctp);
}

static void look_at_state(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->has_ended) return;
  GstWebRTCPeerConnectionState state;
  g_object_get(connection->bin, "connection-state", &state, NULL);
  if (state == GST_WEBRTC_PEER_CONNECTION_STATE_FAILED)
    peer_report(connection, "nothing reaches the peer", CWEBRTC_FAILED);
  if (state == GST_WEBRTC_PEER_CONNECTION_STATE_CLOSED) peer_report(connection, "", CWEBRTC_CLOSED);
}

static void look_at_gathering(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->has_ended || connection->is_gathered) return;
  GstWebRTCICEGatheringState state;
  g_object_get(connection->bin, "ice-gathering-state", &state, NULL);
  if (state != GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE) return;
  connection->is_gathered = TRUE;
  if (*connection->turn_servers && !connection->has_relay) peer_report(connection, "", CWEBRTC_NO_RELAY);
}

// --- Signals, on GStreamer's threads.

static void on_ice_candidate(GstElement *bin, guint line, const char *candidate, gpointer connection) {
  (void)bin;
  // An empty candidate marks the end of gathering.
  if (*candidate) peer_post(connection, tell_candidate, candidate, line);
}

static void on_state(GObject *bin, GParamSpec *property, gpointer connection) {
  (void)bin, (void)property;
  peer_post(connection, look_at_state, NULL, 0);
}

static void on_gathering(GObject *bin, GParamSpec *property, gpointer connection) {
  (void)bin, (void)property;
  peer_post(connection, look_at_gathering, NULL, 0);
}

static void on_open(GObject *channel, gpointer connection) {
  (void)channel;
  peer_post(connection, tell_open, NULL, CWEBRTC_OPEN);
}

static void on_close(GObject *channel, gpointer connection) {
  (void)channel;
  peer_post(connection, tell_closed, NULL, CWEBRTC_CLOSED);
}

static void on_error(GObject *channel, GError *error, gpointer connection) {
  (void)channel;
  peer_post(connection, peer_report, error ? error->message : "the data channel failed", CWEBRTC_FAILED);
}

static void on_message(GObject *channel, const char *text, gpointer connection) {
  (void)channel;
  // An empty message may come as NULL.
  peer_post(connection, peer_report, text, CWEBRTC_MESSAGE);
}

/// An action has a text, so binary data is passed as base64.
static void on_data(GObject *channel, GBytes *data, gpointer connection) {
  (void)channel;
  gsize count = 0;
  // An empty message may come as NULL.
  const guchar *bytes = data ? g_bytes_get_data(data, &count) : NULL;
  char *text = g_base64_encode(bytes, count);
  peer_post(connection, tell_data, text, 0);
  g_free(text);
}

static void on_low(GObject *channel, gpointer connection) {
  (void)channel;
  peer_post(connection, peer_report, NULL, CWEBRTC_LOW);
}

/// Refuses channels of the peer: each costs two threads, a peer could open thousands, and they have no use here.
static void on_data_channel(GstElement *bin, GObject *channel, gpointer connection) {
  (void)bin;
  char *label = NULL;
  g_object_get(channel, "label", &label, NULL);
  // The name says which protocol the peer wants.
  char *text = g_strdup_printf("the dApp opened a channel of its own: %.64s", label ? label : "");
  peer_post(connection, peer_report, text, CWEBRTC_FAILED);
  g_free(text);
  g_free(label);
}

/// webrtcbin has no property for its certificate, but the decrypting element has.
static void on_element(GstBin *bin, GstBin *parent, GstElement *element, gpointer pointer) {
  (void)bin, (void)parent;
  cwebrtc_connection *connection = pointer;
  GstElementFactory *factory = gst_element_get_factory(element);
  if (factory && !strcmp(GST_OBJECT_NAME(factory), "dtlsdec"))
    g_object_set(element, "pem", connection->certificate, NULL);
}

static gboolean on_bus(GstBus *bus, GstMessage *message, gpointer pointer) {
  (void)bus;
  cwebrtc_connection *connection = pointer;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError *error = NULL;
    gst_message_parse_error(message, &error, NULL);
    // The peer's machine reports that the port is closed: the peer is gone without closing.
    if (connection->is_open && g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE))
      tell_closed(connection, "", CWEBRTC_CLOSED);
    else
      peer_report(connection, error->message, CWEBRTC_FAILED);
    g_error_free(error);
  }
  return G_SOURCE_CONTINUE;
}

// --- Start, on the connection's own thread.

static void watch_bus(cwebrtc_connection *connection) {
  GstBus *bus = gst_element_get_bus(connection->pipeline);
  gst_bus_add_watch_full(bus, G_PRIORITY_DEFAULT, on_bus, g_atomic_rc_box_acquire(connection),
                         (GDestroyNotify)cwebrtc_release);
  gst_object_unref(bus);
}

/// Uses the first pair of addresses that works, and a better one that is found later: aggressive nomination, RFC 5245,
/// section 8.1.1.2. With regular nomination, webrtcbin's choice, libnice waits until all other pairs have failed, 5
/// seconds or more, unless candidates announced both addresses of the pair. A browser's addresses are not announced (it
/// sends names that only its own network can resolve), and a second address of this machine, of a bridge or a VPN,
/// cannot reach it.
///
/// GObject makes the property read-only after construction, and webrtcbin constructs the agent itself. The agent reads
/// the property at each check, so this calls the setter of its class directly.
static void nominate_at_once(GObject *agent) {
  GParamSpec *mode = g_object_class_find_property(G_OBJECT_GET_CLASS(agent), "nomination-mode");
  if (!mode || !G_IS_PARAM_SPEC_ENUM(mode)) return;
  GEnumValue *aggressive = g_enum_get_value_by_nick(G_PARAM_SPEC_ENUM(mode)->enum_class, "aggressive");
  if (!aggressive) return;
  GObjectClass *owner = g_type_class_peek(mode->owner_type);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, mode->value_type);
  g_value_set_enum(&value, aggressive->value);
  owner->set_property(agent, mode->param_id, &value, mode);
  g_value_unset(&value);
}

static void set_up_ice(cwebrtc_connection *connection) {
  GObject *ice = NULL, *agent = NULL;
  g_object_get(connection->bin, "ice-agent", &ice, NULL);
  if (!ice) return;
  // UDP only: TCP would listen on every address.
  g_object_set(ice, "ice-tcp", FALSE, NULL);
  g_object_get(ice, "agent", &agent, NULL);
  // A live peer answers these checks: RFC 7675.
  if (agent) {
    g_object_set(agent, "keepalive-conncheck", TRUE, NULL);
    nominate_at_once(agent);
  }
  g_clear_object(&agent);
  g_object_unref(ice);
}

static void set_servers(cwebrtc_connection *connection) {
  if (connection->stun_server) g_object_set(connection->bin, "stun-server", connection->stun_server, NULL);
  for (char **server = connection->turn_servers; *server; server++) {
    gboolean is_taken = FALSE;
    g_signal_emit_by_name(connection->bin, "add-turn-server", *server, &is_taken);
    if (!is_taken) peer_report(connection, "GStreamer does not take the address of a TURN server", CWEBRTC_FAILED);
  }
}

static void make_channel(cwebrtc_connection *connection) {
  GstWebRTCDataChannel *channel = NULL;
  g_signal_emit_by_name(connection->bin, "create-data-channel", connection->label, NULL, &channel);
  if (!channel) {
    peer_report(connection, "GStreamer makes no data channel", CWEBRTC_FAILED);
    return;
  }
  g_object_set(channel, "buffered-amount-low-threshold", connection->low_threshold, NULL);
  peer_connect_signal(connection, channel, "on-open", G_CALLBACK(on_open));
  peer_connect_signal(connection, channel, "on-close", G_CALLBACK(on_close));
  peer_connect_signal(connection, channel, "on-error", G_CALLBACK(on_error));
  peer_connect_signal(connection, channel, "on-message-string", G_CALLBACK(on_message));
  peer_connect_signal(connection, channel, "on-message-data", G_CALLBACK(on_data));
  peer_connect_signal(connection, channel, "on-buffered-amount-low", G_CALLBACK(on_low));
  g_mutex_lock(&connection->lock);
  connection->channel = channel;
  g_mutex_unlock(&connection->lock);
}

void peer_start(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (!cwebrtc_make_certificate(&connection->certificate, connection->fingerprint))
    peer_report(connection, "OpenSSL makes no certificate", CWEBRTC_FAILED);
  connection->pipeline = gst_pipeline_new(NULL);
  connection->bin = gst_element_factory_make("webrtcbin", NULL);
  gst_bin_add(GST_BIN(connection->pipeline), connection->bin);
  gst_util_set_object_arg(G_OBJECT(connection->bin), "bundle-policy", "max-bundle");
  watch_bus(connection);
  set_up_ice(connection);
  set_servers(connection);
  peer_connect_signal(connection, connection->bin, "deep-element-added", G_CALLBACK(on_element));
  peer_connect_signal(connection, connection->bin, "on-ice-candidate", G_CALLBACK(on_ice_candidate));
  peer_connect_signal(connection, connection->bin, "on-data-channel", G_CALLBACK(on_data_channel));
  peer_connect_signal(connection, connection->bin, "notify::connection-state", G_CALLBACK(on_state));
  peer_connect_signal(connection, connection->bin, "notify::ice-gathering-state", G_CALLBACK(on_gathering));
  if (gst_element_set_state(connection->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    peer_report(connection, "GStreamer does not start webrtcbin", CWEBRTC_FAILED);
  else
    make_channel(connection);
}
