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

  init(_ error: SignalingError) {
    if case .timedOut = error { self.init(error.description, code: .timedOut) } else { self.init(error.description) }
  }

  init(_ error: KeyriError) {
    switch error {
    case .authenticator(.declined), .authenticator(.timedOut), .tooLate: self.init(error.description, code: .refused)
    case .authenticator(.unreachable): self.init(error.description, code: .notRunning)
    default: self.init(error.description)
    }
  }
}
