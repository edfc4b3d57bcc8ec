#pragma once
// What the C library declares only with _GNU_SOURCE, or in headers that Swift's Glibc module leaves out.
#include <linux/sched.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// Requests of ioctl(2) for pseudo terminals, which Swift does not import.
static const unsigned clinux_pty_requests[] = {TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER};
/// Requests of ioctl(2) about a socket's last packet and the network interfaces.
static const unsigned clinux_network_requests[] = {SIOCGSTAMP, SIOCGIFNAME, SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFINDEX};

/// rename(2) that never replaces: 0, or -1 with errno EEXIST if `to` exists.
int clinux_rename_new(const char *from, const char *to);

/// Exchanges the names of two files in one step: 0, or -1 with errno, EINVAL if the file system cannot do it.
int clinux_rename_exchange(const char *one, const char *other);

/// Makes a file without a name, to write to, in a directory (O_TMPFILE), close-on-exec, mode 0600; -1 with errno EOPNOTSUPP,
/// EISDIR or EINVAL where the file system or the kernel cannot.
int clinux_unnamed_file(const char *directory);

/// Gives a file of clinux_unnamed_file a name: 0, or -1 with errno EEXIST if `path` exists. Needs /proc.
int clinux_name_file(int file, const char *path);

/// An unnamed file in memory, with close-on-exec (memfd_create(2)); -1 with errno.
int clinux_memory_file(void);

/// pipe(2) with close-on-exec ends: 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// Starts `program` (looked up in PATH) as the leader of a session of its own, with `input`, `output` and
/// `error_output` as its standard input, output and error, no other descriptor, no blocked and no ignored signal, and
/// our environment. Returns 0 and the process id, or an error number.
int clinux_spawn_session(
    pid_t *process, const char *program, char *const arguments[], int input, int output, int error_output);

/// Starts `program` like clinux_spawn_session. The kernel kills it when the calling thread or its process ends, in any way,
/// but does not kill what the program has started. Returns 0 and the process id, or an error number.
int clinux_spawn_bound(
    pid_t *process, const char *program, char *const arguments[], int input, int output, int error_output);

/// The programs that a helper can start.
enum clinux_helper_program { CLINUX_PINENTRY, CLINUX_ASKPASS, CLINUX_NOTIFICATIONS, CLINUX_PROTECTOR };

/// The sockets that a helper can connect to.
enum clinux_helper_socket { CLINUX_BROKER, CLINUX_ACCOUNT };

/// The programs that a helper can start, each looked up in PATH, and the paths of the broker's SOCK_SEQPACKET socket and
/// of the SOCK_STREAM socket of liquid-auth-pam. `askpass` is the value of the option --askpass of `prompt`.
struct clinux_helper_paths {
  const char *pinentry, *askpass, *prompt, *protector, *broker, *account;
};

/// Forks a process that keeps the rights that this one gives up later. On request, the helper starts one of the programs,
/// or connects to one of the sockets. The helper ends when `requests`, a close-on-exec socket, is closed. Returns the
/// process id, or -1 with errno.
pid_t clinux_fork_helper(const struct clinux_helper_paths *paths, int *requests);

/// Makes the helper start a program, as clinux_spawn_session does; the protector gets the argument --get. Returns 0 and
/// the process id, or an error number.
int clinux_helper_start(int helper, enum clinux_helper_program program, int input, int output, pid_t *process);

/// waitid(2) for a process of the helper. Returns 0, with si_code (0 if it runs) and si_status, or an error number.
int clinux_helper_wait(int helper, pid_t process, int options, int *code, int *status);

/// Asks the helper for a connection to a socket. Returns 0 and the connection, close-on-exec, or an error number.
int clinux_helper_connect(int helper, enum clinux_helper_socket socket, int *connection);

/// The most programs in one answer of the helper.
enum { CLINUX_PROGRAMS = 3 };

/// A process and its name in /proc, which the process can choose: any bytes but zero, and a zero byte. A name of 15 bytes,
/// where the kernel cuts it off, is completed by that of the program's file if this has only letters, digits and -_.+
struct clinux_program {
  pid_t process;
  char name[32];
};

/// Asks the helper for the name of a process of this user, or, if `process` is 0, for the processes of this user that
/// have /dev/hidraw`node` open. Returns how many there are, of which `programs` has the first CLINUX_PROGRAMS; 0 if there
/// are none, or if /proc cannot be read.
int clinux_helper_programs(int helper, pid_t process, uint32_t node, struct clinux_program programs[CLINUX_PROGRAMS]);

