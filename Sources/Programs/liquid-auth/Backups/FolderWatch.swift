import Glibc
import ProcessIO

/// An event of inotify(7).
struct FolderEvent: Equatable {
  /// The watch descriptor; -1 if events were lost.
  let watch: Int32
  let mask: UInt32
  /// The name of the file in the folder; empty for the folder itself.
  let name: String

  /// Whether events were lost, so that anything can have changed.
  var isOverflow: Bool { mask & UInt32(IN_Q_OVERFLOW) != 0 }

  /// Reads the events that the kernel writes: watch, mask, cookie and the size of the name, 4 bytes each, and the name,
  /// padded with zero bytes.
  static func read(_ bytes: [UInt8]) -> [FolderEvent] {
    var (events, rest): ([FolderEvent], ArraySlice<UInt8>) = ([], bytes[...])
    let number = { (start: Int) in
      bytes[start..<start + 4].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
    }
    while rest.count >= 16 {
      let size = Int(number(rest.startIndex + 12))
      guard rest.count >= 16 + size else { break }
      let name = rest.dropFirst(16).prefix(size).prefix { $0 != 0 }
      events.append(
        FolderEvent(
          watch: Int32(bitPattern: number(rest.startIndex)), mask: number(rest.startIndex + 4),
          name: String(decoding: name, as: UTF8.self)))
      rest = rest.dropFirst(16 + size)
    }
    return events
  }
}

/// Watches two places: the folder of backups and the control socket.
///
/// For a place that does not exist, it watches the nearest parent that does, for the first missing part of the path. For the
/// folder, it also watches the table of mounts.
final class FolderWatch {
  private static let changes = UInt32(
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
  private static let appearance = UInt32(
    IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

  private let inotify: Int32
  private var mounts: Int32 = -1
  private var folder: Int32 = -1
  private var folderParent: Int32 = -1
  private var socketParent: Int32 = -1
  /// The names to watch for in these parents: the first part of each path that is missing.
  private var (folderName, socketName) = ("", "")

  init() throws(CommandFailure) {
    inotify = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    guard inotify >= 0 else { throw CommandFailure("cannot watch a folder: \(SystemNumber())") }
  }

  deinit {
    close(inotify)
    if mounts >= 0 { close(mounts) }
  }

  /// The descriptors to wait for with poll(2).
  var descriptors: [pollfd] {
    [pollfd(fd: inotify, events: Int16(POLLIN), revents: 0)]
      + (mounts < 0 ? [] : [pollfd(fd: mounts, events: Int16(POLLPRI), revents: 0)])
  }

  /// Watches a folder instead of the one before.
  ///
  /// Must be called before the folder is read, so that no change is missed.
  ///
  /// - Parameter isAbsent: whether the folder is missing, or another directory is in its place.
  func watch(folder path: String, isAbsent: Bool) throws(CommandFailure) {
    set(\.folder, to: inotify_add_watch(inotify, path, Self.changes))
    if folder < 0, errno == ENOSPC || errno == ENOMEM { throw Self.failure(path) }
    guard isAbsent else {
      set(\.folderParent, to: -1)
      if mounts >= 0 { close(mounts) }
      mounts = -1
      return
    }
    let parent = watch(parentOf: path)
    folderName = parent.missing
    set(\.folderParent, to: parent.watch)
    guard folderParent >= 0 else { throw Self.failure(path) }
    if mounts < 0 { mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) }
  }

  /// Watches for the control socket.
  func watch(socket path: String) throws(CommandFailure) {
    let parent = watch(parentOf: path)
    socketName = parent.missing
    set(\.socketParent, to: parent.watch)
    guard socketParent >= 0 else { throw Self.failure(path) }
  }

  /// Stops watching for the control socket.
  func endWatchOfSocket() { set(\.socketParent, to: -1) }

  /// The failure for a place that cannot be watched; reads `errno`.
  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(
      "cannot watch \(path): \(SystemNumber()); raise the limit fs.inotify.max_user_watches, see sysctl(8)")
  }

  /// Watches the nearest parent that exists; returns the watch, or -1, and the name in it that leads to the place.
  private func watch(parentOf path: String) -> (watch: Int32, missing: String) {
    var (parent, missing) = (path, path)
    while let slash = parent.lastIndex(of: "/") {
      missing = String(parent[slash...].dropFirst())
      parent = String(parent[..<slash])
      let watch = inotify_add_watch(inotify, parent.isEmpty ? "/" : parent, Self.appearance | UInt32(IN_MASK_ADD))
      if watch >= 0 { return (watch, missing) }
      if !parent.isEmpty { missing = parent }
    }
    return (inotify_add_watch(inotify, ".", Self.appearance | UInt32(IN_MASK_ADD)), missing)
  }

  /// Sets a watch, and ends the earlier one if nothing else uses it; keeps `errno`.
  private func set(_ place: ReferenceWritableKeyPath<FolderWatch, Int32>, to watch: Int32) {
    let (old, number) = (self[keyPath: place], errno)
    self[keyPath: place] = watch
    if old >= 0, ![folder, folderParent, socketParent].contains(old) { inotify_rm_watch(inotify, old) }
    errno = number
  }

  /// Reads the events so far; returns which places may have changed.
  ///
  /// - Parameter isKnown: whether the state of a file in the folder is known already, so that its events do not count.
  func readEvents(_ ready: [pollfd], isKnown: (String) -> Bool = { _ in false }) -> (folder: Bool, socket: Bool) {
    var (isFolder, isSocket) = (false, false)
    if ready.contains(where: { $0.fd == mounts && $0.revents != 0 }) { isFolder = true }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(inotify, &buffer, buffer.count), count > 0 {
      for event in FolderEvent.read(Array(buffer.prefix(count))) {
        if event.isOverflow { (isFolder, isSocket) = (true, true) }
        if event.watch == folder,
          event.name.isEmpty || (FollowedFiles.isBackup(event.name) && !isKnown(event.name))
        {
          isFolder = true
        }
        if event.watch == folderParent, ["", folderName].contains(event.name) { isFolder = true }
        if event.watch == socketParent, ["", socketName].contains(event.name) { isSocket = true }
      }
    }
    return (isFolder, isSocket)
  }
}
