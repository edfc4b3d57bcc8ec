#include "Connection.h"

#include <dlfcn.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

// Detects a peer that is gone without closing: a closed tab, a machine that was switched off. libnice sends a check
// every 4 to 6 seconds (RFC 7675, section 5.1), which a live peer answers, but waits 50 seconds for an answer. This
// code checks the socket instead: as long as packets arrive, the peer is there.

enum { SECONDS_BETWEEN_LOOKS = 3, SILENT_LOOKS = 5 };

/// The socket of the selected pair, or -1: through a TURN server there is none of its own.
static int selected_socket(cwebrtc_connection *connection) {
  int descriptor = -1;
  GObject *ice = NULL, *agent = NULL, *socket = NULL;
  // webrtcbin has loaded libnice; no other code here needs its headers.
  void *libnice = dlopen("libnice.so.10", RTLD_LAZY | RTLD_NOLOAD);
  GObject *(*get)(GObject *, guint, guint) = NULL;
  if (libnice) *(void **)&get = dlsym(libnice, "nice_agent_get_selected_socket");
  g_object_get(connection->bin, "ice-agent", &ice, NULL);
  if (ice) g_object_get(ice, "agent", &agent, NULL);
  // The first stream and component: there is only one data channel.
  if (agent && get) socket = get(agent, 1, 1);
  // The agent owns the socket; the call returns no reference to release.
  if (socket) g_object_get(socket, "fd", &descriptor, NULL);
  g_clear_object(&agent);
  g_clear_object(&ice);
  if (libnice) dlclose(libnice);
  return descriptor;
}

static gboolean look(gpointer pointer) {
  cwebrtc_connection *connection = pointer;
  if (connection->has_ended) return G_SOURCE_CONTINUE;
  struct timeval last = {0};
  int descriptor = selected_socket(connection);
  // The arrival time of the last packet that was read; the kernel records it from the first call on.
  gboolean is_silent = descriptor >= 0 && ioctl(descriptor, SIOCGSTAMP, &last) == 0 &&
                       last.tv_sec == connection->last_packet.tv_sec && last.tv_usec == connection->last_packet.tv_usec;
  connection->last_packet = last;
  connection->silent_looks = is_silent ? connection->silent_looks + 1 : 0;
  if (connection->silent_looks < SILENT_LOOKS) return G_SOURCE_CONTINUE;
  connection->is_channel_closed = TRUE;
  peer_report(connection, "", CWEBRTC_CLOSED);
  return G_SOURCE_CONTINUE;
}

void peer_begin_listening(cwebrtc_connection *connection) {
  connection->listening = g_timeout_source_new_seconds(SECONDS_BETWEEN_LOOKS);
  g_source_set_callback(connection->listening, look, connection, NULL);
  g_source_attach(connection->listening, connection->context);
}

void peer_end_listening(cwebrtc_connection *connection) {
  if (!connection->listening) return;
  g_source_destroy(connection->listening);
  g_clear_pointer(&connection->listening, g_source_unref);
}
