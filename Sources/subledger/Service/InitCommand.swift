import Glibc
import Ledger
import Platform
import Store
import StrictJSON

/// `init`: writes the files that a first start needs, and prints the remaining steps. Never
/// overwrites a file.
enum InitCommand {
  static let flags: [Command.Flag] = [
    .init("--listen", "HOST:PORT", "where the daemon will listen (127.0.0.1:8080)"),
    .init("--bundle-id", "ID", "your app's bundle id; can be added later"),
    .init("--app-apple-id", "N", "App Store Connect, App Information: \"Apple ID\""),
    .init("--host", "NAME", "the host name in the URL for Apple (your.host)"),
    .init("--user", "NAME", "the user that runs the daemon (subledger)"),
    .init("--v1-secret-file", "FILE|-", "accept version 1: its shared secrets, one per line"),
    .init("--print", "WHAT", "write nothing, print unit, nginx, caddy or config"),
    .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    var plan = try InitPlan(arguments)
    if let what = arguments["--print"] {
      guard let text = plan.text(of: what) else {
        throw .usage("--print takes unit, nginx, caddy or config")
      }
      Terminal.write(Array(text.utf8))
      return .good
    }
    let secret = try arguments["--v1-secret-file"].map { (path) throws(LedgerError) in
      try readSecret(path)
    }
    let token = "sl_" + random()
    plan.tokenDigest = ReadAccess.digest(of: token)
    try write(plan, secret)
    show(plan, token, asJSON: arguments.has("--json"))
    return .good
  }

  /// 256 random bits.
  private static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    return Hexadecimal.encode(
      (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }

  /// Reads the secrets from a file or standard input. Arguments are visible to every process.
  ///
  /// - Throws: `LedgerError.usage` unless there are one or two secrets, `LedgerError.unavailable`
  ///   if the file cannot be read.
  private static func readSecret(_ path: String) throws(LedgerError) -> [UInt8] {
    var lines: [[UInt8]] = []
    do throws(LedgerError) {
      let reader = try LineReader(path: path, maximum: 4096)
      while let line = try reader.next(), lines.count < 3 {
        if !line.isEmpty { lines.append(line) }
      }
    } catch {
      throw .unavailable("\(error.detail); give a file that exists, or - for standard input")
    }
    guard (1...2).contains(lines.count), lines.allSatisfy({ $0.count <= 1024 }) else {
      throw .usage(
        "--v1-secret-file holds \(lines.count) secrets; give one per line, at most two")
    }
    return Array(lines.joined(separator: [0x0A])) + [0x0A]
  }

  // MARK: Files

  private static func write(_ plan: InitPlan, _ secret: [UInt8]?) throws(LedgerError) {
    var files: [(String, [UInt8])] = []
    // First, so that a configuration never names a file that does not exist.
    if let secret { files.append((plan.secretPath, secret)) }
    for what in plan.files {
      files.append((plan.path(of: what), Array((plan.text(of: what) ?? "").utf8)))
    }
    do throws(LedgerError) {
      for (path, _) in files where try FileKind.of(path) != nil {
        throw LedgerError.system("make \(path)", EEXIST)
      }
      guard try [nil, .folder].contains(FileKind.of(plan.data)) else {
        throw LedgerError.system("make the folder \(plan.data)", EEXIST)
      }
      if mkdir(plan.folder, 0o755) == 0 {
        // Whatever the mask of new files is: the daemon's user reads the configuration in it.
        _ = chmod(plan.folder, 0o755)
      } else if errno != EEXIST {
        throw .last("make the folder \(plan.folder)")
      }
    } catch {
      guard error.number == EEXIST else {
        throw .unavailable(
          "\(error.detail); nothing was written: run it as root, or give another --config and "
            + "--data")
      }
      throw .usage(
        "\(error.detail); nothing was written: move the file away, or give another --config")
    }
    try DataFolder(path: plan.data).create()
    do throws(LedgerError) {
      for (path, bytes) in files {
        guard try PrivateFile.make(bytes, at: path) else { throw .system("make \(path)", EEXIST) }
      }
      if let owner = plan.owner {
        for path in [plan.data, plan.config] + (secret == nil ? [] : [plan.secretPath]) {
          guard chown(path, owner.uid, owner.gid) == 0 else { throw .last("give away \(path)") }
        }
      }
    } catch {
      throw .unavailable(
        "\(error.detail); some files may be written: remove them, then run this again")
    }
  }

  // MARK: Output

  private static func show(_ plan: InitPlan, _ token: String, asJSON: Bool) {
    if asJSON {
      return Terminal.print(
        .object([
          ("object", .string("installation")), ("config", .string(plan.config)),
          ("data", .string(plan.data)), ("read_token", .string(token)),
          ("unit", .string(plan.path(of: "unit"))), ("nginx", .string(plan.path(of: "nginx"))),
          ("caddy", .string(plan.path(of: "caddy"))), ("url", .string(plan.url)),
        ]))
    }
    Terminal.print(plan.steps(token))
  }
}
