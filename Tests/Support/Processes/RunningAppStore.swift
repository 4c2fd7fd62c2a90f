package import Foundation
package import StrictJSON

/// `subledger simulate serve`, once it listens: Apple's side of an installation.
package final class RunningAppStore {
  package let command: RunningCommand
  /// The line that it prints: addresses, key and names.
  package let description: JSONElement
  private let port: UInt16

  /// - Parameters:
  ///   - folder: of the authority; made if it is missing.
  ///   - arguments: those after `--authority`.
  package init(_ folder: URL, _ arguments: [String], in installation: Installation) throws {
    command = try installation.launch(
      ["simulate", "serve", "--authority", folder.path] + arguments)
    var line = ""
    try command.wait(60, "the App Store to listen") { [command] in
      line = command.outputSoFar()
      guard line.hasSuffix("\n") || command.isRunning else {
        throw TestFailure("it ended: \(command.errorsSoFar())")
      }
      return line.hasSuffix("\n")
    }
    description = try JSONDocument(parsing: Array(line.utf8)).root
    guard let address = description["production"]?.string,
      let port = address.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw TestFailure("no address: \(line)") }
    self.port = port
  }

  /// The value of `appStore` in the configuration of an installation that asks it.
  package var access: JSONValue {
    .object(
      ["issuerId", "keyId", "keyFile", "production", "sandbox"].map {
        ($0, .optional(description[$0]?.string))
      })
  }

  /// Posts a control document; returns the report.
  @discardableResult
  package func control(_ document: String) throws -> JSONElement {
    let body = Array(document.utf8)
    let head = "POST /control HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
    guard let answer = Client(port: port).send(head, body), answer.status == 200,
      let report = answer.json
    else { throw TestFailure("control \(document)") }
    return report
  }

  /// How many requests came to an environment, by endpoint.
  package func requests(_ environment: String) throws -> [String: Int64] {
    guard let report = Client(port: port).get("/control", token: nil)?.json,
      let counts = report[environment]?["requests"]
    else { throw TestFailure("no report") }
    return Dictionary(
      uniqueKeysWithValues: counts.members.map { ($0.name, $0.value["requests"]?.integer ?? 0) })
  }
}

extension Installation {
  /// The value of `appStore`, and the root that an App Store signs with.
  package func configure(
    _ store: RunningAppStore, apps: [JSONValue] = [Installation.app()]
  ) throws {
    try configure(
      apps: apps,
      with: [
        ("appStore", store.access),
        ("trustRoots", .array([.optional(store.description["root"]?.string)])),
      ])
  }
}
