#include "Network.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

struct cnetwork_connection {
  cnetwork *network;
  cnetwork_deliver deliver;
  void *owner;
  GCancellable *cancellable;
  // NULL before it is made.
  GIOStream *stream;
  GPollableInputStream *input;
  GPollableOutputStream *output;
  GByteArray *waiting;
  GSource *reading, *writing, *timer;
  GTlsCertificateFlags faults;
  // The copied socket of a handshake, or -1.
  int handshake;
  gboolean is_old_tls, has_ended;
};

/// How long the other side may take for close_notify, milliseconds.
static const unsigned closing_time = 1000;

// --- References: one for the maker, one for the work, one for each signal handler.

static void clear(gpointer pointer) {
  cnetwork_connection *connection = pointer;
  g_clear_object(&connection->cancellable);
  g_byte_array_unref(connection->waiting);
  cnetwork_release(connection->network);
}

void cnetwork_connection_release(cnetwork_connection *connection) { g_atomic_rc_box_release_full(connection, clear); }

static void release_closure(gpointer connection, GClosure *closure) {
  (void)closure;
  cnetwork_connection_release(connection);
}

// --- The end.

/// The work is over: nothing is under way, and nothing follows.
static void finish(cnetwork_connection *connection) {
  network_end_source(&connection->timer);
  g_clear_object(&connection->stream);
  g_hash_table_remove(connection->network->running, connection->cancellable);
  cnetwork_connection_release(connection);
}

static void on_closed(GObject *stream, GAsyncResult *result, gpointer connection) {
  g_io_stream_close_finish(G_IO_STREAM(stream), result, NULL);
  finish(connection);
}

static gboolean on_closing_time(gpointer pointer) {
  cnetwork_connection *connection = pointer;
  g_cancellable_cancel(connection->cancellable);
  return G_SOURCE_REMOVE;
}

/// Delivers the end, the first time, and closes.
static void end(cnetwork_connection *connection, cnetwork_end end, int number) {
  if (connection->has_ended) return;
  connection->has_ended = TRUE;
  network_end_handshake(&connection->handshake);
  network_end_source(&connection->reading);
  network_end_source(&connection->writing);
  network_end_source(&connection->timer);
  if (connection->stream) {
    connection->timer = network_timer(connection->network, closing_time, on_closing_time, connection);
    g_io_stream_close_async(connection->stream, G_PRIORITY_DEFAULT, connection->cancellable, on_closed, connection);
  } else {
    g_cancellable_cancel(connection->cancellable);
  }
  connection->deliver(connection->owner, CNETWORK_ENDED, NULL, 0, end, number);
}

static void fail(cnetwork_connection *connection, const GError *error) {
  int number;
  cnetwork_end reason = network_end_of(error, connection->handshake, connection->faults, &number);
  end(connection, connection->is_old_tls ? CNETWORK_NO_HANDSHAKE : reason, number);
}

static gboolean on_deadline(gpointer connection) {
  end(connection, CNETWORK_TIMED_OUT, 0);
  return G_SOURCE_REMOVE;
}

static gboolean on_delay(gpointer connection) {
  end(connection, CNETWORK_CANCELLED, 0);
  return G_SOURCE_REMOVE;
}

void cnetwork_close(cnetwork_connection *connection, unsigned delay) {
  if (connection->has_ended) return;
  if (!delay) return end(connection, CNETWORK_CANCELLED, 0);
  network_end_source(&connection->timer);
  connection->timer = network_timer(connection->network, delay, on_delay, connection);
}

// --- Bytes.

static gboolean on_readable(GObject *input, gpointer pointer) {
  cnetwork_connection *connection = pointer;
  guint8 buffer[16384];
  GError *error = NULL;
  gssize count = g_pollable_input_stream_read_nonblocking(G_POLLABLE_INPUT_STREAM(input), buffer, sizeof buffer,
                                                          connection->cancellable, &error);
  if (count > 0)
    connection->deliver(connection->owner, CNETWORK_BYTES, buffer, (size_t)count, CNETWORK_DONE, 0);
  else if (count == 0)
    end(connection, CNETWORK_CLOSED, 0);
  else if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
    fail(connection, error);
  g_clear_error(&error);
  return G_SOURCE_CONTINUE;
}

static void flush(cnetwork_connection *connection);

static gboolean on_writable(GObject *output, gpointer pointer) {
  (void)output;
  cnetwork_connection *connection = pointer;
  network_end_source(&connection->writing);
  flush(connection);
  return G_SOURCE_REMOVE;
}

/// Attaches a source of a stream; the source keeps a reference to the connection.
static void attach(cnetwork_connection *connection, GSource *source, GPollableSourceFunc action) {
  g_source_set_callback(source, G_SOURCE_FUNC(action), g_atomic_rc_box_acquire(connection),
                        (GDestroyNotify)cnetwork_connection_release);
  g_source_attach(source, connection->network->context);
}

