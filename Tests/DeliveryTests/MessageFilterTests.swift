import Testing

@testable import Delivery

/// Which types a sink asks for.
@Suite struct MessageFilterTests {
  private static func matches(_ text: String, _ glob: String) -> Bool {
    MessageFilter.matches(Array(text.utf8)[...], Array(glob.utf8)[...])
  }

  @Test(arguments: [
    ("app_store.did_renew", "app_store.did_renew"), ("app_store.did_renew", "*"),
    ("app_store.did_renew", "app_store.*"), ("app_store.did_renew", "*renew"),
    ("app_store.did_renew", "a*d*r*w"), ("app_store.did_renew", "app_store.did_renew*"),
    ("aaab", "*ab"), ("abab", "*ab"), ("", ""), ("", "**"),
  ]) func `a glob matches`(_ text: String, _ glob: String) {
    #expect(Self.matches(text, glob))
  }

  @Test(arguments: [
    ("app_store.did_renew", "app_store"), ("app_store.did_renew", "did_renew"),
    ("app_store.did_renew", "app_store.?*x"), ("app_store", "app_store.*"), ("a", ""), ("", "a"),
    ("abc", "a*d"), ("APP", "app"), ("app_store.refund_declined", "app_store.refund"),
  ]) func `a glob does not match`(_ text: String, _ glob: String) {
    #expect(!Self.matches(text, glob))
  }
}
