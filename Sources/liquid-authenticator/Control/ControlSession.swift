import CTAP2
import ControlDoor
import Glibc
import Recovery

/// One connection's requests, from the first to the last: what may be asked, and by whom it is answered.
///
/// It knows nothing of sockets. Its client waits for each answer before it asks again.
actor ControlSession {
  private let client: UInt64
  private let desk: any ControlDesk
  /// Unix milliseconds.
  private let wallClock: @Sendable () -> UInt64
  private let log: @Sendable (String) -> Void
  private var isGreeted = false
  /// The unlocking for which this connection has given the passphrase: only then, and only until the vault is locked, it
  /// may see and change credentials.
  private var verified: Unlocking?

  /// Whether the vault's passphrase was given on this connection.
  var isVerified: Bool { verified != nil }

  /// - Parameter log: takes a line for each request of a wallet that is refused before anybody is asked.
  init(
    client: UInt64, desk: any ControlDesk, wallClock: @escaping @Sendable () -> UInt64,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.client = client
    self.desk = desk
    self.wallClock = wallClock
    self.log = log
  }

  /// The packet that answers a request.
  func answer(to request: ControlRequest) async -> [UInt8] {
    do throws(ControlFailure) {
      return try await respond(to: request)
    } catch {
      return error.encoded
    }
  }

  private func respond(to request: ControlRequest) async throws(ControlFailure) -> [UInt8] {
    if case .hello(let version) = request { return try greet(version).encoded }
    guard isGreeted else { throw ControlFailure(.versionMismatch, "the first request of a connection must be hello") }
    switch request {
    case .hello: return []
    case .ctap(let message): return await desk.respond(to: message, client: client)
    case .status: return await desk.status().encoded
    case .lock: await desk.lock()
    case .device(let action):
      // Any program of the person's can replug the device; one more chance for a reset, or for three more PINs, is the
      // owner's to give, once for each time the passphrase is typed.
      if action == .powerCycle {
        guard isVerified else { throw Self.passphraseRequired }
        verified = nil
      }
      try await desk.device(action)
    case .newStore(let passphrase): try await desk.newStore(passphrase)
    case .acceptStore(let passphrase): try await desk.acceptStore(passphrase)
    case .unlock(let passphrase):
      verified = nil
      verified = try await desk.unlock(passphrase)
    case .account, .walletPasskey, .signTransactions, .signMessage, .accounts, .associationKey, .signAssociation:
      return try await serveWallet(request)
    default: return try await manage(request)
    }
    return Done().encoded
  }

  private static let passphraseRequired = ControlFailure(
    .passphraseRequired, "the vault's passphrase is needed first")

  private func greet(_ version: UInt64) throws(ControlFailure) -> Hello {
    guard version == ControlMessage.version else {
      let isOlder = version < ControlMessage.version
      let advice = isOlder ? "update the command: scripts/run --wallet" : "restart the authenticator"
      throw ControlFailure(
        .versionMismatch,
        "the command uses version \(version) of the control protocol, and the authenticator uses version "
          + "\(ControlMessage.version); \(advice)")
    }
    isGreeted = true
    return Hello(processID: getpid())
  }

  private func serveWallet(_ request: ControlRequest) async throws(ControlFailure) -> [UInt8] {
    do throws(ControlFailure) {
      return try await desk.inTurn { authenticator throws(ControlFailure) in
        try await authenticator.answer(toWallet: request)
      }
    } catch {
      CeremonyLog.line(request, refusedBeforeQuestion: error).map(log)
      throw error
    }
  }

  /// What only the owner may do: the passphrase first, then in turn with the ceremonies.
  private func manage(_ request: ControlRequest) async throws(ControlFailure) -> [UInt8] {
    guard let verified else { throw Self.passphraseRequired }
    let now = wallClock()
    return try await desk.withOpenVault { vault, authenticator throws(ControlFailure) in
      guard vault.unlocking === verified else { throw Self.passphraseRequired }
      switch request {
      case .listCredentials(let start): return try vault.page(start: start).encoded
      case .showCredential(let reference): return try vault.description(of: reference).encoded
      case .renameCredential(let reference, let names): try vault.rename(reference, names, now: now)
      case .removeCredential(let reference): try vault.remove(reference, now: now)
      case .recoverCredential(let recovery): return try vault.recover(recovery, now: now).encoded
      case .acceptBeforeReset: try vault.acceptBeforeReset()
      case .setPIN(let pin): try vault.setPIN(pin, &authenticator.pinUVAuth)
      case .removePIN: try vault.removePIN(&authenticator.pinUVAuth)
      case .settings: return try vault.ownerSettings().encoded
      case .changeSettings(let wish): return try vault.change(wish, &authenticator.pinUVAuth).encoded
      case .forgetReaders: try vault.forgetReaders()
      case .setLargeBlobArray(let array, let digest):
        try vault.setLargeBlobArray(array, changedFrom: digest, &authenticator)
      default: throw ControlFailure(.invalidCommand, "no such command")
      }
      return Done().encoded
    }
  }
}
