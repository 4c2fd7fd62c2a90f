import Glibc
import Ledger
import Platform
import Store
import StrictJSON

/// The paths, names and file contents of `init`, computed before anything is written.
struct InitPlan {
  let config: String
  let data: String
  let listen: String
  let host: String
  let user: String
  private let bundleId: String?
  private let appAppleId: Int64?
  private let takesV1: Bool
  /// SHA-256 of the read token in hexadecimal; zeros, which match no token, until it is set.
  var tokenDigest = String(repeating: "0", count: 64)

  /// - Throws: `LedgerError.usage` if flags contradict each other, or a value cannot be written
  ///   into the files of other programs.
  init(_ arguments: Arguments) throws(LedgerError) {
    let variables = ProcessEnvironment.variables
    config =
      arguments["--config"] ?? variables["SUBLEDGER_CONFIG"] ?? Configuration.usualFile
    data =
      DataFolder(
        path: arguments["--data"] ?? variables["SUBLEDGER_DATA"] ?? "/var/lib/subledger"
      ).path
    listen = arguments["--listen"] ?? variables["SUBLEDGER_LISTEN"] ?? "127.0.0.1:8080"
    host = arguments["--host"] ?? "your.host"
    user = arguments["--user"] ?? "subledger"
    bundleId = arguments["--bundle-id"]
    appAppleId = try arguments.number("--app-apple-id", 1...Int64.max)
    takesV1 = arguments["--v1-secret-file"] != nil
    guard (bundleId == nil) == (appAppleId == nil) else {
      throw .usage("--bundle-id and --app-apple-id go together")
    }
    guard bundleId != nil || !takesV1 else {
      throw .usage("--v1-secret-file belongs to an app: give --bundle-id and --app-apple-id too")
    }
    try Daemon.requireAddress(listen)
    for (name, path) in [("--config", config), ("--data", data)] where !path.hasPrefix("/") {
      throw .usage("\(name) takes an absolute path, because the systemd unit names it")
    }
    guard !host.contains("/") else {
      throw .usage("--host takes a host name, without https:// and path")
    }
    // These values are written unquoted into files of other programs.
    for (name, text) in [
      ("--config", config), ("--data", data), ("--listen", listen), ("--host", host),
      ("--user", user), ("--bundle-id", bundleId ?? "x"),
    ] where !Self.isPlain(text) {
      throw .usage("\(name) takes only letters, digits and . _ - : / [ ]")
    }
  }

  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "._-:/[]".utf8.contains(byte)
        }
      }
  }

  /// The folder of the configuration, into which all files are written.
  var folder: String {
    guard let slash = config.lastIndex(of: "/") else { return "." }
    return slash == config.startIndex ? "/" : String(config[..<slash])
  }

  private static let secretName = "v1.secret"
  var secretPath: String { "\(folder)/\(Self.secretName)" }
  var url: String { "https://\(host)/v1/notifications" }

  /// The unit of a Debian package, which is used as it is if nothing else was chosen here.
  private static let packagedUnit = "/lib/systemd/system/subledger.service"

  /// Whether the packaged unit is what would be written.
  private var hasPackagedUnit: Bool {
    (try? DurableFile.read(Self.packagedUnit, limit: 65_536))
      == text(of: "unit").map { Array($0.utf8) }
  }

  /// What is written, the configuration last.
  var files: [String] { (hasPackagedUnit ? [] : ["unit"]) + ["nginx", "caddy", "config"] }

  /// The daemon's user, to whom root gives what the daemon reads and writes; nil if there is no
  /// such user yet, or if this is not root.
  var owner: (uid: uid_t, gid: gid_t)? {
    guard geteuid() == 0, let entry = getpwnam(user) else { return nil }
    return (entry.pointee.pw_uid, entry.pointee.pw_gid)
  }

  func path(of what: String) -> String {
    switch what {
    case "unit": hasPackagedUnit ? Self.packagedUnit : "\(folder)/subledger.service"
    case "nginx": "\(folder)/nginx.conf"
    case "caddy": "\(folder)/Caddyfile"
    default: config
    }
  }

  func text(of what: String) -> String? {
    switch what {
    case "unit": ServiceUnit(self, secret: takesV1 ? secretPath : nil).text
    case "nginx": ProxySnippets.nginx(host: host, upstream: upstream)
    case "caddy": ProxySnippets.caddy(host: host, upstream: upstream)
    case "config": configuration.prettyText + "\n"
    default: nil
    }
  }

  /// The address at which the proxy reaches the daemon. A daemon that listens on all addresses is
  /// reached over loopback.
  private var upstream: String {
    for (all, loopback) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
    where listen.hasPrefix(all) {
      return loopback + listen.dropFirst(all.count)
    }
    return listen
  }

  /// Whether the daemon listens on a loopback address only.
  var isLocal: Bool { listen.hasPrefix("127.") || listen.hasPrefix("[::1]") }

  // MARK: The configuration

  private var configuration: JSONValue { .object(members + Self.examples) }

  private var members: [(String, JSONValue)] {
    [
      (
        "//",
        .string(
          "Names that begin with // are comments; an example counts once its // is removed. man "
            + "subledger-config describes every key, and "
            + "subledger doctor checks this file. SIGHUP (systemctl reload subledger) reloads "
            + "what it can; `subledger help configuration` lists the keys that need a restart.")
      ),
      (
        "//listen",
        .string("TLS is left to a reverse proxy: see nginx.conf and Caddyfile in this folder")
      ),
      ("listen", .string(listen)), ("data", .string(data)),
      (
        "//apps",
        .string(
          "{\"bundleId\": \"com.example.app\", \"appAppleId\": 123456789, \"environments\": "
            + "[\"Production\", \"Sandbox\"]}; appAppleId is App Store Connect's \"Apple ID\" of "
            + "the app. Notifications of other apps are quarantined.")
      ),
      ("apps", .array(app.map { [$0] } ?? [])),
      (
        "//readTokens",
        .string(
          "sha256 is the SHA-256 of a token: printf %s \"$TOKEN\" | sha256sum. The token itself is "
            + "stored nowhere. \"bundleIds\" and \"environments\" limit what it reads.")
      ),
      (
        "readTokens",
        .array([
          .object([("name", .string("backend")), ("sha256", .string(tokenDigest))])
        ])
      ),
      (
        "//anchors",
        .string(
          "{\"file\": \"/mnt/elsewhere/anchors.ndjson\"}, on a volume that this machine cannot "
            + "rewrite, lets others detect changes of the journal")
      ),
    ]
  }

  /// What most installations add later, as comments.
  private static let examples: [(String, JSONValue)] = ConfigurationKey.table
    .filter { $0.parent == .file }.compactMap { key in key.example.map { ("//" + key.name, $0) } }

  private var app: JSONValue? {
    guard let bundleId, let appAppleId else { return nil }
    var members: [(String, JSONValue)] = [
      ("bundleId", .string(bundleId)), ("appAppleId", .integer(appAppleId)),
      ("environments", .array([.string("Production"), .string("Sandbox")])),
    ]
    if takesV1 { members.append(("v1SharedSecretFile", .string(Self.secretName))) }
    return .object(members)
  }

  // MARK: Next steps

  /// The text that `init` prints.
  ///
  /// - Parameter token: is printed here once and stored nowhere.
  func steps(_ token: String) -> String {
    let written = files.map { path(of: $0) }.reversed().joined(separator: "\n  ")
    var steps: [[String]] = []
    if bundleId == nil {
      steps.append([
        "Add your app to \"apps\" in \(config): its bundle id, and the Apple ID from",
        "App Information in App Store Connect.",
      ])
    }
    if owner == nil {
      steps.append([
        "Give the files to the daemon's user:",
        "  useradd --system --home-dir \(data) --shell /usr/sbin/nologin \(user)",
        "  chown -R \(user): \(folder) \(data)",
      ])
    }
    let install =
      hasPackagedUnit
      ? ["  systemctl enable --now subledger"]
      : [
        "  cp \(path(of: "unit")) /etc/systemd/system/",
        "  systemctl daemon-reload && systemctl enable --now subledger",
      ]
    steps += [
      ["Start the daemon:"] + install,
      ["Add TLS: copy nginx.conf or Caddyfile into your proxy's configuration, and reload it."],
      [
        "In App Store Connect, your app, App Information, App Store Server Notifications:",
        "  Production Server URL  \(url)",
        "  Sandbox Server URL     \(url)",
        "  Version                2",
      ],
      ["Check the installation:", "  sudo -u \(user) subledger doctor --config \(config)"],
    ]
    let lines = steps.enumerated().map { number, step in
      "  \(number + 1). " + step.joined(separator: "\n     ")
    }
    return """
      Written:
        \(written)
      The data folder is \(data).

      The read token, printed only now (the configuration has its SHA-256):

        \(token)

      \(lines.joined(separator: "\n"))
      """
  }
}
