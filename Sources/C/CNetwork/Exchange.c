#include "Network.h"

struct cnetwork_exchange {
  cnetwork *network;
  gsize maximum_body_size;
  unsigned connecting, timeout;
  cnetwork_deliver_answer deliver;
  void *owner;
  GCancellable *cancellable;
  // The following fields belong to the network's own thread from the beginning on.
  // NULL for a URL that is invalid, and once the work is over.
  SoupMessage *message;
  GInputStream *stream;
  GByteArray *body;
  guint8 buffer[16384];
  GSource *deadline, *connection_deadline;
  GTlsCertificateFlags faults;
  // The copied socket of a handshake, or -1.
  int handshake;
  gboolean is_old_tls, has_ended;
};

// --- References: one for the maker, one for the work, one for each task and for each signal handler.

static void clear(gpointer pointer) {
  cnetwork_exchange *exchange = pointer;
  g_clear_object(&exchange->message);
  g_clear_object(&exchange->cancellable);
  g_byte_array_unref(exchange->body);
  cnetwork_release(exchange->network);
}

void cnetwork_exchange_release(cnetwork_exchange *exchange) { g_atomic_rc_box_release_full(exchange, clear); }

static void release(void *exchange) { cnetwork_exchange_release(exchange); }

static void release_closure(gpointer exchange, GClosure *closure) {
  (void)closure;
  cnetwork_exchange_release(exchange);
}

// --- The answer.

static void add_field(const char *name, const char *value, gpointer fields) {
  g_ptr_array_add(fields, (gpointer)name);
  g_ptr_array_add(fields, (gpointer)value);
}

/// Delivers the answer, the first time, and cancels the work that is left.
static void end(cnetwork_exchange *exchange, cnetwork_end end, int number) {
  if (exchange->has_ended) return;
  exchange->has_ended = TRUE;
  network_end_handshake(&exchange->handshake);
  network_end_source(&exchange->deadline);
  network_end_source(&exchange->connection_deadline);
  GPtrArray *fields = g_ptr_array_new();
  cnetwork_answer answer = {.end = end, .number = number};
  if (end == CNETWORK_DONE) {
    answer.status = (int)soup_message_get_status(exchange->message);
    soup_message_headers_foreach(soup_message_get_response_headers(exchange->message), add_field, fields);
    answer.body = exchange->body->data;
    answer.body_size = exchange->body->len;
  }
  g_ptr_array_add(fields, NULL);
  answer.fields = (const char *const *)fields->pdata;
  exchange->deliver(exchange->owner, &answer);
  g_ptr_array_unref(fields);
  g_cancellable_cancel(exchange->cancellable);
}

static void fail(cnetwork_exchange *exchange, const GError *error) {
  int number;
  cnetwork_end reason = network_end_of(error, exchange->handshake, exchange->faults, &number);
  end(exchange, exchange->is_old_tls ? CNETWORK_NO_HANDSHAKE : reason, number);
}

/// The work is over: nothing is under way, and nothing follows.
static void finish(cnetwork_exchange *exchange) {
  // Of the rest of a body it reads nothing: it gives up the connection.
  if (exchange->stream) g_input_stream_close(exchange->stream, NULL, NULL);
  g_clear_object(&exchange->stream);
  g_signal_handlers_disconnect_by_data(exchange->message, exchange);
  // Here, and not on the thread of the last reference.
  g_clear_object(&exchange->message);
  g_hash_table_remove(exchange->network->running, exchange->cancellable);
  cnetwork_exchange_release(exchange);
}

/// Whether a body in chunks, which has been read to its end, had the last one. Only before that does the stream below ask the
/// connection, and then a cancelled read fails.
static gboolean has_last_chunk(GInputStream *stream) {
  if (!G_IS_FILTER_INPUT_STREAM(stream)) return FALSE;
  GCancellable *cancelled = g_cancellable_new();
  g_cancellable_cancel(cancelled);
  char line[64];
  GInputStream *body = g_filter_input_stream_get_base_stream(G_FILTER_INPUT_STREAM(stream));
  const gboolean is_over = g_input_stream_read(body, line, sizeof line, cancelled, NULL) == 0;
  g_object_unref(cancelled);
  return is_over;
}

