#include "CWebRTC.h"

#include "../CGStreamer/shim.h"
#include "Certificate.h"
#include <string.h>

struct cwebrtc_connection {
  cwebrtc_deliver deliver;
  void *owner;
  char *label, *stun_server, **turn_servers, *certificate;
  char fingerprint[CWEBRTC_FINGERPRINT_SIZE];
  guint64 low_threshold;
  GMainContext *context;
  GMainLoop *loop;
  // What follows belongs to the connection's own thread.
  GstElement *pipeline, *bin;
  // Whether CLOSED or FAILED was told, or cwebrtc_close was called: nothing but FREED is told then.
  gboolean has_ended, is_closing, is_open, is_channel_closed;
  gint64 deadline;
  // What follows is written under the lock.
  GMutex lock;
  GstWebRTCDataChannel *channel;
  gboolean is_gone;
  guint64 waiting_bytes;
};

// --- References: one of whoever made it, one of the thread, one of each task and of each signal's handler.

static void clear(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  g_free(connection->label);
  g_free(connection->stun_server);
  g_strfreev(connection->turn_servers);
  g_free(connection->certificate);
  g_main_loop_unref(connection->loop);
  g_main_context_unref(connection->context);
  g_mutex_clear(&connection->lock);
}

void cwebrtc_release(cwebrtc_connection *connection) { g_atomic_rc_box_release_full(connection, clear); }

static void release_closure(gpointer connection, GClosure *closure) {
  (void)closure;
  cwebrtc_release(connection);
}

static void connect_signal(cwebrtc_connection *connection, gpointer object, const char *name, GCallback handler) {
  g_signal_connect_data(object, name, handler, g_atomic_rc_box_acquire(connection), release_closure, 0);
}

// --- Tasks: from any thread to the connection's own, in their order.

typedef struct {
  cwebrtc_connection *connection;
  void (*perform)(cwebrtc_connection *connection, const char *text, unsigned number);
  char *text;
  unsigned number;
} task;

static gboolean perform(gpointer pointer) {
  task *todo = pointer;
  todo->perform(todo->connection, todo->text, todo->number);
  return G_SOURCE_REMOVE;
}

static void free_task(gpointer pointer) {
  task *todo = pointer;
  cwebrtc_release(todo->connection);
  g_free(todo->text);
  g_free(todo);
}

static void post(cwebrtc_connection *connection, void (*what)(cwebrtc_connection *, const char *, unsigned),
                 const char *text, unsigned number) {
  task *todo = g_new(task, 1);
  *todo = (task){g_atomic_rc_box_acquire(connection), what, g_strdup(text ? text : ""), number};
  GSource *source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_source_set_callback(source, perform, todo, free_task);
  g_mutex_lock(&connection->lock);
  if (!connection->is_gone) g_source_attach(source, connection->context);
  g_mutex_unlock(&connection->lock);
  g_source_unref(source);
}

// --- What is told.

static void begin_closing(cwebrtc_connection *connection, const char *text, unsigned number);

static void tell_of(cwebrtc_connection *connection, cwebrtc_event event, const char *text, unsigned line) {
  if (connection->has_ended) return;
  connection->has_ended = event == CWEBRTC_CLOSED || event == CWEBRTC_FAILED;
  if (!connection->deliver(connection->owner, event, text, line)) begin_closing(connection, NULL, 0);
}

static void tell(cwebrtc_connection *connection, const char *text, unsigned event) {
  tell_of(connection, (cwebrtc_event)event, text, 0);
}

static void tell_candidate(cwebrtc_connection *connection, const char *text, unsigned line) {
  tell_of(connection, CWEBRTC_CANDIDATE, text, line);
}

static void tell_closed(cwebrtc_connection *connection, const char *text, unsigned event) {
  connection->is_channel_closed = TRUE;
  tell(connection, text, event);
}

/// GStreamer does not compare the certificate with the answer's fingerprints: whoever is told must.
static void tell_open(cwebrtc_connection *connection, const char *text, unsigned event) {
  (void)text;
  if (connection->has_ended) return;
  connection->is_open = TRUE;
  GObject *sctp = NULL, *dtls = NULL;
  char *certificate = NULL;
  g_object_get(connection->bin, "sctp-transport", &sctp, NULL);
  if (sctp) g_object_get(sctp, "transport", &dtls, NULL);
  if (dtls) g_object_get(dtls, "remote-certificate", &certificate, NULL);
  tell(connection, certificate ? certificate : "", event);
  g_free(certificate);
  g_clear_object(&dtls);
  g_clear_object(&sctp);
}

