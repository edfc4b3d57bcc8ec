#include "Connection.h"

// --- References: one for the maker, one for the thread, one for each task and for each signal handler.

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

void peer_connect_signal(cwebrtc_connection *connection, gpointer object, const char *name, GCallback handler) {
  g_signal_connect_data(object, name, handler, g_atomic_rc_box_acquire(connection), release_closure, 0);
}

// --- Tasks: from any thread to the connection's own, in order.

typedef struct {
  cwebrtc_connection *connection;
  peer_action action;
  char *text;
  unsigned number;
} task;

static gboolean perform(gpointer pointer) {
  task *todo = pointer;
  todo->action(todo->connection, todo->text, todo->number);
  return G_SOURCE_REMOVE;
}

static void free_task(gpointer pointer) {
  task *todo = pointer;
  cwebrtc_release(todo->connection);
  g_free(todo->text);
  g_free(todo);
}

void peer_post(cwebrtc_connection *connection, peer_action action, const char *text, unsigned number) {
  task *todo = g_new(task, 1);
  *todo = (task){g_atomic_rc_box_acquire(connection), action, g_strdup(text ? text : ""), number};
  GSource *source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_source_set_callback(source, perform, todo, free_task);
  g_mutex_lock(&connection->lock);
  if (!connection->is_gone) g_source_attach(source, connection->context);
  g_mutex_unlock(&connection->lock);
  g_source_unref(source);
}

// --- Events.

void peer_report_event(cwebrtc_connection *connection, cwebrtc_event event, const char *text, unsigned line) {
  if (connection->has_ended) return;
  connection->has_ended = event == CWEBRTC_CLOSED || event == CWEBRTC_FAILED;
  if (!connection->deliver(connection->owner, event, text, line)) peer_begin_closing(connection, NULL, 0);
}

void peer_report(cwebrtc_connection *connection, const char *text, unsigned event) {
  peer_report_event(connection, (cwebrtc_event)event, text, 0);
}

// --- The end, on the connection's own thread.

/// Disconnects the end of libnice's gathering: GStreamer 1.22 crashes (_on_candidate_gathering_done) if it comes after
/// the transport is gone and before libnice's thread is. Returns the transport with a reference, since a call may still
/// be in progress; NULL before there is one.
static GObject *end_gathering(cwebrtc_connection *connection) {
  GObject *ice = NULL, *agent = NULL, *sctp = NULL, *dtls = NULL, *transport = NULL;
  g_object_get(connection->bin, "ice-agent", &ice, "sctp-transport", &sctp, NULL);
  if (ice) g_object_get(ice, "agent", &agent, NULL);
  guint signal = agent ? g_signal_lookup("candidate-gathering-done", G_OBJECT_TYPE(agent)) : 0;
  gulong handler;
  while (signal && (handler = g_signal_handler_find(agent, G_SIGNAL_MATCH_ID, signal, 0, NULL, NULL, NULL)))
    g_signal_handler_disconnect(agent, handler);
  if (sctp) g_object_get(sctp, "transport", &dtls, NULL);
  if (dtls) g_object_get(dtls, "transport", &transport, NULL);
  g_clear_object(&dtls);
  g_clear_object(&sctp);
  g_clear_object(&agent);
  g_clear_object(&ice);
  return transport;
}

static void stop(cwebrtc_connection *connection) {
  peer_end_listening(connection);
  GObject *transport = end_gathering(connection);
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
  g_clear_object(&transport);
  g_main_loop_quit(connection->loop);
}

guint64 peer_buffered_in(GstWebRTCDataChannel *channel) {
  guint64 amount = 0;
  g_object_get(channel, "buffered-amount", &amount, NULL);
  return amount;
}

/// Repeated every 10 milliseconds, for two seconds at most: until all data is sent, then until the peer has closed.
static gboolean go_on_closing(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  gint64 left = connection->deadline - g_get_monotonic_time();
  if (connection->channel && !connection->is_channel_closed && left > 0) {
    GstWebRTCDataChannelState state;
    g_object_get(connection->channel, "ready-state", &state, NULL);
    gboolean is_open = state == GST_WEBRTC_DATA_CHANNEL_STATE_OPEN;
    if (is_open && (peer_buffered_in(connection->channel) == 0 || left < G_USEC_PER_SEC))
      gst_webrtc_data_channel_close(connection->channel);
    if (is_open || state == GST_WEBRTC_DATA_CHANNEL_STATE_CLOSING) return G_SOURCE_CONTINUE;
  }
  stop(connection);
  return G_SOURCE_REMOVE;
}

void peer_begin_closing(cwebrtc_connection *connection, const char *text, unsigned number) {
  (void)text, (void)number;
  if (connection->is_closing) return;
  // After a failure there is no peer to wait for.
  connection->deadline = g_get_monotonic_time() + (connection->has_ended ? 0 : 2 * G_USEC_PER_SEC);
  connection->is_closing = connection->has_ended = TRUE;
  if (!go_on_closing(connection)) return;
  GSource *source = g_timeout_source_new(10);
  g_source_set_callback(source, go_on_closing, connection, NULL);
  g_source_attach(source, connection->context);
  g_source_unref(source);
}

gpointer peer_run(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  g_main_context_push_thread_default(connection->context);
  g_main_loop_run(connection->loop);
  g_mutex_lock(&connection->lock);
  connection->is_gone = TRUE;
  g_mutex_unlock(&connection->lock);
  // Late tasks find that the connection has ended.
  while (g_main_context_iteration(connection->context, FALSE)) {}
  g_main_context_pop_thread_default(connection->context);
  connection->deliver(connection->owner, CWEBRTC_FREED, "", 0);
  cwebrtc_release(connection);
  return NULL;
}
