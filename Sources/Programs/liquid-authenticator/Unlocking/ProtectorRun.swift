import CLinux
import HelperProcess
import ProcessIO
import ProtectorProtocol

extension HelperProcess {
  /// Runs `liquid-auth-protector` for one request; blocks until it has ended.
  @Sendable func askProtector(
    _ request: ProtectorRequest, _ cancellation: Cancellation, touchNeeded: () -> Void
  ) -> Result<ProtectorAnswer, ProtectorFailure> {
    let child: ChildProcess
    do throws(SystemNumber) {
      child = try ChildProcess(CLINUX_PROTECTOR, by: self)
    } catch {
      return .failure(ProtectorFailure(.failed, "\(protector) cannot be started: \(error)", hint: "install it again"))
    }
    // The program ends sooner by itself.
    let deadline = ContinuousClock.now + ProtectorMessage.timeLimit + .seconds(5)
    let answer = Result { () throws(ProtectorFailure) in
      try ProtectorPipe.ask(
        request, input: child.input, output: child.output, until: deadline, cancellation, touchNeeded: touchNeeded)
    }
    // Enough time, also on a busy machine, to withdraw the keyring's prompt, and to kill what systemd-creds has started,
    // which no signal from here reaches; less than the three seconds that a suspend waits.
    _ = child.end(grace: .milliseconds(2500), thenKilledAfter: .milliseconds(60))
    return answer
  }
}
