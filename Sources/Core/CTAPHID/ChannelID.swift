/// The logical channel (CID) that keeps clients of one device apart.
///
/// It does not protect them: every client that can open the device can read and write on every channel.
public struct ChannelID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The id as a number; on the wire it is big-endian.
  public let rawValue: UInt32

  /// Wraps a number; every value is a channel id, allocated or not.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Reserved: nothing may be sent on it.
  public static let reserved = ChannelID(rawValue: 0)
  /// The channel for requests for a new channel and their answers.
  public static let broadcast = ChannelID(rawValue: 0xffff_ffff)

  /// The four bytes of the wire.
  public var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) }
  }

  /// Eight hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// The open channels, in bounded memory.
///
/// Ids count upwards from a start that the caller chooses, so a comparison shows whether an id was allocated. A client
/// may also choose its own id, by INIT on a channel that was never allocated; the last few of those stay valid. After
/// 2³² − 2 ids, the oldest are allocated again.
struct ChannelAllocator: Sendable {
  /// How many ids that clients chose for themselves stay valid.
  static let adoptedLimit = 8

  private static let usable = UInt64(UInt32.max) - 1
  private let first: UInt64
  private var count: UInt64 = 0
  private var adopted: [ChannelID] = []

  /// Counts upwards from `first`, and skips the two reserved ids.
  init(first: UInt32) {
    self.first = (UInt64(first) + Self.usable - 1) % Self.usable
  }

  /// Allocates the next channel that no client chose for itself.
  mutating func allocate() -> ChannelID {
    repeat {
      let channel = ChannelID(rawValue: UInt32((first + count) % Self.usable) + 1)
      count += 1
      if !adopted.contains(channel) { return channel }
    } while true
  }

  /// Opens the channel that a client chose for itself.
  mutating func adopt(_ channel: ChannelID) {
    guard !contains(channel) else { return }
    if adopted.count == Self.adoptedLimit { adopted.removeFirst() }
    adopted.append(channel)
  }

  /// Whether a client may send on the channel.
  func contains(_ channel: ChannelID) -> Bool {
    guard channel != .reserved, channel != .broadcast else { return false }
    let distance = (UInt64(channel.rawValue) - 1 + Self.usable - first) % Self.usable
    return distance < count || adopted.contains(channel)
  }
}
