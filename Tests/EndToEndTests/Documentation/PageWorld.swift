import Foundation
import Ledger
import StrictJSON
import Support

/// Where the commands of a page run as they are printed: a daemon with some customers, the local
/// App Store that it asks, a receiver of webhooks, and programs in place of those that need another
/// machine or root.
final class PageWorld {
  /// What is not run as it is, what is done instead, and why.
  private static let standIns: [(program: String, instead: String, reason: String)] = [
    ("apt-get", "", "needs root; `make deb` tries the package in a fresh Debian"),
    ("make", "", "builds; `DemoTests` runs what `make run` does"),
    ("docker", "", "no daemon of Docker runs here; `make image` tries the image"),
    ("kubectl", "", "no cluster runs here; `make deploy-files` checks the files"),
    ("minisign", "", "the key of a release is not here"),
    (
      "sha256sum", "[[ $1 == --ignore-missing ]] || exec /usr/bin/sha256sum \"$@\"",
      "the files of a release are not here"
    ),
    ("systemctl", "reload_daemon \"$1\"", "no service manager runs here: SIGHUP is sent"),
    ("psql", "cat >/dev/null", "no server runs here; `MirrorTests` has one"),
    ("kcat", "head -n 1 >/dev/null", "no broker runs here"),
    (
      "curl", "exec /usr/bin/curl --fail-with-body --max-time 60 \"$@\"",
      "a refusal must fail the command"
    ),
    ("subledger", "run_subledger \"$@\"", "some commands do not end, or would replace the daemon"),
  ]

