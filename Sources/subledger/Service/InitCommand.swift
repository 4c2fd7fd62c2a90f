import Configuration
import Encoding
import Glibc
import JournalStore
import LedgerEngine
import Platform
import StrictJSON

/// Makes all that a first start needs, and says what is left to do by hand. Never overwrites.
enum InitCommand {
  static let flags: [Command.Flag] = [
    .init("--listen", "HOST:PORT", "where the daemon will listen (127.0.0.1:8080)"),
    .init("--bundle-id", "ID", "your app's bundle id; may follow later"),
    .init("--app-apple-id", "N", "App Store Connect, App Information: \"Apple ID\""),
    .init("--host", "NAME", "the name Apple reaches you by (your.host)"),
    .init("--user", "NAME", "whose daemon it will be (subledger)"),
    .init("--v1-secret-file", "FILE|-", "takes version 1 too: its shared secret, one a line"),
    .init("--print", "WHAT", "writes nothing; prints unit, nginx, caddy or config"),
    .json,
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    var plan = try InitPlan(words)
    if let what = words["--print"] {
      guard let text = plan.text(of: what) else {
        throw .usage("--print takes unit, nginx, caddy or config")
      }
      Terminal.write(Array(text.utf8), to: STDOUT_FILENO)
      return .good
    }
    let secret = try words["--v1-secret-file"].map { (path) throws(CommandError) in
      try readSecret(path)
    }
    let token = "sl_" + random()
    plan.tokenDigest = ReadAccess.digest(of: token)
    try write(plan, secret)
    show(plan, token, asJSON: words.has("--json"))
    return .good
  }

  /// 256 random bits.
  private static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return Hexadecimal.encode(
      (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }

  /// From standard input or a file, never from an argument, which every process could read.
  private static func readSecret(_ path: String) throws(CommandError) -> [UInt8] {
    var lines: [[UInt8]] = []
    do throws(PlatformError) {
      let reader = try LineReader(path: path, maximum: 4096)
      while let line = try reader.next(), lines.count < 3 {
        if !line.isEmpty { lines.append(line) }
      }
    } catch {
      throw .unavailable("\(error); give a file that is there, or - for standard input")
    }
    guard (1...2).contains(lines.count), lines.allSatisfy({ $0.count <= 1024 }) else {
      throw .usage(
        "--v1-secret-file holds \(lines.count) secrets; give one a line, two during a rotation")
    }
    return Array(lines.joined(separator: [0x0A])) + [0x0A]
  }

  // MARK: Writing

  private static func write(_ plan: InitPlan, _ secret: [UInt8]?) throws(CommandError) {
    var files: [(String, [UInt8])] = []
    // First, so that no configuration ever names a file that is not there.
    if let secret { files.append((plan.secretPath, secret)) }
    for what in ["unit", "nginx", "caddy", "config"] {
      files.append((plan.path(of: what), Array((plan.text(of: what) ?? "").utf8)))
    }
    do throws(PlatformError) {
      for (path, _) in files where try FileKind.of(path) != nil {
        throw PlatformError.system("make \(path)", EEXIST)
      }
      guard mkdir(plan.folder, 0o755) == 0 || errno == EEXIST else {
        throw .last("make the folder \(plan.folder)")
      }
    } catch {
      throw .usage("\(error); nothing was written: move it away, or give another --config")
    }
    try CommandError.store { () throws(StoreError) in try DataFolder(path: plan.data).create() }
    do throws(PlatformError) {
      for (path, bytes) in files {
        guard try PrivateFile.make(bytes, at: path) else { throw .system("make \(path)", EEXIST) }
      }
    } catch {
      throw .unavailable("\(error); see which files are there, then run this again elsewhere")
    }
  }

  // MARK: What is left to do

  private static func show(_ plan: InitPlan, _ token: String, asJSON: Bool) {
    if asJSON {
      return Terminal.print(
        JSONValue.object([
          ("object", .string("installation")), ("config", .string(plan.config)),
          ("data", .string(plan.data)), ("read_token", .string(token)),
          ("unit", .string(plan.path(of: "unit"))), ("nginx", .string(plan.path(of: "nginx"))),
          ("caddy", .string(plan.path(of: "caddy"))), ("url", .string(plan.url)),
        ]).text)
    }
    Terminal.print(plan.steps(token))
  }
}
