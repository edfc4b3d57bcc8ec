import CTAP2
import CryptoPrimitives
import ProcessIO
import Recovery
import StateDirectory
import Vault

/// Unlocking with the slots whose keys other programs keep.
extension VaultKeySource {
  /// Unlocks the vault with a slot that was added with auto-unlock, if there is one.
  func openAtStart() async {
    _ = try? await openByProtectors(for: nil, orBy: nil, unlessLockedSince: lockings)
  }

  /// Tries the slots whose keys other programs keep, in their order; a slot that fails is logged.
  ///
  /// After too many wrong passphrases no slot is tried: only the passphrase unlocks the vault.
  ///
  /// - Parameter passphrase: opens the vault with a passphrase that is typed while a slot waits for a touch; `nil` at the
  ///   start, when only slots with auto-unlock are tried.
  /// - Returns: the vault; `nil` if no slot opens it.
  func openByProtectors(
    for reason: UnlockReason?, orBy passphrase: UserPrompter.Judge<OpenVault>?, unlessLockedSince lockings: Int
  ) async throws(UserInteractionError) -> OpenVault? {
    guard let slotKeys else { return nil }
    let outcome: Result<OpenVault?, UserInteractionError>
    do {
      outcome = try await protectorTurns.submit { _ in
        do throws(UserInteractionError) {
          return .success(
            try await self.tryProtectors(for: reason, orBy: passphrase, unlessLockedSince: lockings, slotKeys))
        } catch {
          return .failure(error)
        }
      }
    } catch {
      throw .cancelled
    }
    return try outcome.get()
  }

  private func tryProtectors(
    for reason: UnlockReason?, orBy passphrase: UserPrompter.Judge<OpenVault>?, unlessLockedSince lockings: Int,
    _ slotKeys: SlotKeys
  ) async throws(UserInteractionError) -> OpenVault? {
    if let current { return current }
    // It waited for its turn.
    guard self.lockings == lockings else { throw lockedMeanwhile() }
    guard !verifier.isBlocked, let slots = try? directory.slots() else { return nil }
    for (number, slot) in zip(1..., slots) {
      guard passphrase == nil ? slot.protector.unlocksAtStart : !slot.protector.isPassphrase else { continue }
      let outcome = try await slotKeys.key(
        of: slot, number: number, for: reason, orBy: passphrase,
        while: { [self] in self.lockings == lockings && current == nil })
      if case .opened(let vault) = outcome { return vault }
      guard !Task.isCancelled else { throw .cancelled }
      // The passphrase came from the control socket meanwhile.
      if let current { return current }
      guard self.lockings == lockings else { throw lockedMeanwhile() }
      guard case .key(let key) = outcome else { continue }
      let unlocked: UnlockedVault
      do {
        unlocked = try directory.unlock(slot: slot.id, key: key)
      } catch {
        slotKeys.report(number, slot.protector, remembered(error).description)
        continue
      }
      let vault: OpenVault?
      do {
        vault = try await install(unlocked, nil, unlessLockedSince: lockings)
      } catch {
        throw unavailable(error)
      }
      guard let vault else { throw lockedMeanwhile() }
      return vault
    }
    return nil
  }
}
