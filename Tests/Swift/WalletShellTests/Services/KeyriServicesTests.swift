import Keyri
import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct KeyriServicesTests {
  private static func services(_ text: String) throws -> KeyriServices {
    try WalletConfiguration(text, path: "wallet.conf", home: nil).keyri
  }

  @Test func `a service has a name, links, a server and an app key`() throws {
    let services = try Self.services(
      """
      keyri acme = https://app.example/  KEY
      keyri https://links.example:8443 = http://localhost:3000
      keyri-api = https://api.example
      """)
    #expect(services.api?.serialized == "https://api.example")
    #expect(services.all.map(\.name) == ["acme", "https://links.example:8443"])
    #expect(services.all.map(\.linkOrigin.serialized) == ["https://acme.onekey.to", "https://links.example:8443"])
    #expect(services.all.map(\.server.serialized) == ["https://app.example", "http://localhost:3000"])
    #expect(services.all.map(\.appKey) == ["KEY", nil])
    #expect(services.linkOrigins == Set(services.all.map(\.linkOrigin)))
  }

  // Holds: INPUT-1
  @Test(arguments: [
    ("keyri acme = ", "a setting has no value"),
    ("keyri acme = https://a.example KEY more", "keyri takes an address, and an app key for QR codes"),
    ("keyri acme = https://a.example\nkeyri acme = https://b.example", "duplicate setting: keyri acme"),
    ("keyri acme = https://a.example\nkeyri ACME = https://b.example", "duplicate setting: keyri ACME"),
    ("keyri-api = https://a.example\nkeyri-api = https://a.example", "duplicate setting: keyri-api"),
  ])
  func `an error names the line and the fault`(_ text: String, _ fault: String) throws {
    let error = #expect(throws: WalletFailure.self) { try Self.services(text) }
    #expect(error?.description == "wallet.conf, line \(text.split(separator: "\n").count): \(fault)")
  }

  @Test(arguments: [
    "keyri = https://a.example", "keyri acme = http://a.example", "keyri acme = a.example",
    "keyri acme = https://a.example/path", "keyri acme = https://me@a.example", "keyri a/b = https://a.example",
    "keyri http://a.example = https://a.example", "keyri-api = http://a.example", "keyri-api = https://a.example KEY",
  ])
  func `an invalid or insecure address is refused`(_ text: String) {
    #expect(throws: WalletFailure.self) { try Self.services(text) }
  }

  // Holds: KEYRI-11
  @Test func `a service is found by its name, or as the only one`() throws {
    let one = try Self.services("keyri acme = https://a.example")
    #expect(try one.service(named: nil).name == "acme")
    #expect(try one.service(named: "acme").name == "acme")
    let two = try Self.services("keyri acme = https://a.example\nkeyri other = https://b.example")
    #expect(try two.service(named: "other").server.serialized == "https://b.example")
    #expect(throws: WalletFailure("name one of the configured services with --service: acme, other")) {
      try two.service(named: nil)
    }
    #expect(throws: WalletFailure("wallet.conf names no Keyri service else; it names: acme")) {
      try one.service(named: "else")
    }
    #expect(
      throws: WalletFailure(
        "w.conf names no Keyri service; add the line: keyri NAME = https://app.example.org APP-KEY")
    ) { try KeyriServices(file: "w.conf").service(named: nil) }
  }

  // Holds: KEYRI-11
  @Test func `a link selects the API and the app key of its service`() throws {
    let services = try Self.services(
      "keyri acme = https://a.example KEY\nkeyri other = https://b.example\nkeyri-api = https://api.example")
    func session(_ name: String) throws -> (api: WebOrigin, appKey: String) {
      let link = try KeyriLink("https://\(name).onekey.to?sessionId=a", otherOrigins: [])
      return try services.session(of: link)
    }
    #expect(try session("acme").api.serialized == "https://api.example")
    #expect(try session("acme").appKey == "KEY")
    #expect(
      throws: WalletFailure(
        "wallet.conf has no app key for keyri other, which QR codes need; ask the service for it")
    ) { try session("other") }
    #expect(
      throws: WalletFailure(
        "wallet.conf names no service with links of else.onekey.to; if you trust it, write: keyri else = "
          + "https://app.example.org APP-KEY")
    ) { try session("else") }
    #expect(
      throws: WalletFailure(
        "w.conf names no service with links of acme.onekey.to; if you trust it, write: keyri acme = "
          + "https://app.example.org APP-KEY, and: keyri-api = https://prod.api.keyri.com")
    ) {
      try KeyriServices(file: "w.conf").session(
        of: KeyriLink("https://acme.onekey.to?sessionId=a", otherOrigins: []))
    }
    let withoutAPI = try Self.services("keyri acme = https://a.example KEY")
    #expect(
      throws: WalletFailure(
        "wallet.conf has no keyri-api, which QR codes need; Keyri's own is https://prod.api.keyri.com")
    ) {
      try withoutAPI.session(of: KeyriLink("https://acme.onekey.to?sessionId=a", otherOrigins: []))
    }
  }
}
