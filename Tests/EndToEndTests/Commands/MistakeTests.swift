import Foundation
import Support
import Testing

/// What somebody is told who uses a command wrongly in the first hour.
@Suite struct MistakeTests {
  private let installation: Installation

  init() throws { installation = try Installation() }

  @Test func `the demo does not write into the data folder of a daemon`() throws {
    try installation.start().stop()
    let result = try installation.launch(["demo", "--data", installation.data.path]).finish()
    #expect(result.code == 2 && result.errors.contains("another one"), "\(result)")
  }

  @Test func `a comparison overwrites no file`() throws {
    try installation.start().stop()
    let path = installation.folder.appending(path: "mine.csv").path
    try Data("mine".utf8).write(to: URL(filePath: path))
    let result = try installation.run("rebuild", "--diff", "--output", path)
    #expect(result.code == 3 && result.errors.contains(path), "\(result)")
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("mine".utf8))
  }

  @Test func `init gives no file away as a data folder`() throws {
    let path = installation.folder.appending(path: "plain").path
    try Data().write(to: URL(filePath: path))
    let result = try installation.launch(
      ["init", "--config", installation.folder.appending(path: "c.json").path, "--data", path]
    ).finish()
    #expect(result.code == 2 && result.errors.contains(path), "\(result)")
  }

  @Test func `doctor tells a journal of a newer version by its exit code`() throws {
    try installation.start().stop()
    let journal = try FileHandle(forUpdating: installation.journal)
    // user_version (sqlite.org/fileformat.html).
    try journal.seek(toOffset: 60)
    try journal.write(contentsOf: [0, 0, 0, 99])
    try journal.close()
    #expect(try installation.run("doctor", "--offline").code == 4)
  }

  @Test func `a moment before the first event is not taken for an unknown id`() throws {
    let daemon = try installation.start()
    _ = daemon.client().post(try installation.sign(Sample.notification(1, otid: "7001")))
    try daemon.stop()
    let result = try installation.run("entitlement", "7001", "--as-of", "2001-01-01")
    #expect(result.code == 1 && result.errors.contains("at 2001-01-01"), "\(result)")
  }

  @Test func `a root that is not trusted is told with what to do`() throws {
    let daemon = try installation.start()
    _ = daemon.client().post(try installation.sign(Sample.notification(1, otid: "7001")))
    try daemon.stop()
    let result = try installation.launch(["verify", "--data", installation.data.path]).finish()
    #expect(result.code == 1 && result.output.contains("trustRoots"), "\(result)")
  }
}
