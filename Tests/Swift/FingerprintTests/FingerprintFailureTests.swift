import Messages
import Testing

@testable import Fingerprint

/// The statuses and errors of fprintd, and the results and failures that the reader makes of them.
struct FingerprintFailureTests {
  @Test(arguments: [
    ("verify-match", FingerprintResult.match), ("verify-no-match", .noMatch),
    ("verify-swipe-too-short", .unread(advice: Message("The swipe was too short. Try again."))),
    ("verify-finger-not-centered", .unread(advice: Message("The finger was not in the middle. Try again."))),
    ("verify-remove-and-retry", .unread(advice: Message("Lift the finger, and try again."))),
  ])
  func `each status is a result`(status: String, result: FingerprintResult) throws {
    #expect(try FingerprintResult(status) == result)
  }

  // Holds: FINGER-3
  @Test(arguments: [
    "verify-disconnected", "verify-unknown-error", "verify-match ", "VERIFY-MATCH", "", "enroll-completed",
  ])
  func `any other status fails, and never matches`(status: String) {
    #expect(throws: FingerprintFailure.self) { try FingerprintResult(status) }
  }

  @Test(arguments: [
    ("net.reactivated.Fprint.Error.NoSuchDevice", "there is no fingerprint reader"),
    (
      "net.reactivated.Fprint.Error.NoEnrolledPrints", "no finger is enrolled; enroll one with: fprintd-enroll"
    ),
    ("net.reactivated.Fprint.Error.AlreadyInUse", "another program uses the fingerprint reader; try again"),
    ("org.freedesktop.DBus.Error.ServiceUnknown", "fprintd is not installed; install the package fprintd"),
    ("org.freedesktop.DBus.Error.NoReply", "fprintd ended before a finger was read; try again"),
    ("org.example.Other", "fprintd failed: org.example.Other"), ("", "fprintd failed: it gave no reason"),
  ])
  func `an error of D-Bus says what to do`(name: String, words: String) {
    #expect(FingerprintFailure(error: name, hasAnswered: false) == .failed(words))
  }

  @Test(arguments: ["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"])
  func `fprintd that the bus does not know any more has ended`(name: String) {
    let words = "fprintd ended before a finger was read; try again"
    #expect(FingerprintFailure(error: name, hasAnswered: true) == .failed(words))
  }
}
