import Glibc

/// Operations on folders of a run.
enum Folder {
  /// Makes a folder with mode 0700.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be made or exists already.
  static func make(_ path: String) throws(BenchError) {
    guard mkdir(path, 0o700) == 0 else {
      throw .unmeasurable("could not make \(path): \(String(cString: strerror(errno)))")
    }
  }

  /// The sum of the sizes of all files in a folder, in bytes.
  static func size(_ path: String) -> Int64 {
    entries(path).reduce(0) { $0 + size(of: path + "/" + $1) }
  }

  /// The size of a file, or of a folder with everything in it; 0 if there is neither.
  private static func size(of entry: String) -> Int64 {
    var status = stat()
    guard lstat(entry, &status) == 0 else { return 0 }
    return status.st_mode & S_IFMT == S_IFDIR ? size(entry) : Int64(status.st_size)
  }

  /// The size of each file divided by the number of events, the largest first.
  static func shares(_ path: String, of events: Int) -> String {
    let files = entries(path).map { (name: $0, size: size(of: path + "/" + $0)) }
    let shares = files.filter { $0.size >= Int64(events) }.sorted { $0.size > $1.size }
      .map { "\($0.name) \(Decimal.text(Double($0.size) / Double(events))) B" }
    return shares.joined(separator: ", ")
  }

  /// Reads all files in a folder, so that as many of their pages as possible are in the system's
  /// page cache.
  static func readThrough(_ path: String) {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    for name in entries(path) {
      let descriptor = open(path + "/" + name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else { continue }
      while read(descriptor, &buffer, buffer.count) > 0 {}
      close(descriptor)
    }
  }

  /// The free bytes of a folder's file system.
  ///
  /// - Throws: `BenchError.unmeasurable` if the system does not tell them.
  static func freeSpace(_ path: String) throws(BenchError) -> Int64 {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else {
      throw .unmeasurable("could not inspect \(path): \(String(cString: strerror(errno)))")
    }
    return Int64(status.f_bavail) * Int64(status.f_frsize)
  }

  /// The number of entries of a folder.
  static func count(_ path: String) -> Int { entries(path).count }

  /// Removes a folder with everything in it.
  static func remove(_ path: String) {
    for name in entries(path) {
      let entry = path + "/" + name
      if unlink(entry) != 0 { remove(entry) }
    }
    rmdir(path)
  }

  /// The names in a folder, without `.` and `..`; none if it cannot be read.
  static func entries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}
