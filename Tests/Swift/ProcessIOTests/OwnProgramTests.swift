import Glibc
import ProcessIO
import Testing

struct OwnProgramTests {
  @Test func `another program of the project is found in the same directory`() throws {
    let own = try #require(realpath("/proc/self/exe", nil))
    defer { free(own) }
    let path = String(cString: own)
    let name = try #require(path.split(separator: "/").last)
    #expect(OwnProgram.path(of: String(name)) == path)
    #expect(OwnProgram.path(of: "other") == path.dropLast(name.count) + "other")
  }

  @Test func `if exec fails, the signals are restored`() {
    var (blocked, before, after) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGUSR1)
    pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let handler = signal(SIGPIPE, SIG_IGN)
    #expect(OwnProgram.takeOver("/nowhere/program", ["program"]) == SystemNumber(ENOENT))
    let ignored = signal(SIGPIPE, handler)
    pthread_sigmask(SIG_BLOCK, nil, &after)
    #expect(sigismember(&after, SIGUSR1) == 1)
    #expect(unsafeBitCast(ignored, to: Int.self) == 1, "SIG_IGN")
  }
}
