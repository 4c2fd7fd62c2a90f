import Foundation
import Ledger

/// A folder with a configuration file and what it names.
final class ConfigurationFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "sl-access-\(UUID())")

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) throws {
    let path = url.appending(path: name).path
    try Data(bytes).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  func load(_ text: String, credentials: String? = nil) throws -> Configuration {
    try write("config.json", Array(text.utf8))
    let variables = credentials.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:]
    return try Configuration.load(
      file: url.path + "/config.json", variables: variables, listen: nil, data: nil)
  }
}
