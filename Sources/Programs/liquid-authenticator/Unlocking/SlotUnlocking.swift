import CTAP2
import ControlProtocol
import CryptoPrimitives
import EventLoop
import ProcessIO
import Prompts
import Recovery
import StateDirectory
import Vault

/// Unlocking with the slots whose keys other programs keep.
extension VaultKeySource {
  /// Unlocks the vault with a slot that was added with auto-unlock, if there is one.
  func openAtStart() async {
    _ = try? await openByProtectors(for: nil, from: nil, orBy: nil, unlessLockedSince: vault.lockings)
  }

  /// Opens the vault with a slot, as for a request, for a person who waits at the command.
  ///
  /// - Parameter refused: called for each try that did not open the vault: the user may have refused a prompt, which no
  ///   report contains.
  /// - Returns: whether the vault is open.
  func openBySlot(from origin: RequestOrigin?, countedBy refused: RefusedPrograms) async throws -> Bool {
    if current != nil { return true }
    try files.directory.check()
    let lockings = vault.lockings
    let judge = judge(unlessLockedSince: lockings)
    do throws(UserInteractionError) {
      if try await openByProtectors(for: nil, from: origin, orBy: judge, unlessLockedSince: lockings) != nil {
        return true
      }
    } catch {
      refused.count(error, of: origin)
      throw CTAPError(error)
    }
    refused.count(.declined, of: origin)
    return false
  }

  /// Tries the slots whose keys other programs keep, in their order; a slot that fails is logged.
  ///
  /// After too many wrong passphrases no slot is tried: only the passphrase unlocks the vault. After a lock, a slot
  /// that opens without the person is used only after a dialog, and never for a request that shows none. After a
  /// refusal, the passphrase is asked for.
  ///
  /// - Parameter passphrase: opens the vault with a passphrase that is typed while a slot waits for a touch; `nil` at the
  ///   start, when only slots with auto-unlock are tried.
  /// - Returns: the vault; `nil` if no slot opens it.
  func openByProtectors(
    for reason: UnlockReason?, from origin: RequestOrigin?, orBy passphrase: UserPrompter.Judge<OpenVault>?,
    unlessLockedSince lockings: Int
  ) async throws(UserInteractionError) -> OpenVault? {
    guard let slotKeys = vault.slotKeys else { return nil }
    let outcome: Result<OpenVault?, UserInteractionError>
    do {
      outcome = try await protectorTurns.submit { _ in
        do throws(UserInteractionError) {
          return .success(
            try await self.tryProtectors(
              for: reason, from: origin, orBy: passphrase, unlessLockedSince: lockings, slotKeys))
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
    for reason: UnlockReason?, from origin: RequestOrigin?, orBy passphrase: UserPrompter.Judge<OpenVault>?,
    unlessLockedSince lockings: Int, _ slotKeys: SlotKeys
  ) async throws(UserInteractionError) -> OpenVault? {
    if let current { return current }
    // It waited for its turn.
    guard vault.lockings == lockings else { throw lockedMeanwhile() }
    guard !vault.verifier.isBlocked, let slots = try? files.directory.slots() else { return nil }
    let (isStart, wasLocked) = (passphrase == nil, lockings > 0)
    // A lock came first: the vault opens for a request, with a dialog.
    if isStart, wasLocked { return nil }
    // What the person answered before the first slot that opens alone; it holds for the others.
    var isAgreed: Bool?
    for (number, slot) in zip(1..., slots) {
      if isStart, slot.isOfEarlierVersion { slotKeys.report(number, slot.protector, Self.earlierVersion) }
      guard isStart ? slot.unlocksAtStart : !slot.protector.isPassphrase else { continue }
      if wasLocked, slot.opensAlone {
        if case .silent = reason { continue }
        // A touch has a dialog of its own.
        if slot.protector.type != VaultSlot.Protector.securityKeyType {
          if isAgreed == nil {
            isAgreed = try await slotKeys.agreement(toSlot: number, slot.protector.name, for: reason, from: origin)
          }
          guard isAgreed == true else { continue }
        }
      }
      let outcome = try await slotKeys.key(
        of: slot, number: number, for: reason, from: origin, orBy: passphrase, needsDialog: wasLocked,
        while: { [vault] in vault.lockings == lockings && vault.current == nil })
      if case .opened(let opened) = outcome { return opened }
      guard !Task.isCancelled else { throw .cancelled }
      // The passphrase came from the control socket meanwhile.
      if let current { return current }
      guard vault.lockings == lockings else { throw lockedMeanwhile() }
      guard case .key(let key, let publicKey) = outcome else { continue }
      let unlocked: UnlockedVault
      do {
        unlocked = try files.directory.unlock(slot: slot.id, key: key)
      } catch {
        slotKeys.report(number, slot.protector, Problem(files.remembered(error)))
        continue
      }
      let opened: OpenVault?
      do {
        opened = try await vault.install(unlocked, nil, unlessLockedSince: lockings)
      } catch {
        throw unavailable(error)
      }
      guard let opened else { throw lockedMeanwhile() }
      if case .securityKey(let key) = slot.protector, key.publicKey == nil {
        await store(publicKey, of: unlocked) { slotKeys.log($0.after("slot \(number) (\(slot.protector.name)) ")) }
      }
      return opened
    }
    return nil
  }

  private static let earlierVersion = typePassphrase(
    "an earlier version added it, and another program could have set --auto-unlock")

  private static func typePassphrase(_ reason: String) -> Problem {
    Problem(
      reason, hint: "unlock the vault with the passphrase once, for example",
      with: ["liquid-auth", "unlock", "--passphrase"])
  }

  /// Stores the public key of a security key in its slot, which an earlier version made and which has opened the vault.
  ///
  /// - Parameter publicKey: 64 bytes; empty if it is not known.
  private func store(
    _ publicKey: [UInt8], of unlocked: UnlockedVault, log: @escaping @Sendable (Problem) -> Void
  ) async {
    let reason =
      "was added by an earlier version, so the security key was not verified before it got the PIN or a touch"
    let problem = await OwnThread.run { [files] in
      guard unlocked.sealsSlots else { return Self.typePassphrase(reason) }
      do throws(StateDirectoryError) {
        let isStored = try files.store(publicKey: publicKey, of: unlocked)
        return Problem(
          reason, hint: isStored ? "from now on, it is verified first" : "remove the slot, and add it again")
      } catch {
        return Problem(error).after("\(reason); its public key cannot be stored: ")
      }
    }
    log(problem)
  }
}

extension VaultSlot {
  /// Whether it opens the vault without the person: it is known, and has neither a PIN nor a passphrase.
  fileprivate var opensAlone: Bool { protector.isKnown && !protector.needsPerson }
}
