import ControlClient
import CryptoPrimitives
import Testing
import Vault

@testable import liquid_auth

// Holds: PROTECT-4
@Test(arguments: [
  (2, 2, "slot 2 is removed"), (2, 3, "slot 2 is removed; slot 3 is now slot 2"),
  (1, 3, "slot 1 is removed; slot 2 is now slot 1; slot 3 is now slot 2"),
])
func `removing a slot says which numbers change`(_ slot: Int, _ count: Int, _ text: String) {
  #expect(VaultCommand.Remove.text(removing: slot, of: count) == text)
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
  #expect(PassphraseRule.objection(to: same, replacing: present) == "the new passphrase is the present one")
  #expect(PassphraseRule.objection(to: other, replacing: present) == nil)
  #expect(PassphraseRule.objection(to: same) == nil)
}

// Holds: COUNTER-8
@Test func `advice about a counter that may be in use is for the same place`() {
  let broken = ControlClientError.failed("the connection broke off; run: liquid-auth status")
  let text = { (status: String, on: String) in
    "the connection broke off; run: liquid-auth status\(status); the new counter is still in the TPM, at 0x01800001, because "
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
