"""Sends consumption information with the client of Apple's App Store Server Library for Python. Run
by the test that .ci/consumption chooses, with the address to send to, and a file of which each line
is the JSON of a transaction's id and of the values.
"""
import json, sys

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

KEY = ec.generate_private_key(ec.SECP256R1()).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
CLIENT = AppStoreServerAPIClient(KEY, "KEY", "issuer", "com.example.app", Environment.PRODUCTION)
CLIENT._base_url = sys.argv[1]

for line in open(sys.argv[2]):
    values = json.loads(line)
    preference = values.get("preference")
    CLIENT.send_consumption_information(values["id"], ConsumptionRequest(
        customerConsented=True,
        sampleContentProvided=values["sample"],
        deliveryStatus=DeliveryStatus(values["delivery"]),
        consumptionPercentage=values.get("percentage"),
        refundPreference=None if preference is None else RefundPreference(preference)))
