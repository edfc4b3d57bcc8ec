#define _GNU_SOURCE
#include "CLinux.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

int clinux_rename_new(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int clinux_rename_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int clinux_unnamed_file(const char *directory) {
  int file = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0 && fchmod(file, 0600) != 0) {
    int error = errno;
    close(file);
    errno = error;
    return -1;
  }
  return file;
}

int clinux_name_file(int file, const char *path) {
  char place[32];
  snprintf(place, sizeof place, "/proc/self/fd/%d", file);
  return linkat(AT_FDCWD, place, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int clinux_memory_file(void) { return memfd_create("file", MFD_CLOEXEC); }

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int input, int output,
                   int error_output) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawn_file_actions_adddup2(actions, input, STDIN_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, error_output, STDERR_FILENO);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
  if (!error)
    error = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return error;
}

int clinux_spawn_session(
    pid_t *process, const char *program, char *const arguments[], int input, int output, int error_output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = prepare(&actions, &attributes, input, output, error_output);
    if (!error) error = posix_spawnp(process, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Runs the program in place of the child of vfork(2), which shares our memory until then; returns only if it cannot.
static void run_bound(pid_t parent, const char *program, char *const arguments[], const int ends[3]) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL)) return;
  if (getppid() != parent) {
    // It has ended before the line above, so no signal will come.
    errno = ESRCH;
    return;
  }
  if (setsid() < 0) return;
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (dup2(ends[descriptor], descriptor) < 0) return;
  closefrom(STDERR_FILENO + 1);
  // All signals are blocked here. The C library refuses the numbers that it uses itself.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execvp(program, arguments);
}

// Not posix_spawn, which has no attribute for the signal.
int clinux_spawn_bound(
    pid_t *process, const char *program, char *const arguments[], int input, int output, int error_output) {
  const int ends[] = {input, output, error_output};
  const pid_t parent = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  volatile int error = 0;
  const pid_t child = vfork();
  if (child == 0) {
    run_bound(parent, program, arguments, ends);
    error = errno;
    _exit(127);
  }
  if (child < 0) error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (child > 0 && error)
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  *process = child;
  return error;
}

