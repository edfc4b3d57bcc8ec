import ArgumentParser
import Doctor
import Testing

@testable import liquid_auth

/// The user service has the default directory and socket; for another place, the user starts the authenticator.
@Suite struct UserServiceTests {
  private static let usual = ["HOME": "/home/alice", "XDG_RUNTIME_DIR": "/run/user/1000"]

  private func isFor(_ arguments: [String] = [], _ changes: [String: String] = [:]) throws -> Bool {
    let place = try PlaceOptions.parse(arguments)
    return UserService.isFor(place) { name in
      let value = changes[name] ?? Self.usual[name]
      return value == "" ? nil : value
    }
  }

  @Test func `the service is for the default place`() throws {
    #expect(try isFor())
    #expect(try isFor([], ["XDG_STATE_HOME": "/home/alice/.local/state"]))
    // A relative one counts as unset.
    #expect(try isFor([], ["XDG_STATE_HOME": "state"]))
  }

  // Holds: INPUT-24
  @Test func `the service is not for another directory or socket`() throws {
    #expect(try !isFor(["--state-dir", "/home/alice/.local/state/liquid-auth"]))
    #expect(try !isFor(["--control", "/run/user/1000/liquid-auth/control.sock"]))
    #expect(try !isFor([], ["XDG_STATE_HOME": "/data/alice"]))
  }

  @Test func `without a home or a runtime directory there is no user service`() throws {
    #expect(try !isFor([], ["HOME": ""]))
    #expect(try !isFor([], ["XDG_RUNTIME_DIR": ""]))
    #expect(try !isFor([], ["HOME": "", "XDG_STATE_HOME": "/data/alice"]))
  }

  @Test func `the command is the one of the manual`() {
    #expect(
      UserService.command == "systemctl --user enable --now liquid-authenticator.socket liquid-authenticator.service")
  }
}
