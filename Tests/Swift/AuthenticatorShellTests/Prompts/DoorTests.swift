import Assuan
import CTAP2
import DisplayText
import Glibc
import Messages
import ProcessIO
import Synchronization
import TestSupport
import Testing

@testable import liquid_authenticator

/// The lines that say where a request came in, and which programs may have sent it.
@Suite struct DoorTests {
  private static let device = Door.device(node: "/dev/hidraw3")
  private static let socket = Door.controlSocket(process: 1234)
  private static let firefox = Door.Program(name: "firefox", process: 1234)
  private static let throughSocket = "Requested by: a program on this machine, not through the security key"
  private static let asking = Door.Programs(named: [firefox])

  // Holds: WORDS-5
  @Test func `the lines name the door, and the programs as advice`() {
    #expect(Self.device.lines(Door.Programs(), in: .english) == [])
    #expect(Self.socket.lines(Door.Programs(), in: .english) == [Self.throughSocket])
    let sent = #"Perhaps sent by: "firefox" (process 1234)"#
    #expect(Self.device.lines(Self.asking, in: .english) == [sent])
    #expect(Self.socket.lines(Self.asking, in: .english) == [Self.throughSocket, sent])
    var elsewhere = Self.socket
    elsewhere.isOfAnotherComputer()
    #expect(elsewhere == .anotherComputer(process: 1234))
    #expect(
      elsewhere.lines(Self.asking, in: .english) == [
        "Requested by: a browser on another computer, whose QR code you gave",
        "Refuse if you do not see the screen of that computer.", sent,
      ])
    let two = Door.Programs(named: [Self.firefox, Door.Program(name: "chromium", process: 77)])
    #expect(
      Self.device.lines(two, in: .english)
        == [#"Perhaps sent by: "firefox" (process 1234), "chromium" (process 77)"#])
  }

  // Holds: WORDS-5
  @Test(arguments: [(1, " and 1 other", " und 1 weiteres"), (2, " and 2 others", " und 2 weitere")])
  func `programs after the third are counted`(others: Int, english: String, german: String) throws {
    let programs = Door.Programs(named: [Door.Program(name: "a", process: 1)], others: others)
    #expect(Self.device.lines(programs, in: .english).last == #"Perhaps sent by: "a" (process 1)"# + english)
    let inGerman = try Self.device.lines(programs, in: .german())
    #expect(inGerman.last == #"Vielleicht gesendet von: "a" (Prozess 1)"# + german)
  }

  // Holds: WORDS-5
  @Test(arguments: ["a\nSite: b", "\u{1B}[2J", "\u{202E}", "\"", "\u{FFFD}", ""])
  func `the name of a program cannot pose as a line of ours`(_ name: String) {
    let lines = Self.socket.lines(Door.Programs(named: [Door.Program(name: name, process: 1)]), in: .english)
    #expect(lines == [Self.throughSocket, "Perhaps sent by: \(DisplayText.name(name)) (process 1)"])
    #expect(lines.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1B}") && !$0.contains("\u{202E}") })
  }

  // Holds: WORDS-5
  @Test(arguments: PromptTextTests.cases)
  func `every dialog ends with a door that is not the device, and has no other change`(_ ceremony: PromptTextTests.Case)
  {
    let without = PromptPages(ceremony.prompt)
    let with = PromptPages(ceremony.prompt, askedThrough: Self.socket.lines(Self.asking, in: .english))
    #expect(with.last.headline == without.last.headline && with.last.agree == without.last.agree)
    #expect(with.last.details.contains(Self.throughSocket))
    #expect(with.all.flatMap(\.details).count == without.all.flatMap(\.details).count + 2)
    #expect(with.last.isPresence == without.last.isPresence && with.last.needsReading == without.last.needsReading)
  }

  // Holds: WORDS-5
  @Test func `a prompt has the door of its request, and one without a door has no line`() async throws {
    let backEnd = ScriptedBackEnd()
    let prompter = UserPrompter(testing: backEnd, programs: { $0 == Self.socket ? Self.asking : Door.Programs() })
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com")
    for door in [nil, Self.device, Self.socket] {
      _ = try await prompter.confirm(prompt, verification: false, from: door.map { RequestOrigin(door: $0) })
    }
    let site = "Site: example.com"
    #expect(
      backEnd.texts.withLock { $0.map(\.details) } == [
        [site], [site],
        [site] + Self.socket.lines(Self.asking, in: .english),
      ])
  }

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
