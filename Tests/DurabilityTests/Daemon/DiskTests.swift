import Foundation
import StrictJSON
import Support
import Testing

/// A disk that cannot be written to: no answer of 200 without the event (promise 1).
@Suite struct DiskTests {
  /// Limits the program to files of a megabyte, so that a write beyond it fails.
  private func limit(_ installation: Installation) throws {
    let script = installation.folder.appending(path: "limited")
    // SIGXFSZ is ignored, so that the write itself fails (setrlimit(2)). sh counts units of 512
    // bytes.
    let text = """
      #!/bin/sh
      trap '' XFSZ
      ulimit -f 2048
      exec '\(RunningCommand.program.path)' "$@"
      """
    try Data(text.utf8).write(to: script)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
    installation.program = script
  }

  @Test func `a failed write is not answered with 200`() throws {
    let installation = try Installation()
    try limit(installation)
    let daemon = try installation.start()
    let client = daemon.client()
    var answered: [String: Int64] = [:]
    var last: Client.Answer?
    for number in 0..<2000 {
      last = client.post(try installation.sign(Sample.notification(number, otid: "90\(number)")))
      guard last?.status == 200 else { break }
      answered[Sample.uuid(number)] = last?.json?["seq"]?.integer
    }
    // The daemon then exits, possibly before it sends an answer.
    #expect(last.map { $0.status == 503 } ?? true)
    #expect(!answered.isEmpty)
    try daemon.command.finish(within: 20)
    installation.program = RunningCommand.program
    let events = try installation.events()
    for (uuid, seq) in answered {
      let found = events.filter { $0["notification_uuid"]?.string == uuid }
      #expect(found.map { $0["seq"]?.integer } == [seq])
    }
    #expect(try installation.verify().code == 0)
    let again = try installation.start()
    #expect(again.client().post(try installation.sign(Sample.notification(2000)))?.status == 200)
    #expect(try again.stop().code == 0)
  }
}
