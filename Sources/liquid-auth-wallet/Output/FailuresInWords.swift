import ControlClient
import LiquidAuth

// How the failures of the room LiquidAuth end a command.

extension WalletFailure {
  init(_ error: LiquidAuthError) {
    let code: Code =
      switch error {
      case .userCanceled, .timedOut, .notVerified: .refused
      default: .failed
      }
    self.init(error.description, code: code)
  }

  init(_ error: SignalingError) {
    if case .timedOut = error { self.init(error.description, code: .timedOut) } else { self.init(error.description) }
  }
}
