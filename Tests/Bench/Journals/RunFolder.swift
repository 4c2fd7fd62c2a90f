import AppStoreSimulator
import Glibc
import Platform
import StrictJSON

/// The folder of one run, or of one daemon of it: configuration, the daemon's data and its log.
struct RunFolder {
  let path: String
  /// The path of the measured binary.
  let subledger: String
  /// Whether the folder was named on the command line and is not deleted.
  let isPermanent: Bool

  /// Only suitable for a daemon on loopback that trusts this run's authority alone.
  static let token = "bench"
  /// The SHA-256 of the token, which is what a configuration holds.
  private static let tokenSHA256 =
    "1b32c28cb38c05480eccc1bd60ff97029b57a05c96718b96dad7e9d84894f549"
  /// The parent of folders that are not named on the command line.
  private static let defaultParent = ".bench"

  var data: String { path + "/data" }
  var configuration: String { path + "/config.json" }

  /// Makes a new folder. With `--large` a named folder may exist already.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be made.
  static func make(_ options: Options) throws(BenchError) -> RunFolder {
    if options.data == nil {
      mkdir(defaultParent, 0o700)
      clearAbandoned()
    }
    let path = options.data ?? "\(defaultParent)/run-\(getpid())"
    if !(options.isLarge && options.data != nil && access(path, F_OK) == 0) {
      try Folder.make(path)
    }
    return RunFolder(path: path, subledger: options.subledger, isPermanent: options.data != nil)
  }

  /// A folder in this one, which is made if it is missing.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be made.
  func inner(_ name: String) throws(BenchError) -> RunFolder {
    let inner = path + "/" + name
    if access(inner, F_OK) != 0 { try Folder.make(inner) }
    return RunFolder(path: inner, subledger: subledger, isPermanent: true)
  }

  /// Removes the folders of runs that were killed, which may hold gigabytes.
  private static func clearAbandoned() {
    for name in Folder.entries(defaultParent) where name.hasPrefix("run-") {
      guard let pid = pid_t(name.dropFirst(4)), kill(pid, 0) != 0, errno == ESRCH else { continue }
      Folder.remove(defaultParent + "/" + name)
    }
  }

  /// Writes a configuration that trusts an authority and listens on a free port.
  ///
  /// - Parameters:
  ///   - authority: the authority's folder.
  ///   - connectionLimit: how many connections the daemon accepts.
  /// - Throws: `BenchError.unmeasurable` if it cannot be written.
  ///   - sink: the port of a receiver of webhooks; nil for none.
  ///   - from: where the sink begins.
  func configure(
    _ authority: String, connectionLimit: Int, sink: UInt16? = nil, from: String = "now"
  ) throws(BenchError) {
    var value = configurationValue(authority, connectionLimit)
    if case .object(let members) = value, let sink {
      value = .object(members + [("sinks", .array([Self.sink(sink, from)]))])
    }
    let text = value.prettyText + "\n"
    do throws(LedgerError) {
      if sink != nil {
        _ = try PrivateFile.make(
          Array("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n".utf8), at: path + "/sink.secret")
      }
      try DurableFile.write(Array(text.utf8), to: configuration)
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  private static func sink(_ port: UInt16, _ from: String) -> JSONValue {
    .object([
      ("name", .string("bench")), ("kind", .string("webhook")),
      ("url", .string("http://127.0.0.1:\(port)/")), ("secretFile", .string("sink.secret")),
      ("privateNetwork", .boolean(true)), ("concurrency", .integer(64)), ("from", .string(from)),
      (
        "arrivals",
        .array(["posted", "history", "import", "asked", "submitted"].map { .string($0) })
      ),
    ])
  }

  /// One app, one root, one token; all limits but those of connections have their defaults.
  private func configurationValue(_ authority: String, _ connectionLimit: Int) -> JSONValue {
    let app = SimulatedApp()
    let admitted = JSONValue.object([
      ("bundleId", .string(app.bundleId)), ("appAppleId", .integer(app.appAppleId)),
      ("environments", .array([.string(app.environment)])),
    ])
    let reader = JSONValue.object([
      ("name", .string("bench")), ("sha256", .string(Self.tokenSHA256)),
    ])
    let limit = JSONValue.integer(Int64(connectionLimit))
    return .object([
      ("listen", .string("127.0.0.1:0")), ("data", .string(absolute(data))),
      ("apps", .array([admitted])),
      ("trustRoots", .array([.string(absolute(authority + "/root.der"))])),
      ("readTokens", .array([reader])),
      ("limits", .object([("connections", limit), ("connectionsPerAddress", limit)])),
    ])
  }

  /// Paths in a configuration are relative to its folder, those of a command line to the working
  /// directory.
  private func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// Runs a program to its end.
  ///
  /// - Returns: its standard output and the seconds it took.
  /// - Throws: `BenchError.unmeasurable` if its exit code is not 0.
  func run(_ arguments: [String]) throws(BenchError) -> (output: String, seconds: Double) {
    let start = Clock.monotonicNanoseconds()
    let output = path + "/output"
    let process = try ChildProcess.start(arguments, output: output, errors: path + "/errors")
    let code = process.wait()
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    guard code == 0 else {
      let last = try lastLine(of: path + "/errors")
      throw .unmeasurable("'\(arguments.joined(separator: " "))' failed: \(last)")
    }
    return (try ProcessUsage.text(output), seconds)
  }

  /// Runs a command of the measured binary on the data.
  ///
  /// - Throws: `BenchError.unmeasurable` if its exit code is not 0.
  func subledger(_ command: [String]) throws(BenchError) -> (output: String, seconds: Double) {
    try run([subledger] + command + ["--config", configuration])
  }

  /// The last line that a program wrote, for a message. By the rules of the log it contains no body
  /// and no secret.
  ///
  /// - Throws: `BenchError.unmeasurable` if the file cannot be read.
  func lastLine(of file: String) throws(BenchError) -> String {
    let lines = try ProcessUsage.text(file).split(separator: "\n")
    return lines.last.map(String.init) ?? "nothing"
  }

  /// Removes the folder unless it is permanent.
  func clear() {
    guard !isPermanent else { return }
    Folder.remove(path)
    // Fails if another run has files there.
    rmdir(Self.defaultParent)
  }
}
