import ControlClient
import ControlProtocol
import CryptoPrimitives
import ProtectorProtocol
import Testing
import Vault

@testable import liquid_auth

// Holds: PROTECT-4
@Test(arguments: [
  (2, 2, "slot 2, the TPM of this machine, while PCR 7 is unchanged, for a request, is removed"),
  (
    2, 3,
    "slot 2, the TPM of this machine, while PCR 7 is unchanged, for a request, is removed; slot 3 is now slot 2"
  ),
  (
    1, 3,
    "slot 1, the TPM of this machine, while PCR 7 is unchanged, for a request, is removed; slot 2 is now slot 1; slot 3 is "
      + "now slot 2"
  ),
])
func `removing a slot says what it was, and which numbers change`(_ slot: Int, _ count: Int, _ text: String) {
  let tpm = TPMSlot(conditions: .init(hasPIN: false, pcrs: [7]), object: [], autoUnlock: false)
  #expect(VaultCommand.Remove.text(removing: SlotReport(number: slot, protector: .tpm(tpm)), of: count) == text)
}

// Holds: PROTECT-4
@Test func `the removal of a damaged slot does not say to remove it`() {
  let slot = SlotReport(number: 2, protector: .damaged(type: 4))
  #expect(VaultCommand.Remove.text(removing: slot, of: 2) == "slot 2, keyring, damaged, is removed")
  #expect(slot.text == "keyring, damaged: it unlocks nothing; remove the slot, and add it again")
}

@Test func `unlock names the slots that did not unlock the vault`() {
  let passphrase = VaultSlot.Protector.passphrase(salt: [], cost: .standard)
  let keyring = VaultSlot.Protector.secretService(id: [], autoUnlock: false)
  #expect(UnlockCommand.note([passphrase]) == nil)
  #expect(
    UnlockCommand.note([passphrase, keyring])
      == "slot 2 (keyring) did not unlock the vault; see the authenticator's log")
  #expect(
    UnlockCommand.note([keyring, passphrase, .systemdCredential([], autoUnlock: false)])
      == "slot 1 (keyring), slot 3 (systemd credential) did not unlock the vault; see the authenticator's "
      + "log")
}

// Holds: PROTECT-21
@Test(arguments: [
  (
    [2],
    "slot 2 is also of the type tpm; if you no longer need it, run: liquid-auth vault remove 2 --state-dir /s"
  ),
  (
    [2, 3, 5],
    "slots 5 and 3 and 2 are also of the type tpm; if you no longer need them, run: liquid-auth vault remove 5 "
      + "--state-dir /s; then run: liquid-auth vault remove 3 --state-dir /s; then run: liquid-auth vault remove 2 "
      + "--state-dir /s"
  ),
])
func `other slots of the type are removed from the highest number down`(_ numbers: [Int], _ advice: String) {
  var place = PlaceOptions()
  (place.stateDir, place.control) = ("/s", nil)
  #expect(VaultCommand.Add.advice(numbers, .tpm, at: place) == advice)
}

// Holds: PROTECT-5
@Test(
  arguments: [
    ("the keyring is locked; it was not unlocked", "unlock it, and try again"), ("it was cancelled", nil),
  ] as [(String, String?)])
func `an item that remains in the keyring is named, and nothing is to be tried again`(_ reason: String, _ hint: String?)
{
  #expect(
    ProtectorProgram.item([0x0A, 0xFF], remainsAfter: ProtectorFailure(.dismissed, reason, hint: hint))
      == "its item \"Liquid Auth vault on this machine\" (attribute vault: 0aff) remains in the keyring, because \(reason); "
      + "the item no longer unlocks the vault; delete it with your keyring program")
}

@Test(arguments: [
  ([], "for a request"), ([7], "while PCR 7 is unchanged, for a request"),
  ([0, 7], "while PCRs 0, 7 are unchanged, for a request"),
])
func `a TPM slot names its registers`(_ pcrs: [Int], _ end: String) {
  let slot = TPMSlot(conditions: .init(hasPIN: false, pcrs: pcrs), object: [], autoUnlock: false)
  #expect(slot.text == "the TPM of this machine, \(end)")
}

@Test func `a new passphrase must differ from the present one`() {
  let secret = { (text: String) in Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) } }
  let (present, same) = (secret("correct horse battery staple"), secret("correct horse battery staple"))
  let other = secret("correct horse battery stapler")
  #expect(PassphraseRule.violation(by: same, replacing: present) == "the new passphrase is the present one")
  #expect(PassphraseRule.violation(by: other, replacing: present) == nil)
  #expect(PassphraseRule.violation(by: same) == nil)
}

// Holds: COUNTER-8
@Test func `advice about a counter that may be in use has the place options`() {
  let broken = ControlClientError.failed(
    Problem("the connection was lost", hint: "run:", run: ["liquid-auth", "status"]))
  let text = { (status: String, on: String) in
    "the connection was lost; run: liquid-auth status\(status); the new counter is still in the TPM, at 0x01800001, because "
      + "the authenticator may use it; run: liquid-auth vault counter on\(on); then remove this one with: "
      + "tpm2_nvundefine 0x01800001"
  }
  for (state, control, options) in [
    (nil, nil, ""), ("state", nil, " --state-dir state"), ("/s", "/c d", " --state-dir /s --control '/c d'"),
  ] {
    var place = PlaceOptions()
    (place.stateDir, place.control) = (state, control)
    let failure = VaultCommand.Counter.failure(broken, of: 0x0180_0001, at: place)
    #expect(failure == CommandFailure(text(options, options)))
    #expect(failure.completed(by: place) == failure, "the options are added once")
  }
}
