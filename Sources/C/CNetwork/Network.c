#include "Network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

// --- The thread.

static void clear(gpointer pointer) {
  cnetwork *network = pointer;
  g_clear_object(&network->authorities);
  g_hash_table_unref(network->running);
  g_main_context_unref(network->context);
  g_mutex_clear(&network->lock);
}

void cnetwork_release(cnetwork *network) { g_atomic_rc_box_release_full(network, clear); }

typedef struct {
  void (*action)(void *data);
  void (*release)(void *data);
  void *data;
} task;

static gboolean perform(gpointer pointer) {
  const task *todo = pointer;
  todo->action(todo->data);
  return G_SOURCE_REMOVE;
}

static void free_task(gpointer pointer) {
  task *todo = pointer;
  if (todo->release) todo->release(todo->data);
  g_free(todo);
}

gboolean network_post(cnetwork *network, void (*action)(void *data), void (*release)(void *data), void *data) {
  task *todo = g_new(task, 1);
  *todo = (task){action, release, data};
  GSource *source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  g_mutex_lock(&network->lock);
  const gboolean is_posted = !network->is_gone;
  if (is_posted) {
    g_source_set_callback(source, perform, todo, free_task);
    g_source_attach(source, network->context);
  }
  g_mutex_unlock(&network->lock);
  if (!is_posted) g_free(todo);
  g_source_unref(source);
  return is_posted;
}

bool cnetwork_perform(cnetwork *network, void (*run)(void *owner), void (*release)(void *owner), void *owner) {
  return network_post(network, run, release, owner);
}

GSource *network_timer(cnetwork *network, unsigned milliseconds, GSourceFunc action, gpointer data) {
  GSource *source = g_timeout_source_new(milliseconds);
  g_source_set_callback(source, action, data, NULL);
  g_source_attach(source, network->context);
  return source;
}

void network_end_source(GSource **source) {
  if (*source) g_source_destroy(*source);
  g_clear_pointer(source, g_source_unref);
}

void network_connect_signal(gpointer object, const char *name, GCallback handler, gpointer data,
                            GClosureNotify release) {
  g_signal_connect_data(object, name, handler, g_atomic_rc_box_acquire(data), release, 0);
}

static void make_session(cnetwork *network) {
  // Each exchange has limits of its own. This one is for libsoup's close of a connection, which would wait for ever for a
  // server that does not read.
  network->session = soup_session_new_with_options("timeout", 30, "idle-timeout", 60, "max-conns", 16,
                                                   "max-conns-per-host", 8, NULL);
  soup_session_set_proxy_resolver(network->session, NULL);
  soup_session_remove_feature_by_type(network->session, SOUP_TYPE_AUTH_MANAGER);
  soup_session_remove_feature_by_type(network->session, SOUP_TYPE_CONTENT_DECODER);
}

static gpointer run(gpointer pointer) {
  cnetwork *network = pointer;
  g_main_context_push_thread_default(network->context);
  make_session(network);
  do {
    while (!network->is_stopping || g_hash_table_size(network->running) > 0)
      g_main_context_iteration(network->context, TRUE);
    g_mutex_lock(&network->lock);
    network->is_gone = TRUE;
    g_mutex_unlock(&network->lock);
    // Late tasks find that the network stops.
  } while (g_main_context_iteration(network->context, FALSE) || g_hash_table_size(network->running) > 0);
  soup_session_abort(network->session);
  g_clear_object(&network->session);
  while (g_main_context_iteration(network->context, FALSE)) {}
  g_main_context_pop_thread_default(network->context);
  cnetwork_release(network);
  return NULL;
}

static void stop(void *pointer) {
  cnetwork *network = pointer;
  network->is_stopping = TRUE;
  // Copied: what is cancelled can end at once.
  GPtrArray *running = g_ptr_array_new_with_free_func(g_object_unref);
  GHashTableIter each;
  gpointer cancellable;
  g_hash_table_iter_init(&each, network->running);
  while (g_hash_table_iter_next(&each, &cancellable, NULL)) g_ptr_array_add(running, g_object_ref(cancellable));
  for (guint index = 0; index < running->len; index++) g_cancellable_cancel(g_ptr_array_index(running, index));
  g_ptr_array_unref(running);
}

void cnetwork_stop(cnetwork *network) {
  network_post(network, stop, NULL, network);
  g_thread_join(g_steal_pointer(&network->thread));
}

/// The certificates of a file, or NULL if there are none.
static GTlsDatabase *read_authorities(const char *path) {
  // A database refuses a relative path.
  char *absolute = g_canonicalize_filename(path, NULL);
  GList *certificates = g_tls_certificate_list_new_from_file(absolute, NULL);
  GTlsDatabase *database = certificates ? g_tls_file_database_new(absolute, NULL) : NULL;
  g_list_free_full(certificates, g_object_unref);
  g_free(absolute);
  return database;
}

