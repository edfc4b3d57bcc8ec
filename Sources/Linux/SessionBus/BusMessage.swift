import CSystemd

/// A message of D-Bus; its values are written and read in order.
package final class BusMessage<Failure: SessionBusFailure> {
  private let message: OpaquePointer

  /// libsystemd wipes the message's memory when it is released.
  init(owning message: OpaquePointer) {
    self.message = message
    sd_bus_message_sensitive(message)
  }

  deinit { sd_bus_message_unref(message) }

  // MARK: Header

  /// Whether the message is this signal from this sender: any program can send the signal to this connection.
  package func isSignal(_ interface: String, _ member: String, of sender: String) -> Bool {
    sd_bus_message_is_signal(message, interface, member) > 0 && self.sender == sender
  }
  /// The unique name on the bus of the program that sent the message.
  package var sender: String? { sd_bus_message_get_sender(message).map { String(cString: $0) } }
  package var path: String? { sd_bus_message_get_path(message).map { String(cString: $0) } }

  // MARK: Writing

  /// Appends a text of type `s`, or an object's path `o`.
  package func append(_ text: String, _ type: Unicode.Scalar = "s") throws(Failure) {
    try Self.check(sd_bus_message_append_basic(message, Self.code(type), text))
  }

  package func append(_ truth: Bool) throws(Failure) {
    var value: Int32 = truth ? 1 : 0
    try Self.check(sd_bus_message_append_basic(message, Self.code("b"), &value))
  }

  package func append(_ number: UInt32) throws(Failure) {
    var value = number
    try Self.check(sd_bus_message_append_basic(message, Self.code("u"), &value))
  }

  package func append(_ number: Int32) throws(Failure) {
    var value = number
    try Self.check(sd_bus_message_append_basic(message, Self.code("i"), &value))
  }

  package func append(_ byte: UInt8) throws(Failure) {
    var value = byte
    try Self.check(sd_bus_message_append_basic(message, Self.code("y"), &value))
  }

  package func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try Self.check(sd_bus_message_append_array(message, Self.code("y"), bytes.baseAddress, bytes.count))
  }

  /// Appends a container: an array `a`, a variant `v`, a structure `r` or a dictionary's entry `e`.
  package func append(
    _ type: Unicode.Scalar, of contents: String, _ fill: () throws(Failure) -> Void
  ) throws(Failure) {
    try Self.check(sd_bus_message_open_container(message, Self.code(type), contents))
    try fill()
    try Self.check(sd_bus_message_close_container(message))
  }

  // MARK: Reading

  package func skip(_ types: String) throws(Failure) { try Self.check(sd_bus_message_skip(message, types)) }

  /// Reads a text of type `s`, or an object's path `o`.
  package func text(_ type: Unicode.Scalar) throws(Failure) -> String {
    guard let text = try optionalText(type) else { throw Failure(.malformed) }
    return text
  }

  package func number() throws(Failure) -> UInt32 {
    var value: UInt32 = 0
    guard sd_bus_message_read_basic(message, Self.code("u"), &value) > 0 else { throw Failure(.malformed) }
    return value
  }

  package func truth() throws(Failure) -> Bool {
    var value: Int32 = 0
    guard sd_bus_message_read_basic(message, Self.code("b"), &value) > 0 else { throw Failure(.malformed) }
    return value != 0
  }

  /// Reads an array of texts of type `s`, or of objects' paths `o`.
  package func texts(_ type: Unicode.Scalar) throws(Failure) -> [String] {
    try enter("a", of: String(type))
    var texts: [String] = []
    while let text = try optionalText(type) { texts.append(text) }
    try Self.check(sd_bus_message_exit_container(message))
    return texts
  }

  package func enter(_ type: Unicode.Scalar, of contents: String) throws(Failure) {
    guard sd_bus_message_enter_container(message, Self.code(type), contents) > 0 else { throw Failure(.malformed) }
  }

  /// Reads an array of bytes, which is valid during `body`.
  package func withBytes<Answer>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    var (bytes, count) = (UnsafeRawPointer?.none, 0)
    try Self.check(sd_bus_message_read_array(message, Self.code("y"), &bytes, &count))
    return try body(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// `nil` at the end of a container.
  private func optionalText(_ type: Unicode.Scalar) throws(Failure) -> String? {
    var text: UnsafePointer<CChar>?
    try Self.check(sd_bus_message_read_basic(message, Self.code(type), &text))
    return text.map { String(cString: $0) }
  }

  private static func code(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }

  private static func check(_ result: Int32) throws(Failure) {
    guard result >= 0 else { throw Failure(.malformed) }
  }
}