int clinux_open_process(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

/* If descriptor 0, 1 or 2 is closed at the start, the next file or socket would get its number, and then the output. So this
   opens /dev/null there in the wrong direction: reading or writing fails with EBADF. It must come before main, because the
   runtime opens descriptors earlier. */
__attribute__((constructor)) static void occupy_standard_descriptors(void) {
  for (int descriptor = 0; descriptor <= 2; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

int clinux_forbid_dumps(void) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none)) return -1;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int clinux_forbid_huge_pages(void) { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

static int make_raw(int terminal) {
  struct termios settings;
  if (tcgetattr(terminal, &settings)) return -1;
  cfmakeraw(&settings);
  return tcsetattr(terminal, TCSANOW, &settings);
}

int clinux_open_pty(int *controller, int *terminal, char *path, size_t size) {
  const int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (ours < 0) return -1;
  int theirs = -1;
  if (!grantpt(ours) && !unlockpt(ours) && !ptsname_r(ours, path, size))
    theirs = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (theirs >= 0 && !fchmod(theirs, 0600) && !make_raw(theirs)) {
    *controller = ours;
    *terminal = theirs;
    return 0;
  }
  const int error = errno;
  if (theirs >= 0) close(theirs);
  close(ours);
  errno = error;
  return -1;
}

// Later than the headers of the oldest system that we build on.
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

enum { MOST_PACKETS = 64 };

static int describe(struct mmsghdr *messages, struct iovec *parts, char *packets, size_t size, int count) {
  if (count > MOST_PACKETS) count = MOST_PACKETS;
  memset(messages, 0, (size_t)count * sizeof *messages);
  for (int index = 0; index < count; ++index) {
    parts[index] = (struct iovec){packets + (size_t)index * size, size};
    messages[index].msg_hdr.msg_iov = &parts[index];
    messages[index].msg_hdr.msg_iovlen = 1;
  }
  return count;
}

int clinux_receive_packets(int socket, void *packets, size_t size, int count, size_t *lengths) {
  struct mmsghdr messages[MOST_PACKETS];
  struct iovec parts[MOST_PACKETS];
  count = describe(messages, parts, packets, size, count);
  int received = recvmmsg(socket, messages, (unsigned)count, MSG_DONTWAIT | MSG_TRUNC, NULL);
  for (int index = 0; index < received; ++index) lengths[index] = messages[index].msg_len;
  return received;
}

void clinux_send_packets(int socket, const void *packets, size_t size, int count) {
  struct mmsghdr messages[MOST_PACKETS];
  struct iovec parts[MOST_PACKETS];
  count = describe(messages, parts, (char *)packets, size, count);
  sendmmsg(socket, messages, (unsigned)count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t clinux_receive_packet(int socket, void *packet, size_t size) {
  struct iovec part = {packet, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT) < 0) return -1;
  if (message.msg_flags & MSG_CTRUNC) {
    errno = EBADMSG;
    return -1;
  }
  return recv(socket, packet, size, MSG_DONTWAIT | MSG_TRUNC);
}

static atomic_int running_threads;

struct job {
  void (*work)(void *);
  void *argument;
};

static void *run_job(void *argument) {
  const struct job job = *(struct job *)argument;
  free(argument);
  job.work(job.argument);
  --running_threads;
  return NULL;
}

int clinux_run_on_thread(void (*work)(void *), void *argument, int milliseconds) {
  struct job *job = malloc(sizeof *job);
  if (!job) return ENOMEM;
  *job = (struct job){work, argument};
  pthread_t thread;
  ++running_threads;
  const int error = pthread_create(&thread, NULL, run_job, job);
  if (error) {
    --running_threads;
    free(job);
    return error;
  }
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const long nanoseconds = end.tv_nsec + milliseconds * 1000000L;
  end = (struct timespec){end.tv_sec + nanoseconds / 1000000000L, nanoseconds % 1000000000L};
  if (milliseconds == 0 || pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end)) pthread_detach(thread);
  return 0;
}

int clinux_running_threads(void) { return running_threads; }

int clinux_refuse_descriptors(int socket) {
  const int none = 0;
  return setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof none);
}

int clinux_peer_user(int socket, uid_t *user) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *user = peer.uid;
  return 0;
}

int clinux_peer_process(int socket, pid_t *process) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *process = peer.pid;
  return 0;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

uint64_t clinux_peer_instance(int socket) {
  int process = -1;
  socklen_t size = sizeof process;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &size) != 0 || process < 0) return 0;
  struct stat status;
  uint64_t instance = fstat(process, &status) == 0 ? status.st_ino : 0;
  close(process);
  return instance;
}

int clinux_has_peer_ended(int socket) {
  int process = -1;
  socklen_t size = sizeof process;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &size) != 0 || process < 0) return errno != ENOPROTOOPT;
  struct pollfd end = {.fd = process, .events = POLLIN};
  const int ended = poll(&end, 1, 0) != 0;
  close(process);
  return ended;
}

int clinux_is_listening(int socket, const char *path) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) return 0;
  size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens) return 0;
  struct sockaddr_un address = {0};
  size = sizeof address - 1; // the last byte stays 0
  return !getsockname(socket, (struct sockaddr *)&address, &size) && address.sun_family == AF_UNIX &&
         !strcmp(address.sun_path, path);
}

int clinux_is_private_group(gid_t gid, uid_t owner) {
  // The C library has one static buffer for an account, one for a group, and one position in the list of accounts.
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&turn);
  const struct passwd *account = getpwuid(owner);
  char *name = account && account->pw_gid == gid ? strdup(account->pw_name) : NULL;
  const struct group *group = name ? getgrgid(gid) : NULL;
  int is_private = group && !strcmp(group->gr_name, name);
  for (char *const *member = is_private ? group->gr_mem : NULL; is_private && *member; ++member)
    is_private = !strcmp(*member, name);
  if (is_private) {
    setpwent();
    while (is_private && (account = getpwent())) is_private = account->pw_gid != gid || account->pw_uid == owner;
    endpwent();
  }
  free(name);
  pthread_mutex_unlock(&turn);
  return is_private;
}