/// Opens a close-on-exec descriptor that is readable once the process has ended (pidfd_open(2)); -1 with errno.
int clinux_open_process(pid_t process);

/// Makes core dumps and the memory of this process unreadable for other processes of its user: 0, or -1 with errno.
int clinux_forbid_dumps(void);

/// Turns off huge pages for this process: otherwise a huge page can replace the few pages of a thread's stack.
/// Returns 0, or -1 with errno.
int clinux_forbid_huge_pages(void);

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

/// Receives a waiting packet of a peer that may pass descriptors (SCM_RIGHTS). A longer packet is cut to `size`. Never
/// waits, and never closes what the peer passes: that can wait for as long as the peer chooses. Returns the length of the
/// whole packet, 0 at the end of the connection, or -1 with errno: EBADMSG for a packet with descriptors, which stays in
/// the queue.
ssize_t clinux_receive_packet(int socket, void *packet, size_t size);

/// Runs `work` on a thread of its own, and waits for its end, but at most for some time. Returns 0, or an error number if
/// there can be no other thread; then it does not run.
int clinux_run_on_thread(void (*work)(void *), void *argument, int milliseconds);

/// How many threads of clinux_run_on_thread have not ended.
int clinux_running_threads(void);

/// Makes the kernel refuse descriptors that a peer passes (SCM_RIGHTS), on this Unix socket and on those that it
/// accepts: 0, or -1 with errno ENOPROTOOPT before Linux 6.16.
int clinux_refuse_descriptors(int socket);

/// The user at the other end of a Unix socket, who called connect(2) or listen(2), SO_PEERCRED: 0, or -1 with errno.
int clinux_peer_user(int socket, uid_t *user);

/// The process at the other end of a connected AF_UNIX socket, as it was when it connected (SO_PEERCRED). Returns 0, or
/// -1 with errno.
int clinux_peer_process(int socket, pid_t *process);

/// The inode of the pidfd of the process that connected a socket of AF_UNIX (SO_PEERPIDFD); 0 if the system does not
/// say.
///
/// From Linux 6.9 on, no other process has it until the next boot. Before, all processes have the same one.
uint64_t clinux_peer_instance(int socket);

/// 1 if the process that connected a socket of AF_UNIX has ended, so that another one can have its number; 0 if it runs, or
/// before Linux 6.5, which does not say.
int clinux_has_peer_ended(int socket);

/// 1 if the descriptor is a listening SOCK_SEQPACKET socket bound to this path; 0 if not.
int clinux_is_listening(int socket, const char *path);

/// 1 if the group is private to its owner: the owner's primary group, with the owner's name, that no other account has
/// or is in; 0 if not, or unknown. May query a directory service.
int clinux_is_private_group(gid_t group, uid_t owner);

/// 1 if a file or directory has a POSIX ACL (acl(5)), whose mask replaces the group's permissions; 0 if not.
int clinux_has_acl(const char *path);

/// The version of Landlock's interface, at least 1; -1 with errno (ENOSYS, EOPNOTSUPP) without Landlock.
int clinux_landlock_version(void);

/// What clinux_landlock_allow allows.
enum clinux_file_access { CLINUX_LIST, CLINUX_READ, CLINUX_RUN, CLINUX_WRITE };

/// A ruleset that forbids all access to files that this version knows (landlock(7)); -1 with errno.
int clinux_landlock_begin(int version);

/// Allows access to a file, or to all below a directory: 0, or -1 with errno.
int clinux_landlock_allow(int ruleset, int version, const char *path, enum clinux_file_access access);

/// Enforces the rules for this thread, and forbids it new privileges: 0, or -1 with errno.
int clinux_landlock_enter(int ruleset);

/// 1 if the kernel's clock is synchronized, adjtimex(2); 0 if not, or unknown. Changes nothing.
int clinux_is_clock_synchronized(void);

/// A close-on-exec, non-blocking SOCK_SEQPACKET socket that listens for LE credit-based connections of L2CAP on all adapters,
/// without pairing, and takes packets (SDUs) of at most `size` bytes. The kernel chooses `psm` from 0x80 to 0xFF. -1 with errno.
int clinux_l2cap_listen(uint16_t size, uint16_t *psm);

/// The most bytes of a packet that the other side of an L2CAP connection takes; -1 with errno.
int clinux_l2cap_packet_size(int connection);
