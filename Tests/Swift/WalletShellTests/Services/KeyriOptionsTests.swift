import ArgumentParser
import LiquidAuth
import Testing

@testable import Keyri
@testable import liquid_auth_wallet

struct KeyriOptionsTests {
  @Test(arguments: [
    ["qr"], ["qr", "x", "--image", "y"], ["qr", "x", "--deny", "--confirm", "https://a.example"], ["qr", "x", "y"],
    ["register"], ["login"], ["register", "a@b", "c@d"], ["login", "a@b", "--deny"],
    ["register", "a"], ["qr", "x", "--as", "a"], ["qr", "x", "--confirm", "a.example"],
  ])
  func `contradictory or missing options are refused`(_ arguments: [String]) {
    #expect(throws: (any Error).self) { try LiquidAuthWalletCommand.parseAsRoot(["keyri"] + arguments) }
  }

  @Test(arguments: [
    ["qr", "x"], ["qr", "-", "--as", "a@b", "--confirm", "https://a.example"],
    ["qr", "--image", "y", "--deny", "--json"],
    ["register", "a@b", "--service", "acme"], ["login", "a@b", "--config", "f"],
  ])
  func `valid options are read, and the command does not hold the window`(_ arguments: [String]) throws {
    let command = try LiquidAuthWalletCommand.parseAsRoot(["keyri"] + arguments)
    #expect((command as? any WalletOperation)?.hold == false)
  }

  @Test func `a Keyri event has its JSON members and its text`() throws {
    let (origin, email) = (try WebOrigin("https://a.example"), try KeyriEmail("a@b"))
    let registering = WalletEvent.keyri(.registering(email, origin))
    #expect(
      registering.json(milliseconds: 7)
        == #"{"event": "registering", "ms": 7, "email": "a@b", "origin": "https://a.example"}"#)
    #expect(
      registering.text == "sending the key of a@b to https://a.example; this needs no signature")
    let confirmed = WalletEvent.keyri(.confirmed(origin, email))
    #expect(
      confirmed.json(milliseconds: 7)
        == #"{"event": "confirmed", "ms": 7, "origin": "https://a.example", "email": "a@b"}"#)
    #expect(confirmed.text == "confirmed: the page of https://a.example can now sign in as a@b")
    let denied = WalletEvent.keyri(.denied(origin))
    #expect(denied.json(milliseconds: 7) == #"{"event": "denied", "ms": 7, "origin": "https://a.example"}"#)
    #expect(denied.text == "denied: nothing was sent to the page of https://a.example")
  }

  @Test(arguments: [
    (LiquidAuthError.keyriAuthenticator(.declined), WalletFailure.Code.refused),
    (.keyriAuthenticator(.timedOut), .refused),
    (.keyriTooLate, .refused), (.keyriAuthenticator(.unreachable("x")), .failed), (.keyriUnauthorized, .failed),
    (.keyriAuthenticator(.refused("x")), .failed), (.anotherOrigin, .failed),
  ])
  func `a failure has its exit code`(_ error: LiquidAuthError, _ code: WalletFailure.Code) {
    let failure = WalletFailure(error)
    #expect(failure.description == error.description && failure.code == code)
  }
}
