"""Handlers for the tests of examples/python-worker/worker.py. Every line on stdout is JSON: what happened, and when."""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.environ["WORKER_FOLDER"])
from worker import Worker, count, greet

speaking = threading.Lock()


def say(what, context=None):
    with speaking:
        line = {"what": what, "at": time.time() * 1000}
        if context:
            line.update(executionId=context.execution_id, fence=context.fence, attempt=context.attempt)
        print(json.dumps(line), flush=True)


def patient(context):
    say("began", context)
    if context.cancelled.wait(60):
        say("stopped", context)
        raise InterruptedError(context.reason)


def nap(context):
    say("began", context)
    time.sleep(context.payload["sec"])
    return context.attempt


def broken(context):
    raise KeyError("no such key")


handlers = {"greet": greet, "count": count, "patient": patient, "nap": nap, "broken": broken}
Worker(handlers, concurrency=int(os.environ.get("CONCURRENCY", "4")), drain_sec=float(os.environ.get("DRAIN_SEC", "5"))).run()
say("left")
