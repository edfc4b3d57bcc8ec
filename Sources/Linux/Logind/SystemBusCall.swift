import CSystemd

/// A call on the system bus, and its answer once that has come.
///
/// Its owner processes the messages of the connection meanwhile. When it is released, the answer is no longer awaited.
package final class SystemBusCall {
  private var slot: OpaquePointer?
  private var answer: OpaquePointer?

  /// Sends the call; `nil` if the bus has ended.
  package init?(_ call: OpaquePointer?, on bus: OpaquePointer) {
    var slot: OpaquePointer?
    let sent = sd_bus_call_async(bus, &slot, call, receiveAnswer, Unmanaged.passUnretained(self).toOpaque(), 0)
    guard sent >= 0 else { return nil }
    self.slot = slot
  }

  deinit {
    sd_bus_slot_unref(slot)
    sd_bus_message_unref(answer)
  }

  /// Returns the answer, once, which the caller releases; `nil` until it has come.
  package func takeAnswer() -> OpaquePointer? {
    defer { answer = nil }
    return answer
  }

  fileprivate func receive(_ message: OpaquePointer?) { answer = sd_bus_message_ref(message) }
}

private func receiveAnswer(
  _ message: OpaquePointer?, _ call: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
  if let call { Unmanaged<SystemBusCall>.fromOpaque(call).takeUnretainedValue().receive(message) }
  return 0
}
