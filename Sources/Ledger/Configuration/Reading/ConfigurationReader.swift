import AppStore
import Entitlements
import Platform
import SignedData
import StrictJSON

/// Reads a configuration file. It must be strict JSON, every key must be known, and every file that
/// it names must exist.
///
/// An unknown key is an error, because the setting of a misspelt key would silently not apply. In
/// every object, a member whose name begins with `//` is a comment, because JSON has none.
struct ConfigurationReader {
  let file: String
  /// The folder of credentials that a service manager provides; nil if there is none.
  let credentials: String?
  /// The element that is being read, for errors, for example `apps[0]`; empty at the top level.
  var keyPath = ""

  init(file: String, credentials: String? = nil) {
    self.file = file
    self.credentials = credentials
  }

  /// Reads the file's settings into a configuration, and leaves the others as they are.
  ///
  /// - Throws: `LedgerError` for the first thing that is wrong.
  mutating func read(into configuration: inout Configuration) throws(LedgerError) {
    let root = try document()
    try requireKnownKeys(root, .file)
    if let listen = try text(root, "listen") { configuration.listen = listen }
    if let data = try text(root, "data") { configuration.data = data }
    if let name = try text(root, "logLevel") {
      guard let level = Log.Level(rawValue: name) else {
        throw invalid("logLevel is unknown", Log.Level.choice)
      }
      configuration.logLevel = level
    }
    keyPath = "verifyReceipt"
    try receiptService(root, into: &configuration.verifyReceipt)
    keyPath = "appStore"
    let shared = try appStore(root)
    keyPath = ""
    var v1Files: [String: String] = [:]
    for (index, entry) in try list(root, "apps").enumerated() {
      keyPath = "apps[\(index)]"
      var app = try app(entry)
      keyPath = "apps[\(index)].appStore"
      app.appStore = try appStore(entry, over: shared)
      keyPath = "apps[\(index)]"
      try durations(entry, for: app.bundleId, into: &configuration)
      try entitlements(entry, for: app.bundleId, into: &configuration.entitlements)
      guard configuration.apps.updateValue(app, forKey: app.bundleId) == nil else {
        throw invalid("bundleId occurs twice", "write each app once")
      }
      v1Files[app.bundleId] = try text(entry, "v1SharedSecretFile")
    }
    keyPath = ""
    for (index, entry) in try list(root, "readTokens").enumerated() {
      keyPath = "readTokens[\(index)]"
      let token = try token(entry)
      if let known = configuration.readTokens.first(where: { $0.sha256 == token.sha256 }) {
        throw invalid(
          "sha256 is that of \"\(known.name)\" too, and one of them would never count",
          "choose another token, or write this one once")
      }
      configuration.readTokens.append(token)
    }
    keyPath = "anchors"
    try anchors(root, into: &configuration)
    keyPath = ""
    try roots(root, into: &configuration)
    if root["trustedProxies"] != nil {
      configuration.trustedProxies = try texts(root, "trustedProxies") ?? []
      for text in configuration.trustedProxies where IPAddress.canonical(text) == nil {
        throw invalid(
          "trustedProxies contains \(text), which is no IP address", "write addresses as 10.0.0.7")
      }
    }
    try limits(root, into: &configuration.limits)
    try durations(root, for: nil, into: &configuration)
    try entitlements(root, for: nil, into: &configuration.entitlements)
    try lossLimits(root, into: &configuration.entitlementLossLimits)
    (configuration.sinks, configuration.mirrors) = try sinks(root, v1Files)
    configuration.sharedJournal = try sharedJournal(root)
    configuration.refundPolicies = try refundPolicies(root)
  }

  func invalid(_ what: String, _ next: String) -> LedgerError {
    let location = keyPath.isEmpty ? file : "\(file): \(keyPath)"
    return LedgerError.configuration("\(location): \(what)", next: next)
  }

