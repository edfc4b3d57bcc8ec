#include "CWebRTC.h"

#include "Connection.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// --- Requests: each is a task, which does nothing after the end.

/// The new description, or NULL after CWEBRTC_FAILED was delivered.
static GstWebRTCSessionDescription *description(cwebrtc_connection *connection, GstWebRTCSDPType type,
                                                const char *sdp) {
  GstSDPMessage *message = NULL;
  if (gst_sdp_message_new_from_text(sdp, &message) == GST_SDP_OK)
    return gst_webrtc_session_description_new(type, message);
  peer_report(connection, "GStreamer cannot read a session description", CWEBRTC_FAILED);
  return NULL;
}

static void on_description_set(GstPromise *promise, gpointer connection) {
  const GstStructure *reply = gst_promise_get_reply(promise);
  GError *error = NULL;
  if (reply) gst_structure_get(reply, "error", G_TYPE_ERROR, &error, NULL);
  if (error) peer_post(connection, peer_report, error->message, CWEBRTC_FAILED);
  g_clear_error(&error);
  gst_promise_unref(promise);
}

static void set_description(cwebrtc_connection *connection, const char *name,
                            GstWebRTCSessionDescription *description) {
  g_signal_emit_by_name(connection->bin, name, description,
                        gst_promise_new_with_change_func(on_description_set, g_atomic_rc_box_acquire(connection),
                                                         (GDestroyNotify)cwebrtc_release));
  gst_webrtc_session_description_free(description);
}

/// Delivers the offer before it is set, because candidates follow as soon as it is set.
static void set_offer(cwebrtc_connection *connection, const char *sdp, unsigned event) {
  if (connection->has_ended) return;
  GstWebRTCSessionDescription *offer = description(connection, GST_WEBRTC_SDP_TYPE_OFFER, sdp);
  if (!offer) return;
  peer_report(connection, sdp, event);
  if (connection->has_ended)
    gst_webrtc_session_description_free(offer);
  else
    set_description(connection, "set-local-description", offer);
}

static void replace_attribute(GstSDPMedia *media, const char *key, const char *value) {
  for (guint at = gst_sdp_media_attributes_len(media); at > 0; at--)
    if (!strcmp(gst_sdp_media_get_attribute(media, at - 1)->key, key)) gst_sdp_media_remove_attribute(media, at - 1);
  gst_sdp_media_add_attribute(media, key, value);
}

/// If the certificate is not its own, webrtcbin computes the fingerprint over the whole PEM text, including the private
/// key. It does not state the largest message either, and peers then assume 64 KiB: RFC 8841, section 6.
static void complete_offer(cwebrtc_connection *connection, GstSDPMessage *offer) {
  char *fingerprint = g_strconcat("sha-256 ", connection->fingerprint, NULL);
  char *size = g_strdup_printf("%" G_GUINT64_FORMAT, connection->maximum_message_size);
  for (guint index = 0; index < gst_sdp_message_medias_len(offer); index++) {
    GstSDPMedia *media = (GstSDPMedia *)gst_sdp_message_get_media(offer, index);
    replace_attribute(media, "fingerprint", fingerprint);
    replace_attribute(media, "max-message-size", size);
  }
  g_free(size);
  g_free(fingerprint);
}

