import Assuan
import CTAP2
import DisplayText
import Glibc
import Messages
import Synchronization
import Testing

@testable import liquid_authenticator

/// The lines that say where a request came in, and which programs may have sent it.
@Suite struct DoorTests {
  private static let device = Door.device(node: "/dev/hidraw3")
  private static let socket = Door.controlSocket(process: 1234)
  private static let asking = Door.Program(name: "firefox", process: 1234)

  // Holds: WORDS-5
  @Test func `the lines name the door, and the programs as advice`() {
    #expect(Self.device.lines([], in: .english) == ["Asked through: the security-key device"])
    #expect(Self.socket.lines([], in: .english) == ["Asked through: the control socket"])
    #expect(Self.device.lines([Self.asking], in: .english).dropFirst() == [#"Perhaps by: "firefox" (process 1234)"#])
    let others = [Self.asking, Door.Program(name: "chromium", process: 77)]
    #expect(
      Self.device.lines(others, in: .english).dropFirst()
        == [#"Perhaps by: "firefox" (process 1234), "chromium" (process 77)"#])
  }

  // Holds: WORDS-5
  @Test(arguments: ["a\nSite: b", "\u{1B}[2J", "\u{202E}", "\"", "\u{FFFD}", ""])
  func `the name of a program cannot pose as a line of ours`(_ name: String) {
    let lines = Self.socket.lines([Door.Program(name: name, process: 1)], in: .english)
    #expect(lines == ["Asked through: the control socket", "Perhaps by: \(DisplayText.name(name)) (process 1)"])
    #expect(lines.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1B}") && !$0.contains("\u{202E}") })
  }

  // Holds: WORDS-5
  @Test(arguments: PromptTextTests.cases)
  func `every dialog ends with the door, and has no other change`(_ ceremony: PromptTextTests.Case) {
    let without = PromptPages(ceremony.prompt)
    let with = PromptPages(ceremony.prompt, askedThrough: Self.device.lines([Self.asking], in: .english))
    #expect(with.last.headline == without.last.headline && with.last.agree == without.last.agree)
    #expect(with.last.details.contains("Asked through: the security-key device"))
    #expect(with.all.flatMap(\.details).count == without.all.flatMap(\.details).count + 2)
    #expect(with.last.isPresence == without.last.isPresence && with.last.needsReading == without.last.needsReading)
  }

  // Holds: WORDS-5
  @Test func `the longest texts and names fit, and the door is in each part of a wallet's prompt`() throws {
    let name = String(repeating: "\u{10FFFF}", count: 15)
    let lines = Self.device.lines((1...3).map { Door.Program(name: name, process: $0 << 21) }, in: .english)
    let long = String(repeating: "\u{1F600}", count: 3000)
    var register = UserPrompt(
      purpose: .register, rpID: long, accountName: long, accountDisplayName: long + ".",
      algorandAddress: String(repeating: "A", count: 58), origin: long, isFirstUse: true)
    register.extras = [.secret, .largeBlobKey, .payment]
    let message = UserPrompt(purpose: .wallet(.signMessage(String(repeating: "%", count: 1024))), origin: long)
    for prompt in [register, message] {
      let pages = PromptPages(prompt, askedThrough: lines)
      for page in pages.all {
        #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
        #expect(page.details.count <= WalletText.height)
      }
      let parts = pages.all.filter { $0.details.contains("Asked through: the security-key device") }
      #expect(parts.count == (prompt.isOfWallet ? pages.all.count : 1))
      #expect(pages.all.count > 1 && pages.all.last?.headline.contains("(part \(pages.all.count) of ") == true)
    }
  }

  // Holds: WORDS-5
  @Test func `a prompt has the door of its task, and one without a door has no line`() async throws {
    let backEnd = ScriptedBackEnd()
    let prompter = UserPrompter(testing: backEnd, programs: { $0 == Self.socket ? [Self.asking] : [] })
    let prompt = UserPrompt(purpose: .signIn, rpID: "example.com")
    for door in [nil, Self.device, Self.socket] {
      try await Door.$current.withValue(door) { try await Task { try await prompter.confirm(prompt) }.value }
    }
    let site = "Site: example.com"
    #expect(
      backEnd.texts.withLock { $0.map(\.details) } == [
        [site], [site] + Self.device.lines([], in: .english), [site] + Self.socket.lines([Self.asking], in: .english),
      ])
  }

  // Holds: WORDS-5
  @Test func `the helper names a process of this user, and none that does not exist`() throws {
    let helper = try HelperProcess(program: "pinentry")
    let found = helper.programs(at: .controlSocket(process: getpid()))
    #expect(found.map(\.process) == [getpid()])
    #expect(found.first?.name.isEmpty == false)
    for door in [
      Door.controlSocket(process: .max), .controlSocket(process: nil), .device(node: nil), .device(node: "/dev/null"),
      .device(node: "/dev/hidraw"), .device(node: "/dev/hidraw4000000000"), .device(node: "/dev/hidraw-1"),
    ] {
      #expect(helper.programs(at: door) == [], "\(door)")
    }
  }

  // Holds: WORDS-5
  @Test(.enabled(if: geteuid() == 0, "only root can make a file in /dev, as a node that a process has open"))
  func `the helper names the processes that have a node open`() throws {
    let node = "/dev/hidraw4000000001"
    let file = open(node, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { unlink(node) }
    let helper = try HelperProcess(program: "pinentry")
    #expect(helper.programs(at: .device(node: node)).map(\.process) == [getpid()])
    #expect(helper.programs(at: .device(node: "/dev/hidraw400000000")) == [])
    close(file)
    #expect(helper.programs(at: .device(node: node)) == [])
  }
}
