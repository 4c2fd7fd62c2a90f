"""Receives one message of a daemon, and stores its headers and body.

    webhook_message.py FOLDER BINARY
"""
import http.server
import json
import subprocess
import sys
import threading

folder, binary = sys.argv[1:]
got = threading.Event()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not got.is_set():
            with open(folder + "/body", "wb") as file:
                file.write(body)
            with open(folder + "/headers.json", "w") as file:
                json.dump({name.lower(): value for name, value in self.headers.items()}, file)
            got.set()
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
config = json.load(open(folder + "/config.json"))
config["sinks"][0]["url"] = f"http://127.0.0.1:{server.server_port}/"
config["sinks"][0]["secretFile"] = "both"
config["sinks"][0]["name"] = "guide"
config["data"] = folder + "/data3"
json.dump(config, open(folder + "/both.json", "w"))
subprocess.run(
    [binary, "ingest", "--config", folder + "/both.json", folder + "/fleet"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
daemon = subprocess.Popen(
    [binary, "serve", "--config", folder + "/both.json"], stderr=subprocess.DEVNULL)
try:
    assert got.wait(30), "no message came"
finally:
    daemon.terminate()
    daemon.wait()
