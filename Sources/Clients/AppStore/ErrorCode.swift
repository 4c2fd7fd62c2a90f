/// A number by which the App Store Server API names an error. Its first three digits are the HTTP
/// status.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/error-codes, and the pages of the
/// single errors.
public struct ErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// What the caller does about an error.
  public enum Action: Sendable, Equatable {
    /// The same request fails again: report it.
    case report
    /// Repeat the request after a while. Apple marks these errors as retryable.
    case again
    /// Repeat it fewer times: Apple does not mark the error as retryable, but its pages say so.
    case seldom
    /// Wait until the time that the answer names.
    case wait
    /// Ask for the first page again: duplicates are harmless.
    case restart
    /// Not yet: ask again later.
    case later
    /// Ask in the other environment, or at another app.
    case elsewhere
  }

  public let rawValue: Int64

  public init(rawValue: Int64) { self.rawValue = rawValue }

  public static let startDateTooFarInPast = ErrorCode(rawValue: 4_000_012)
  public static let invalidTransactionId = ErrorCode(rawValue: 4_000_006)
  public static let appTransactionIdNotSupported = ErrorCode(rawValue: 4_000_048)
  public static let serverNotificationURLNotFound = ErrorCode(rawValue: 4_040_007)
  public static let transactionIdNotFound = ErrorCode(rawValue: 4_040_010)

  /// Apple's name; nil for a code that is newer than this program.
  public var name: String? { Self.known[rawValue]?.name }

  /// What to do. An unknown code is judged by its status: a server error may pass.
  public var action: Action {
    Self.known[rawValue]?.action ?? ((5_000_000..<6_000_000).contains(rawValue) ? .seldom : .report)
  }

  public var description: String { "\(rawValue)" + (name.map { " \($0)" } ?? "") }

  /// All codes that are documented, whichever call they belong to.
  package static let known: [Int64: (name: String, action: Action)] = [
    4_000_000: ("GeneralBadRequest", .report),
    4_000_002: ("InvalidAppIdentifier", .report),
    4_000_004: ("InvalidLimit", .report),
    4_000_005: ("InvalidRequestRevision", .restart),
    4_000_006: ("InvalidTransactionId", .report),
    4_000_008: ("InvalidOriginalTransactionId", .report),
    4_000_009: ("InvalidExtendByDays", .report),
    4_000_010: ("InvalidExtendReasonCode", .report),
    4_000_011: ("InvalidRequestIdentifier", .report),
    4_000_012: ("StartDateTooFarInPast", .report),
    4_000_013: ("StartDateAfterEndDate", .report),
    4_000_014: ("InvalidPaginationToken", .restart),
    4_000_015: ("InvalidStartDate", .report),
    4_000_016: ("InvalidEndDate", .report),
    4_000_017: ("PaginationTokenExpired", .restart),
    4_000_018: ("InvalidNotificationType", .report),
    4_000_019: ("MultipleFiltersSupplied", .report),
    4_000_020: ("InvalidTestNotificationToken", .report),
    4_000_021: ("InvalidSort", .report),
    4_000_022: ("InvalidProductType", .report),
    4_000_023: ("InvalidProductId", .report),
    4_000_024: ("InvalidSubscriptionGroupIdentifier", .report),
    4_000_025: ("InvalidExcludeRevoked", .report),
    4_000_026: ("InvalidInAppOwnershipType", .report),
    4_000_027: ("InvalidEmptyStorefrontCountryCodeList", .report),
    4_000_028: ("InvalidStorefrontCountryCode", .report),
    4_000_030: ("InvalidRevoked", .report),
    4_000_031: ("InvalidStatus", .report),
    4_000_032: ("InvalidAccountTenure", .report),
    4_000_033: ("InvalidAppAccountToken", .report),
    4_000_034: ("InvalidConsumptionStatus", .report),
    4_000_035: ("InvalidCustomerConsented", .report),
    4_000_036: ("InvalidDeliveryStatus", .report),
    4_000_037: ("InvalidLifetimeDollarsPurchased", .report),
    4_000_038: ("InvalidLifetimeDollarsRefunded", .report),
    4_000_039: ("InvalidPlatform", .report),
    4_000_040: ("InvalidPlayTime", .report),
    4_000_041: ("InvalidSampleContentProvided", .report),
    4_000_042: ("InvalidUserStatus", .report),
    4_000_043: ("InvalidTransactionNotConsumable", .report),
    4_000_044: ("InvalidRefundPreference", .report),
    4_000_047: ("InvalidTransactionTypeNotSupported", .report),
    4_000_048: ("AppTransactionIdNotSupported", .report),
    4_000_161: ("InvalidImage", .report),
    4_000_162: ("HeaderTooLong", .report),
    4_000_163: ("BodyTooLong", .report),
    4_000_164: ("InvalidLocale", .report),
    4_000_175: ("AltTextTooLong", .report),
    4_000_183: ("InvalidAppAccountTokenUUID", .report),
    4_000_185: ("FamilyTransactionNotSupported", .report),
    4_000_187: ("TransactionIdIsNotOriginalTransactionId", .report),
    4_000_209: ("ConsumptionPercentageAutoRenewableSubscription", .report),
    4_000_211: ("InvalidPerformanceTestRequest", .report),
    4_000_212: ("InvalidRequestId", .report),
    4_000_213: ("ExistingPerformanceTestRun", .report),
    4_000_215: ("BadRequestRealtimeURL", .report),
    4_000_216: ("BadRequestImageSize", .report),
    4_000_218: ("BadRequestTooManyBulletPoints", .report),
    4_000_219: ("BadRequestBulletPointTextTooLong", .report),
    4_000_224: ("BadRequestAboveImageRequiresAnImage", .report),
    4_000_225: ("InvalidGroupId", .report),
    4_000_227: ("InvalidAssignedTransactionNotSupported", .report),
    4_030_004: ("SubscriptionExtensionIneligible", .report),
    4_030_005: ("SubscriptionMaxExtension", .report),
    4_030_007: ("FamilySharedSubscriptionExtensionIneligible", .report),
    4_030_014: ("MaximumNumberOfImagesReached", .report),
    4_030_016: ("MaximumNumberOfMessagesReached", .report),
    4_030_017: ("MessageNotApproved", .report),
    4_030_018: ("ImageNotApproved", .report),
    4_030_019: ("ImageInUse", .report),
    4_030_026: ("ForbiddenNoPassingTest", .report),
    4_030_028: ("AssignedSubscriptionExtensionIneligible", .report),
    4_040_001: ("AccountNotFound", .report),
    4_040_002: ("AccountNotFoundRetryable", .again),
    4_040_003: ("AppNotFound", .report),
    4_040_004: ("AppNotFoundRetryable", .again),
    4_040_005: ("OriginalTransactionIdNotFound", .report),
    4_040_006: ("OriginalTransactionIdNotFoundRetryable", .again),
    4_040_007: ("ServerNotificationURLNotFound", .report),
    4_040_008: ("TestNotificationNotFound", .later),
    4_040_009: ("StatusRequestNotFound", .report),
    4_040_010: ("TransactionIdNotFound", .elsewhere),
    4_040_014: ("ImageNotFound", .report),
    4_040_015: ("MessageNotFound", .report),
    4_040_018: ("PerformanceTestRunNotFound", .report),
    4_040_019: ("AppTransactionDoesNotExist", .report),
    4_040_020: ("DefaultMessageNotFound", .report),
    4_040_021: ("RealtimeURLNotFound", .report),
    4_040_022: ("GroupNotFound", .report),
    4_090_000: ("ImageAlreadyExists", .report),
    4_090_001: ("MessageAlreadyExists", .report),
    4_290_000: ("RateLimitExceeded", .wait),
    5_000_000: ("GeneralInternal", .seldom),
    5_000_001: ("GeneralInternalRetryable", .again),
  ]
}