static void look_at_state(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->has_ended) return;
  GstWebRTCPeerConnectionState state;
  g_object_get(connection->bin, "connection-state", &state, NULL);
  if (state == GST_WEBRTC_PEER_CONNECTION_STATE_FAILED) tell(connection, "nothing reaches the peer", CWEBRTC_FAILED);
  if (state == GST_WEBRTC_PEER_CONNECTION_STATE_CLOSED) tell(connection, "", CWEBRTC_CLOSED);
}

// --- Signals, on GStreamer's threads.

static void on_ice_candidate(GstElement *bin, guint line, const char *candidate, gpointer connection) {
  (void)bin;
  // The end of gathering is an empty one.
  if (*candidate) post(connection, tell_candidate, candidate, line);
}

static void on_state(GObject *bin, GParamSpec *property, gpointer connection) {
  (void)bin, (void)property;
  post(connection, look_at_state, NULL, 0);
}

static void on_open(GObject *channel, gpointer connection) {
  (void)channel;
  post(connection, tell_open, NULL, CWEBRTC_OPEN);
}

static void on_close(GObject *channel, gpointer connection) {
  (void)channel;
  post(connection, tell_closed, NULL, CWEBRTC_CLOSED);
}

static void on_error(GObject *channel, GError *error, gpointer connection) {
  (void)channel;
  post(connection, tell, error ? error->message : "the data channel failed", CWEBRTC_FAILED);
}

static void on_message(GObject *channel, const char *text, gpointer connection) {
  (void)channel;
  // An empty message may come as NULL.
  post(connection, tell, text, CWEBRTC_MESSAGE);
}

static void on_low(GObject *channel, gpointer connection) {
  (void)channel;
  post(connection, tell, NULL, CWEBRTC_LOW);
}

/// webrtcbin has no property for its certificate; the element that decrypts has.
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
    // The peer's machine says that nobody listens there any more: it has gone without a word.
    if (connection->is_open && g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE))
      tell_closed(connection, "", CWEBRTC_CLOSED);
    else
      tell(connection, error->message, CWEBRTC_FAILED);
    g_error_free(error);
  }
  return G_SOURCE_CONTINUE;
}

// --- The start, on the own thread.

static void watch_bus(cwebrtc_connection *connection) {
  GstBus *bus = gst_element_get_bus(connection->pipeline);
  gst_bus_add_watch_full(bus, G_PRIORITY_DEFAULT, on_bus, g_atomic_rc_box_acquire(connection),
                         (GDestroyNotify)cwebrtc_release);
  gst_object_unref(bus);
}

static void set_up_ice(cwebrtc_connection *connection) {
  GObject *ice = NULL, *agent = NULL;
  g_object_get(connection->bin, "ice-agent", &ice, NULL);
  if (!ice) return;
  // Over UDP alone: for TCP every address would be listened on.
  g_object_set(ice, "ice-tcp", FALSE, NULL);
  g_object_get(ice, "agent", &agent, NULL);
  // A peer that goes away without a word is noticed, after 50 seconds: what RFC 7675 is for, as libnice has it.
  if (agent) g_object_set(agent, "keepalive-conncheck", TRUE, NULL);
  g_clear_object(&agent);
  g_object_unref(ice);
}

static void set_servers(cwebrtc_connection *connection) {
  if (connection->stun_server) g_object_set(connection->bin, "stun-server", connection->stun_server, NULL);
  for (char **server = connection->turn_servers; *server; server++) {
    gboolean is_taken = FALSE;
    g_signal_emit_by_name(connection->bin, "add-turn-server", *server, &is_taken);
    if (!is_taken) tell(connection, "GStreamer does not take the address of a TURN server", CWEBRTC_FAILED);
  }
}

