import Encoding
import Observability
import Platform
import SignedData
import StrictJSON

/// Reads a configuration file: strict JSON, every key known, every file it names there.
///
/// A key that is misspelt would otherwise be a setting that silently does not hold. A member whose
/// name begins with `//` is a comment, in every object: JSON has none of its own.
struct ConfigurationReader {
  let file: String
  /// The folder of secrets that a service manager keeps for this process; nil where there is none.
  let credentials: String?
  /// Where in the file, for errors: `apps[0].bundleId`.
  private var place = ""

  init(file: String, credentials: String? = nil) {
    self.file = file
    self.credentials = credentials
  }

  mutating func read(into configuration: inout Configuration) throws(ConfigurationError) {
    let root = try document()
    try known(
      root,
      [
        "listen", "data", "apps", "trustRoots", "trustedProxies", "readTokens", "limits",
        "nonRenewingDurations", "anchors", "logLevel",
      ])
    if let listen = try text(root, "listen") { configuration.listen = listen }
    if let data = try text(root, "data") { configuration.data = data }
    if let name = try text(root, "logLevel") {
      guard let level = Log.Level(rawValue: name) else {
        throw wrong("logLevel is unknown", Log.Level.choice)
      }
      configuration.logLevel = level
    }
    for (index, entry) in try list(root, "apps").enumerated() {
      place = "apps[\(index)]"
      let app = try app(entry)
      try durations(entry, into: &configuration)
      guard configuration.apps.updateValue(app, forKey: app.bundleId) == nil else {
        throw wrong("bundleId occurs twice", "give each app once")
      }
    }
    for (index, entry) in try list(root, "readTokens").enumerated() {
      place = "readTokens[\(index)]"
      configuration.readTokens.append(try token(entry))
    }
    place = "anchors"
    try anchors(root, into: &configuration)
    place = ""
    try roots(root, into: &configuration)
    if root["trustedProxies"] != nil {
      configuration.trustedProxies = try texts(root, "trustedProxies") ?? []
    }
    try limits(root, into: &configuration.limits)
    try durations(root, into: &configuration)
  }

  private func wrong(_ what: String, _ next: String) -> ConfigurationError {
    let whence = place.isEmpty ? file : "\(file): \(place)"
    return ConfigurationError("\(whence): \(what)", next: next)
  }

  private func document() throws(ConfigurationError) -> JSONElement {
    let bytes = try read(file, limit: 1_048_576)
    do throws(JSONError) {
      return try JSONDocument(parsing: bytes).root
    } catch {
      throw wrong(
        "\(error.reason.rawValue) at byte \(error.offset)", "the file must be one JSON object")
    }
  }

  private func read(_ path: String, limit: Int) throws(ConfigurationError) -> [UInt8] {
    do throws(PlatformError) {
      return try DurableFile.read(path, limit: limit)
    } catch {
      throw wrong("\(error)", "check the path and its permissions")
    }
  }

  // MARK: Members

  /// - Parameter parent: how the object's keys begin in errors.
  private func known(
    _ object: JSONElement, _ names: Set<String>, parent: String = ""
  ) throws(ConfigurationError) {
    guard object.kind == .object else {
      throw wrong("\(parent) is no object", "see the README's example")
    }
    for member in object.members where !names.contains(member.name) && !member.name.hasPrefix("//")
    {
      throw wrong("unknown key \"\(parent)\(member.name)\"", "keys are \(names.sorted())")
    }
  }

  private func text(
    _ object: JSONElement, _ name: String
  ) throws(ConfigurationError) -> String? {
    guard let member = object[name] else { return nil }
    guard let text = member.string, !text.isEmpty, !text.utf8.contains(0) else {
      throw wrong("\(name) is no text", "give it as a string that is not empty")
    }
    return text
  }

  private func required(
    _ object: JSONElement, _ name: String
  ) throws(ConfigurationError) -> String {
    guard let text = try text(object, name) else { throw wrong("\(name) is missing", "add it") }
    return text
  }