static void on_offer_made(GstPromise *promise, gpointer connection) {
  GstWebRTCSessionDescription *offer = NULL;
  const GstStructure *reply = gst_promise_get_reply(promise);
  if (reply) gst_structure_get(reply, "offer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &offer, NULL);
  if (offer) {
    complete_offer(connection, offer->sdp);
    char *sdp = gst_sdp_message_as_text(offer->sdp);
    peer_post(connection, set_offer, sdp, CWEBRTC_OFFER);
    g_free(sdp);
    gst_webrtc_session_description_free(offer);
  } else {
    peer_post(connection, peer_report, "GStreamer makes no offer", CWEBRTC_FAILED);
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

static gboolean send_bytes(GstWebRTCDataChannel *channel, const char *base64, GError **error) {
  gsize count;
  guchar *bytes = g_base64_decode(base64, &count);
  GBytes *data = g_bytes_new_take(bytes, count);
  gboolean is_sent = gst_webrtc_data_channel_send_data_full(channel, data, error);
  g_bytes_unref(data);
  return is_sent;
}

/// `is_data`: the text is base64 of a binary message.
static void send_message(cwebrtc_connection *connection, const char *text, unsigned is_data) {
  g_mutex_lock(&connection->lock);
  connection->waiting_bytes -= strlen(text);
  g_mutex_unlock(&connection->lock);
  if (connection->has_ended || !connection->channel) return;
  GError *error = NULL;
  gboolean is_sent = is_data ? send_bytes(connection->channel, text, &error)
                             : gst_webrtc_data_channel_send_string_full(connection->channel, text, &error);
  if (!is_sent)
    peer_report(connection, error ? error->message : "GStreamer does not send a message", CWEBRTC_FAILED);
  g_clear_error(&error);
}

void cwebrtc_create_offer(cwebrtc_connection *connection) { peer_post(connection, create_offer, NULL, 0); }

void cwebrtc_set_answer(cwebrtc_connection *connection, const char *sdp) { peer_post(connection, set_answer, sdp, 0); }

void cwebrtc_add_candidate(cwebrtc_connection *connection, unsigned line, const char *candidate) {
  peer_post(connection, add_candidate, candidate, line);
}

static void post_message(cwebrtc_connection *connection, const char *text, unsigned is_data) {
  g_mutex_lock(&connection->lock);
  connection->waiting_bytes += strlen(text);
  g_mutex_unlock(&connection->lock);
  peer_post(connection, send_message, text, is_data);
}

void cwebrtc_send(cwebrtc_connection *connection, const char *text) { post_message(connection, text, FALSE); }

void cwebrtc_send_data(cwebrtc_connection *connection, const uint8_t *bytes, size_t count) {
  char *text = g_base64_encode(bytes, count);
  post_message(connection, text, TRUE);
  g_free(text);
}

uint64_t cwebrtc_buffered_amount(cwebrtc_connection *connection) {
  g_mutex_lock(&connection->lock);
  GstWebRTCDataChannel *channel = connection->channel ? g_object_ref(connection->channel) : NULL;
  guint64 amount = connection->waiting_bytes;
  g_mutex_unlock(&connection->lock);
  if (!channel) return amount;
  amount += peer_buffered_in(channel);
  g_object_unref(channel);
  return amount;
}

void cwebrtc_close(cwebrtc_connection *connection) { peer_post(connection, peer_begin_closing, NULL, 0); }

// --- Set-up.

/// Discards the remarks of GLib's libraries, since events report how a connection ends. Prints errors and critical
/// messages on one line of standard error: an error ends the process, and its message gives the cause.
static GLogWriterOutput tell_faults(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer data) {
  (void)data;
  if (!(level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))) return G_LOG_WRITER_HANDLED;
  const char *message = "it does not say which";
  char line[512];
  int length = sizeof line;
  for (gsize index = 0; index < count; index++) {
    if (strcmp(fields[index].key, "MESSAGE")) continue;
    message = fields[index].value;
    // GLogField: a length of -1 means that the text ends in NUL; otherwise it need not.
    if (fields[index].length >= 0) length = (int)MIN(fields[index].length, (gssize)sizeof line);
  }
  snprintf(line, sizeof line - 1, "liquid-auth-wallet: a fault in GStreamer or libsoup: %.*s", length, message);
  // Quoted text must not contain terminal controls.
  for (char *byte = line; *byte; byte++)
    if (*byte < ' ' || *byte > '~') *byte = '?';
  strcat(line, "\n");
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return G_LOG_WRITER_UNHANDLED;
  return G_LOG_WRITER_HANDLED;
}

static gpointer set_writer(gpointer data) {
  (void)data;
  g_log_set_writer_func(tell_faults, NULL, NULL);
  return NULL;
}

void cwebrtc_report_faults(void) {
  static GOnce once = G_ONCE_INIT;
  g_once(&once, set_writer, NULL);
}

static gpointer set_up(gpointer data) {
  (void)data;
  cwebrtc_report_faults();
  gst_init(NULL, NULL);
  return NULL;
}

/// The first decrypting element makes an RSA key, the default for all others. Make it now, not while a peer waits.
static gpointer make_first_key(gpointer data) {
  (void)data;
  GstElement *element = gst_element_factory_make("dtlsdec", NULL);
  if (element) gst_object_unref(gst_object_ref_sink(element));
  return NULL;
}

const char *cwebrtc_missing_element(void) {
  static GOnce once = G_ONCE_INIT, key = G_ONCE_INIT;
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
  g_once(&key, make_first_key, NULL);
  return NULL;
}

cwebrtc_connection *cwebrtc_make(const char *label, uint64_t maximum_message_size, uint64_t low_threshold,
                                 const char *stun_server, const char *const turn_servers[], cwebrtc_deliver deliver,
                                 void *owner) {
  cwebrtc_connection *connection = g_atomic_rc_box_new0(cwebrtc_connection);
  connection->deliver = deliver;
  connection->owner = owner;
  connection->label = g_strdup(label);
  connection->maximum_message_size = maximum_message_size;
  connection->low_threshold = low_threshold;
  connection->stun_server = g_strdup(stun_server);
  connection->turn_servers = g_strdupv((char **)turn_servers);
  connection->context = g_main_context_new();
  connection->loop = g_main_loop_new(connection->context, FALSE);
  g_mutex_init(&connection->lock);
  peer_post(connection, peer_start, NULL, 0);
  g_thread_unref(g_thread_new("peer connection", peer_run, g_atomic_rc_box_acquire(connection)));
  return connection;
}