static void flush(cnetwork_connection *connection) {
  GError *error = NULL;
  while (!connection->has_ended && connection->waiting->len > 0) {
    const gssize count = g_pollable_output_stream_write_nonblocking(
        connection->output, connection->waiting->data, connection->waiting->len, connection->cancellable, &error);
    if (count < 0) break;
    g_byte_array_remove_range(connection->waiting, 0, (guint)count);
  }
  if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
    if (!connection->writing) {
      connection->writing = g_pollable_output_stream_create_source(connection->output, connection->cancellable);
      attach(connection, connection->writing, on_writable);
    }
  } else if (error) {
    fail(connection, error);
  }
  g_clear_error(&error);
}

void cnetwork_write(cnetwork_connection *connection, const uint8_t *bytes, size_t count) {
  if (connection->has_ended || !connection->stream) return;
  g_byte_array_append(connection->waiting, bytes, (guint)count);
  flush(connection);
}

size_t cnetwork_waiting(const cnetwork_connection *connection) { return connection->waiting->len; }

// --- The beginning.

static gboolean on_certificate(GTlsConnection *stream, GTlsCertificate *certificate, GTlsCertificateFlags faults,
                               gpointer pointer) {
  cnetwork_connection *connection = pointer;
  connection->faults = faults;
  GSocketConnectable *identity = g_tls_client_connection_get_server_identity(G_TLS_CLIENT_CONNECTION(stream));
  return network_accepts(connection->network, certificate, &connection->faults, identity);
}

static void on_event(GSocketClient *client, GSocketClientEvent event, GSocketConnectable *address, GIOStream *stream,
                     gpointer pointer) {
  (void)client, (void)address;
  cnetwork_connection *connection = pointer;
  if (connection->has_ended) return;
  if (event == G_SOCKET_CLIENT_TLS_HANDSHAKING) {
    network_end_handshake(&connection->handshake);
    connection->handshake = network_handshake_socket(stream);
    network_connect_signal(stream, "accept-certificate", G_CALLBACK(on_certificate), connection, release_closure);
  } else if (event == G_SOCKET_CLIENT_TLS_HANDSHAKED) {
    network_end_handshake(&connection->handshake);
    connection->is_old_tls = !network_is_modern(g_tls_connection_get_protocol_version(G_TLS_CONNECTION(stream)));
  }
}

/// GIO wraps TLS in a connection whose close would send no close_notify.
static GIOStream *unwrapped(GSocketConnection *made) {
  if (!G_IS_TCP_WRAPPER_CONNECTION(made)) return G_IO_STREAM(made);
  GIOStream *stream = g_object_ref(g_tcp_wrapper_connection_get_base_io_stream(G_TCP_WRAPPER_CONNECTION(made)));
  g_object_unref(made);
  return stream;
}

static void on_connected(GObject *client, GAsyncResult *result, gpointer pointer) {
  cnetwork_connection *connection = pointer;
  GError *error = NULL;
  GSocketConnection *made = g_socket_client_connect_finish(G_SOCKET_CLIENT(client), result, &error);
  g_signal_handlers_disconnect_by_data(client, connection);
  if (!made) {
    fail(connection, error);
    g_clear_error(&error);
    return finish(connection);
  }
  network_end_source(&connection->timer);
  if (connection->has_ended) {
    g_object_unref(made);
    return finish(connection);
  }
  g_socket_set_option(g_socket_connection_get_socket(made), IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
  connection->stream = unwrapped(made);
  if (connection->is_old_tls) return end(connection, CNETWORK_NO_HANDSHAKE, 0);
  connection->input = G_POLLABLE_INPUT_STREAM(g_io_stream_get_input_stream(connection->stream));
  connection->output = G_POLLABLE_OUTPUT_STREAM(g_io_stream_get_output_stream(connection->stream));
  // It is ready, too, once the network stops.
  connection->reading = g_pollable_input_stream_create_source(connection->input, connection->cancellable);
  attach(connection, connection->reading, on_readable);
  connection->deliver(connection->owner, CNETWORK_CONNECTED, NULL, 0, CNETWORK_DONE, 0);
}

cnetwork_connection *cnetwork_connect(cnetwork *network, const char *host, uint16_t port, bool is_secure,
                                      unsigned connecting, cnetwork_deliver deliver, void *owner) {
  cnetwork_connection *connection = g_atomic_rc_box_new0(cnetwork_connection);
  connection->network = g_atomic_rc_box_acquire(network);
  connection->handshake = -1;
  connection->deliver = deliver;
  connection->owner = owner;
  connection->waiting = g_byte_array_new();
  connection->cancellable = g_cancellable_new();
  g_hash_table_add(network->running, g_object_ref(connection->cancellable));
  if (network->is_stopping) g_cancellable_cancel(connection->cancellable);
  connection->timer = network_timer(network, connecting, on_deadline, connection);
  GSocketClient *client = g_socket_client_new();
  g_socket_client_set_enable_proxy(client, FALSE);
  g_socket_client_set_tls(client, is_secure);
  network_connect_signal(client, "event", G_CALLBACK(on_event), connection, release_closure);
  GSocketConnectable *address = g_network_address_new(host, port);
  g_socket_client_connect_async(client, address, connection->cancellable, on_connected,
                                g_atomic_rc_box_acquire(connection));
  g_object_unref(address);
  g_object_unref(client);
  return connection;
}