static void make_channel(cwebrtc_connection *connection) {
  GstWebRTCDataChannel *channel = NULL;
  g_signal_emit_by_name(connection->bin, "create-data-channel", connection->label, NULL, &channel);
  if (!channel) {
    tell(connection, "GStreamer makes no data channel", CWEBRTC_FAILED);
    return;
  }
  g_object_set(channel, "buffered-amount-low-threshold", connection->low_threshold, NULL);
  connect_signal(connection, channel, "on-open", G_CALLBACK(on_open));
  connect_signal(connection, channel, "on-close", G_CALLBACK(on_close));
  connect_signal(connection, channel, "on-error", G_CALLBACK(on_error));
  connect_signal(connection, channel, "on-message-string", G_CALLBACK(on_message));
  connect_signal(connection, channel, "on-buffered-amount-low", G_CALLBACK(on_low));
  g_mutex_lock(&connection->lock);
  connection->channel = channel;
  g_mutex_unlock(&connection->lock);
}

static void start(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (!cwebrtc_make_certificate(&connection->certificate, connection->fingerprint))
    tell(connection, "OpenSSL makes no certificate", CWEBRTC_FAILED);
  connection->pipeline = gst_pipeline_new(NULL);
  connection->bin = gst_element_factory_make("webrtcbin", NULL);
  gst_bin_add(GST_BIN(connection->pipeline), connection->bin);
  gst_util_set_object_arg(G_OBJECT(connection->bin), "bundle-policy", "max-bundle");
  watch_bus(connection);
  set_up_ice(connection);
  set_servers(connection);
  connect_signal(connection, connection->bin, "deep-element-added", G_CALLBACK(on_element));
  connect_signal(connection, connection->bin, "on-ice-candidate", G_CALLBACK(on_ice_candidate));
  connect_signal(connection, connection->bin, "notify::connection-state", G_CALLBACK(on_state));
  if (gst_element_set_state(connection->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    tell(connection, "GStreamer does not start webrtcbin", CWEBRTC_FAILED);
  else
    make_channel(connection);
}

// --- The end, on the own thread.

static void stop(cwebrtc_connection *connection) {
  g_mutex_lock(&connection->lock);
  GstWebRTCDataChannel *channel = g_steal_pointer(&connection->channel);
  g_mutex_unlock(&connection->lock);
  GstBus *bus = gst_element_get_bus(connection->pipeline);
  gst_bus_remove_watch(bus);
  gst_object_unref(bus);
  gst_element_set_state(connection->pipeline, GST_STATE_NULL);
  if (channel) {
    g_signal_handlers_disconnect_by_data(channel, connection);
    g_object_unref(channel);
  }
  g_signal_handlers_disconnect_by_data(connection->bin, connection);
  gst_clear_object(&connection->pipeline);
  connection->bin = NULL;
  g_main_loop_quit(connection->loop);
}

static guint64 buffered_in(GstWebRTCDataChannel *channel) {
  guint64 amount = 0;
  g_object_get(channel, "buffered-amount", &amount, NULL);
  return amount;
}

/// Every few milliseconds, for two seconds at most: until all is sent, then until the peer knows of the end.
static gboolean go_on_closing(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  gint64 left = connection->deadline - g_get_monotonic_time();
  if (connection->channel && !connection->is_channel_closed && left > 0) {
    GstWebRTCDataChannelState state;
    g_object_get(connection->channel, "ready-state", &state, NULL);
    gboolean is_open = state == GST_WEBRTC_DATA_CHANNEL_STATE_OPEN;
    if (is_open && (buffered_in(connection->channel) == 0 || left < G_USEC_PER_SEC))
      gst_webrtc_data_channel_close(connection->channel);
    if (is_open || state == GST_WEBRTC_DATA_CHANNEL_STATE_CLOSING) return G_SOURCE_CONTINUE;
  }
  stop(connection);
  return G_SOURCE_REMOVE;
}

static void begin_closing(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->is_closing) return;
  // After a failure nobody is there to be waited for.
  connection->deadline = g_get_monotonic_time() + (connection->has_ended ? 0 : 2 * G_USEC_PER_SEC);
  connection->is_closing = connection->has_ended = TRUE;
  if (!go_on_closing(connection)) return;
  GSource *source = g_timeout_source_new(10);
  g_source_set_callback(source, go_on_closing, connection, NULL);
  g_source_attach(source, connection->context);
  g_source_unref(source);
}

static gpointer run(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  g_main_context_push_thread_default(connection->context);
  g_main_loop_run(connection->loop);
  g_mutex_lock(&connection->lock);
  connection->is_gone = TRUE;
  g_mutex_unlock(&connection->lock);
  // Tasks that came too late find that it has ended.
  while (g_main_context_iteration(connection->context, FALSE)) {}
  g_main_context_pop_thread_default(connection->context);
  connection->deliver(connection->owner, CWEBRTC_FREED, "", 0);
  cwebrtc_release(connection);
  return NULL;
}

// --- What is asked for: each a task, which does nothing after the end.

/// The new description, or NULL, and that it failed is told.
static GstWebRTCSessionDescription *description(cwebrtc_connection *connection, GstWebRTCSDPType type, const char *sdp) {
  GstSDPMessage *message = NULL;
  if (gst_sdp_message_new_from_text(sdp, &message) == GST_SDP_OK)
    return gst_webrtc_session_description_new(type, message);
  tell(connection, "GStreamer cannot read a session description", CWEBRTC_FAILED);
  return NULL;
}

static void on_description_set(GstPromise *promise, gpointer connection) {
  const GstStructure *reply = gst_promise_get_reply(promise);
  GError *error = NULL;
  if (reply) gst_structure_get(reply, "error", G_TYPE_ERROR, &error, NULL);
  if (error) post(connection, tell, error->message, CWEBRTC_FAILED);
  g_clear_error(&error);
  gst_promise_unref(promise);
}

static void set_description(cwebrtc_connection *connection, const char *name, GstWebRTCSessionDescription *description) {
  g_signal_emit_by_name(connection->bin, name, description,
                        gst_promise_new_with_change_func(on_description_set, g_atomic_rc_box_acquire(connection),
                                                         (GDestroyNotify)cwebrtc_release));
  gst_webrtc_session_description_free(description);
}

/// Told before it is set: candidates come from then on.
static void set_offer(cwebrtc_connection *connection, const char *sdp, unsigned event) {
  if (connection->has_ended) return;
  GstWebRTCSessionDescription *offer = description(connection, GST_WEBRTC_SDP_TYPE_OFFER, sdp);
  if (!offer) return;
  tell(connection, sdp, event);
  set_description(connection, "set-local-description", offer);
}

/// webrtcbin takes the fingerprint over all of the PEM text, the private key too, where the certificate is not its own.
static void name_certificate(cwebrtc_connection *connection, GstSDPMessage *offer) {
  char *value = g_strconcat("sha-256 ", connection->fingerprint, NULL);
  for (guint index = 0; index < gst_sdp_message_medias_len(offer); index++) {
    GstSDPMedia *media = (GstSDPMedia *)gst_sdp_message_get_media(offer, index);
    for (guint at = gst_sdp_media_attributes_len(media); at > 0; at--)
      if (!strcmp(gst_sdp_media_get_attribute(media, at - 1)->key, "fingerprint"))
        gst_sdp_media_remove_attribute(media, at - 1);
    gst_sdp_media_add_attribute(media, "fingerprint", value);
  }
  g_free(value);
}

static void on_offer_made(GstPromise *promise, gpointer connection) {
  GstWebRTCSessionDescription *offer = NULL;
  const GstStructure *reply = gst_promise_get_reply(promise);
  if (reply) gst_structure_get(reply, "offer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &offer, NULL);
  if (offer) {
    name_certificate(connection, offer->sdp);
    char *sdp = gst_sdp_message_as_text(offer->sdp);
    post(connection, set_offer, sdp, CWEBRTC_OFFER);
    g_free(sdp);
    gst_webrtc_session_description_free(offer);
  } else {
    post(connection, tell, "GStreamer makes no offer", CWEBRTC_FAILED);
  }
  gst_promise_unref(promise);
}

static void create_offer(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->has_ended) return;
  g_signal_emit_by_name(connection->bin, "create-offer", NULL,
                        gst_promise_new_with_change_func(on_offer_made, g_atomic_rc_box_acquire(connection),
                                                         (GDestroyNotify)cwebrtc_release));
}

static void set_answer(cwebrtc_connection *connection, const char *sdp, unsigned number) {
  (void)number;
  if (connection->has_ended) return;
  GstWebRTCSessionDescription *answer = description(connection, GST_WEBRTC_SDP_TYPE_ANSWER, sdp);
  if (answer) set_description(connection, "set-remote-description", answer);
}

static void add_candidate(cwebrtc_connection *connection, const char *candidate, unsigned line) {
  if (!connection->has_ended) g_signal_emit_by_name(connection->bin, "add-ice-candidate", line, candidate);
}

static void send_text(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)number;
  g_mutex_lock(&connection->lock);
  connection->waiting_bytes -= strlen(text);
  g_mutex_unlock(&connection->lock);
  if (connection->has_ended || !connection->channel) return;
  GError *error = NULL;
  if (!gst_webrtc_data_channel_send_string_full(connection->channel, text, &error))
    tell(connection, error ? error->message : "GStreamer does not send a message", CWEBRTC_FAILED);
  g_clear_error(&error);
}

