import JournalStore
import LedgerEngine
import Platform
import StrictJSON

/// What `init` makes: paths, names and texts, before anything is written.
struct InitPlan {
  let config: String
  let data: String
  let listen: String
  let host: String
  let user: String
  private let bundleId: String?
  private let appAppleId: Int64?
  private let takesV1: Bool
  /// SHA-256 of the read token, in hexadecimal; of no token until it is set.
  var tokenDigest = String(repeating: "0", count: 64)

  init(_ words: Arguments) throws(CommandError) {
    let variables = ProcessEnvironment.variables
    config =
      words["--config"] ?? variables["SUBLEDGER_CONFIG"] ?? "/etc/subledger/config.json"
    data =
      DataFolder(
        path: words["--data"] ?? variables["SUBLEDGER_DATA"] ?? "/var/lib/subledger"
      ).path
    listen = words["--listen"] ?? variables["SUBLEDGER_LISTEN"] ?? "127.0.0.1:8080"
    host = words["--host"] ?? "your.host"
    user = words["--user"] ?? "subledger"
    bundleId = words["--bundle-id"]
    appAppleId = try words.number("--app-apple-id", 1...Int64.max)
    takesV1 = words["--v1-secret-file"] != nil
    guard (bundleId == nil) == (appAppleId == nil) else {
      throw .usage("--bundle-id and --app-apple-id go together")
    }
    guard bundleId != nil || !takesV1 else {
      throw .usage("--v1-secret-file is an app's: give --bundle-id and --app-apple-id too")
    }
    for (name, path) in [("--config", config), ("--data", data)] where !path.hasPrefix("/") {
      throw .usage("\(name) takes a whole path, from / on: the unit names it")
    }
    // They go into files of other programs.
    for (name, text) in [
      ("--config", config), ("--data", data), ("--listen", listen), ("--host", host),
      ("--user", user), ("--bundle-id", bundleId ?? "x"),
    ] where !Self.isPlain(text) {
      throw .usage("\(name) takes letters, digits and . _ - : / [ ] alone")
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

  /// Where the configuration lies, and all else that is written.
  var folder: String {
    guard let slash = config.lastIndex(of: "/") else { return "." }
    return slash == config.startIndex ? "/" : String(config[..<slash])
  }

  private static let secretName = "v1.secret"
  var secretPath: String { "\(folder)/\(Self.secretName)" }
  var url: String { "https://\(host)/v1/notifications" }

  func path(of what: String) -> String {
    switch what {
    case "unit": "\(folder)/subledger.service"
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

  /// How the proxy reaches the daemon: one that listens everywhere is also on loopback.
  private var upstream: String {
    for (all, loopback) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
    where listen.hasPrefix(all) {
      return loopback + listen.dropFirst(all.count)
    }
    return listen
  }

  /// Whether nobody but this machine shall reach the daemon.
  var isLocal: Bool { listen.hasPrefix("127.") || listen.hasPrefix("[::1]") }

  // MARK: The configuration

  private var configuration: JSONValue {
    .object([
      (
        "//",
        .string(
          "Names that begin with // are comments. subledger doctor checks this file; SIGHUP "
            + "(systemctl reload subledger) takes over apps, tokens and roots, the rest wants a "
            + "restart.")
      ),
      ("//listen", .string("TLS is the reverse proxy's: see nginx.conf and Caddyfile beside this")),
      ("listen", .string(listen)), ("data", .string(data)),
      (
        "//apps",
        .string(
          "{\"bundleId\": \"com.example.app\", \"appAppleId\": 123456789, \"environments\": "
            + "[\"Production\", \"Sandbox\"]}; appAppleId is App Store Connect's \"Apple ID\" of "
            + "the app. What is for other apps goes to quarantine.")
      ),
      ("apps", .array(app.map { [$0] } ?? [])),
      (
        "//readTokens",
        .string(
          "sha256 is of the token, which is nowhere: printf %s \"$TOKEN\" | sha256sum. "
            + "\"bundleIds\" and \"environments\" narrow one.")
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
          "{\"file\": \"/mnt/elsewhere/anchors.ndjson\"}, on a volume that is not this machine's "
            + "to rewrite, makes the journal provable against its owner")
      ),
    ])
  }

  private var app: JSONValue? {
    guard let bundleId, let appAppleId else { return nil }
    var members: [(String, JSONValue)] = [
      ("bundleId", .string(bundleId)), ("appAppleId", .integer(appAppleId)),
      ("environments", .array([.string("Production"), .string("Sandbox")])),
    ]
    if takesV1 { members.append(("v1SharedSecretFile", .string(Self.secretName))) }
    return .object(members)
  }

  // MARK: The steps

  /// - Parameter token: shown here, and nowhere else.
  func steps(_ token: String) -> String {
    let unit = path(of: "unit")
    let apps =
      bundleId == nil
      ? "\n  0. Add your app to \"apps\" in \(config): bundle id, and Apple ID of App Store\n"
        + "     Connect's App Information.\n" : ""
    return """
      Written: \(config), \(unit),
      \(path(of: "nginx")) and \(path(of: "caddy")); the data will lie in \(data).

      The read token, shown this once (only its SHA-256 is stored):

        \(token)
      \(apps)
        1. Make the files the daemon's:
             useradd --system --home-dir \(data) --shell /usr/sbin/nologin \(user)
             chown -R \(user): \(folder) \(data)
        2. Run it:
             cp \(unit) /etc/systemd/system/
             systemctl daemon-reload && systemctl enable --now subledger
        3. Give it TLS: copy from nginx.conf or Caddyfile, and reload the proxy.
        4. In App Store Connect, your app, App Information, App Store Server Notifications:
             Production Server URL  \(url)
             Sandbox Server URL     \(url)
             Version                2
        5. See that all is well:
             sudo -u \(user) subledger doctor --config \(config)
      """
  }
}
