import HTTPServer
import StrictJSON

/// An error of the App Store Server API by its number (error codes page); the status is the number
/// without its last four digits.
enum APIError: Int64, Error {
  case badRequest = 4_000_000
  case invalidRevision = 4_000_005
  case invalidTransactionId = 4_000_006
  case invalidDays = 4_000_009
  case invalidReason = 4_000_010
  case invalidRequestIdentifier = 4_000_011
  case startTooFarInPast = 4_000_012
  case startAfterEnd = 4_000_013
  case invalidPaginationToken = 4_000_014
  case invalidStartDate = 4_000_015
  case invalidEndDate = 4_000_016
  case paginationTokenExpired = 4_000_017
  case invalidNotificationType = 4_000_018
  case multipleFilters = 4_000_019
  case invalidTestToken = 4_000_020
  case invalidSort = 4_000_021
  case invalidProductType = 4_000_022
  case invalidProductId = 4_000_023
  case invalidGroup = 4_000_024
  case invalidExcludeRevoked = 4_000_025
  case invalidOwnership = 4_000_026
  case emptyStorefronts = 4_000_027
  case invalidStorefront = 4_000_028
  case invalidRevoked = 4_000_030
  case invalidStatus = 4_000_031
  case invalidConsent = 4_000_035
  case invalidDelivery = 4_000_036
  case invalidSample = 4_000_041
  case invalidPreference = 4_000_044
  case appTransactionIdNotSupported = 4_000_048
  case invalidAccountToken = 4_000_183
  case familyNotSupported = 4_000_185
  case notOriginalTransactionId = 4_000_187
  case percentageOfSubscription = 4_000_209
  case assignedNotSupported = 4_000_227
  case notExtended = 4_030_004
  case extendedTooOften = 4_030_005
  case familyNotExtended = 4_030_007
  case originalIdNotFound = 4_040_005
  case noNotificationURL = 4_040_007
  case testNotFound = 4_040_008
  case statusRequestNotFound = 4_040_009
  case transactionIdNotFound = 4_040_010
  case internalError = 5_000_000

  var message: String { Self.message(of: rawValue) }

  /// Apple's text for a number, where it is documented; else the beginning that all have.
  static func message(of code: Int64) -> String {
    messages[code] ?? (code / 10_000 == 400 ? "Invalid request." : "An unknown error occurred.")
  }

  private static let messages: [Int64: String] = [
    4_000_000: "Bad request.",
    4_000_005: "Invalid request revision.",
    4_000_006: "Invalid transaction id.",
    4_000_009: "Invalid extend by days value.",
    4_000_011: "Invalid request identifier.",
    4_000_012: "Invalid request. The start date is earlier than the allowed start date.",
    4_000_017: "Invalid request. The pagination token is expired.",
    4_000_018: "Invalid request. The notification type or subtype is invalid.",
    4_000_019:
      "Invalid request. Supply either a transaction id or a notification type, but not both.",
    4_000_021: "Invalid request. The sort parameter is invalid.",
    4_000_027:
      "Invalid request. If provided, the list of storefront country codes must not be empty.",
    4_000_036: "Invalid request. The delivery status field is invalid.",
    4_000_044: "Invalid request. The refund preference field is invalid.",
    4_000_048: "Invalid request. App transactions aren't supported by this endpoint.",
    4_000_183: "Invalid request. The app account token field must be a valid UUID.",
    4_000_185:
      "Invalid request. Family Sharing transactions aren't supported by this endpoint.",
    4_000_187:
      "Invalid request. The transaction ID provided is not an original transaction ID.",
    4_000_209:
      "Invalid request. The consumption percentage field is not supported for auto-renewable "
      + "subscription transactions.",
    4_000_227: "Invalid request. Assigned transactions aren't supported by this endpoint.",
    4_030_004: "Forbidden - subscription state ineligible for extension.",
    4_030_005: "Forbidden - subscription has reached maximum extension count.",
    4_040_002: "Account not found. Please try again.",
    4_040_004: "App not found. Please try again.",
    4_040_005: "Original transaction id not found.",
    4_040_006: "Original transaction id not found. Please try again.",
    4_040_007:
      "No App Store Server Notification URL found for provided app. Check that a URL is "
      + "configured in App Store Connect for this environment.",
    4_040_008:
      "Either the test notification token is expired or the notification and status are not yet "
      + "available.",
    4_040_009:
      "The server didn't find a subscription-renewal-date extension request for this "
      + "requestIdentifier and productId combination.",
    4_040_010: "Transaction id not found.",
    4_040_019: "No AppTransaction exists for the customer.",
    4_290_000: "Rate limit exceeded.",
    5_000_000: "An unknown error occurred.",
    5_000_001: "An unknown error occurred. Please try again.",
  ]
}

extension HTTPResponse {
  static func json(_ members: [(String, JSONValue)], status: Int = 200) -> HTTPResponse {
    json(.object(members), status: status)
  }

  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json")], body: value.bytes)
  }

  /// A bad request without a number: the request is malformed, or no document says the number.
  static func unnumbered(_ message: String) -> HTTPResponse {
    .json([("errorMessage", .string(message))], status: 400)
  }

  /// The error body with a number of Apple's, or any other.
  static func error(_ code: Int64) -> HTTPResponse {
    .json(
      [
        ("errorCode", .integer(code)), ("errorMessage", .string(APIError.message(of: code))),
      ], status: Int(code / 10_000))
  }
}
