// A process that keeps the rights that its parent gives up: see clinux_fork_helper.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum helper_operation { HELPER_START, HELPER_WAIT, HELPER_CONNECT, HELPER_PROGRAMS };

// Code that an attacker runs in the other process can send any numbers.
struct helper_request {
  uint32_t operation;
  uint32_t program;  // or a socket
  uint32_t node;
  pid_t process;
  int options;
};

struct helper_reply {
  int error;
  pid_t process;
  int code;
  int status;
  struct clinux_program programs[CLINUX_PROGRAMS];
};

// Room for the descriptors that go with a message.
union descriptors {
  char bytes[CMSG_SPACE(2 * sizeof(int))];
  struct cmsghdr alignment;
};

static void put_descriptors(struct msghdr *message, union descriptors *control, const int *descriptors, size_t count) {
  message->msg_control = control;
  message->msg_controllen = CMSG_SPACE(count * sizeof(int));
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
}

// Copies the descriptors of the message; returns whether there are exactly `count`.
static int take_descriptors(struct msghdr *message, int *descriptors, size_t count) {
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(count * sizeof(int))) return 0;
  memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
  return 1;
}

// The arguments are fixed at the start of the helper: the protector can only get keys, and the daemon cannot choose a
// program.
static struct helper_reply serve_start(
    const char *program, const char *option, const char *value, struct msghdr *message) {
  struct helper_reply reply = {.error = EBADF};
  int ends[2];
  if (!take_descriptors(message, ends, 2)) return reply;
  char *arguments[] = {(char *)program, (char *)option, (char *)value, NULL};
  reply.error = clinux_spawn_session(&reply.process, program, arguments, ends[0], ends[1], STDERR_FILENO);
  close(ends[0]);
  close(ends[1]);
  return reply;
}

static struct helper_reply serve_wait(const struct helper_request *request) {
  siginfo_t information = {0};
  if (waitid(P_PID, (id_t)request->process, &information, request->options))
    return (struct helper_reply){.error = errno};
  if (information.si_signo != SIGCHLD) return (struct helper_reply){0};
  return (struct helper_reply){.code = information.si_code, .status = information.si_status};
}

// The most bytes of a name in /proc/PID/comm; the kernel cuts a longer one off.
enum { NAME_IN_PROC = 15 };

// Replaces a name that the kernel may have cut off by the whole name of the program's file, if that begins with it.
static void complete_name(struct clinux_program *program) {
  // The wallet cannot be dumped, so its link cannot be read.
  static const char wallet[] = "liquid-auth-wallet";
  static const char removed[] = " (deleted)";
  char link[32], file[4096];
  snprintf(link, sizeof link, "/proc/%d/exe", program->process);
  const ssize_t count = readlink(link, file, sizeof file - 1);
  file[count < 0 ? 0 : count] = 0;
  const char *slash = strrchr(file, '/');
  const char *name = slash ? slash + 1 : wallet;
  size_t length = strlen(name);
  const size_t end = sizeof removed - 1;
  if (length > end && !strcmp(name + length - end, removed)) length -= end;
  if (length >= sizeof program->name || strncmp(name, program->name, NAME_IN_PROC)) return;
  // Other characters could need more room than a dialog has for the name.
  if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") < length) return;
  memcpy(program->name, name, length);
  program->name[length] = 0;
}

// Reads /proc/PID/comm, without its line end; returns whether there is a name. /proc/PID/cmdline has the whole name too,
// but its reader waits for the memory of the process, which can delay that.
static int read_name(struct clinux_program *program) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/comm", program->process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = read(file, program->name, NAME_IN_PROC + 1);
  close(file);
  if (count < 2) return 0;
  program->name[count - 1] = 0;
  if (count > NAME_IN_PROC) complete_name(program);
  return 1;
}

// How many descriptors of one process are looked at, and for how long programs are looked for, ms: a program with many
// descriptors could otherwise delay each prompt.
enum { DESCRIPTORS_LOOKED_AT = 1024, LOOKING = 100 };

static int64_t now_in_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Whether one of the process's descriptors is the file at `path`; 0 for a process whose descriptors cannot be read.
static int has_open(pid_t process, const char *path) {
  char place[32], target[32];
  snprintf(place, sizeof place, "/proc/%d/fd", process);
  DIR *descriptors = opendir(place);
  if (!descriptors) return 0;
  int found = 0;
  const struct dirent *entry;
  for (int count = 0; !found && count < DESCRIPTORS_LOOKED_AT && (entry = readdir(descriptors)); count += 1) {
    const ssize_t size = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target);
    found = size == (ssize_t)strlen(path) && !memcmp(target, path, strlen(path));
  }
  closedir(descriptors);
  return found;
}

// Returns the numbers and names of processes, and nothing else about them.
static struct helper_reply serve_programs(const struct helper_request *request) {
  struct helper_reply reply = {0};
  if (request->process) {
    reply.programs[0].process = request->process;
    reply.code = read_name(&reply.programs[0]);
    return reply;
  }
  char path[32];
  snprintf(path, sizeof path, "/dev/hidraw%u", request->node);
  DIR *processes = opendir("/proc");
  if (!processes) return reply;
  const int64_t end = now_in_ms() + LOOKING;
  const struct dirent *entry;
  while (now_in_ms() < end && (entry = readdir(processes))) {
    struct clinux_program program = {.process = (pid_t)strtol(entry->d_name, NULL, 10)};
    if (program.process <= 0 || !has_open(program.process, path) || !read_name(&program)) continue;
    if (reply.code < CLINUX_PROGRAMS) reply.programs[reply.code] = program;
    reply.code += 1;
  }
  closedir(processes);
  return reply;
}