int clinux_has_acl(const char *path) {
  return getxattr(path, "system.posix_acl_access", NULL, 0) > 0 || getxattr(path, "system.posix_acl_default", NULL, 0) > 0;
}

// Later than the headers of the oldest system that we build on.
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

int clinux_landlock_version(void) {
  return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

// The rights of this version; LANDLOCK_ACCESS_FS_REFER is forbidden unless it is handled and allowed.
static uint64_t known_rights(int version) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  return rights;
}

int clinux_landlock_begin(int version) {
  const struct landlock_ruleset_attr rules = {.handled_access_fs = known_rights(version)};
  return (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
}

int clinux_landlock_allow(int ruleset, int version, const char *path, enum clinux_file_access access) {
  const uint64_t files = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                         LANDLOCK_ACCESS_FS_TRUNCATE;
  uint64_t rights = LANDLOCK_ACCESS_FS_READ_DIR;
  if (access >= CLINUX_READ) rights |= LANDLOCK_ACCESS_FS_READ_FILE;
  if (access == CLINUX_RUN) rights |= LANDLOCK_ACCESS_FS_EXECUTE;
  if (access == CLINUX_WRITE)
    rights |= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
              LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER;
  struct landlock_path_beneath_attr rule = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent_fd < 0) return -1;
  struct stat status;
  const int is_directory = !fstat(rule.parent_fd, &status) && S_ISDIR(status.st_mode);
  rule.allowed_access = rights & known_rights(version) & (is_directory ? UINT64_MAX : files);
  int result = 0;
  if (rule.allowed_access) result = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  const int error = errno;
  close(rule.parent_fd);
  errno = error;
  return result;
}

int clinux_landlock_enter(int ruleset) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

int clinux_is_clock_synchronized(void) {
  struct timex clock = {0};
  const int state = adjtimex(&clock);
  return state >= 0 && state != TIME_ERROR;
}

// The kernel's include/net/bluetooth/bluetooth.h and l2cap.h, which are not among its headers for programs.
enum { BT_PROTOCOL_L2CAP = 0, BT_SEND_SIZE = 12, BT_RECEIVE_SIZE = 13, BT_ADDRESS_LE_PUBLIC = 1 };
struct l2cap_address {
  sa_family_t family;
  uint16_t psm; // little-endian
  uint8_t address[6];
  uint16_t channel;
  uint8_t type;
};

int clinux_l2cap_listen(uint16_t size, uint16_t *psm) {
  const int listener = socket(AF_BLUETOOTH, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, BT_PROTOCOL_L2CAP);
  if (listener < 0) return -1;
  // An LE address makes it an LE credit-based channel. The lowest level of security, the default, needs no pairing.
  struct l2cap_address address = {.family = AF_BLUETOOTH, .type = BT_ADDRESS_LE_PUBLIC};
  socklen_t length = sizeof address;
  if (!bind(listener, (struct sockaddr *)&address, length) &&
      !setsockopt(listener, SOL_BLUETOOTH, BT_RECEIVE_SIZE, &size, sizeof size) && !listen(listener, 1) &&
      !getsockname(listener, (struct sockaddr *)&address, &length)) {
    *psm = le16toh(address.psm);
    return listener;
  }
  const int error = errno;
  close(listener);
  errno = error;
  return -1;
}

int clinux_l2cap_packet_size(int connection) {
  uint16_t size = 0;
  socklen_t length = sizeof size;
  return getsockopt(connection, SOL_BLUETOOTH, BT_SEND_SIZE, &size, &length) ? -1 : size;
}
