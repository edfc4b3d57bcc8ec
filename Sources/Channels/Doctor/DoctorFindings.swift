package import ControlProtocol
import UHID

/// What `liquid-auth doctor` has found on this system, before it is judged.
package struct DoctorFindings: Equatable {
  package enum Authenticator: Equatable {
    /// It answers; the key's information is `nil` if it cannot be read now.
    case running(AuthenticatorStatus, KeyInformation?, TriesLeft?)
    /// Nothing listens: why, and what to do.
    case notRunning(Problem)
    /// Whether it runs cannot be found out.
    case unknown(String)
  }

  /// A unit of systemd.
  struct Unit: Equatable {
    /// LoadState: `loaded`, `not-found`, `masked` and others.
    var load: String
    /// ActiveState: `active`, `inactive`, `failed` and others.
    var active: String
    /// UnitFileState: `enabled`, `disabled` and others.
    var file: String
  }

  enum Driver: Equatable {
    case loaded, builtIn
    /// The kernel has it as a module.
    case absent
    /// A file of modprobe.d forbids it.
    case blocked(by: String)
    /// The kernel of this release was built without it, or its module is in a package that is not installed.
    case unavailable(in: String)
    /// The modules of the running kernel are gone, and those of another are there.
    case updated(from: String)
  }

  /// Permissions of a file.
  struct Access: Equatable {
    /// The lower 12 bits of st_mode.
    var mode: UInt32
    var owner: UInt32
    var group: UInt32
    /// Whether an ACL names further users or groups.
    var hasACL = false
  }

  enum Rule: Equatable {
    case missing
    case present(String)
    /// Another file of that name takes the place of ours, which is in a later directory if there is a second path.
    case replaced(String, ours: String?)
  }

  /// A hidraw node.
  struct Node: Equatable {
    /// `hidraw3`.
    var name: String
    /// HID_NAME, HID_PHYS and HID_UNIQ.
    var product = ""
    var place = ""
    var serial = ""
    var descriptor: [UInt8] = []
    /// Whether this user can open it for reading and writing.
    var isOpenable = false
    /// Its permissions; `nil` if it is not in /dev.
    var access: Access?
    /// The properties in udev's database; `nil` without a record.
    var properties: [String: String]?
    /// The tags that it has now.
    var tags: Set<String> = []

    var path: String { "/dev/\(name)" }
    var isOurs: Bool { UHIDIdentity.Maker(rawValue: place) != nil }
    /// Whether udev has marked it as a security key.
    var isMarked: Bool { ["ID_FIDO_TOKEN", "ID_SECURITY_TOKEN"].contains { properties?[$0] == "1" } }
    /// Whether its first collection has usage page F1D0 and usage 1.
    var isSecurityKey: Bool { ReportUsage(of: descriptor) == ReportUsage(of: UHIDIdentity.reportDescriptor) }
  }

  /// What `liquid-auth answer` needs to be heard by a browser nearby.
  struct Bluetooth: Equatable {
    /// The adapters that are not blocked, such as `hci0`; all of them if all are blocked.
    var adapters: [String] = []
    /// Whether rfkill blocks all of them; without an adapter, whether a switch of Bluetooth is off.
    var isBlocked = false
    /// Whether bluetoothd has turned the first adapter on.
    var isOn: Asked<Bool> = .unknown("nobody was asked")
    /// The version of BlueZ.
    var version: Asked<String> = .unknown("nobody was asked")
  }

  struct SnapBrowser: Equatable {
    var name: String
    /// Whether its interface u2f-devices is connected.
    var isConnected: Bool
  }

  struct FlatpakApplication: Equatable {
    var id: String
    var isBrowser: Bool
    /// Whether its permissions have devices=all.
    var hasAllDevices: Bool
  }

  /// A preference that disables security keys in Firefox.
  struct FirefoxPreference: Equatable {
    /// The files that set it to false.
    var files: [String]
    var name: String
    /// Whether the files belong to the installation, and not to a profile.
    var isSystem = false
  }

  struct Pinentry: Equatable {
    var program: String
    /// Its path; `nil` if it is not found.
    var path: String?
    /// The name of the file at the end of all links.
    var target = ""
    /// The paths of other pinentries that have a window.
    var others: [String] = []
    /// Whether update-alternatives is there, which chooses one of them.
    var hasAlternatives = false

    /// Those that have a window, the best first.
    static let graphical = [
      "pinentry-gnome3", "pinentry-qt", "pinentry-qt5", "pinentry-gtk-2", "pinentry-fltk",
    ]
    static let needingX: Set = ["pinentry-gtk-2", "pinentry-fltk", "pinentry-x11"]

    /// The last component of a path.
    static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }
  }

  struct Session: Equatable {
    var id: String
    var isActive: Bool
    var isRemote: Bool
    var isAtSeat: Bool
    var isLocked: Bool
  }

  /// A limit of locked memory, bytes; `nil` is unlimited.
  struct MemoryLimit: Equatable {
    var soft: UInt64?
    var hard: UInt64?
    /// The authenticator's process; `nil` if the limit is this command's.
    var process: Int32?
  }

  struct Clock: Equatable {
    /// Unix seconds.
    var now: Int64
    /// When the file of this program was made, Unix seconds.
    var program: Int64?
    var isSynchronized: Bool
  }

  struct Packages: Equatable {
    /// Packages that are not completely installed, with the state's word.
    var broken: [Package] = []
    /// Whether dpkg was interrupted.
    var isInterrupted = false
  }

  struct Package: Equatable {
    var name: String
    /// `half-installed`, `unpacked` and others.
    var state: String
  }

  /// A program that installs packages, by its name.
  enum PackageManager: String, CaseIterable {
    case apt = "apt-get"
    case dnf, pacman
  }

  /// The place options, each after a space, for the end of one of our commands.
  package var options = ""
  var user: UInt32
  /// Whether another user runs this command as root, with sudo.
  var isSudo: Bool
  var authenticator: Authenticator
  /// The files of vault and store, which count while no authenticator answers.
  var vault: VaultFinding
  var hasSystemd: Bool
  var system: SystemFindings
  /// Whether the user service is the one of this authenticator: its vault and socket are the default ones.
  var isUserService: Bool
  /// The units of the user service, and the target of graphical sessions, before the question starts the authenticator.
  var socketUnit: Asked<Unit>
  var serviceUnit: Asked<Unit>
  var sessionUnit: Asked<Unit>
  var driver: Driver
  var brokerUnit: Asked<Unit>
  var hasBrokerSocket: Bool
  var rule: Rule
  /// Other files of rules that name `/dev/uhid`.
  var otherRules: [String]
  /// Of `/dev/uhid`; `nil` if there is none.
  var uhid: Access?
  /// The group to which the rule gives `/dev/uhid`.
  var groupName: String
  /// Its number; `nil` if there is no such group.
  var group: UInt32?
  /// The user's name if the group has it as a member.
  var member: String?
  /// Whether systemd's rule that marks security keys is installed.
  var hasFIDORule: Bool
  var nodes: [Node]
  var snaps: [SnapBrowser]
  /// The names of snaps that are password managers, and have no connected interface u2f-devices.
  var snapApplications: [String]
  var flatpaks: [FlatpakApplication]
  /// How many profiles of Firefox there are.
  var firefoxProfiles: Int
  var firefoxOff: [FirefoxPreference]
  var pinentry: Pinentry
  /// Why GNOME's prompter does not answer; `known(nil)` if it does, or if pinentry-gnome3 does not need it.
  var prompter: Asked<String?> = .known(nil)
  /// Whether the user service, or else this command, has an X display, and whether it has a Wayland display.
  var hasX: Bool
  var hasWayland: Bool
  /// XDG_CURRENT_DESKTOP.
  var desktop: String
  /// What the notification daemon can do; `known(nil)` if none runs.
  var notifications: Asked<[String]?>
  /// The user's session; `known(nil)` if there is none.
  var session: Asked<Session?>
  var memory: MemoryLimit?
  var clock: Clock
  /// `nil` without dpkg.
  var packages: Packages?
  /// `nil` if none of them is installed.
  var packageManager: PackageManager?
  /// Whether this program is from a package.
  var isPackaged: Bool
  var bluetooth = Bluetooth()
}