cnetwork *cnetwork_make(const char *authorities, cnetwork_start *reason) {
  GTlsBackend *backend = g_tls_backend_get_default();
  *reason = CNETWORK_NO_TLS;
  if (!g_tls_backend_supports_tls(backend)) return NULL;
  GTlsDatabase *more = authorities ? read_authorities(authorities) : NULL;
  *reason = CNETWORK_NO_CERTIFICATE;
  if (authorities && !more) return NULL;
  // Read here, before the first connection.
  GTlsDatabase *system = g_tls_backend_get_default_database(backend);
  *reason = CNETWORK_NO_SYSTEM_CERTIFICATES;
  if (!system) {
    g_clear_object(&more);
    return NULL;
  }
  g_object_unref(system);
  cnetwork *network = g_atomic_rc_box_new0(cnetwork);
  network->context = g_main_context_new();
  network->running = g_hash_table_new_full(NULL, NULL, g_object_unref, NULL);
  network->authorities = more;
  g_mutex_init(&network->lock);
  network->thread = g_thread_new("network", run, g_atomic_rc_box_acquire(network));
  *reason = CNETWORK_MADE;
  return network;
}

// --- Trust.

gboolean network_accepts(const cnetwork *network, GTlsCertificate *certificate, GTlsCertificateFlags *faults,
                         GSocketConnectable *identity) {
  if (!network->authorities) return FALSE;
  GTlsCertificateFlags others = g_tls_database_verify_chain(
      network->authorities, certificate, G_TLS_DATABASE_PURPOSE_AUTHENTICATE_SERVER, identity, NULL,
      G_TLS_DATABASE_VERIFY_NONE, NULL, NULL);
  *faults &= others;
  return others == G_TLS_CERTIFICATE_NO_FLAGS;
}

gboolean network_is_modern(GTlsProtocolVersion version) {
  return version == G_TLS_PROTOCOL_VERSION_TLS_1_2 || version == G_TLS_PROTOCOL_VERSION_TLS_1_3;
}

// --- Errors.

int network_handshake_socket(GIOStream *tls) {
  GIOStream *base = NULL;
  g_object_get(tls, "base-io-stream", &base, NULL);
  int copy = -1;
  if (G_IS_SOCKET_CONNECTION(base))
    copy = fcntl(g_socket_get_fd(g_socket_connection_get_socket(G_SOCKET_CONNECTION(base))), F_DUPFD_CLOEXEC, 0);
  g_clear_object(&base);
  return copy;
}

void network_end_handshake(int *socket) {
  if (*socket >= 0) close(*socket);
  *socket = -1;
}

/// GIO has the same error for a server that closes the connection and for one that sends something else than TLS, and for the
/// latter sometimes another.
static cnetwork_end end_of_handshake(int socket) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  // The end of the connection counts as a byte.
  if (!getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) && info.tcpi_bytes_received <= 1) return CNETWORK_CLOSED;
  // TLS reads whole records; the rest of what is none stays unread.
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 ? CNETWORK_NOT_TLS : CNETWORK_NO_HANDSHAKE;
}

static cnetwork_end end_of_tls(int code, int handshake, GTlsCertificateFlags faults) {
  if (code == G_TLS_ERROR_BAD_CERTIFICATE)
    return faults == G_TLS_CERTIFICATE_BAD_IDENTITY ? CNETWORK_OTHER_NAME : CNETWORK_UNTRUSTED;
  if (handshake >= 0) return end_of_handshake(handshake);
  return code == G_TLS_ERROR_EOF ? CNETWORK_CUT_OFF : CNETWORK_TLS_BROKEN;
}

/// GIO keeps only its own number of a system's error, and its texts name the address.
static cnetwork_end end_of_io(int code, int *number) {
  switch (code) {
  case G_IO_ERROR_CANCELLED: return CNETWORK_CANCELLED;
  case G_IO_ERROR_TIMED_OUT: return CNETWORK_TIMED_OUT;
  case G_IO_ERROR_HOST_NOT_FOUND: return CNETWORK_NO_NAME;
  case G_IO_ERROR_PARTIAL_INPUT: return CNETWORK_CLOSED;
  case G_IO_ERROR_INVALID_DATA: return CNETWORK_NOT_HTTP;
  case G_IO_ERROR_CONNECTION_CLOSED: *number = ECONNRESET; return CNETWORK_LOST;
  case G_IO_ERROR_CONNECTION_REFUSED: *number = ECONNREFUSED; return CNETWORK_UNREACHABLE;
  case G_IO_ERROR_HOST_UNREACHABLE: *number = EHOSTUNREACH; return CNETWORK_UNREACHABLE;
  case G_IO_ERROR_NETWORK_UNREACHABLE: *number = ENETUNREACH; return CNETWORK_UNREACHABLE;
  case G_IO_ERROR_PERMISSION_DENIED: *number = EACCES; return CNETWORK_UNREACHABLE;
  case G_IO_ERROR_TOO_MANY_OPEN_FILES: *number = EMFILE; return CNETWORK_UNREACHABLE;
  default: return CNETWORK_UNREACHABLE;
  }
}

cnetwork_end network_end_of(const GError *error, int handshake, GTlsCertificateFlags faults, int *number) {
  *number = 0;
  if (error->domain == G_TLS_ERROR) return end_of_tls(error->code, handshake, faults);
  if (error->domain == G_RESOLVER_ERROR) return CNETWORK_NO_NAME;
  if (error->domain == G_IO_ERROR) return end_of_io(error->code, number);
  return CNETWORK_NOT_HTTP;
}