  private func list(
    _ object: JSONElement, _ name: String
  ) throws(ConfigurationError) -> [JSONElement] {
    guard let member = object[name] else { return [] }
    guard member.kind == .array else { throw wrong("\(name) is no list", "write [ … ]") }
    return member.elements
  }

  private func texts(
    _ object: JSONElement, _ name: String
  ) throws(ConfigurationError) -> [String]? {
    guard object[name] != nil else { return nil }
    var texts: [String] = []
    for element in try list(object, name) {
      guard let text = element.string, !text.isEmpty else {
        throw wrong("\(name) holds something that is no text", "give strings")
      }
      texts.append(text)
    }
    return texts
  }

  private func environments(
    _ object: JSONElement
  ) throws(ConfigurationError) -> Set<String>? {
    guard let names = try texts(object, "environments") else { return nil }
    for name in names where name != "Production" && name != "Sandbox" {
      throw wrong("no such environment", "environments are Production and Sandbox")
    }
    return Set(names)
  }

  // MARK: Parts

  private func app(_ entry: JSONElement) throws(ConfigurationError) -> Configuration.App {
    try known(
      entry,
      ["bundleId", "appAppleId", "environments", "v1SharedSecretFile", "nonRenewingDurations"])
    let environments = try environments(entry) ?? ["Production", "Sandbox"]
    guard !environments.isEmpty else {
      throw wrong("environments is empty", "name one, or leave it out for both")
    }
    if let identifier = entry["appAppleId"], identifier.integer == nil {
      throw wrong("appAppleId is no whole number", "give the digits without quotes")
    }
    var app = Configuration.App(
      bundleId: try required(entry, "bundleId"), appAppleId: entry["appAppleId"]?.integer,
      environments: environments)
    if environments.contains("Production"), app.appAppleId == nil {
      throw wrong(
        "appAppleId is missing", "Production needs it: App Store Connect, App Information, Apple ID"
      )
    }
    if let path = try text(entry, "v1SharedSecretFile") {
      app.v1SecretDigests = try secrets(credential(path) ?? beside(path))
    }
    return app
  }

  /// One secret a line; the secrets themselves are forgotten here.
  private func secrets(_ path: String) throws(ConfigurationError) -> [[UInt8]] {
    let bytes = try read(path, limit: 4096)
    guard (try? DurableFile.isPrivate(path)) == true else {
      throw wrong("v1SharedSecretFile can be read by others", "chmod 600 it")
    }
    let lines = bytes.split(separator: 0x0A).map { line in
      Array(line.last == 0x0D ? line.dropLast() : line)
    }
    // A line of nothing but white space is an empty secret, and a guess away.
    let isBlank = { (line: [UInt8]) in line.allSatisfy { $0 <= 0x20 } }
    guard !lines.isEmpty, lines.count <= 2, !lines.contains(where: isBlank) else {
      throw wrong(
        "v1SharedSecretFile holds \(lines.count) secrets",
        "give one secret a line: one, or two during a rotation")
    }
    return lines.map { SHA256.hash($0) }
  }

  private func token(_ entry: JSONElement) throws(ConfigurationError) -> Configuration.ReadToken {
    try known(entry, ["name", "sha256", "bundleIds", "environments"])
    guard let digest = Hexadecimal.decode(try required(entry, "sha256")), digest.count == 32 else {
      throw wrong("sha256 is no SHA-256", "printf %s \"$TOKEN\" | sha256sum gives its 64 digits")
    }
    return Configuration.ReadToken(
      name: try required(entry, "name"), sha256: digest,
      bundleIds: try texts(entry, "bundleIds").map(Set.init),
      environments: try environments(entry))
  }

  private func roots(
    _ root: JSONElement, into configuration: inout Configuration
  ) throws(ConfigurationError) {
    guard let paths = try texts(root, "trustRoots") else { return }
    guard !paths.isEmpty else { throw wrong("trustRoots is empty", "name a file, or leave it out") }
    var files: [[UInt8]] = []
    for path in paths { files.append(try read(beside(path), limit: 65_536)) }
    do throws(ProofFailure) {
      configuration.trustRoots = try TrustRoots(files: files)
    } catch {
      throw wrong("trustRoots names a file that is no certificate", "give DER or PEM")
    }
    configuration.extraRoots = files.count
  }

