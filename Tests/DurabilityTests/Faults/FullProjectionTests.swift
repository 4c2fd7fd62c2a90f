import Foundation
import Store
import StrictJSON
import Support
import Testing

/// A disk on which one of the two files has no room.
@Suite struct FullProjectionTests {
  /// What `/readyz` says of the projection.
  private func state(_ client: Client) -> String? {
    client.get("/readyz", token: nil)?.json?["projection"]?.string
  }

  /// Notifications are taken, and after each answer a read of its customer has the event; a list
  /// has every customer.
  @Test func `a projection without room is read on and caught up when there is room`() throws {
    let test = try FaultTest(known: 3, of: 60)
    let disk = try test.disk()
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    try Data("entitlements-".utf8).write(to: disk.full)
    var accepted = test.before
    var isUnwritable = false
    for next in 3..<50 {
      let answer = try #require(client.post(test.bodies[next].body))
      #expect(answer.status == 200, "\(answer.text)")
      if let seq = answer.json?["seq"]?.integer { accepted[seq] = test.bodies[next].uuid }
      isUnwritable = isUnwritable || state(client) == "unwritable"
      let id = "90\(next % 3)"
      let row = client.get("/v1/entitlements/\(id)")
      #expect(row?.json?["last_event"]?["seq"]?.integer == answer.json?["seq"]?.integer)
      let list = client.get("/v1/entitlements?limit=500")
      let ids = list?.json?["items"]?.elements.map {
        $0["original_transaction_id"]?.string
      }
      #expect(list?.status == 200 && ids?.contains(id) == true, "\(list?.text ?? "")")
    }
    #expect(isUnwritable, "the projection's file had room")
    try daemon.logged("rows_not_written")
    try FileManager.default.removeItem(at: disk.full)
    try daemon.command.wait(60, "the projection to follow") { state(client) == "following" }
    #expect(try daemon.stop().code == 0)
    disk.stopIntercepting()
    try test.imageCheck.run(
      DataFolder(path: disk.installation.data.path), answered: accepted, isDeep: true)
  }

  @Test func `a journal without room refuses notifications and leaves the rows as they are`() throws
  {
    let test = try FaultTest(known: 3, of: 60)
    let disk = try test.disk()
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    var accepted = test.before
    var next = 3
    try Data("journal".utf8).write(to: disk.full)
    var last: Client.Answer?
    while next < 40 {
      last = client.post(test.bodies[next].body)
      guard last?.status == 200, let seq = last?.json?["seq"]?.integer else { break }
      accepted[seq] = test.bodies[next].uuid
      next += 1
    }
    #expect(last?.status == 503 && last?.json?["code"]?.string == "disk_full")
    #expect(state(client) == nil && client.get("/readyz", token: nil)?.status == 503)
    #expect(client.get("/v1/entitlements/900")?.status == 200)
    #expect(client.get("/v1/entitlements")?.status == 200)
    try FileManager.default.removeItem(at: disk.full)
    let answer = try #require(client.post(test.bodies[next].body))
    #expect(answer.status == 200)
    if let seq = answer.json?["seq"]?.integer { accepted[seq] = test.bodies[next].uuid }
    #expect(state(client) == "following")
    #expect(try daemon.stop().code == 0)
    disk.stopIntercepting()
    try test.imageCheck.run(
      DataFolder(path: disk.installation.data.path), answered: accepted, isDeep: true)
  }
}
