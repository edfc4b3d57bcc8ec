/// The version and capabilities of a device, in every answer to INIT (CTAP §11.2.9.1.3).
public struct DeviceIdentity: Hashable, Sendable {
  /// The version of CTAPHID that the machine speaks.
  public static let protocolVersion: UInt8 = 2

  /// The version of this product: the device and all programs (`--version`) report it.
  public static let productVersion: (major: UInt8, minor: UInt8, build: UInt8) = (0, 1, 0)

  /// The device's version, major part.
  public let major: UInt8
  /// The device's version, minor part.
  public let minor: UInt8
  /// The device's version, build part.
  public let build: UInt8
  /// The commands that the device implements.
  public let capabilities: Capabilities

  /// Describes a device.
  public init(major: UInt8, minor: UInt8, build: UInt8, capabilities: Capabilities) {
    self.major = major
    self.minor = minor
    self.build = build
    self.capabilities = capabilities
  }

  /// Describes a device of this product.
  public init(capabilities: Capabilities) {
    let (major, minor, build) = Self.productVersion
    self.init(major: major, minor: minor, build: build, capabilities: capabilities)
  }

  /// The version as people write it: `0.1.0`.
  public var version: String { "\(major).\(minor).\(build)" }

  /// The last five bytes of the answer to INIT.
  var bytes: [UInt8] { [Self.protocolVersion, major, minor, build, capabilities.rawValue] }

  /// Reads the last five bytes of an answer to INIT; `nil` for any other count.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count == 5 else { return nil }
    let fields = Array(bytes)
    self.init(
      major: fields[1], minor: fields[2], build: fields[3], capabilities: Capabilities(rawValue: fields[4]))
  }
}
