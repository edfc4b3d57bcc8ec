import AlgorandStatements
import CTAP2
import DeterministicKeys
import LiquidAuth

/// An authenticator in the wallet's own process, in place of the daemon's control socket.
///
/// It serves one request at a time, and refuses others meanwhile.
actor LocalAuthenticator: AuthenticatorPort {
  private var authenticator: Authenticator
  private var isBusy = false

  /// Takes an authenticator that supports the extension `liquid`.
  init(_ authenticator: Authenticator) { self.authenticator = authenticator }

  /// The address of the account in use.
  func account() async throws(PortError) -> String {
    try reserve()
    defer { isBusy = false }
    do throws(CTAPError) {
      return try await authenticator.accountAddresses(0..<1, of: 0, for: .wallet(.showAccount(rpID: nil)))[0].text
    } catch {
      throw PortError(error)
    }
  }

  /// The passkey of that account at a relying party.
  func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey {
    try reserve()
    defer { isBusy = false }
    do throws(CTAPError) {
      let passkey = try await authenticator.accountPasskey(rpID: rpID, host: host)
      return WalletPasskey(credentialID: passkey.id, isStored: passkey.isStored)
    } catch {
      throw PortError(error)
    }
  }

  /// Answers one CTAP2 message.
  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8] {
    try reserve()
    defer { isBusy = false }
    var serving = authenticator
    let answer = await serving.respond(to: message, in: RequestContext(channel: 0, poweredUpAt: .zero))
    authenticator = serving
    return answer
  }

  private func reserve() throws(PortError) {
    guard !isBusy else { throw .refused("the authenticator is busy with another request; try again after it") }
    isBusy = true
  }
}

extension PortError {
  /// The port's error for an authenticator's status.
  fileprivate init(_ error: CTAPError) {
    switch error.status {
    case .operationDenied: self.init(.declined, error.reason)
    case .userActionTimeout: self = .timedOut
    default: self = .refused(error.reason)
    }
  }
}