  func document() throws(LedgerError) -> JSONElement {
    let bytes = try read(file, limit: 1_048_576)
    do throws(JSONError) {
      return try JSONDocument(parsing: bytes).root
    } catch {
      let lines = bytes.prefix(error.offset).split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      let column = (lines.last?.count ?? 0) + 1
      throw invalid(
        "\(error.reason.rawValue) at line \(lines.count), byte \(column)",
        "the file must be one JSON object")
    }
  }

  func read(_ path: String, limit: Int) throws(LedgerError) -> [UInt8] {
    do throws(LedgerError) {
      return try DurableFile.read(path, limit: limit)
    } catch {
      throw invalid(error.detail, "check the path and its permissions")
    }
  }

  // MARK: Members

  /// - Parameter prefix: of the object's keys in errors, for example `limits.`.
  func requireKnownKeys(
    _ object: JSONElement, _ parent: ConfigurationKey.Parent, prefix: String = ""
  ) throws(LedgerError) {
    guard object.kind == .object else {
      throw invalid("is not an object", "see `subledger help configuration`")
    }
    let names = ConfigurationKey.names(in: parent)
    for member in object.members where !names.contains(member.name) && !member.name.hasPrefix("//")
    {
      throw invalid(
        "unknown key \"\(prefix)\(member.name)\"",
        "the keys are \(names.sorted().joined(separator: ", "))")
    }
  }

  func text(
    _ object: JSONElement, _ name: String
  ) throws(LedgerError) -> String? {
    guard let member = object[name] else { return nil }
    guard let text = member.string, !text.isEmpty, !text.utf8.contains(0) else {
      throw invalid("\(name) is not a string", "write it as a string that is not empty")
    }
    return text
  }

  func required(
    _ object: JSONElement, _ name: String
  ) throws(LedgerError) -> String {
    guard let text = try text(object, name) else { throw invalid("\(name) is missing", "add it") }
    return text
  }

  func list(
    _ object: JSONElement, _ name: String
  ) throws(LedgerError) -> [JSONElement] {
    guard let member = object[name] else { return [] }
    guard member.kind == .array else { throw invalid("\(name) is not a list", "write [ … ]") }
    return member.elements
  }

  func texts(
    _ object: JSONElement, _ name: String
  ) throws(LedgerError) -> [String]? {
    guard object[name] != nil else { return nil }
    var texts: [String] = []
    for element in try list(object, name) {
      guard let text = element.string, !text.isEmpty else {
        throw invalid(
          "\(name) contains something else than strings", "write strings that are not empty")
      }
      texts.append(text)
    }
    return texts
  }

  func environments(
    _ object: JSONElement
  ) throws(LedgerError) -> Set<Environment>? {
    guard let names = try texts(object, "environments") else { return nil }
    let environments = Set(names.map(Environment.init(rawValue:)))
    guard environments.isSubset(of: Environment.all) else {
      throw invalid("an environment is unknown", "the environments are Production and Sandbox")
    }
    return environments
  }

  // MARK: Parts

  private func app(_ entry: JSONElement) throws(LedgerError) -> Configuration.App {
    try requireKnownKeys(entry, .app)
    let environments = try environments(entry) ?? Set(Environment.all)
    guard !environments.isEmpty else {
      throw invalid("environments is empty", "name one, or omit it for both")
    }
    if let identifier = entry["appAppleId"], identifier.integer == nil {
      throw invalid("appAppleId is not an integer", "write the digits without quotes")
    }
    var app = Configuration.App(
      bundleId: try required(entry, "bundleId"), appAppleId: entry["appAppleId"]?.integer,
      environments: environments)
    if environments.contains(.production), app.appAppleId == nil {
      throw invalid(
        "appAppleId is missing", "Production needs it: App Store Connect, App Information, Apple ID"
      )
    }
    if let path = try text(entry, "v1SharedSecretFile") {
      let path = credential(path) ?? resolved(path)
      app.v1SecretFile = path
      app.v1SecretDigests = try secrets(path).map { SHA256.hash(Array($0)) }
    }
    return app
  }

