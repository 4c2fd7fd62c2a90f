"""Asks a local App Store Server API with Apple's App Store Server Library for Python: every call
that the service implements, in both environments. The library's verifier must accept every JWS in
the answers. Run by .ci/stand-in, with the daemon's binary as argument. Fails with the first
difference, and otherwise prints how many calls were made and how many JWS were verified.
"""
import collections, http.server, json, pathlib, subprocess, sys, tempfile, threading, time
import urllib.request, uuid

from appstoreserverlibrary.api_client import (
    APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion)
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import (
    Order, ProductType, TransactionHistoryRequest)
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

DAY = 86_400_000
CALLS, VERIFIED = collections.Counter(), collections.Counter()


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts every notification."""
    bodies = []

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class App:
    """One environment: Apple's client, pointed at the local service, and Apple's verifier."""

    def __init__(self, line, environment):
        key = pathlib.Path(line["keyFile"]).read_bytes()
        self.environment = environment
        self.client = AppStoreServerAPIClient(
            key, line["keyId"], line["issuerId"], line["bundleId"], environment)
        name = "production" if environment == Environment.PRODUCTION else "sandbox"
        self.client._base_url = line[name]
        root = pathlib.Path(line["root"]).read_bytes()
        self.verifier = SignedDataVerifier(
            [root], False, environment, line["bundleId"], line["appAppleId"])

    def call(self, name, *arguments, **named):
        CALLS[name] += 1
        return getattr(self.client, name)(*arguments, **named)

    def refused(self, code, name, *arguments):
        try:
            self.call(name, *arguments)
        except APIException as error:
            expect(error.raw_api_error == code, f"{name}: {error.raw_api_error}, not {code}")
            expect(error.http_status_code == code // 10000, f"{name}: {error.http_status_code}")
        else:
            raise AssertionError(f"{name} was not refused with {code}")

    def notification(self, text):
        """Verifies a notification and all that is nested in it."""
        VERIFIED["notifications"] += 1
        decoded = self.verifier.verify_and_decode_notification(text)
        if decoded.data and decoded.data.signedTransactionInfo:
            decoded.transaction = self.transaction(decoded.data.signedTransactionInfo)
        if decoded.data and decoded.data.signedRenewalInfo:
            self.renewal(decoded.data.signedRenewalInfo)
        if decoded.appData and decoded.appData.signedAppTransactionInfo:
            self.app_transaction(decoded.appData.signedAppTransactionInfo)
        return decoded

    def transaction(self, text):
        VERIFIED["transactions"] += 1
        return self.verifier.verify_and_decode_signed_transaction(text)

    def renewal(self, text):
        VERIFIED["renewals"] += 1
        return self.verifier.verify_and_decode_renewal_info(text)

    def app_transaction(self, text):
        VERIFIED["app transactions"] += 1
        return self.verifier.verify_and_decode_app_transaction(text)


def history(app, **filters):
    """All notifications of the last 29 days, verified."""
    now = int(time.time() * 1000)
    request = NotificationHistoryRequest(startDate=now - 29 * DAY, endDate=now + DAY, **filters)
    found, token = [], None
    while True:
        page = app.call("get_notification_history", token, request)
        expect(len(page.notificationHistory) <= 20, "a page of more than 20")
        for item in page.notificationHistory:
            expect(item.sendAttempts, "an item without attempts")
            found.append(app.notification(item.signedPayload))
        if not page.hasMore:
            return found
        token = page.paginationToken


def check_notifications(app):
    found = history(app)
    expect(len({each.notificationUUID for each in found}) == len(found), "a repeated notification")
    renewals = history(app, notificationType=NotificationTypeV2.DID_RENEW)
    expect(0 < len(renewals) < len(found), "the filter by type")
    customer = renewals[0].transaction
    own = history(app, transactionId=customer.transactionId)
    expect(own and all(each.transaction.appTransactionId == customer.appTransactionId
                       for each in own), "the filter by customer")
    expect(not history(app, onlyFailures=True), "no attempt has failed")
    now = int(time.time() * 1000)
    app.refused(4000013, "get_notification_history", None,
                NotificationHistoryRequest(startDate=now, endDate=now))
    app.refused(4000014, "get_notification_history", "garbage",
                NotificationHistoryRequest(startDate=now - DAY, endDate=now))
    token = app.call("request_test_notification").testNotificationToken
    for _ in range(100):
        try:
            status = app.call("get_test_notification_status", token)
            break
        except APIException as error:
            expect(error.raw_api_error == 4040008, "the test's status")
            time.sleep(0.05)
    test = app.notification(status.signedPayload)
    expect(test.notificationType == NotificationTypeV2.TEST, "a TEST notification")
    expect(status.sendAttempts[0].rawSendAttemptResult == "SUCCESS", "the test's attempt")
    app.refused(4000020, "get_test_notification_status", "garbage")
    return {each.transaction.originalTransactionId for each in found
            if getattr(each, "transaction", None)}


def check_customer(app, id):
    statuses = app.call("get_all_subscription_statuses", id)
    expect(statuses.environment == app.environment, "the environment of the statuses")
    for group in statuses.data:
        for entry in group.lastTransactions:
            app.transaction(entry.signedTransactionInfo)
            app.renewal(entry.signedRenewalInfo)
    some = app.call("get_all_subscription_statuses", id, [Status.ACTIVE, Status.EXPIRED])
    expect(len(some.data) <= len(statuses.data), "the filter by status")
    transactions = pages(app, "get_transaction_history", id, TransactionHistoryRequest(),
                         GetTransactionHistoryVersion.V2)
    expect(transactions, "a customer without transactions")
    backwards = pages(app, "get_transaction_history", id, TransactionHistoryRequest(
        sort=Order.DESCENDING), GetTransactionHistoryVersion.V2)
    ids = [each.transactionId for each in transactions]
    expect(ids == [each.transactionId for each in backwards][::-1], "the order of transactions")
    valid = pages(app, "get_transaction_history", id, TransactionHistoryRequest(
        revoked=False, productTypes=[ProductType.AUTO_RENEWABLE, ProductType.CONSUMABLE]),
        GetTransactionHistoryVersion.V2)
    expect(all(each.revocationDate is None for each in valid), "the filter by revocation")
    pages(app, "get_transaction_history", id, TransactionHistoryRequest(),
          GetTransactionHistoryVersion.V1)
    info = app.call("get_transaction_info", ids[0])
    expect(app.transaction(info.signedTransactionInfo).transactionId == ids[0], "the transaction")
    receipt = app.app_transaction(
        app.call("get_app_transaction_info", id).signedAppTransactionInfo)
    expect(receipt.appTransactionId == transactions[0].appTransactionId, "the app transaction")
    app.refused(4000048, "get_transaction_info", receipt.appTransactionId)
    check_consumption(app, transactions[0])
    pages(app, "get_refund_history", id)
    if app.environment == Environment.PRODUCTION:
        order = app.call("look_up_order_id", "M" + ids[0])
        expect(order.status == OrderLookupStatus.VALID, "the order")
        expect(app.transaction(order.signedTransactions[0]).transactionId == ids[0], "the order")


def check_consumption(app, bought):
    """What is told of a purchase before a refund is accepted, or refused with Apple's number."""
    def told(**members):
        return ConsumptionRequest(**{
            "customerConsented": True, "deliveryStatus": DeliveryStatus.DELIVERED,
            "sampleContentProvided": False, **members})

    name, id = "send_consumption_information", bought.transactionId
    members = {"FAMILY_SHARED": 4000185, "ASSIGNED": 4000227}
    if bought.rawInAppOwnershipType in members:
        return app.refused(members[bought.rawInAppOwnershipType], name, id, told())
    app.call(name, id, told(refundPreference=RefundPreference.DECLINE))
    app.call(name, id, told(deliveryStatus=DeliveryStatus.UNDELIVERED_OTHER))
    app.refused(4000035, name, id, told(customerConsented=False))
    app.refused(4000048, name, bought.appTransactionId, told())
    if bought.rawType == "Auto-Renewable Subscription":
        app.call(name, id, told(refundPreference=RefundPreference.GRANT_PRORATED))
        app.refused(4000209, name, id, told(consumptionPercentage=0))
    else:
        app.call(name, id, told(refundPreference=RefundPreference.GRANT_PRORATED,
                                consumptionPercentage=67932))
        app.refused(4000044, name, id, told(refundPreference=RefundPreference.GRANT_PRORATED))
        try:
            app.call(name, id, told(consumptionPercentage=100001))
            raise AssertionError("a percentage above 100 was accepted")
        except APIException as error:
            expect(error.http_status_code == 400 and error.raw_api_error is None, "no number")


