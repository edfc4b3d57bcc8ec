import Keyri
import LiquidAuth

/// The services with Keyri in the configuration.
struct KeyriServices: Equatable {
  /// The configuration file's name in errors.
  let file: String
  /// `keyri-api`: Keyri's session API, which QR logins need.
  private(set) var api: WebOrigin?
  /// `keyri NAME`, in file order.
  private(set) var all: [KeyriService] = []

  private static let apiOfKeyri = "https://prod.api.keyri.com"

  /// Makes an empty list for a file.
  init(file: String) { self.file = file }

  /// Sets `keyri-api`: `https://host[:port]`.
  mutating func setAPI(_ text: String) throws(WalletFailure) {
    guard api == nil else { throw WalletFailure("duplicate setting: keyri-api") }
    do { api = try WebOrigin(text.hasSuffix("/") ? text.dropLast() : text[...]) } catch {
      throw WalletFailure("this is not the address of a server: \(error.inConfiguration)")
    }
  }

  /// Adds a service; its link origin must be unique.
  mutating func add(_ service: KeyriService) throws(WalletFailure) {
    guard !all.contains(where: { $0.linkOrigin == service.linkOrigin }) else {
      throw WalletFailure("duplicate setting: keyri \(service.name)")
    }
    all.append(service)
  }

  /// The allowed origins of links.
  var linkOrigins: Set<WebOrigin> { Set(all.map(\.linkOrigin)) }

  /// The service of that name; without a name, the only service.
  func service(named name: String?) throws(WalletFailure) -> KeyriService {
    if let service = name == nil ? all.first : all.first(where: { $0.name == name }), name != nil || all.count == 1 {
      return service
    }
    guard !all.isEmpty else {
      throw WalletFailure(
        "\(file) names no Keyri service; add the line: keyri NAME = https://app.example.org APP-KEY")
    }
    let names = all.map(\.name).joined(separator: ", ")
    if let name { throw WalletFailure("\(file) names no Keyri service \(name); it names: \(names)") }
    throw WalletFailure("name one of the configured services with --service: \(names)")
  }

  /// The service for a link, as the session API and its key there.
  func session(of link: KeyriLink) throws(WalletFailure) -> (api: WebOrigin, appKey: String) {
    guard let service = all.first(where: { $0.linkOrigin == link.origin }) else {
      // Links outside onekey.to were refused before, so this is a company's.
      let name = link.origin.host.prefix { $0 != "." }
      throw WalletFailure(
        "\(file) names no service with links of \(link.origin.authority); if you trust it, write: keyri \(name) = "
          + "https://app.example.org APP-KEY" + (api == nil ? ", and: keyri-api = \(Self.apiOfKeyri)" : ""))
    }
    guard let api else {
      throw WalletFailure("\(file) has no keyri-api, which QR codes need; Keyri's own is \(Self.apiOfKeyri)")
    }
    guard let appKey = service.appKey else {
      throw WalletFailure(
        "\(file) has no app key for keyri \(service.name), which QR codes need; ask the service for it")
    }
    return (api, appKey)
  }
}

/// A service: its own server, and its key for Keyri's session API.
struct KeyriService: Equatable {
  /// The company's name below `onekey.to`, or the origin of its links.
  let name: String
  /// The origin of its links.
  let linkOrigin: WebOrigin
  /// Its companion server.
  let server: WebOrigin
  /// Its key for the session API.
  let appKey: String?

  /// Reads `NAME`, and `https://host[:port] [APP-KEY]`.
  init(name: String, _ text: String) throws(WalletFailure) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard 1...2 ~= words.count else { throw WalletFailure("keyri takes an address, and an app key for QR codes") }
    self.name = name
    do {
      linkOrigin = try WebOrigin(name.contains("://") ? name : "https://\(name).\(KeyriLink.domain)")
      server = try WebOrigin(words[0].hasSuffix("/") ? words[0].dropLast() : words[0])
    } catch {
      throw WalletFailure("invalid service address: \(error.inConfiguration)")
    }
    appKey = words.count > 1 ? String(words[1]) : nil
  }
}
