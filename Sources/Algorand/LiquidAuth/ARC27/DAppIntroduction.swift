import CBOR

/// What a dApp says of itself in `biatec:hello:request`, an extension of Biatec's adapter for use-wallet.
///
/// The adapter sends it as soon as the channel is open: `params.metadata` has name, description, address and icons of the
/// page. Nobody vouches for them: the user sees them as the dApp's own words, and no decision depends on them.
public struct DAppIntroduction: Equatable, Sendable {
  /// The namespace and name of the method.
  static let method = "biatec:hello"
  /// The most bytes of a name and of an address; a longer one counts as none.
  private static let maximumSize = 1024

  /// The page's name, as the dApp writes it.
  public let name: String
  /// The page's address, as the dApp writes it.
  public let url: String

  /// Takes the params of the request; `nil` if they name neither.
  init?(_ params: LooseCBORValue) {
    let metadata = params.map?["metadata"]?.map
    func text(_ key: LooseCBORName) -> String {
      let text = metadata?[key]?.text ?? ""
      return text.utf8.count <= Self.maximumSize ? text : ""
    }
    (name, url) = (text("name"), text("url"))
    guard !name.isEmpty || !url.isEmpty else { return nil }
  }
}
