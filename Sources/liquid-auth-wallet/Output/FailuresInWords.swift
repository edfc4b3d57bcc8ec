import ControlClient
import LiquidAuth

// How the failures of the room LiquidAuth end a command.

extension WalletFailure {
  init(_ error: LiquidAuthError) {
    switch error {
    case .userCanceled, .timedOut, .notVerified: self.init(error.description, code: .refused)
    default: self.init(error.description)
    }
  }

  /// A sign-in that was wanted by one ceremony, or by either.
  ///
  /// - Parameter isFirstUse: whether this machine keeps no passkey of the host, so that one may be registered unasked.
  init(_ error: LiquidAuthError, ceremony: LiquidCeremony?, isFirstUse: Bool) {
    switch error {
    case .unknownCredential where isFirstUse && ceremony == .authentication,
      .noCredential where isFirstUse && ceremony == .authentication:
      self.init(
        "the server and this machine have no passkey in common; register one by leaving out --authenticate")
    default: self.init(error)
    }
  }

  /// The only request of a dApp, to which the person did not agree.
  init(refused error: ARC27Error) {
    self.init("nothing was signed: \(error.inWords)", code: .refused)
  }

  init(_ error: SignalingError) {
    switch error {
    case .timedOut: self.init(error.description, code: .timedOut)
    // The dApp's page has heard of the sign-in.
    case .cancelled: self.init("ended by a signal; \(SignalingError.newLink)", code: .interrupted)
    default: self.init(error.description)
    }
  }

  init(_ error: KeyriError) {
    switch error {
    case .authenticator(.declined), .authenticator(.timedOut), .tooLate: self.init(error.description, code: .refused)
    case .authenticator(.unreachable): self.init(error.description, code: .notRunning)
    default: self.init(error.description)
    }
  }
}
