import Glibc

/// A folder of this run, with everything in it.
enum Folder {
  /// Makes it for the owner alone; one that exists is an error, since its files are not ours.
  static func make(_ path: String) throws(BenchError) {
    guard mkdir(path, 0o700) == 0 else {
      throw .unmeasurable("could not make \(path): \(String(cString: strerror(errno)))")
    }
  }

  /// The sizes of all files in it added up, in bytes.
  static func size(_ path: String) -> Int64 {
    entries(path).reduce(0) { sum, name in
      var status = stat()
      let entry = path + "/" + name
      guard lstat(entry, &status) == 0 else { return sum }
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      return sum + (isFolder ? size(entry) : Int64(status.st_size))
    }
  }

  /// How many entries it has.
  static func count(_ path: String) -> Int { entries(path).count }

  /// Removes it whole.
  static func remove(_ path: String) {
    for name in entries(path) {
      let entry = path + "/" + name
      if unlink(entry) != 0 { remove(entry) }
    }
    rmdir(path)
  }

  /// The names in it, without itself and its parent; none where it cannot be read.
  private static func entries(_ path: String) -> [String] {
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
