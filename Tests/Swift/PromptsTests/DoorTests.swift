import CTAP2
import DisplayText
import Messages
import Synchronization
import TestSupport
import Testing

@testable import HelperProcess
@testable import Prompts

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
}
