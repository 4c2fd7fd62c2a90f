import CSQLite
import Glibc
import Store
import Synchronization

/// A VFS for SQLite that injects faults: every write, sync and truncation on an observed thread is
/// reported to its observer, which may make it fail. Other threads use the files as usual, so that
/// tests that run at the same time are not affected.
///
/// It is the system's VFS (sqlite.org/vfs.html) with three functions of each open file replaced, so
/// that SQLite handles the errors as it handles real ones.
enum FaultyFiles {
  enum Operation: Sendable { case write, sync, truncate }
  enum FileKind: Int32, Sendable { case other, journal, projection }

  /// Receives the file operations of one thread.
  class Observer {
    /// Called before an operation. Returns nil to perform it, or the result code for SQLite
    /// instead.
    func before(_ operation: Operation, _ kind: FileKind) -> Int32? { nil }
    /// Called after an operation, whether it succeeded or not.
    func after(_ operation: Operation, _ kind: FileKind, isGood: Bool) {}
  }

  /// Runs `body` on this thread with an observer.
  static func observed<Value>(by observer: Observer, _ body: () throws -> Value) rethrows -> Value {
    precondition(isInstalled)
    pthread_setspecific(key, Unmanaged.passUnretained(observer).toOpaque())
    defer {
      pthread_setspecific(key, nil)
      withExtendedLifetime(observer) {}
    }
    return try body()
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  private static var observer: Observer? {
    pthread_getspecific(key).map { Unmanaged<Observer>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: The VFS

  /// Our methods of an open file, and the system's methods that they call.
  private struct Methods {
    var own: sqlite3_io_methods
    let system: UnsafePointer<sqlite3_io_methods>
    let kind: FileKind
  }

  private struct Known: ~Copyable {
    var tables: [String: Int] = [:]
    /// The table of each file that is open or was, by the address of the file: the store replaces
    /// the methods of some files with its own, which call ours.
    var tableOfFile: [Int: Int] = [:]
  }

  /// One table of methods for each kind of file. Made once and never freed.
  private static let known = Mutex(Known())

  nonisolated(unsafe) private static let system = sqlite3_vfs_find(nil)

  private static let isInstalled: Bool = {
    // The store must configure SQLite before its first use.
    _ = try? SQLiteConnection.open("/nowhere/at/all", .read)
    guard let system else { return false }
    let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    layer.initialize(to: system.pointee)
    layer.pointee.zName = UnsafePointer(strdup("faulty"))
    layer.pointee.pNext = nil
    layer.pointee.xOpen = { _, name, file, flags, given in
      let code = FaultyFiles.system?.pointee.xOpen(FaultyFiles.system, name, file, flags, given)
      guard let code, let file else { return SQLITE_CANTOPEN }
      if code == SQLITE_OK, let methods = file.pointee.pMethods {
        let path = name.map { String(cString: $0) } ?? ""
        let table = FaultyFiles.table(methods, FaultyFiles.kind(path))
        let address = Int(bitPattern: file)
        FaultyFiles.known.withLock { $0.tableOfFile[address] = Int(bitPattern: table) }
        file.pointee.pMethods = table
      }
      return code
    }
    return sqlite3_vfs_register(layer, 1) == SQLITE_OK
  }()

  private static func kind(_ path: String) -> FileKind {
    let name = path.split(separator: "/").last ?? ""
    if name.hasPrefix("journal.sqlite") { return .journal }
    return name.hasPrefix("entitlements-") ? .projection : .other
  }

  private static func table(
    _ system: UnsafePointer<sqlite3_io_methods>, _ kind: FileKind
  ) -> UnsafePointer<sqlite3_io_methods>? {
    let name = "\(system) \(kind)"
    let address = known.withLock { known in
      if let address = known.tables[name] { return address }
      let table = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
      table.initialize(to: Methods(own: replaced(system.pointee), system: system, kind: kind))
      known.tables[name] = Int(bitPattern: table)
      return Int(bitPattern: table)
    }
    return UnsafePointer(bitPattern: address)
  }

  private static func replaced(_ methods: sqlite3_io_methods) -> sqlite3_io_methods {
    var methods = methods
    methods.xWrite = { file, bytes, count, offset in
      FaultyFiles.perform(.write, file) { $0.xWrite(file, bytes, count, offset) }
    }
    methods.xSync = { file, flags in
      FaultyFiles.perform(.sync, file) { $0.xSync(file, flags) }
    }
    methods.xTruncate = { file, size in
      FaultyFiles.perform(.truncate, file) { $0.xTruncate(file, size) }
    }
    return methods
  }

  private static func perform(
    _ operation: Operation, _ file: UnsafeMutablePointer<sqlite3_file>?,
    _ call: (sqlite3_io_methods) -> Int32
  ) -> Int32 {
    let address = Int(bitPattern: file)
    let known = known.withLock { $0.tableOfFile[address] ?? 0 }
    guard let table = UnsafePointer<Methods>(bitPattern: known) else { return SQLITE_IOERR }
    let methods = table.pointee
    guard let observer else { return call(methods.system.pointee) }
    if let refusal = observer.before(operation, methods.kind) {
      observer.after(operation, methods.kind, isGood: false)
      return refusal
    }
    let code = call(methods.system.pointee)
    observer.after(operation, methods.kind, isGood: code == SQLITE_OK)
    return code
  }
}
