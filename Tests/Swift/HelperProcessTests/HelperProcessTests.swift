import Glibc
import ProcessIO
import TestSupport
import Testing

@testable import HelperProcess

/// The helper process, forked by the tests: which programs it finds.
@Suite struct HelperProcessTests {
  // Holds: WORDS-5
  @Test func `the helper names a process of this user, and none that does not exist`() throws {
    let helper = try HelperProcess(program: "pinentry")
    let found = helper.programs(at: .controlSocket(process: getpid()))
    #expect(found.named.map(\.process) == [getpid()] && found.others == 0)
    #expect(found.named.first?.name.isEmpty == false)
    for door in [
      Door.controlSocket(process: .max), .controlSocket(process: nil), .device(node: nil), .device(node: "/dev/null"),
      .device(node: "/dev/hidraw"), .device(node: "/dev/hidraw4000000000"), .device(node: "/dev/hidraw-1"),
    ] {
      #expect(helper.programs(at: door) == Door.Programs(), "\(door)")
    }
  }

  // Holds: WORDS-5
  @Test(arguments: ["a-program-with-a-long-name", "a-program-with-%-in-its-name"])
  func `the helper completes a name that the kernel cut off, also after the file was removed`(_ name: String) throws {
    let folder = try TemporaryDirectory()
    let path = "\(folder.path)/\(name)"
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(nothing) }
    let start = { (words: [String]) in
      try Child.start(words, input: nothing, output: nothing, errorOutput: nothing)
    }
    Child.reap(try start(["cp", "/bin/sleep", path]))
    let process = try start([path, "60"])
    defer {
      kill(process, SIGKILL)
      Child.reap(process)
    }
    let helper = try HelperProcess(program: "pinentry")
    let names = { helper.programs(at: .controlSocket(process: process)).named.map(\.name) }
    let expected = name.contains("%") ? String(name.prefix(15)) : name
    #expect(names() == [expected])
    unlink(path)
    #expect(names() == [expected])
  }

  // Holds: WORDS-5
  @Test(.enabled(if: geteuid() == 0, "only root can make a file in /dev, as a node that a process has open"))
  func `the helper names the processes that have a node open`() throws {
    let node = "/dev/hidraw4000000001"
    let file = open(node, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { unlink(node) }
    let helper = try HelperProcess(program: "pinentry")
    #expect(helper.programs(at: .device(node: node)).named.map(\.process) == [getpid()])
    #expect(helper.programs(at: .device(node: "/dev/hidraw400000000")) == Door.Programs())
    let others = try (0..<4).map { _ in
      try Child.start(["sleep", "60"], input: file, output: file, errorOutput: file)
    }
    let found = helper.programs(at: .device(node: node))
    for other in others {
      kill(other, SIGKILL)
      Child.reap(other)
    }
    #expect(found.named.count == 3 && found.others == 2)
    #expect(Set(found.named.map(\.process)).isSubset(of: [getpid()] + others))
    close(file)
  }
}