/// libsoup takes a body that ends before its `Content-Length`, or before its last chunk, if the connection ends with it.
static gboolean is_whole(const cnetwork_exchange *exchange) {
  SoupMessageHeaders *headers = soup_message_get_response_headers(exchange->message);
  const SoupStatus status = soup_message_get_status(exchange->message);
  if (status == SOUP_STATUS_NO_CONTENT || status == SOUP_STATUS_NOT_MODIFIED) return TRUE;
  switch (soup_message_headers_get_encoding(headers)) {
  case SOUP_ENCODING_CONTENT_LENGTH:
    return (goffset)exchange->body->len == soup_message_headers_get_content_length(headers);
  case SOUP_ENCODING_CHUNKED: return has_last_chunk(exchange->stream);
  default: return TRUE;
  }
}

static gboolean is_too_large(const cnetwork_exchange *exchange) {
  SoupMessageHeaders *headers = soup_message_get_response_headers(exchange->message);
  return soup_message_headers_get_encoding(headers) == SOUP_ENCODING_CONTENT_LENGTH &&
         (guint64)soup_message_headers_get_content_length(headers) > exchange->maximum_body_size;
}

static void on_read(GObject *stream, GAsyncResult *result, gpointer pointer);

static void read_more(cnetwork_exchange *exchange) {
  g_input_stream_read_async(exchange->stream, exchange->buffer, sizeof exchange->buffer, G_PRIORITY_DEFAULT,
                            exchange->cancellable, on_read, exchange);
}

static void on_read(GObject *stream, GAsyncResult *result, gpointer pointer) {
  cnetwork_exchange *exchange = pointer;
  GError *error = NULL;
  const gssize count = g_input_stream_read_finish(G_INPUT_STREAM(stream), result, &error);
  if (count < 0) {
    fail(exchange, error);
  } else if (count == 0) {
    end(exchange, is_whole(exchange) ? CNETWORK_DONE : CNETWORK_CLOSED, 0);
  } else if ((gsize)count > exchange->maximum_body_size - exchange->body->len) {
    end(exchange, CNETWORK_TOO_LARGE, 0);
  } else if (!exchange->has_ended) {
    g_byte_array_append(exchange->body, exchange->buffer, (guint)count);
    return read_more(exchange);
  }
  g_clear_error(&error);
  finish(exchange);
}

static void on_sent(GObject *session, GAsyncResult *result, gpointer pointer) {
  cnetwork_exchange *exchange = pointer;
  GError *error = NULL;
  exchange->stream = soup_session_send_finish(SOUP_SESSION(session), result, &error);
  if (!exchange->stream) {
    fail(exchange, error);
  } else if (is_too_large(exchange)) {
    end(exchange, CNETWORK_TOO_LARGE, 0);
  } else if (!exchange->has_ended) {
    return read_more(exchange);
  }
  g_clear_error(&error);
  finish(exchange);
}

// --- Signals.

static gboolean on_deadline(gpointer exchange) {
  end(exchange, CNETWORK_TIMED_OUT, 0);
  return G_SOURCE_REMOVE;
}

static void on_event(SoupMessage *message, GSocketClientEvent event, GIOStream *stream, gpointer pointer) {
  (void)message;
  static const char *const protocols[] = {"http/1.1", NULL};
  cnetwork_exchange *exchange = pointer;
  if (exchange->has_ended) return;
  switch (event) {
  case G_SOCKET_CLIENT_RESOLVING:
    network_end_source(&exchange->connection_deadline);
    exchange->connection_deadline = network_timer(exchange->network, exchange->connecting, on_deadline, exchange);
    break;
  case G_SOCKET_CLIENT_TLS_HANDSHAKING:
    network_end_handshake(&exchange->handshake);
    exchange->handshake = network_handshake_socket(stream);
    g_tls_connection_set_advertised_protocols(G_TLS_CONNECTION(stream), protocols);
    // Otherwise a body that only the end of the connection ends could be cut off.
    g_tls_connection_set_require_close_notify(G_TLS_CONNECTION(stream), TRUE);
    break;
  case G_SOCKET_CLIENT_TLS_HANDSHAKED: network_end_handshake(&exchange->handshake); break;
  case G_SOCKET_CLIENT_COMPLETE: network_end_source(&exchange->connection_deadline); break;
  default: break;
  }
}

