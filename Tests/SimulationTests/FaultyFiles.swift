import CSQLite
import Glibc
import JournalStore
import Synchronization

/// SQLite's files through a layer that can fail: every write, sync and cut that SQLite makes on a
/// watched thread is shown to its watch, which may answer it with an error. What is not watched
/// goes through as ever, so that trials beside this one notice nothing.
///
/// It is the system's own layer (sqlite.org/vfs.html) with three functions of each open file
/// replaced: the errors take SQLite's own ways.
enum FaultyFiles {
  enum Deed: Sendable { case write, sync, cut }
  enum Room: Int32, Sendable { case other, journal, rows }

  /// Looks on while one thread works.
  class Observer {
    /// Before it is done: nil lets it be done, else this is what SQLite is told.
    func before(_ deed: Deed, _ room: Room) -> Int32? { nil }
    /// After it was done, whether well or not.
    func after(_ deed: Deed, _ room: Room, isGood: Bool) {}
  }

  /// Runs a body on this thread with a watch.
  static func watched<Value>(by watch: Observer, _ body: () throws -> Value) rethrows -> Value {
    precondition(isInstalled)
    pthread_setspecific(key, Unmanaged.passUnretained(watch).toOpaque())
    defer {
      pthread_setspecific(key, nil)
      withExtendedLifetime(watch) {}
    }
    return try body()
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  private static var watch: Observer? {
    pthread_getspecific(key).map { Unmanaged<Observer>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: The layer

  /// The methods of an open file, ours, with what they stand before.
  private struct Methods {
    var own: sqlite3_io_methods
    let system: UnsafePointer<sqlite3_io_methods>
    let room: Room
  }

  private struct Known: ~Copyable {
    var tables: [String: Int] = [:]
  }

  /// One table a kind of file, made once and kept.
  private static let known = Mutex(Known())

  nonisolated(unsafe) private static let system = sqlite3_vfs_find(nil)

  private static let isInstalled: Bool = {
    // SQLite is set up by the store before anybody else uses it.
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
        file.pointee.pMethods = FaultyFiles.table(methods, FaultyFiles.room(path))
      }
      return code
    }
    return sqlite3_vfs_register(layer, 1) == SQLITE_OK
  }()

  private static func room(_ path: String) -> Room {
    let name = path.split(separator: "/").last ?? ""
    if name.hasPrefix("journal.sqlite") { return .journal }
    return name.hasPrefix("entitlements-") ? .rows : .other
  }

  private static func table(
    _ system: UnsafePointer<sqlite3_io_methods>, _ room: Room
  ) -> UnsafePointer<sqlite3_io_methods>? {
    let name = "\(system) \(room)"
    let address = known.withLock { known in
      if let address = known.tables[name] { return address }
      let table = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
      table.initialize(to: Methods(own: replaced(system.pointee), system: system, room: room))
      known.tables[name] = Int(bitPattern: table)
      return Int(bitPattern: table)
    }
    return UnsafePointer(bitPattern: address)
  }

  private static func replaced(_ methods: sqlite3_io_methods) -> sqlite3_io_methods {
    var methods = methods
    methods.xWrite = { file, bytes, count, place in
      FaultyFiles.perform(.write, file) { $0.xWrite(file, bytes, count, place) }
    }
    methods.xSync = { file, flags in
      FaultyFiles.perform(.sync, file) { $0.xSync(file, flags) }
    }
    methods.xTruncate = { file, size in
      FaultyFiles.perform(.cut, file) { $0.xTruncate(file, size) }
    }
    return methods
  }

  private static func perform(
    _ deed: Deed, _ file: UnsafeMutablePointer<sqlite3_file>?,
    _ act: (sqlite3_io_methods) -> Int32
  ) -> Int32 {
    guard let table = file?.pointee.pMethods else { return SQLITE_IOERR }
    // Ours begins with SQLite's, so the one's address is the other's.
    let methods = UnsafeRawPointer(table).assumingMemoryBound(to: Methods.self).pointee
    guard let watch else { return act(methods.system.pointee) }
    if let refusal = watch.before(deed, methods.room) {
      watch.after(deed, methods.room, isGood: false)
      return refusal
    }
    let code = act(methods.system.pointee)
    watch.after(deed, methods.room, isGood: code == SQLITE_OK)
    return code
  }
}