void cwebrtc_create_offer(cwebrtc_connection *connection) { post(connection, create_offer, NULL, 0); }

void cwebrtc_set_answer(cwebrtc_connection *connection, const char *sdp) { post(connection, set_answer, sdp, 0); }

void cwebrtc_add_candidate(cwebrtc_connection *connection, unsigned line, const char *candidate) {
  post(connection, add_candidate, candidate, line);
}

void cwebrtc_send(cwebrtc_connection *connection, const char *text) {
  g_mutex_lock(&connection->lock);
  connection->waiting_bytes += strlen(text);
  g_mutex_unlock(&connection->lock);
  post(connection, send_text, text, 0);
}

uint64_t cwebrtc_buffered_amount(cwebrtc_connection *connection) {
  g_mutex_lock(&connection->lock);
  GstWebRTCDataChannel *channel = connection->channel ? g_object_ref(connection->channel) : NULL;
  guint64 amount = connection->waiting_bytes;
  g_mutex_unlock(&connection->lock);
  if (!channel) return amount;
  amount += buffered_in(channel);
  g_object_unref(channel);
  return amount;
}

void cwebrtc_close(cwebrtc_connection *connection) { post(connection, begin_closing, NULL, 0); }

// --- The making.

/// What GLib's libraries would write to standard error is not for a person, and the end of a connection is told in order.
static GLogWriterOutput keep_quiet(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
  (void)level, (void)fields, (void)count, (void)data;
  return G_LOG_WRITER_HANDLED;
}

