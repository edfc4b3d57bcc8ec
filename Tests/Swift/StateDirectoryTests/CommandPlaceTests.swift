import Foundation
import StateDirectory
import Testing

@Suite struct CommandPlaceTests {
  static let place = CommandPlace(stateDirectory: "/s", control: nil)

  @Test(
    arguments: [
      (nil, nil, ""), ("/home/me/.local/state_1-a", nil, " --state-dir /home/me/.local/state_1-a"),
      (nil, "/run/c.sock", " --control /run/c.sock"), ("/s", "/c", " --state-dir /s --control /c"),
      ("/my keys", nil, " --state-dir '/my keys'"), ("/it's", nil, " --state-dir '/it'\\''s'"),
      ("/$HOME", nil, " --state-dir '/$HOME'"), ("/é", nil, " --state-dir '/é'"), ("", nil, " --state-dir ''"),
    ] as [(String?, String?, String)])
  func `paths are quoted for a shell`(_ stateDirectory: String?, _ control: String?, _ arguments: String) {
    let place = CommandPlace(stateDirectory: stateDirectory, control: control)
    #expect(place.arguments == arguments)
  }

  @Test func `the words of the options are not quoted`() {
    let place = CommandPlace(stateDirectory: "/my keys", control: "/c")
    #expect(place.options == ["--state-dir", "/my keys", "--control", "/c"])
  }

  @Test func `an authenticator that does not listen at the path is named, with what to do`() {
    let reason = "the authenticator runs as process 42, but does not listen at /c; if it listens elsewhere, "
    #expect(
      CommandPlace(stateDirectory: nil, control: nil).unreachable(42, at: "/c")
        == reason + "set XDG_RUNTIME_DIR to the value that it has for the authenticator, or give --control PATH; "
        + "otherwise restart it")
    for place in [Self.place, CommandPlace(stateDirectory: nil, control: "/c")] {
      #expect(place.unreachable(42, at: "/c") == reason + "give its path with --control PATH; otherwise restart it")
    }
  }

  @Test(
    arguments: [
      (nil, nil, "/home/me/.local/state/liquid-auth"), ("/s", nil, "/s"), ("/s", "/c", "/s"), (nil, "/c", nil),
    ] as [(String?, String?, String?)])
  func `a socket alone names no state directory`(_ stateDirectory: String?, _ control: String?, _ path: String?) {
    let place = CommandPlace(stateDirectory: stateDirectory, control: control)
    #expect(place.statePath { $0 == "HOME" ? "/home/me" : nil } == path)
    #expect(CommandPlace(stateDirectory: nil, control: nil).statePath { _ in nil } == nil)
  }

  @Test func `a process that holds the lock is an authenticator only if it has its name`() throws {
    let temporary = try TemporaryDirectory()
    let place = CommandPlace(stateDirectory: temporary.path, control: nil)
    #expect(place.authenticator { _ in nil } == nil)
    let lock = try StateDirectory(opening: temporary.path).lock()
    #expect(place.authenticator { _ in nil } == nil, "the process of the tests has another name")
    withExtendedLifetime(lock) {}
  }

  @Test func `an authenticator that holds the lock is found`() throws {
    let temporary = try TemporaryDirectory()
    let place = CommandPlace(stateDirectory: temporary.path, control: nil)
    let state = try StateDirectory(opening: temporary.path)
    // A shell whose process has the authenticator's name; it writes its number into the file, as an authenticator does.
    let program = "\(temporary.path)/liquid-authenticator"
    try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: "/bin/sh")
    let holder = Process()
    holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    holder.arguments = [
      "flock", "--no-fork", state.lockPath, program, "-c", "echo $$ >\"$0\"; echo held; read line", state.lockPath,
    ]
    let (input, output) = (Pipe(), Pipe())
    holder.standardInput = input
    holder.standardOutput = output
    try holder.run()
    #expect(output.fileHandleForReading.availableData == Data("held\n".utf8))
    #expect(place.authenticator { _ in nil } == holder.processIdentifier)
    try input.fileHandleForWriting.close()
    holder.waitUntilExit()
    #expect(place.authenticator { _ in nil } == nil)
  }
}