  /// Reads a file with one secret a line.
  func secrets(_ path: String) throws(LedgerError) -> [ArraySlice<UInt8>] {
    let bytes = try read(path, limit: 4096)
    guard (try? DurableFile.isPrivate(path)) == true else {
      throw invalid("v1SharedSecretFile can be read by others", "chmod 600 it")
    }
    let lines = bytes.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }
    // A line of nothing but white space counts as an empty secret, which could be guessed.
    let isBlank = { (line: ArraySlice<UInt8>) in line.allSatisfy { $0 <= 0x20 } }
    guard !lines.isEmpty, lines.count <= 2, !lines.contains(where: isBlank) else {
      throw invalid(
        "v1SharedSecretFile has \(lines.count) lines, or an empty one",
        "write one secret a line: one, or two during a rotation")
    }
    return lines
  }

  private func token(_ entry: JSONElement) throws(LedgerError) -> Configuration.ReadToken {
    try requireKnownKeys(entry, .readToken)
    guard let digest = Hexadecimal.decode(try required(entry, "sha256")), digest.count == 32 else {
      throw invalid(
        "sha256 is not a SHA-256", "printf %s \"$TOKEN\" | sha256sum prints its 64 digits")
    }
    guard digest != SHA256.hash([]) else {
      throw invalid(
        "sha256 is that of the empty text, which everybody can send",
        "set TOKEN first: printf %s \"$TOKEN\" | sha256sum")
    }
    return Configuration.ReadToken(
      name: try required(entry, "name"), sha256: digest,
      bundleIds: try texts(entry, "bundleIds").map(Set.init),
      environments: try environments(entry),
      permissions: try permissions(entry))
  }

  private func permissions(
    _ token: JSONElement
  ) throws(LedgerError) -> Set<Configuration.Permission> {
    guard let names = try texts(token, "may") else { return [.read] }
    let known = Configuration.Permission.allCases.map(\.rawValue)
    guard !names.isEmpty, names.allSatisfy(known.contains) else {
      throw invalid(
        "may is empty or has an unknown word", "write some of \(known.joined(separator: ", "))")
    }
    return Set(names.compactMap(Configuration.Permission.init))
  }

  func roots(
    _ root: JSONElement, into configuration: inout Configuration
  ) throws(LedgerError) {
    guard let paths = try texts(root, "trustRoots") else { return }
    guard !paths.isEmpty else { throw invalid("trustRoots is empty", "name a file, or omit it") }
    var files: [[UInt8]] = []
    for path in paths { files.append(try read(resolved(path), limit: 65_536)) }
    do throws(ProofFailure) {
      configuration.trustRoots = try TrustRoots(files: files)
    } catch {
      throw invalid("trustRoots names a file that is not a certificate", "use DER or PEM")
    }
    configuration.extraRoots = files.count
  }

  /// The path of a credential; nil if there is none of this name. A name without a slash is looked
  /// up among the credentials first (systemd.exec(5), LoadCredential=).
  func credential(_ name: String) -> String? {
    guard let credentials, !name.contains("/") else { return nil }
    let path = "\(credentials)/\(name)"
    return ((try? DurableFile.size(path)) ?? nil) == nil ? nil : path
  }

  /// Resolves a relative path against the folder of the configuration file.
  func resolved(_ path: String) -> String {
    guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
    return file[...slash] + path
  }

  private func limits(
    _ root: JSONElement, into limits: inout Configuration.Limits
  ) throws(LedgerError) {
    guard let object = root["limits"] else { return }
    guard object.kind == .object else { throw invalid("limits is not an object", "write { … }") }
    let fields: [(String, WritableKeyPath<Configuration.Limits, Int>)] = [
      ("bodyBytes", \.bodyBytes), ("connections", \.connections),
      ("connectionsPerAddress", \.connectionsPerAddress), ("headerSeconds", \.headerSeconds),
      ("bodySeconds", \.bodySeconds), ("idleSeconds", \.idleSeconds), ("diskBytes", \.diskBytes),
    ]
    try requireKnownKeys(object, .limits, prefix: "limits.")
    for (name, field) in fields {
      guard let member = object[name] else { continue }
      guard let value = member.integer, (1...maximum(name)).contains(value) else {
        throw invalid(
          "limits.\(name) is not an integer from 1 to \(maximum(name))",
          "see `subledger help configuration`")
      }
      limits[keyPath: field] = Int(value)
    }
  }

  private func maximum(_ limit: String) -> Int64 {
    limit == "diskBytes" ? 1_000_000_000_000_000 : 1_000_000_000
  }

  func anchors(
    _ root: JSONElement, into configuration: inout Configuration
  ) throws(LedgerError) {
    guard let object = root["anchors"] else { return }
    guard object.kind == .object else { throw invalid("is not an object", "write { \"file\": … }") }
    try requireKnownKeys(object, .anchors)
    var anchors = Configuration.Anchors(file: resolved(try required(object, "file")))
    let fields: [(String, WritableKeyPath<Configuration.Anchors, Int64>, Int64)] = [
      ("events", \.events, 1_000_000_000), ("minutes", \.minutes, 525_600),
    ]
    for (name, field, most) in fields {
      guard let member = object[name] else { continue }
      guard let value = member.integer, (1...most).contains(value) else {
        throw invalid("\(name) is not an integer from 1 to \(most)", "omit it for the default")
      }
      anchors[keyPath: field] = value
    }
    configuration.anchors = anchors
  }

  /// Reads the key `nonRenewingDurations`, which may stand at the top and at an app.
  ///
  /// - Parameter bundleId: the app at which it stands; nil at the top.
  func durations(
    _ parent: JSONElement, for bundleId: String?, into configuration: inout Configuration
  ) throws(LedgerError) {
    guard let object = parent["nonRenewingDurations"] else { return }
    guard object.kind == .object else {
      throw invalid("nonRenewingDurations is not an object", "write { \"season.pass\": \"P90D\" }")
    }
    for (product, member) in object.members where !product.hasPrefix("//") {
      let duration = try duration(member, "nonRenewingDurations.\(product)")
      let known = configuration.nonRenewingDurations.updateValue(duration, forKey: product)
      guard known ?? duration == duration else {
        throw invalid(
          "nonRenewingDurations.\(product) occurs with two values", "write each product once")
      }
      configuration.entitlements.add(duration, of: product, for: bundleId)
    }
  }

  private func duration(
    _ member: JSONElement, _ path: String
  ) throws(LedgerError) -> ProductDuration {
    let isObject = member.kind == .object
    if isObject { try requireKnownKeys(member, .duration, prefix: path + ".") }
    guard let length = (isObject ? member["lasts"] : member)?.string.flatMap(Self.milliseconds)
    else {
      throw invalid(
        "\(path) is not a duration",
        "write days or weeks: \"P90D\", \"P12W\"; or { \"lasts\": \"P90D\", \"again\": \"adds\" }")
    }
    let again = isObject ? try text(member, "again") : nil
    guard again == nil || again == "adds" else {
      throw invalid(
        "\(path).again is not \"adds\"", "leave it out, and each purchase lasts from its own date")
    }
    return ProductDuration(milliseconds: length, addsUp: again != nil)
  }

  /// The length of an ISO 8601 duration of whole days or weeks, in milliseconds; nil for anything
  /// else. Months and years have no fixed length.
  static func milliseconds(_ text: String) -> Int64? {
    guard text.hasPrefix("P"), let unit = text.last, let days = ["D": 1, "W": 7][String(unit)],
      let count = Int64(text.dropFirst().dropLast()), (1...36_500).contains(count)
    else { return nil }
    return count * Int64(days) * 86_400_000
  }
}