static gpointer set_up(gpointer data) {
  (void)data;
  g_log_set_writer_func(keep_quiet, NULL, NULL);
  gst_init(NULL, NULL);
  return NULL;
}

const char *cwebrtc_missing_element(void) {
  static GOnce once = G_ONCE_INIT;
  static const char *const needed[] = {"webrtcbin", "rtpbin",  "nicesrc", "nicesink", "dtlsenc",
                                       "dtlsdec",   "sctpenc", "sctpdec", "srtpenc"};
  g_once(&once, set_up, NULL);
  for (size_t index = 0; index < G_N_ELEMENTS(needed); index++) {
    GstElementFactory *factory = gst_element_factory_find(needed[index]);
    GstPluginFeature *loaded = factory ? gst_plugin_feature_load(GST_PLUGIN_FEATURE(factory)) : NULL;
    gst_clear_object(&factory);
    if (!loaded) return needed[index];
    gst_object_unref(loaded);
  }
  return NULL;
}

cwebrtc_connection *cwebrtc_make(const char *label, uint64_t low_threshold, const char *stun_server,
                                 const char *const turn_servers[], cwebrtc_deliver deliver, void *owner) {
  cwebrtc_connection *connection = g_atomic_rc_box_new0(cwebrtc_connection);
  connection->deliver = deliver;
  connection->owner = owner;
  connection->label = g_strdup(label);
  connection->low_threshold = low_threshold;
  connection->stun_server = g_strdup(stun_server);
  connection->turn_servers = g_strdupv((char **)turn_servers);
  connection->context = g_main_context_new();
  connection->loop = g_main_loop_new(connection->context, FALSE);
  g_mutex_init(&connection->lock);
  post(connection, start, NULL, 0);
  g_thread_unref(g_thread_new("peer connection", run, g_atomic_rc_box_acquire(connection)));
  return connection;
}
