import AppStore
import StrictJSON
import Testing

/// The two forms of Apple's POST body are told apart by their members.
@Suite struct NotificationEnvelopeTests {
  private func envelope(_ text: String) throws -> NotificationEnvelope? {
    NotificationEnvelope(try JSONDocument(parsing: Array(text.utf8)))
  }

  @Test func `a body with signedPayload is V2, whatever else it has`() throws {
    let envelope = try envelope(#"{"other":1,"signedPayload":"a.b.c"}"#)
    guard case .v2(let payload)? = envelope else {
      Issue.record("not V2")
      return
    }
    #expect(Array(payload) == Array("a.b.c".utf8))
  }

  @Test(arguments: [#"{"notification_type":"CANCEL"}"#, #"{"unified_receipt":{},"other":1}"#])
  func `a body with a member of V1 is V1`(_ text: String) throws {
    guard case .v1(let root)? = try envelope(text) else {
      Issue.record("not V1")
      return
    }
    #expect(root.kind == .object)
  }

  @Test(arguments: [
    "{}", "[]", #""signedPayload""#, #"{"signedpayload":"a.b.c"}"#,
    #"{"signedPayload":""}"#, #"{"signedPayload":null}"#, #"{"signedPayload":["a.b.c"]}"#,
    #"{"signedPayload":"a.b\u002ec"}"#,
    #"{"signedPayload":"a.b.c","notification_type":"CANCEL"}"#,
    #"{"signedPayload":"a.b.c","unified_receipt":null}"#,
  ])
  func `a body of neither form, or of both, is refused`(_ text: String) throws {
    #expect(try envelope(text) == nil)
  }
}
