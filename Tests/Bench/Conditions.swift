import Glibc
import Platform
import StrictJSON

/// What the figures depend on: the machine, the libraries, the sizes.
struct Conditions {
  private(set) var all: [(name: String, value: String)] = []

  /// Adds one; they are shown in the order they came.
  mutating func add(_ name: String, _ value: String) { all.append((name, value)) }

  /// What this machine and the measured binary say of themselves.
  static func ofMachine(_ run: RunFolder) throws(BenchError) -> Conditions {
    var conditions = Conditions()
    conditions.add("processors", "\(ProcessLimits.processors), \(try processor())")
    var system = utsname()
    uname(&system)
    let release = withUnsafePointer(to: &system.release) { field in
      field.withMemoryRebound(to: CChar.self, capacity: 65) { String(cString: $0) }
    }
    conditions.add("kernel", "Linux \(release)")
    // Work of others weighs on every figure but the ratios, and on those too where it fills caches.
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

  /// The model's name as the kernel has it; ARM kernels give none.
  private static func processor() throws(BenchError) -> String {
    let lines = try ProcessUsage.text("/proc/cpuinfo").split(separator: "\n")
    let model = lines.first { $0.hasPrefix("model name") || $0.hasPrefix("Processor") }
    return model?.split(separator: ":").last.map { String($0.drop { $0 == " " }) } ?? "unknown"
  }

  /// The type of the mount with the longest path that holds `path`.
  private static func fileSystem(_ path: String) throws(BenchError) -> String {
    guard let resolved = realpath(path, nil) else { return "unknown" }
    defer { free(resolved) }
    let place = String(cString: resolved) + "/"
    var best = (path: "", type: "unknown")
    for line in try ProcessUsage.text("/proc/mounts").split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard words.count > 2 else { continue }
      let mount = words[1].hasSuffix("/") ? words[1] : words[1] + "/"
      if place.hasPrefix(mount), mount.utf8.count >= best.path.utf8.count {
        best = (mount, words[2])
      }
    }
    return best.type
  }
}
