import AppStore
import Testing

/// What deduplicates notifications, as text and as a value (promise 4).
@Suite struct NotificationUUIDTests {
  private static let text = "0a1b2c3d-4e5f-4789-8abc-def012345678"

  @Test func `letters of either case are read, and lower case is written`() throws {
    let uuid = try #require(NotificationUUID(Self.text.uppercased()))
    #expect(uuid.description == Self.text)
    #expect(uuid == NotificationUUID(Self.text))
  }

  @Test(arguments: [
    "", "0a1b2c3d4e5f47898abcdef012345678", "0a1b2c3d-4e5f-4789-8abc-def01234567",
    "0a1b2c3d-4e5f-4789-8abc-def0123456789", "0a1b2c3d_4e5f-4789-8abc-def012345678",
    "0a1b2c3g-4e5f-4789-8abc-def012345678", "{0a1b2c3d-4e5f-4789-8abc-def01234567}",
  ])
  func `other spellings are refused`(text: String) {
    #expect(NotificationUUID(text) == nil)
  }

  @Test func `values are ordered as their texts are`() throws {
    let texts = [
      "00000000-0000-0000-0000-000000000001", Self.text, "ffffffff-ffff-ffff-ffff-fffffffffffe",
      "80000000-0000-0000-0000-000000000000", "7fffffff-ffff-ffff-ffff-ffffffffffff",
    ]
    let values = try texts.map { try #require(NotificationUUID($0)) }
    #expect(values.sorted().map(\.description) == texts.sorted())
  }
}