  /// Functions of the stand-ins.
  private static let functions = #"""
    reload_daemon() { [ "$1" != reload ] || { kill -HUP "$DAEMON"; sleep 1; }; }
    # TEXT ARGUMENTS: starts what ends at a signal alone, and ends it once it has printed the text.
    until_printed() {
      log=$(mktemp -p "$SCRATCH")
      "$PROGRAM" "${@:2}" >"$log" 2>&1 & pid=$!
      until grep -q "$1" "$log"; do
        kill -0 $pid 2>/dev/null || { cat "$log" >&2; exit 1; }
        sleep 0.1
      done
      kill $pid; wait $pid || [ $? = 143 ]
      cat "$log"
    }
    run_subledger() {
      fresh=$(mktemp -d -p "$SCRATCH")
      case "$1 $2" in
        # The configuration and the folder that are there would be in the way.
        init\ *) "$PROGRAM" "$@" --config "$fresh/config.json" --data "$fresh/data" ;;
        serve\ *) until_printed listening "$@" --listen 127.0.0.1:0 --data "$fresh/data" ;;
        restore\ *) "$PROGRAM" restore "$2" --data "$fresh/data" ;;
        simulate\ serve) until_printed '"production"' "$@" ;;
        events\ --follow) until_printed '"seq"' "$@" ;;
        # What it finds, such as a folder of root, is no failure of the command.
        doctor\ * | upgrade-check\ *) "$PROGRAM" "$@" || [ $? = 1 ] ;;
        # The files are of other customers.
        report\ compare) "$PROGRAM" "$@" || [ $? = 1 ] ;;
        # An account of which nothing is known cannot be forgotten.
        erase\ *)
          "$PROGRAM" grant user-4711 --by account --entitlement pro && exec "$PROGRAM" "$@" ;;
        # Needs PostgreSQL; `SharedCommandTests` has one.
        shared-journal\ migrate) ;;
        *) exec "$PROGRAM" "$@" ;;
      esac
    }
    """#

  private let installation: Installation
  private let daemon: RunningDaemon
  private let store: RunningAppStore
  private let receiver: ScriptedServer
  private var replacements: [(String, String)] = []
  private var folder: URL { installation.folder }

  init() throws {
    installation = try Installation()
    let authority = installation.folder.appending(path: "authority")
    daemon = try Self.start(installation, authority)
    store = try RunningAppStore(
      authority,
      [
        "--customers", "6", "--days", "20", "--seed", "2", "--notify",
        "http://127.0.0.1:\(daemon.port)",
      ], in: installation)
    receiver = try ScriptedServer { _ in [.response(204, "")] }
    try configure()
    try fill()
    try makePrograms()
    replacements = try places() + (try customer())
  }

  /// The local App Store is told where the daemon listens, so that the daemon starts first.
  private static func start(
    _ installation: Installation, _ authority: URL
  ) throws -> RunningDaemon {
    let made = try installation.launch(["simulate", "ca", authority.path]).finish()
    guard made.code == 0 else { throw TestFailure("\(made)") }
    try installation.configure(with: [
      ("trustRoots", .array([.string(authority.appending(path: "root.der").path)]))
    ])
    return try installation.start()
  }

  private func configure() throws {
    let may = ["read", "submit", "claim", "grant", "erase"].map { JSONValue.string($0) }
    try installation.configure(with: [
      (
        "appStore",
        store.access.setting("recover", .string("off")).setting("limitShare", .integer(1))
      ),
      ("trustRoots", .array([.optional(store.description["root"]?.string)])),
      ("entitlements", .object([("pro", .array([.string("pro.*")]))])),
      (
        "readTokens",
        .array([Installation.token("backend", Installation.token, [("may", .array(may))])])
      ),
    ])
    try daemon.reload()
  }

  private static func past(days: Double) -> String {
    Date(timeIntervalSinceNow: -days * 86_400).ISO8601Format()
  }

  /// Journals what the App Store has, and makes the files that pages take for granted.
  private func fill() throws {
    let recovered = try installation.run("recover", "--since", Self.past(days: 21), "--json")
    guard recovered.code <= 1 else { throw TestFailure("recover: \(recovered)") }
    for name in ["mnt/backups", "mnt/elsewhere", "scratch", "bin"] {
      try FileManager.default.createDirectory(
        at: folder.appending(path: name), withIntermediateDirectories: true)
    }
    let backup = folder.appending(path: "mnt/backups/subledger-2026-01-31").path
    let made = try installation.run("backup", backup)
    guard made.code == 0 else { throw TestFailure("backup: \(made)") }
    let bodies = try installation.run("export").output.split(separator: "\n").compactMap { line in
      try JSONDocument(parsing: Array(line.utf8)).root["body"]?["signedPayload"]?.string
    }
    guard !bodies.isEmpty else { throw TestFailure("no notification was recovered") }
    try Data(bodies.map { "{\"signedPayload\":\"\($0)\"}\n" }.joined().utf8)
      .write(to: folder.appending(path: "bodies.ndjson"))
    let reports = try installation.launch([
      "simulate", "run", "--fleet", "5", "--days", "60", "--reports", folder.path, "--output",
      folder.appending(path: "fleet.ndjson").path, "--authority",
      folder.appending(path: "authority").path,
    ]).finish()
    guard reports.code == 0 else { throw TestFailure("reports: \(reports)") }
    for name in ["app.secret", "warehouse.password"] {
      try Data("secret".utf8).write(to: folder.appending(path: name))
      chmod(folder.appending(path: name).path, 0o600)
    }
  }

  private func makePrograms() throws {
    for standIn in Self.standIns {
      let file = folder.appending(path: "bin/\(standIn.program)")
      let text = "#!/bin/bash\n# \(standIn.reason)\n\(Self.functions)\n\(standIn.instead)\n"
      try Data(text.utf8).write(to: file)
      chmod(file.path, 0o755)
    }
  }

  // MARK: What stands for what a page names

  private func places() throws -> [(String, String)] {
    let port = store.description["production"]?.string?.split(separator: ":").last ?? ""
    let feed = daemon.client().get("/v1/events?limit=1")?.json
    let future = Date(timeIntervalSinceNow: 300 * 86_400).ISO8601Format().prefix(10)
    return [
      ("/etc/subledger", folder.path), ("/var/lib/subledger", installation.data.path),
      ("/mnt/", folder.path + "/mnt/"), ("127.0.0.1:8080", "127.0.0.1:\(daemon.port)"),
      ("127.0.0.1:PORT", "127.0.0.1:\(port)"), ("2026-01-31T10:00:00Z", Self.past(days: 2)),
      ("new-config.json", installation.config.path), ("2027-01-01", String(future)),
      ("1042-9f31c0aa", feed?["next_page"]?.string ?? ""),
      (
        "\"url\": \"https://api.example.com/subledger\"",
        "\"privateNetwork\": true, \"url\": \"\(receiver.address)\""
      ), ("host=db.example.com", "host=127.0.0.1 port=1"),
    ]
  }

  /// One customer of the App Store.
  private func customer() throws -> [(String, String)] {
    let list = daemon.client().get("/v1/entitlements?environment=Production")?.json
    let rows = list?["items"]?.elements ?? []
    guard let row = rows.first(where: { $0["app_account_token"]?.string != nil }),
      let original = row["original_transaction_id"]?.string,
      let transaction = row["transaction_id"]?.string, let token = row["app_account_token"]?.string,
      let app = row["app_transaction_id"]?.string,
      let port = store.description["production"]?.string?.split(separator: ":").last,
      let device = Client(port: UInt16(port) ?? 0).get("/app/\(app)", token: nil)?.json,
      let body = device["transactions"]?.elements.first
    else { throw TestFailure("no customer: \(rows.count) rows") }
    try Data("original_transaction_id\n\(original)\n".utf8)
      .write(to: folder.appending(path: "customers.csv"))
    let signed = ["signedTransaction", "signedRenewalInfo"].map { name in
      ("\"\(name)\":\"eyJ…\"", "\"\(name)\":\"\(body[name]?.string ?? "")\"")
    }
    return signed + [
      ("2000000000000001", original), ("MK5J9ZPX1Q", "M\(transaction)"),
      ("0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d", token),
      ("MIIT…", device["receipt"]?.string ?? ""),
    ]
  }

  private func replaced(_ text: String) -> String {
    replacements.reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }

  // MARK: Following a page

  func run(_ script: String) throws -> CommandResult {
    let variables = [
      "PATH": folder.path + "/bin:/usr/bin:/bin", "TOKEN": Installation.token,
      "SUBLEDGER_CONFIG": installation.config.path, "PROGRAM": installation.program.path,
      "DAEMON": "\(daemon.command.id)", "SCRATCH": folder.path + "/scratch", "LC_ALL": "C.UTF-8",
    ]
    return try RunningCommand(
      ["-e", "-o", "pipefail", "-c", replaced(script)], in: folder,
      program: URL(filePath: "/bin/bash"), environment: variables
    ).finish(within: 60)
  }

  /// The members of a block that is a part of the configuration; nil for another block.
  static func members(_ block: String) -> [(name: String, value: JSONElement)]? {
    let text = block.hasPrefix("{") ? block : "{\(block)}"
    guard let root = try? JSONDocument(parsing: Array(text.utf8)).root else { return nil }
    let keys = Set(ConfigurationKey.table.filter { $0.parent == .file }.map(\.name))
    let members = root.members.map { (name: $0.name, value: $0.value) }
    return !members.isEmpty && members.allSatisfy { keys.contains($0.name) } ? members : nil
  }

  /// Puts the members into the configuration that say whom to trust, whom to tell, what products
  /// give and what Apple is told of refunds. The other ones would take the App Store away.
  func configure(_ block: String) throws {
    let bytes = Array(try Data(contentsOf: installation.config))
    var value = try JSONDocument(parsing: bytes).root.value
    for member in Self.members(replaced(block)) ?? [] {
      if member.name == "trustRoots" {
        let before = try JSONDocument(parsing: bytes).root["trustRoots"]?.elements ?? []
        value = value.setting(
          member.name, .array((before + member.value.elements).map(\.value)))
      } else if ["sinks", "entitlements", "refunds"].contains(member.name) {
        value = value.setting(member.name, member.value.value)
      }
    }
    try Data(value.bytes).write(to: installation.config)
    try daemon.reload()
  }

  func end() throws -> CommandResult { try daemon.stop() }
}
