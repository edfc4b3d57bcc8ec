#pragma once
// What the C library declares only with _GNU_SOURCE, or in headers that Swift's Glibc module leaves out.
#include <malloc.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// rename(2) that never replaces: 0, or -1 with errno EEXIST if `to` exists.
int clinux_rename_new(const char *from, const char *to);

/// pipe(2) with close-on-exec ends: 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// Starts `program` (looked up in PATH) as the leader of a session of its own, with `input`, `output` and
/// `error_output` as its standard input, output and error, no other descriptor, no blocked and no ignored signal, and
/// our environment. Returns 0 and the process id, or an error number.
int clinux_spawn_session(
    pid_t *process, const char *program, char *const arguments[], int input, int output, int error_output);

/// Opens a close-on-exec descriptor that is readable once the process has ended (pidfd_open(2)); -1 with errno.
int clinux_open_process(pid_t process);

/// Makes core dumps and the memory of this process unreadable for other processes of its user: 0, or -1 with errno.
int clinux_forbid_dumps(void);

/// Opens a pseudo terminal in raw mode, both ends close-on-exec, the controlling end non-blocking, the other end mode
/// 0600 and its path in `path`. Returns 0, or -1 with errno and nothing open.
int clinux_open_pty(int *controller, int *terminal, char *path, size_t size);

/// Receives at most `count` waiting packets (up to 64) into `packets`, `size` bytes apart, and their lengths into
/// `lengths`. A longer packet is cut to `size`, but its length is that of the whole. Never waits. Returns the number of
/// packets, or -1 with errno.
int clinux_receive_packets(int socket, void *packets, size_t size, int count, size_t *lengths);

/// Sends `count` packets (up to 64) of `size` bytes that are contiguous in memory. Never waits: packets for which the
/// socket has no room are lost.
void clinux_send_packets(int socket, const void *packets, size_t size, int count);

/// The user at the other end of a Unix socket, who called connect(2) or listen(2), SO_PEERCRED: 0, or -1 with errno.
int clinux_peer_user(int socket, uid_t *user);

/// 1 if the descriptor is a listening SOCK_SEQPACKET socket bound to this path; 0 if not.
int clinux_is_listening(int socket, const char *path);

/// 1 if the group is private to its owner: the owner's primary group, with the owner's name, that no other account has
/// or is in; 0 if not, or unknown. May query a directory service.
int clinux_is_private_group(gid_t group, uid_t owner);

/// 1 if a file or directory has a POSIX ACL (acl(5)), whose mask replaces the group's permissions; 0 if not.
int clinux_has_acl(const char *path);
