// swift-tools-version: 6.2
// The targets and their dependencies: Sources/README.md.
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

/// Checks of lengths that the C library makes where the compiler knows a buffer's size; they need optimization.
let fortified: [CSetting] = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]

/// A library, and the tests that mirror its files.
func module(_ name: String, _ dependencies: [Target.Dependency], tests: [Target.Dependency] = []) -> [Target] {
  [
    .target(name: name, dependencies: dependencies, swiftSettings: settings),
    .testTarget(
      name: "\(name)Tests", dependencies: [.byName(name: name), "TestVectors"] + tests + dependencies,
      swiftSettings: settings),
  ]
}

/// A system library of the distribution.
///
/// - Parameter pkgConfig: `nil` for a library without a file for pkg-config.
func cModule(_ name: String, pkgConfig: String?, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// One statement for each library: Swift 6.2 takes minutes to infer the type of one long sum.
var targets: [Target] = [
  cModule("CCBOR", pkgConfig: "libcbor", apt: "libcbor-dev"),
  cModule("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
  cModule("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
  cModule("CUdev", pkgConfig: "libudev", apt: "libudev-dev"),
  cModule("CSystemd", pkgConfig: "libsystemd", apt: "libsystemd-dev"),
  cModule("CSeccomp", pkgConfig: "libseccomp", apt: "libseccomp-dev"),
  cModule("CPAM", pkgConfig: "pam", apt: "libpam0g-dev"),
  cModule("CTSS", pkgConfig: "tss2-esys", apt: "libtss2-dev"),
  cModule("CFido2", pkgConfig: "libfido2", apt: "libfido2-dev"),
  cModule("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
  cModule("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
  cModule("CQREncode", pkgConfig: "libqrencode", apt: "libqrencode-dev"),
  cModule("CHaru", pkgConfig: nil, apt: "libhpdf-dev"),
  cModule("CGStreamer", pkgConfig: "gstreamer-webrtc-1.0", apt: "libgstreamer-plugins-bad1.0-dev"),
  cModule("CPSL", pkgConfig: "libpsl", apt: "libpsl-dev"),
  cModule("CSoup", pkgConfig: "libsoup-3.0", apt: "libsoup-3.0-dev"),
  .target(name: "CUHID", cSettings: fortified),
  .target(name: "CLinux", cSettings: fortified),
  .target(name: "CVersion"),
  .target(
    name: "CWebRTC", dependencies: ["CGStreamer", "COpenSSL"], cSettings: fortified,
    linkerSettings: [.linkedLibrary("gstsdp-1.0")]),
  .target(name: "CNetwork", dependencies: ["CSoup"], cSettings: fortified),
  // Reads the vector files under Tests/Vectors; no product uses it.
  .target(name: "TestVectors", path: "Tests/Swift/TestVectors", swiftSettings: settings),
  // Reads the vectors of the recovery contract; no product uses it.
  .target(
    name: "TestSupport", dependencies: ["Recovery", "CryptoPrimitives", "Messages", "TestVectors"],
    path: "Tests/Swift/TestSupport",
    swiftSettings: settings),
  // Uses of the libraries; `scripts/test unit` runs them.
  .executableTarget(
    name: "example-soft-key",
    dependencies: ["CTAP2", "CTAPHID", "Recovery", "CBOR", "DeterministicKeys", "CryptoPrimitives"],
    path: "Sources/Examples/SoftKey", swiftSettings: settings),
  .executableTarget(
    name: "example-log-in",
    dependencies: ["LiquidAuth", "AlgorandStatements", "CTAP2", "Recovery", "DeterministicKeys", "CryptoPrimitives"],
    path: "Sources/Examples/LogIn", swiftSettings: settings),
  // scripts/bench runs it; no product uses it.
  .executableTarget(
    name: "Benchmarks",
    dependencies: [
      "AlgorandStatements", "CTAP2", "Recovery", "CTAPHID", "CBOR", "DeterministicKeys", "CryptoPrimitives",
      "CredentialDB", "StateDirectory", "Vault", "CSQLite", argumentParser,
    ], path: "Tests/Swift/Benchmarks", swiftSettings: settings),
]

targets += module("CryptoPrimitives", ["COpenSSL", "CSodium"])
targets += module("DeterministicKeys", ["CryptoPrimitives"], tests: ["TestSupport"])
targets += module(
  "SLIP39", ["CryptoPrimitives", "DeterministicKeys"], tests: ["DeterministicKeysTests", "TestSupport"])
targets += module("CBOR", ["CCBOR"])
targets += module("CTAPHID", [])
targets += module("HTTP", ["CryptoPrimitives"])
targets += module("Assuan", [])
targets += module("Messages", [], tests: ["TestSupport"])
// The tests of the programs test it: all of it calls the session bus.
targets.append(.target(name: "SessionBus", dependencies: ["CSystemd"], swiftSettings: settings))
// The tests of the programs in the guest test it: all of it calls logind.
targets.append(.target(name: "Logind", dependencies: ["CSystemd"], swiftSettings: settings))
targets += module("Fingerprint", ["Messages", "ProcessIO", "Logind", "CSystemd"])
targets += module("Bluetooth", ["EventLoop", "Logind", "ProcessIO", "CLinux", "CSystemd"])
targets += module("UHID", ["CTAPHID", "CUHID"], tests: ["TestSupport"])
targets += module(
  "Recovery", ["CBOR", "DeterministicKeys", "CryptoPrimitives"], tests: ["CredentialDB", "TestSupport"])
targets += module(
  "CTAP2", ["Recovery", "CBOR", "CryptoPrimitives", "Messages"],
  tests: ["AlgorandStatements", "DeterministicKeys", "TestSupport"])
targets += module(
  "AlgorandStatements", ["CTAP2", "Recovery", "CBOR", "DeterministicKeys", "CryptoPrimitives"],
  tests: ["CTAP2Tests", "Messages", "TestSupport"])
targets += module("Vault", ["CBOR", "CryptoPrimitives"])
targets += module(
  "CredentialDB", ["Recovery", "CBOR", "CryptoPrimitives", "CSQLite", "CLinux"],
  tests: ["DeterministicKeys", "TestSupport"])
targets += module("ProcessIO", ["CryptoPrimitives", "Messages", "CLinux"], tests: ["TestSupport"])
targets += module("EventLoop", ["CTAPHID", "ProcessIO", "CLinux"], tests: ["TestSupport"])
targets += module("HelperProcess", ["EventLoop", "ProcessIO", "UHID", "CLinux"], tests: ["TestSupport"])
// The tests of the programs test it: a process cannot leave a sandbox.
targets.append(.target(name: "Sandbox", dependencies: ["ProcessIO", "CSeccomp", "CLinux"], swiftSettings: settings))
targets += module("StateDirectory", ["Vault", "CredentialDB", "Recovery", "CryptoPrimitives", "ProcessIO", "CLinux"])
targets += module("ProtectorProtocol", ["CryptoPrimitives", "ProcessIO"])
targets += module("ControlProtocol", ["Recovery", "CBOR", "CryptoPrimitives"])
targets += module(
  "ControlClient", ["ControlProtocol", "StateDirectory", "CryptoPrimitives", "ProcessIO", "UHID", "CLinux"])
targets += module(
  "Doctor",
  [
    "ControlClient", "ControlProtocol", "StateDirectory", "LiquidAuth", "DisplayText", "ProcessIO", "UHID", "CLinux",
  ], tests: ["CBOR"])
targets += module(
  "Prompts",
  [
    "Assuan", "ControlProtocol", "ProtectorProtocol", "CTAP2", "CTAPHID", "Recovery", "DeterministicKeys",
    "CryptoPrimitives", "DisplayText", "Messages", "ProcessIO", "EventLoop", "HelperProcess", "Logind", "Fingerprint",
    "CLinux",
  ], tests: ["EventLoopTests", "TestSupport"])
targets += module("PasskeyFiles", ["Recovery", "CryptoPrimitives"], tests: ["TestSupport"])
targets += module("Hybrid", ["CBOR", "CryptoPrimitives"], tests: ["TestSupport"])
targets += module("DisplayText", [], tests: ["LiquidAuth"])
targets += module("AlgorandTransaction", ["DeterministicKeys", "CryptoPrimitives", "DisplayText", "Messages"])
targets += module(
  "LiquidAuth",
  [
    "AlgorandStatements", "AlgorandTransaction", "CTAP2", "Recovery", "CBOR", "DeterministicKeys", "CryptoPrimitives",
    "DisplayText",
  ], tests: ["TestSupport", "example-log-in"])
targets += module("Keyri", ["LiquidAuth", "CryptoPrimitives", "DisplayText"])

targets += [
  .executableTarget(
    name: "liquid-authenticator",
    dependencies: [
      "AlgorandStatements", "AlgorandTransaction", "CTAPHID", "CTAP2", "Recovery", "CBOR", "DeterministicKeys",
      "CryptoPrimitives", "Vault", "CredentialDB", "ControlProtocol", "ProtectorProtocol", "StateDirectory",
      "Prompts", "DisplayText", "Messages", "ProcessIO", "EventLoop", "HelperProcess", "Sandbox", "UHID", "Logind",
      "Fingerprint", "CUdev", "CLinux", "CVersion",
    ], swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth-broker", dependencies: ["UHID", "CTAPHID", "Logind", "CLinux", "CVersion"],
    swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth-protector",
    dependencies: [
      "ProtectorProtocol", "CTAP2", "CTAPHID", "CryptoPrimitives", "ProcessIO", "SessionBus", "CLinux", "CTSS",
      "CFido2", "CVersion",
    ],
    swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth-pam",
    dependencies: ["ProtectorProtocol", "CTAPHID", "CryptoPrimitives", "ProcessIO", "CPAM", "CLinux", "CVersion"],
    swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth-prompt",
    dependencies: [
      "Assuan", "CTAPHID", "CryptoPrimitives", "Messages", "ProcessIO", "SessionBus", "CLinux", "CVersion",
    ],
    swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth",
    dependencies: [
      "CTAPHID", "CTAP2", "Recovery", "CBOR", "DeterministicKeys", "SLIP39", "CryptoPrimitives", "Vault",
      "CredentialDB", "ControlProtocol", "ControlClient", "PasskeyFiles", "ProtectorProtocol", "StateDirectory",
      "LiquidAuth", "Keyri", "AlgorandTransaction", "DisplayText", "Hybrid", "HTTP", "EventLoop", "ProcessIO", "CLinux",
      "CVersion", "CZlib", "CQREncode", "CHaru", "Doctor", argumentParser,
    ], swiftSettings: settings),
  .executableTarget(
    name: "liquid-auth-wallet",
    dependencies: [
      "LiquidAuth", "Keyri", "AlgorandTransaction", "DeterministicKeys", "ControlClient", "ControlProtocol",
      "StateDirectory", "DisplayText", "Hybrid", "HTTP", "CBOR", "CTAPHID", "CryptoPrimitives", "ProcessIO",
      "EventLoop", "Sandbox", "Bluetooth", "CLinux", "CVersion", "CWebRTC", "CNetwork", "CPSL", "CZlib",
      argumentParser,
    ], swiftSettings: settings),
  .testTarget(
    name: "AuthenticatorShellTests",
    dependencies: [
      "liquid-authenticator", "AlgorandStatements", "AlgorandTransaction", "CTAPHID", "CTAP2", "Recovery",
      "ControlProtocol", "CryptoPrimitives", "DeterministicKeys", "ProtectorProtocol", "Vault", "CredentialDB",
      "StateDirectory", "Prompts", "PromptsTests", "Messages", "ProcessIO", "EventLoop", "EventLoopTests",
      "HelperProcess", "UHID", "Assuan", "TestSupport", "TestVectors",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "PromptShellTests", dependencies: ["liquid-auth-prompt", "Assuan", "Messages", "TestSupport"],
    swiftSettings: settings),
  .testTarget(
    name: "BrokerShellTests", dependencies: ["liquid-auth-broker", "UHID", "CLinux", "TestSupport"],
    swiftSettings: settings),
  .testTarget(
    name: "WalletShellTests",
    dependencies: [
      "liquid-auth-wallet", "LiquidAuth", "Keyri", "AlgorandTransaction", "DeterministicKeys", "ControlClient",
      "ControlProtocol", "CryptoPrimitives", "Hybrid", "HTTP", "EventLoop", "ProcessIO", "StateDirectory",
      "TestSupport", "TestVectors", "CLinux", "CWebRTC", "CGStreamer", argumentParser,
    ], swiftSettings: settings),
  .testTarget(
    name: "CommandShellTests",
    dependencies: [
      "liquid-auth", "AlgorandTransaction", "CBOR", "CTAP2", "Recovery", "ControlClient", "ControlProtocol", "Doctor",
      "CryptoPrimitives", "DeterministicKeys", "HTTP", "LiquidAuth", "PasskeyFiles", "ProcessIO", "ProtectorProtocol",
      "SLIP39", "UHID", "CLinux", "TestSupport", "TestVectors", "Vault",
    ],
    swiftSettings: settings),
  .testTarget(
    name: "FuzzTargetsTests", dependencies: ["FuzzTargets", "TestSupport", "TestVectors"], swiftSettings: settings),
  // The code of the tutorials in Sources/*/*.docc.
  .testTarget(
    name: "TutorialTests",
    dependencies: [
      "AlgorandStatements", "AlgorandTransaction", "CBOR", "CTAP2", "CTAPHID", "CryptoPrimitives", "DeterministicKeys",
      "Keyri", "LiquidAuth", "Recovery",
    ],
    swiftSettings: settings),
]

// What scripts/fuzz fuzzes; the tests compile it, and read its seeds. It sees the inner parts of modules, as tests do, so a
// release build of all targets, which lacks -enable-testing, could not compile it.
let fuzzed: [Target.Dependency] = [
  "AlgorandStatements", "AlgorandTransaction", "LiquidAuth", "Keyri", "CTAP2", "CTAPHID", "UHID", "Recovery",
  "PasskeyFiles", "SLIP39", "Vault", "ControlProtocol", "ProtectorProtocol", "Assuan", "CBOR", "DeterministicKeys",
  "CryptoPrimitives", "DisplayText", "Hybrid", "HTTP", "Messages", "CZlib", "TestSupport", "TestVectors",
]
let fuzzedPath = "Tests/Swift/Fuzz/Targets"

// Only scripts/fuzz builds the program: libFuzzer has the `main`, so an ordinary build cannot link it.
if Context.environment["LIQUID_AUTH_FUZZ"] != nil {
  targets += [
    .target(name: "FuzzTargets", dependencies: fuzzed, path: fuzzedPath, swiftSettings: settings),
    .executableTarget(
      name: "Fuzz", dependencies: ["FuzzTargets"], path: "Tests/Swift/Fuzz/Program", swiftSettings: settings),
  ]
} else {
  targets.append(.testTarget(name: "FuzzTargets", dependencies: fuzzed, path: fuzzedPath, swiftSettings: settings))
}

/// The folders of Sources, each with those of its targets.
let folders = [
  "Core": [
    "CryptoPrimitives", "CBOR", "CTAPHID", "HTTP", "Hybrid", "DeterministicKeys", "SLIP39", "Recovery", "CTAP2",
    "PasskeyFiles", "DisplayText", "Messages",
  ],
  "Algorand": ["AlgorandTransaction", "AlgorandStatements", "LiquidAuth", "Keyri"],
  "Store": ["Vault", "CredentialDB", "StateDirectory"],
  "Channels": ["ControlProtocol", "ControlClient", "Doctor", "Prompts", "ProtectorProtocol", "Assuan"],
  "Linux": [
    "ProcessIO", "EventLoop", "HelperProcess", "Sandbox", "UHID", "Logind", "Fingerprint", "Bluetooth", "SessionBus",
  ],
]
for target in targets where target.path == nil {
  if target.isTest {
    target.path = "Tests/Swift/\(target.name)"
  } else if target.type == .executable {
    target.path = "Sources/Programs/\(target.name)"
  } else {
    // The other targets are the doors to C libraries.
    let folder = folders.first { $0.value.contains(target.name) }?.key ?? "C"
    target.path = "Sources/\(folder)/\(target.name)"
  }
}

let package = Package(
  name: "liquid-auth",
  products: [
    // In the order in which scripts/docs documents them: each after those that it uses.
    .library(name: "CBOR", targets: ["CBOR"]),
    .library(name: "CryptoPrimitives", targets: ["CryptoPrimitives"]),
    .library(name: "CTAPHID", targets: ["CTAPHID"]),
    .library(name: "DeterministicKeys", targets: ["DeterministicKeys"]),
    .library(name: "Recovery", targets: ["Recovery"]),
    .library(name: "CTAP2", targets: ["CTAP2"]),
    .library(name: "AlgorandStatements", targets: ["AlgorandStatements"]),
    .library(name: "AlgorandTransaction", targets: ["AlgorandTransaction"]),
    .library(name: "LiquidAuth", targets: ["LiquidAuth"]),
    .library(name: "Keyri", targets: ["Keyri"]),
    .executable(name: "liquid-authenticator", targets: ["liquid-authenticator"]),
    .executable(name: "liquid-auth", targets: ["liquid-auth"]),
    .executable(name: "liquid-auth-wallet", targets: ["liquid-auth-wallet"]),
  ],
  dependencies: [
    // An exact version, so that one commit always has the same sources; scripts/swift-packages checks them.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
  ],
  targets: targets
)
