import CTAP2
import CryptoPrimitives
import ProcessIO
import ProtectorProtocol
import Synchronization
import Vault

/// Gets the keys of slots from the programs that keep them, for one request at a time.
///
/// A slot that gives no key is logged with the reason.
final class SlotKeys: Sendable {
  /// Asks a protector, and blocks until it has answered.
  typealias Ask = @Sendable (ProtectorRequest, Cancellation) -> Result<SecretBytes, ProtectorFailure>

  private let ask: Ask
  private let log: @Sendable (String) -> Void
  /// Ends the wait for a protector.
  private let asking = Mutex<Cancellation?>(nil)

  init(ask: @escaping Ask, log: @escaping @Sendable (String) -> Void) { (self.ask, self.log) = (ask, log) }

  /// The key of a slot, 32 bytes; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - number: the slot's number in `liquid-auth vault list`.
  ///   - isWanted: whether the vault is still to be opened; otherwise the protector is not waited for.
  func key(
    of slot: VaultSlot, number: Int, while isWanted: @escaping @Sendable () -> Bool
  ) async throws(UserInteractionError) -> SecretBytes? {
    if case .damaged = slot.protector {
      report(number, slot.protector, "it is damaged; remove the slot, and add it again")
    }
    guard let data = slot.protector.publicData else { return nil }
    switch await answer(to: ProtectorRequest(.get, type: slot.protector.type, data: data), while: isWanted) {
    case .success(let key): return key
    case .failure(let failure):
      if !Task.isCancelled, isWanted() { report(number, slot.protector, failure.description) }
      return nil
    }
  }

  /// Ends the wait for a protector, which then withdraws its prompt.
  func cancel() { asking.withLock { $0?.cancel() } }

  /// Logs why a slot does not unlock the vault.
  func report(_ number: Int, _ protector: VaultSlot.Protector, _ reason: String) {
    log("slot \(number) (\(protector.name)) did not unlock the vault: \(reason)")
  }

  private func answer(
    to request: ProtectorRequest, while isWanted: @escaping @Sendable () -> Bool
  ) async -> Result<SecretBytes, ProtectorFailure> {
    let answer = await OwnThread.run(cancellable: { [self] cancellation in
      asking.withLock { $0 = cancellation }
      defer { asking.withLock { $0 = nil } }
      if !isWanted() { cancellation.cancel() }
      return ask(request, cancellation)
    })
    return answer ?? .failure(ProtectorFailure(.failed, PromptFailure.nothingLeft))
  }
}