  /// A bare name is looked for among the credentials first (systemd.exec(5), LoadCredential=).
  private func credential(_ name: String) -> String? {
    guard let credentials, !name.contains("/") else { return nil }
    let path = "\(credentials)/\(name)"
    return ((try? DurableFile.size(path)) ?? nil) == nil ? nil : path
  }

  /// A relative path is meant from where the configuration file lies.
  private func beside(_ path: String) -> String {
    guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
    return file[...slash] + path
  }

  private func limits(
    _ root: JSONElement, into limits: inout Configuration.Limits
  ) throws(ConfigurationError) {
    guard let object = root["limits"] else { return }
    guard object.kind == .object else { throw wrong("limits is no object", "write { … }") }
    let fields: [(String, WritableKeyPath<Configuration.Limits, Int>)] = [
      ("bodyBytes", \.bodyBytes), ("connections", \.connections),
      ("connectionsPerAddress", \.connectionsPerAddress), ("headerSeconds", \.headerSeconds),
      ("bodySeconds", \.bodySeconds), ("idleSeconds", \.idleSeconds), ("diskBytes", \.diskBytes),
    ]
    try known(object, Set(fields.map(\.0)), parent: "limits.")
    for (name, field) in fields {
      guard let member = object[name] else { continue }
      guard let value = member.integer, (1...maximum(name)).contains(value) else {
        throw wrong("limits.\(name) is no whole number above 0", "see the README's example")
      }
      limits[keyPath: field] = Int(value)
    }
  }

  private func maximum(_ limit: String) -> Int64 {
    limit == "diskBytes" ? 1_000_000_000_000_000 : 1_000_000_000
  }

  private func anchors(
    _ root: JSONElement, into configuration: inout Configuration
  ) throws(ConfigurationError) {
    guard let object = root["anchors"] else { return }
    guard object.kind == .object else { throw wrong("no object", "write { \"file\": … }") }
    try known(object, ["file", "events", "minutes"])
    var anchors = Configuration.Anchors(file: beside(try required(object, "file")))
    let fields: [(String, WritableKeyPath<Configuration.Anchors, Int64>, Int64)] = [
      ("events", \.events, 1_000_000_000), ("minutes", \.minutes, 525_600),
    ]
    for (name, field, most) in fields {
      guard let member = object[name] else { continue }
      guard let value = member.integer, (1...most).contains(value) else {
        throw wrong("\(name) is no whole number from 1 to \(most)", "leave it out for the default")
      }
      anchors[keyPath: field] = value
    }
    configuration.anchors = anchors
  }

  private func durations(
    _ root: JSONElement, into configuration: inout Configuration
  ) throws(ConfigurationError) {
    guard let object = root["nonRenewingDurations"] else { return }
    guard object.kind == .object else {
      throw wrong("nonRenewingDurations is no object", "write { \"season.pass\": \"P90D\" }")
    }
    for (product, member) in object.members where !product.hasPrefix("//") {
      guard let text = member.string, let length = Self.milliseconds(text) else {
        throw wrong("nonRenewingDurations.\(product)", "give days or weeks: \"P90D\", \"P12W\"")
      }
      let known = configuration.nonRenewingDurations.updateValue(length, forKey: product)
      guard known ?? length == length else {
        throw wrong("nonRenewingDurations.\(product) is given twice", "give each product once")
      }
    }
  }

  /// ISO 8601 durations of whole days or weeks; months and years have no fixed length.
  static func milliseconds(_ text: String) -> Int64? {
    guard text.hasPrefix("P"), let unit = text.last, let days = ["D": 1, "W": 7][String(unit)],
      let count = Int64(text.dropFirst().dropLast()), (1...36_500).contains(count)
    else { return nil }
    return count * Int64(days) * 86_400_000
  }
}