extension DoctorFindings.Bluetooth {
  /// What the kernel says; asks no program.
  init(_ tree: SystemTree) {
    // Beside an adapter there can be its connections, such as hci0:64.
    let all = tree.names("/sys/class/bluetooth").filter { $0.hasPrefix("hci") && !$0.contains(":") }
    let off = tree.names("/sys/class/rfkill").map { "/sys/class/rfkill/\($0)" }.filter { path in
      ["soft", "hard"].contains { tree.lines("\(path)/\($0)").first == "1" }
    }
    // Each adapter has a switch with its name.
    let blocked = off.compactMap { tree.lines("\($0)/name").first }
    let free = all.filter { !blocked.contains($0) }
    adapters = free.isEmpty ? all : free
    // A laptop's own switch takes the adapter away.
    isBlocked = all.isEmpty ? off.contains { tree.lines("\($0)/type").first == "bluetooth" } : free.isEmpty
  }

  var condition: BluetoothCondition { isBlocked ? .blocked : adapters.isEmpty ? .absent : .present }
}

extension DoctorFindings {
  var status: AuthenticatorStatus? {
    guard case .running(let status, _, _) = authenticator else { return nil }
    return status
  }

  /// Whether the running authenticator was started by hand, and not by systemd.
  var isByHand: Bool { status != nil && ![socketUnit, serviceUnit].contains { $0.value?.active == "active" } }