def check_mass_extension(app, line):
    """Ten days more for all active subscribers, with the notifications that it causes."""
    before = len(history(app, notificationType=NotificationTypeV2.RENEWAL_EXTENDED))
    summaries = len(history(app, notificationType=NotificationTypeV2.RENEWAL_EXTENSION))
    identifier, product = str(uuid.uuid4()), "pro.monthly"
    request = MassExtendRenewalDateRequest(
        extendByDays=10, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE,
        requestIdentifier=identifier, productId=product)
    for _ in range(2):  # the second is only answered
        answer = app.call("extend_renewal_date_for_all_active_subscribers", request)
        expect(answer.requestIdentifier == identifier, "the identifier of a mass extension")
    name = "get_status_of_subscription_renewal_date_extensions"
    status = app.call(name, identifier, product)
    expect(status.complete is False and status.succeededCount is None, "not complete yet")
    advance(line, 61_000)
    status = app.call(name, identifier, product)
    expect(status.complete and status.completeDate and status.failedCount == 0, "complete")
    told = history(app, notificationType=NotificationTypeV2.RENEWAL_EXTENDED)
    expect(len(told) - before == status.succeededCount > 0, "one RENEWAL_EXTENDED for each")
    told = history(app, notificationType=NotificationTypeV2.RENEWAL_EXTENSION)
    expect(len(told) - summaries == 1, "one summary")
    summary = next(each.summary for each in told
                   if each.summary and each.summary.requestIdentifier == identifier)
    expect(summary.succeededCount == status.succeededCount, "the summary's count")
    expect(summary.productId == product and not summary.failedCount, "the summary")
    app.refused(4040009, name, str(uuid.uuid4()), product)
    app.refused(4000009, "extend_renewal_date_for_all_active_subscribers",
                MassExtendRenewalDateRequest(extendByDays=91, extendReasonCode=ExtendReasonCode.UNDECLARED,
                                             requestIdentifier=identifier, productId=product))


