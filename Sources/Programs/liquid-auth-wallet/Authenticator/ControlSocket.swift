import ControlClient
import ControlProtocol
import CryptoPrimitives
import EventLoop
import Keyri
import LiquidAuth
import StateDirectory

/// The client of the authenticator's control socket, for tasks.
///
/// Requests block a thread of their own. Cancelling the task closes the connection, even while it is being made, and so
/// withdraws the request.
struct ControlSocket: Sendable {
  private let path: String
  private let place: CommandPlace
  private let onPrompt: @Sendable () -> Void
  private let notRunning = Latch()

  /// - Parameters:
  ///   - path: the socket's path.
  ///   - place: the place options that gave the path.
  ///   - onPrompt: called when a prompt must be answered before a response comes.
  init(_ path: String, in place: CommandPlace, onPrompt: @escaping @Sendable () -> Void) {
    (self.path, self.place) = (path, place)
    self.onPrompt = onPrompt
  }

  /// Whether no authenticator listened on the socket, or it had no vault.
  var isNotRunning: Bool { notRunning.isSet }

  /// Makes a report of the connection to a dApp.
  ///
  /// - Parameter loop: runs its task.
  func dAppReport(on loop: EventLoop) -> DAppReport { DAppReport(path, in: place, on: loop) }

  /// Sends a command on a connection of its own.
  func ask<Command: ControlCommand>(_ command: Command) async throws(PortError) -> Command.Answer {
    try await withClient { client throws(ControlClientError) in try client.ask(command) }
  }

  private func withClient<Answer: Sendable>(
    _ body: @escaping @Sendable (ControlClient) throws(ControlClientError) -> Answer
  ) async throws(PortError) -> Answer {
    guard !Task.isCancelled else { throw .unreachable("the request was cancelled: the wallet stopped") }
    let client = ControlClient(path, onPrompt: onPrompt)
    let result = await withTaskCancellationHandler {
      await OwnThread.run { [place] () -> Result<Answer, ControlClientError> in
        do throws(ControlClientError) {
          try client.connect(in: place)
          return .success(try body(client))
        } catch {
          return .failure(error)
        }
      }
    } onCancel: {
      client.disconnect()
    }
    do throws(ControlClientError) { return try result.get() } catch {
      switch error {
      case .notRunning: notRunning.set()
      case .refused(let failure) where failure.status == .noVault: notRunning.set()
      default: break
      }
      throw PortError(error, in: place)
    }
  }
}

extension ControlSocket: AuthenticatorPort {
  func account() async throws(PortError) -> String { try await ask(GetAccount()).address }

  func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey {
    let passkey = try await ask(GetAccountPasskey(rpID: rpID, host: host == rpID ? nil : host))
    return WalletPasskey(credentialID: passkey.credentialID, isStored: passkey.isStored)
  }

  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8] {
    try await withClient { client throws(ControlClientError) in try client.forward(message) }
  }
}

extension ControlSocket: AssociationKeys {
  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey {
    let raw = try await ask(GetAssociationKey(publicUserID: publicUserID)).bytes
    do {
      return try P256.PublicKey(x: Array(raw.prefix(P256.fieldSize)), y: Array(raw.suffix(P256.fieldSize)))
    } catch {
      throw .refused("the authenticator returned an invalid key; see its log")
    }
  }

  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8] {
    try await ask(SignAssociation(publicUserID: publicUserID, data: data, service: service)).bytes
  }
}

extension PortError {
  /// - Parameter place: added to the command that ends the error. The user sees the reason; the dApp gets only that of
  ///   ``Kind/notUnderstood(index:)``, without the place.
  init(_ error: ControlClientError, in place: CommandPlace) {
    let text = error.problem.text(with: place.arguments)
    guard case .refused(let failure) = error else {
      self = .unreachable(text)
      return
    }
    let index = failure.transaction.flatMap { Int(exactly: $0) }
    switch (failure.status, index, failure.group) {
    case (.operationDenied, _, _): self.init(.declined, text)
    case (.userActionTimeout, _, _): self = .timedOut
    case (.wrongGroup, _, .some(let group)): self.init(.wrongGroup(computed: group), text)
    case (.notOurSigner, .some(let index), _): self.init(.notOurSigner(index: index), text)
    case (.cannotBeShown, let index, _): self.init(.notUnderstood(index: index), failure.reason)
    default: self = .refused(text)
    }
  }
}