  /// The transport of the running authenticator if that is not a device of the kernel.
  var otherTransport: String? { status?.device.otherTransport }

  /// The node of this user's authenticator.
  var ownNode: Node? {
    if let path = status?.device.node { return nodes.first { $0.path == path } }
    return nodes.first { $0.place == UHIDIdentity.Maker.broker.rawValue && $0.serial == String(user) }
  }

  /// All lines, in the order of ``Check/Name``; only one if they would be about root by mistake.
  package var checks: [Check] {
    if isSudo {
      return [
        .problem(
          .authenticator, "under sudo, doctor would check root's key; run it as the user at the desktop",
          remedy: Remedy(["liquid-auth", "doctor"]))
      ]
    }
    let device = [kernelModule, broker, rules, node, reportDescriptor, fidoProperties]
    return [runs, service] + device + secondKeys + snapBrowsers + flatpakBrowsers + firefox
      + [
        applications, prompts, notificationDaemon, sessions, screenLock, vaults, verification, u2f, prf, backup,
        backupFlags, bluetoothAdapter, memlock, clocks,
      ] + dpkg
  }
}

extension AuthenticatorStatus {
  /// What is wrong with prompts that answer by themselves.
  package static let quickAnswers =
    "the last three were answered faster than a person can read: check the program of --askpass or --pinentry"
}

/// The usage of a report descriptor's first collection.
struct ReportUsage: Equatable {
  private var page: UInt32 = 0
  private var usage: UInt32 = 0

  /// Reads short items until the first collection (HID 1.11 §6.2.2.2); `nil` if there is none.
  init?(of descriptor: [UInt8]) {
    var rest = descriptor[...]
    while let prefix = rest.popFirst() {
      let size = [0, 1, 2, 4][Int(prefix & 3)]
      // FE begins a long item, which no device uses.
      guard prefix != 0xFE, rest.count >= size else { return nil }
      let value = rest.prefix(size).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      rest = rest.dropFirst(size)
      switch prefix & 0xFC {
      case 0x04: page = value
      case 0x08: usage = value
      case 0xA0: return
      default: break
      }
    }
    return nil
  }
}
