import Glibc
import Platform
import Simulator
import StrictJSON

/// The folder of one run, or of one daemon in it: configuration, the daemon's data, its log.
struct RunFolder {
  let path: String
  /// The binary under measurement.
  let subledger: String
  /// Whether the folder was asked for by name, and stays.
  let isKept: Bool

  /// Only good for a daemon on loopback that trusts nobody but this run's authority.
  static let token = "bench"
  /// The SHA-256 of the token, which is what a configuration holds.
  private static let tokenSHA256 =
    "1b32c28cb38c05480eccc1bd60ff97029b57a05c96718b96dad7e9d84894f549"
  /// Where folders are made that nobody named.
  private static let place = ".bench"

  var data: String { path + "/data" }
  var configuration: String { path + "/config.json" }

  /// Makes a new folder; the one of made journals, if it was named, may be there already.
  static func make(_ options: Options) throws(BenchError) -> RunFolder {
    if options.data == nil {
      mkdir(place, 0o700)
      clearAbandoned()
    }
    let path = options.data ?? "\(place)/run-\(getpid())"
    if !(options.isLarge && options.data != nil && access(path, F_OK) == 0) {
      try Folder.make(path)
    }
    return RunFolder(path: path, subledger: options.subledger, isKept: options.data != nil)
  }

  /// One in this one, made where it is missing.
  func inner(_ name: String) throws(BenchError) -> RunFolder {
    let inner = path + "/" + name
    if access(inner, F_OK) != 0 { try Folder.make(inner) }
    return RunFolder(path: inner, subledger: subledger, isKept: true)
  }

  /// A run that was killed may have left gigabytes.
  private static func clearAbandoned() {
    for name in Folder.entries(place) where name.hasPrefix("run-") {
      guard let pid = pid_t(name.dropFirst(4)), kill(pid, 0) != 0, errno == ESRCH else { continue }
      Folder.remove(place + "/" + name)
    }
  }

  /// Writes a configuration that trusts an authority and listens on a free port.
  ///
  /// - Parameters:
  ///   - authority: the authority's folder.
  ///   - places: how many connections the daemon takes.
  func configure(_ authority: String, places: Int) throws(BenchError) {
    let text = configurationValue(authority, places).prettyText + "\n"
    do throws(PlatformError) {
      try DurableFile.write(Array(text.utf8), to: configuration)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  /// One app, one root, one token; all limits but those on connections are the daemon's own.
  private func configurationValue(_ authority: String, _ places: Int) -> JSONValue {
    let app = SimulatedApp()
    let admitted = JSONValue.object([
      ("bundleId", .string(app.bundleId)), ("appAppleId", .integer(app.appAppleId)),
      ("environments", .array([.string(app.environment)])),
    ])
    let reader = JSONValue.object([
      ("name", .string("bench")), ("sha256", .string(Self.tokenSHA256)),
    ])
    let places = JSONValue.integer(Int64(places))
    return .object([
      ("listen", .string("127.0.0.1:0")), ("data", .string(absolute(data))),
      ("apps", .array([admitted])),
      ("trustRoots", .array([.string(absolute(authority + "/root.der"))])),
      ("readTokens", .array([reader])),
      ("limits", .object([("connections", places), ("connectionsPerAddress", places)])),
    ])
  }

  /// Paths in a configuration mean its folder, those of a command line the working directory.
  private func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// Runs a program to its end.
  ///
  /// - Returns: its standard output and the seconds it took.
  func run(_ words: [String]) throws(BenchError) -> (output: String, seconds: Double) {
    let start = Clock.monotonicNanoseconds()
    let output = path + "/output"
    let process = try ChildProcess.start(words, output: output, errors: path + "/errors")
    let code = process.wait()
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    guard code == 0 else {
      let last = try lastLine(of: path + "/errors")
      throw .unmeasurable("'\(words.joined(separator: " "))' failed: \(last)")
    }
    return (try ProcessUsage.text(output), seconds)
  }

  /// Runs a command of the measured binary on the data.
  func subledger(_ command: [String]) throws(BenchError) -> (output: String, seconds: Double) {
    try run([subledger] + command + ["--config", configuration])
  }

  /// What a program said last, for a message; it holds no body and no secret by the log's rules.
  func lastLine(of file: String) throws(BenchError) -> String {
    let lines = try ProcessUsage.text(file).split(separator: "\n")
    return lines.last.map(String.init) ?? "nothing"
  }

  /// Removes the folder unless it is to stay.
  func clear() {
    guard !isKept else { return }
    Folder.remove(path)
    // Stays where another run has something in it.
    rmdir(Self.place)
  }
}