def advance(line, milliseconds):
    """Moves the simulated clock; returns when all that is then due was sent."""
    request = urllib.request.Request(
        line["production"] + "/control", json.dumps({"advance": milliseconds}).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        expect(answer.status == 200, "the control route")


def pages(app, name, id, *arguments):
    """All transactions of a paged answer, verified."""
    found, revision = [], None
    while True:
        page = app.call(name, id, revision, *arguments)
        expect(len(page.signedTransactions) <= 20, "a page of more than 20")
        found += [app.transaction(text) for text in page.signedTransactions]
        if not page.hasMore:
            return found
        revision = page.revision


def check_errors(line, apps):
    production, sandbox = apps
    for app in apps:
        for name in ("get_all_subscription_statuses", "get_transaction_info",
                     "get_app_transaction_info"):
            app.refused(4000006, name, "abc")
            app.refused(4040010, name, "1")
    order = production.call("look_up_order_id", "MUNKNOWN")
    expect(order.status == OrderLookupStatus.INVALID and not order.signedTransactions, "no order")
    production.refused(4000000, "look_up_order_id", "m-1")
    stranger = App({**line, "keyId": "ABCDEFGHIJ"}, Environment.PRODUCTION)
    try:
        stranger.call("get_transaction_info", "1")
        raise AssertionError("another key id was accepted")
    except APIException as error:
        expect(error.http_status_code == 401 and error.raw_api_error is None, "401 without JSON")


def main():
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        listed = subprocess.run([sys.argv[1], "simulate", "list", "--json"], check=True,
                                capture_output=True).stdout
        # This version of the library refuses UNCLAIM_SEATS, whose object it does not know.
        names = [each["name"] for each in json.loads(listed) if each["name"] != "team-claims"]
        service = subprocess.Popen(
            [sys.argv[1], "simulate", "serve", "--authority", folder + "/authority",
             "--customers", "120", "--days", "1500", "--lifecycle", ",".join(names), "--seed", "21",
             "--notify", f"http://127.0.0.1:{target.server_port}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            line = json.loads(service.stdout.readline())
            apps = [App(line, Environment.PRODUCTION), App(line, Environment.SANDBOX)]
            for app in apps:
                customers = check_notifications(app)
                for id in sorted(customers):
                    check_customer(app, id)
                check_mass_extension(app, line)
            check_errors(line, apps)
            service.terminate()
            expect(service.stdout.read() == b"", "more than one line on standard output")
            expect(service.wait(10) == 0, "the service did not end well")
        finally:
            if service.poll() is None:
                service.kill()
    expect(len(Receiver.bodies) > 4, "two test notifications, and those of the extensions")
    for name, count in sorted(CALLS.items()):
        print(f"{count:7} {name}")
    print(f"{sum(CALLS.values())} calls of {len(CALLS)} kinds; verified "
          + ", ".join(f"{count} {name}" for name, count in sorted(VERIFIED.items())))


main()