static int connect_to(const char *path, int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  // Non-blocking: without room for another connection, connect fails with EAGAIN and does not wait.
  const int connection = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection < 0 || !connect(connection, (struct sockaddr *)&address, sizeof address)) return connection;
  const int error = errno;
  close(connection);
  errno = error;
  return -1;
}

static void serve_requests(int requests, const struct clinux_helper_paths *paths) {
  for (;;) {
    struct helper_request request;
    union descriptors received, sent = {0};
    struct iovec part = {&request, sizeof request};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &received, .msg_controllen = sizeof received};
    if (recvmsg(requests, &message, MSG_CMSG_CLOEXEC) != sizeof request) return;
    struct helper_reply reply = {0};
    struct iovec reply_part = {&reply, sizeof reply};
    struct msghdr answer = {.msg_iov = &reply_part, .msg_iovlen = 1};
    int connection = -1;
    switch (request.operation) {
    case HELPER_START:
      switch (request.program) {
      case CLINUX_PINENTRY: reply = serve_start(paths->pinentry, NULL, NULL, &message); break;
      case CLINUX_ASKPASS: reply = serve_start(paths->prompt, "--askpass", paths->askpass, &message); break;
      case CLINUX_NOTIFICATIONS: reply = serve_start(paths->prompt, NULL, NULL, &message); break;
      case CLINUX_PROTECTOR: reply = serve_start(paths->protector, "--get", NULL, &message); break;
      // Ends the helper, and with it the descriptors of the message.
      default: return;
      }
      break;
    case HELPER_WAIT: reply = serve_wait(&request); break;
    case HELPER_PROGRAMS: reply = serve_programs(&request); break;
    case HELPER_CONNECT:
      switch (request.program) {
      case CLINUX_BROKER: connection = connect_to(paths->broker, SOCK_SEQPACKET); break;
      case CLINUX_ACCOUNT: connection = connect_to(paths->account, SOCK_STREAM); break;
      default: return;
      }
      if (connection < 0) reply.error = errno;
      else put_descriptors(&answer, &sent, &connection, 1);
      break;
    default: return;
    }
    const ssize_t count = sendmsg(requests, &answer, MSG_NOSIGNAL);
    if (connection >= 0) close(connection);
    if (count != sizeof reply) return;
  }
}

pid_t clinux_fork_helper(const struct clinux_helper_paths *paths, int *requests) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return -1;
  const pid_t process = fork();
  if (process == 0) {
    // The terminal and systemd send their signals to all processes; this one ends when its socket is closed.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "auth-helper", 0, 0, 0);
    clinux_forbid_dumps();
    const int descriptor = STDERR_FILENO + 1;
    if (dup2(ends[1], descriptor) < 0) _exit(EXIT_FAILURE);
    closefrom(descriptor + 1);
    serve_requests(descriptor, paths);
    _exit(EXIT_SUCCESS);
  }
  const int error = errno;
  close(ends[1]);
  if (process < 0) close(ends[0]);
  *requests = ends[0];
  errno = error;
  return process;
}

// Sends a request, with two descriptors or none, and receives the reply, with one descriptor or none.
static struct helper_reply ask(int helper, struct helper_request request, const int *ends, int *connection) {
  struct helper_reply reply = {0};
  union descriptors sent = {0}, received;
  struct iovec part = {&request, sizeof request}, reply_part = {&reply, sizeof reply};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  struct msghdr answer = {
      .msg_iov = &reply_part, .msg_iovlen = 1, .msg_control = &received, .msg_controllen = sizeof received};
  if (ends) put_descriptors(&message, &sent, ends, 2);
  ssize_t count;
  do count = sendmsg(helper, &message, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  if (count >= 0)
    do count = recvmsg(helper, &answer, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
  if (count < 0) reply.error = errno;
  if (count == 0) reply.error = EPIPE;
  if (connection && !reply.error && !take_descriptors(&answer, connection, 1)) reply.error = EMFILE;
  return reply;
}

int clinux_helper_start(int helper, enum clinux_helper_program program, int input, int output, pid_t *process) {
  const struct helper_request request = {.operation = HELPER_START, .program = program};
  const struct helper_reply reply = ask(helper, request, (int[]){input, output}, NULL);
  *process = reply.process;
  return reply.error;
}

int clinux_helper_wait(int helper, pid_t process, int options, int *code, int *status) {
  const struct helper_request request = {.operation = HELPER_WAIT, .process = process, .options = options};
  const struct helper_reply reply = ask(helper, request, NULL, NULL);
  *code = reply.code;
  *status = reply.status;
  return reply.error;
}

int clinux_helper_connect(int helper, enum clinux_helper_socket socket, int *connection) {
  const struct helper_request request = {.operation = HELPER_CONNECT, .program = socket};
  return ask(helper, request, NULL, connection).error;
}

int clinux_helper_programs(int helper, pid_t process, uint32_t node, struct clinux_program programs[CLINUX_PROGRAMS]) {
  const struct helper_request request = {.operation = HELPER_PROGRAMS, .process = process, .node = node};
  const struct helper_reply reply = ask(helper, request, NULL, NULL);
  memcpy(programs, reply.programs, sizeof reply.programs);
  return reply.error ? 0 : reply.code;
}
