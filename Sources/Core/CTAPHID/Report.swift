/// One HID report: exactly 64 bytes, in either direction.
///
/// CTAP §11.2.4. The size is part of the type, so nothing else can be sent.
public struct Report: Hashable, Sendable {
  /// The size of every report, in bytes.
  public static let size = 64

  /// The 64 bytes, as they are on the wire (without a leading report number).
  public let bytes: [UInt8]

  /// Takes 64 bytes; `nil` for any other count.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    self.bytes = Array(bytes)
  }

  /// A report that a host wrote: 64 bytes, or 65 that begin with 0, the number of a report without a number.
  package init?(hostBytes bytes: UnsafeBufferPointer<UInt8>) {
    if bytes.count == Self.size + 1, bytes[0] == 0 {
      self.init(bytes.dropFirst())
    } else {
      self.init(bytes)
    }
  }

  /// Writes a packet as a report and pads it with zeros; payload that does not fit is left out.
  public init(channel: ChannelID, packet: Packet) {
    let header: (UInt8, UInt8, UInt8)
    let headerSize: Int
    let payload: ArraySlice<UInt8>
    switch packet {
    case .initialization(let command, let length, let content):
      header = (0x80 | command.rawValue, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length))
      headerSize = 7
      payload = content
    case .continuation(let sequence, let content):
      header = (sequence & 0x7f, 0, 0)
      headerSize = 5
      payload = content
    }
    // Written in place: appending part by part costs more than all else that a report takes. An array without initial
    // values would look up its type at run time, which takes longer than to write them.
    var bytes = Array(repeatElement(0 as UInt8, count: Self.size))
    bytes.withUnsafeMutableBufferPointer { room in
      UnsafeMutableRawBufferPointer(room).storeBytes(of: channel.rawValue.bigEndian, as: UInt32.self)
      (room[4], room[5], room[6]) = header
      _ = room[headerSize...].update(fromContentsOf: payload.prefix(Self.size - headerSize))
    }
    self.bytes = bytes
  }

  /// The channel that the report belongs to: bytes 0 to 3, big-endian.
  public var channel: ChannelID {
    ChannelID(rawValue: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }

  /// Whether the report begins a message.
  package var isInitialization: Bool { bytes[4] & 0x80 != 0 }

  /// The packet in the report, with its padding: only the length field marks the end of a message.
  public var packet: Packet {
    if isInitialization {
      .initialization(
        CTAPHIDCommand(rawValue: bytes[4] & 0x7f), length: Int(bytes[5]) << 8 | Int(bytes[6]), payload: bytes[7...])
    } else {
      .continuation(sequence: bytes[4], payload: bytes[5...])
    }
  }
}

/// The two forms of a report's contents.
public enum Packet: Hashable, Sendable {
  /// Begins a message of `length` bytes (BCNT); carries up to 57 of them.
  case initialization(CTAPHIDCommand, length: Int, payload: ArraySlice<UInt8>)
  /// Continues a message; carries up to 59 bytes. The sequence runs from 0 to 127.
  case continuation(sequence: UInt8, payload: ArraySlice<UInt8>)

  /// How many bytes of a message an initialization packet carries.
  public static let initializationCapacity = Report.size - 7
  /// How many bytes of a message a continuation packet carries.
  public static let continuationCapacity = Report.size - 5
}
