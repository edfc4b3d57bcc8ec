import CPAM
import CryptoPrimitives
import Glibc
import ProcessIO
import ProtectorProtocol

/// Verifies the user of this process with PAM.
///
/// It opens no session, and sets no credentials.
final class Account {
  /// The name of the file in `/etc/pam.d`.
  private static let service = "liquid-auth"
  /// How long a question waits for its answer; the authenticator closes the connection sooner.
  private static let limit = Duration.seconds(1200)

  private let input: Int32
  private let output: Int32
  private var count = 0

  /// The descriptors of the connection to the authenticator.
  init(input: Int32, output: Int32) { (self.input, self.output) = (input, output) }

  /// Blocks until PAM has decided; the process ends if the authenticator closes the connection first.
  func serve(_ request: AccountRequest) -> AccountMessage {
    // The user is that of the process: no message can name another.
    guard let entry = getpwuid(getuid()) else {
      return AccountCommand.failure("the system has no account of user \(getuid())")
    }
    var conversation = pam_conv(conv: converse, appdata_ptr: Unmanaged.passUnretained(self).toOpaque())
    var handle: OpaquePointer?
    let started = pam_start(Self.service, entry.pointee.pw_name, &conversation, &handle)
    guard started == PAM_SUCCESS, let handle else {
      return AccountCommand.failure(
        "PAM has no valid service liquid-auth", hint: "install liquid-auth again, or see: /etc/pam.d")
    }
    guard request == .verify else {
      pam_end(handle, PAM_SUCCESS)
      return .accepted
    }
    endWithConnection()
    var status = pam_authenticate(handle, 0)
    let answer: AccountMessage
    if status == PAM_SUCCESS {
      status = pam_acct_mgmt(handle, 0)
      answer = status == PAM_SUCCESS ? .accepted : refusal(status)
    } else {
      answer = [PAM_AUTH_ERR, PAM_MAXTRIES].contains(status) ? .wrong : refusal(status)
    }
    pam_end(handle, status)
    return answer
  }

  /// Why another try would not help.
  private func refusal(_ status: Int32) -> AccountMessage {
    switch status {
    case PAM_ACCT_EXPIRED: AccountCommand.failure("the account has expired")
    case PAM_NEW_AUTHTOK_REQD:
      AccountCommand.failure("the account's password has expired", hint: "change it with: passwd")
    case PAM_PERM_DENIED: AccountCommand.failure("PAM denies access")
    case PAM_AUTHINFO_UNAVAIL: AccountCommand.failure("PAM cannot get the account's data", hint: "see the system's log")
    default: AccountCommand.failure("PAM failed with error \(status)", hint: "see the system's log")
    }
  }

  /// Ends the process when the authenticator closes the connection: a module may wait for a device or the network.
  private func endWithConnection() {
    var thread = pthread_t()
    let created = pthread_create(
      &thread, nil,
      { argument in
        var connection = pollfd(fd: Int32(Int(bitPattern: argument)), events: 0, revents: 0)
        while poll(&connection, 1, -1) < 0, errno == EINTR {}
        _exit(EXIT_SUCCESS)
      }, UnsafeMutableRawPointer(bitPattern: Int(input)))
    guard created == 0 else { return }
    pthread_detach(thread)
  }

  // MARK: The conversation

  /// Passes the messages of a module on, and puts the answers into memory that libpam frees.
  ///
  /// - Returns: a status of PAM; except for PAM_SUCCESS, `answers` is not set.
  fileprivate func pass(
    _ messages: UnsafeBufferPointer<UnsafePointer<pam_message>?>,
    _ answers: UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>
  ) -> Int32 {
    guard let memory = calloc(messages.count, MemoryLayout<pam_response>.stride) else { return PAM_BUF_ERR }
    let responses = memory.bindMemory(to: pam_response.self, capacity: messages.count)
    for (number, message) in messages.enumerated() {
      if let message, reply(to: message.pointee, &responses[number]) { continue }
      for response in UnsafeBufferPointer(start: responses, count: messages.count) {
        response.resp.map { explicit_bzero($0, strlen($0)) }
        free(response.resp)
      }
      free(memory)
      return PAM_CONV_ERR
    }
    answers.pointee = responses
    return PAM_SUCCESS
  }

  /// Passes one message on, and waits for the answer if it is a question; returns whether that succeeded.
  private func reply(to message: pam_message, _ response: inout pam_response) -> Bool {
    count += 1
    guard count < AccountMessage.maximumCount else { return false }
    let text = message.msg.map { String(cString: $0) } ?? ""
    switch message.msg_style {
    case PAM_TEXT_INFO: return AccountPipe.write(.says(text), to: output)
    case PAM_ERROR_MSG: return AccountPipe.write(.reports(text), to: output)
    case PAM_PROMPT_ECHO_OFF, PAM_PROMPT_ECHO_ON:
      guard AccountPipe.write(.asks(text), to: output),
        let answer = AccountPipe.answer(from: input, until: .now + Self.limit)
      else { return false }
      // An empty answer has no memory.
      response.resp = answer.withUnsafeBytes { $0.baseAddress.map { strndup($0, answer.count) } ?? strdup("") }
      return response.resp != nil
    default: return false
    }
  }
}

/// The function that libpam calls for the messages of a module, pam_conv(3).
private func converse(
  _ count: Int32, _ messages: UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
  _ answers: UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?, _ account: UnsafeMutableRawPointer?
) -> Int32 {
  guard let messages, let answers, let account, 1...PAM_MAX_NUM_MSG ~= count else { return PAM_CONV_ERR }
  let list = UnsafeBufferPointer(start: UnsafePointer(messages), count: Int(count))
  return Unmanaged<Account>.fromOpaque(account).takeUnretainedValue().pass(list, answers)
}