static gboolean on_certificate(SoupMessage *message, GTlsCertificate *certificate, GTlsCertificateFlags faults,
                               gpointer pointer) {
  cnetwork_exchange *exchange = pointer;
  GUri *url = soup_message_get_uri(message);
  GSocketConnectable *identity = g_network_address_new(g_uri_get_host(url), (guint16)MAX(g_uri_get_port(url), 0));
  exchange->faults = faults;
  const gboolean is_accepted = network_accepts(exchange->network, certificate, &exchange->faults, identity);
  g_object_unref(identity);
  return is_accepted;
}

/// Before the request is written. A GET may use a connection that was made for another exchange.
static void on_starting(SoupMessage *message, gpointer pointer) {
  cnetwork_exchange *exchange = pointer;
  if (g_strcmp0(g_uri_get_scheme(soup_message_get_uri(message)), "https")) return;
  if (network_is_modern(soup_message_get_tls_protocol_version(message))) return;
  exchange->is_old_tls = TRUE;
  g_cancellable_cancel(exchange->cancellable);
}

// --- The beginning.

cnetwork_exchange *cnetwork_exchange_make(cnetwork *network, const char *method, const char *url,
                                          const char *const fields[], const uint8_t *body, size_t body_size,
                                          size_t maximum_body_size, unsigned connecting, unsigned timeout) {
  cnetwork_exchange *exchange = g_atomic_rc_box_new0(cnetwork_exchange);
  exchange->network = g_atomic_rc_box_acquire(network);
  exchange->handshake = -1;
  exchange->maximum_body_size = maximum_body_size;
  exchange->connecting = connecting;
  exchange->timeout = timeout;
  exchange->cancellable = g_cancellable_new();
  exchange->body = g_byte_array_new();
  exchange->message = soup_message_new(method, url);
  if (!exchange->message) return exchange;
  soup_message_add_flags(exchange->message, SOUP_MESSAGE_NO_REDIRECT);
  SoupMessageHeaders *headers = soup_message_get_request_headers(exchange->message);
  for (size_t index = 0; fields[index] && fields[index + 1]; index += 2)
    soup_message_headers_append(headers, fields[index], fields[index + 1]);
  if (body) {
    GBytes *bytes = g_bytes_new(body, body_size);
    soup_message_set_request_body_from_bytes(exchange->message, NULL, bytes);
    g_bytes_unref(bytes);
  }
  return exchange;
}

static void begin(void *pointer) {
  cnetwork_exchange *exchange = pointer;
  if (!exchange->message) return end(exchange, CNETWORK_UNREACHABLE, 0);
  if (exchange->network->is_stopping || g_cancellable_is_cancelled(exchange->cancellable))
    return end(exchange, CNETWORK_CANCELLED, 0);
  g_hash_table_add(exchange->network->running, g_object_ref(exchange->cancellable));
  exchange->deadline = network_timer(exchange->network, exchange->timeout, on_deadline, exchange);
  network_connect_signal(exchange->message, "network-event", G_CALLBACK(on_event), exchange, release_closure);
  network_connect_signal(exchange->message, "accept-certificate", G_CALLBACK(on_certificate), exchange, release_closure);
  network_connect_signal(exchange->message, "starting", G_CALLBACK(on_starting), exchange, release_closure);
  soup_session_send_async(exchange->network->session, exchange->message, G_PRIORITY_DEFAULT, exchange->cancellable,
                          on_sent, g_atomic_rc_box_acquire(exchange));
}

void cnetwork_exchange_begin(cnetwork_exchange *exchange, cnetwork_deliver_answer deliver, void *owner) {
  exchange->deliver = deliver;
  exchange->owner = owner;
  if (network_post(exchange->network, begin, release, g_atomic_rc_box_acquire(exchange))) return;
  end(exchange, CNETWORK_CANCELLED, 0);
  cnetwork_exchange_release(exchange);
}

static void cancel(void *pointer) {
  cnetwork_exchange *exchange = pointer;
  // libsoup does not look at the cancellable while a request waits for a connection.
  if (exchange->deadline) return end(exchange, CNETWORK_CANCELLED, 0);
  g_cancellable_cancel(exchange->cancellable);
}

void cnetwork_exchange_cancel(cnetwork_exchange *exchange) {
  if (!network_post(exchange->network, cancel, release, g_atomic_rc_box_acquire(exchange)))
    cnetwork_exchange_release(exchange);
}
