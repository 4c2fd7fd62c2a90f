import Glibc
import Platform
import StrictJSON

/// The conditions of a run, on which its measurements depend: machine, libraries, sizes.
struct Conditions {
  private(set) var all: [(name: String, value: String)] = []

  /// Adds a condition. They are shown in the order of addition.
  mutating func add(_ name: String, _ value: String) { all.append((name, value)) }

  /// The conditions of this machine and of the measured binary.
  ///
  /// - Throws: `BenchError.unmeasurable` if /proc cannot be read or a program fails.
  static func ofMachine(_ run: RunFolder) throws(BenchError) -> Conditions {
    var conditions = Conditions()
    conditions.add("processors", "\(ProcessLimits.processors), \(try processor())")
    var system = utsname()
    uname(&system)
    let release = withUnsafePointer(to: &system.release) { field in
      field.withMemoryRebound(to: CChar.self, capacity: 65) { String(cString: $0) }
    }
    conditions.add("kernel", "Linux \(release)")
    // Other processes affect all measurements but the ratios, and by filling caches those too.
    let load = try ProcessUsage.text("/proc/loadavg").split(separator: " ").first ?? "?"
    conditions.add("load average before", String(load))
    conditions.add("file system", try fileSystem(run.path))
    let openssl = try run.run(["openssl", "version"]).output
    conditions.add("openssl speed", String(openssl.prefix { $0 != "\n" }))
    let version = try run.run([run.subledger, "version", "--json"]).output
    guard let document = try? JSONDocument(parsing: Array(version.utf8)) else {
      throw .unmeasurable("'subledger version --json' wrote no JSON")
    }
    for (name, value) in document.root.members { conditions.add(name, value.string ?? "") }
    return conditions
  }

  /// The processor's name by the kernel; "unknown" on ARM, whose kernels give none.
  private static func processor() throws(BenchError) -> String {
    let lines = try ProcessUsage.text("/proc/cpuinfo").split(separator: "\n")
    let model = lines.first { $0.hasPrefix("model name") || $0.hasPrefix("Processor") }
    return model?.split(separator: ":").last.map { String($0.drop { $0 == " " }) } ?? "unknown"
  }

  /// The type of the file system that `path` is on: that of the mount with the longest matching
  /// path.
  private static func fileSystem(_ path: String) throws(BenchError) -> String {
    guard let resolved = realpath(path, nil) else { return "unknown" }
    defer { free(resolved) }
    let directory = String(cString: resolved) + "/"
    var best = (path: "", type: "unknown")
    for line in try ProcessUsage.text("/proc/mounts").split(separator: "\n") {
      let fields = line.split(separator: " ").map(String.init)
      guard fields.count > 2 else { continue }
      let mount = fields[1].hasSuffix("/") ? fields[1] : fields[1] + "/"
      if directory.hasPrefix(mount), mount.utf8.count >= best.path.utf8.count {
        best = (mount, fields[2])
      }
    }
    return best.type
  }
}
