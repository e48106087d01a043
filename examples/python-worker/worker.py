#!/usr/bin/env python3
"""A Carillon worker in Python, with nothing but the standard library. docs/worker-protocol.md says what travels.

    CARILLON_URL=http://127.0.0.1:7171,http://127.0.0.1:7172 CARILLON_TOKEN=... python3 worker.py

What must stay true: an execution is this worker's until its outcome was answered, or the lease was lost. Every report
names everything that is held, and a report that was not answered is sent again as it was.
"""
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
import uuid


class Context:
    """What a handler is given."""

    def __init__(self, execution, on_progress):
        self.execution_id, self.fence = execution["executionId"], execution["fence"]
        # Members that are left out have their defaults.
        self.payload, self.attempt = execution.get("payload"), execution.get("attempt", 1)
        self.last_progress = execution.get("lastProgress")
        self.cancelled = threading.Event()  # set when the handler should stop; `reason` says why
        self.reason = None
        self._on_progress = on_progress

    def heartbeat(self, progress=None):
        """Says that the handler is alive, and keeps how far it came for the next attempt."""
        json.dumps(progress, allow_nan=False)  # what is no JSON fails here, in its handler, and not in a report
        self._on_progress(self, progress)

    def key(self):
        return {"executionId": self.execution_id, "fence": self.fence}

    def stop(self, reason):
        self.reason = self.reason or reason
        self.cancelled.set()


class Worker:
    def __init__(self, handlers, pool="default", concurrency=4, urls=None, token=None, drain_sec=30):
        self.handlers, self.pool, self.concurrency, self.drain_sec = handlers, pool, concurrency, drain_sec
        self.urls = urls or os.environ.get("CARILLON_URL", "http://127.0.0.1:7171").split(",")
        self.token = token or os.environ.get("CARILLON_TOKEN")
        self.worker_id = str(uuid.uuid4())
        self.name = f"{socket.gethostname()}-{os.getpid()}"
        self.heartbeat_sec = 5
        self.held, self.outcomes, self.progress = {}, [], {}  # guarded by `changed`
        self.changed = threading.Condition()
        self.reporting = threading.Lock()  # one report at a time
        self.stopping, self.done = threading.Event(), threading.Event()

    def run(self):
        """Works until SIGTERM or SIGINT, then drains. A second signal ends it at once."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        self.register()
        if self.stopping.is_set():
            return self.leave()
        reports, leases = threading.Thread(target=self.report_loop), threading.Thread(target=self.lease_loop, daemon=True)
        reports.start()
        leases.start()
        self.stopping.wait()
        until = time.monotonic() + 10  # a node that is silent does not hold us up for the whole of its long poll
        while leases.is_alive() and time.monotonic() < until:  # it may be about to send one more request, behind this one
            self.lease(slots=0, wait_ms=0)  # a newer request ends the one that is open: nothing more is leased
            leases.join(0.05)
        if not self.wait_until_idle(self.drain_sec):
            for context in list(self.held.values()):
                context.stop("SHUTDOWN")
            self.wait_until_idle(10)
        self.done.set()
        with self.changed:
            self.changed.notify_all()
        reports.join()
        self.leave()

    def on_signal(self, number, _frame):
        if self.stopping.is_set():
            os._exit(128 + number)
        # From another thread: the main thread may hold the event's lock where it was interrupted.
        threading.Thread(target=self.stopping.set).start()

    def leave(self):
        self.done.set()
        self.ask("DELETE", f"/v1/workers/{self.worker_id}")

    def lease_loop(self):
        while not self.stopping.is_set():
            with self.changed:
                free = self.concurrency - len(self.held)
            # With nothing free the request waits for cancellations only, and briefly: a slot may become free.
            answer = self.lease(free, wait_ms=20_000 if free > 0 else 250) or {}
            for execution in answer.get("executions", []):
                context = Context(execution, self.note_progress)
                with self.changed:
                    self.held[context.execution_id] = context
                threading.Thread(target=self.handle, args=(execution, context), daemon=True).start()
            self.stop_those(answer.get("cancellations", []))

    def lease(self, slots, wait_ms):
        wish = {"pool": self.pool, "slots": slots, "waitMs": wait_ms}
        return self.ask("POST", f"/v1/workers/{self.worker_id}/lease", wish, leaving=self.stopping)

    def handle(self, execution, context):
        handler = self.handlers.get(execution["handler"])
        outcome = {**context.key(), "startedAt": None}
        if handler is None:
            outcome.update(outcome="HANDED_BACK", reason="UNKNOWN_HANDLER")
        elif self.stopping.is_set():
            outcome.update(outcome="HANDED_BACK", reason="NOT_STARTED")
        elif execution.get("announceStart") and not self.may_begin(context):
            return self.finish(context, None)
        else:
            outcome["startedAt"] = time.time() * 1000
            try:
                outcome.update(outcome="SUCCEEDED", result=handler(context))
                json.dumps(outcome["result"], allow_nan=False)
            except Exception as error:  # whatever a handler throws is how its attempt ended
                outcome.pop("result", None)
                outcome.update(outcome="FAILED", error={"name": type(error).__name__, "message": str(error)})
            if outcome["outcome"] == "FAILED" and context.reason in ("CANCELLED", "TIMED_OUT"):
                outcome["outcome"] = context.reason
            elif outcome["outcome"] == "FAILED" and context.reason == "SHUTDOWN":
                outcome = {**context.key(), "startedAt": outcome["startedAt"], "outcome": "HANDED_BACK"}
        self.finish(context, outcome)

    def finish(self, context, outcome):
        with self.changed:
            if self.held.get(context.execution_id) is context:
                del self.held[context.execution_id]
                self.progress.pop(context.execution_id, None)
                if outcome and context.reason != "LEASE_LOST":
                    self.outcomes.append(outcome)
            self.changed.notify_all()

    def may_begin(self, context):
        """AT_MOST_ONCE: the handler begins only if the start was accepted."""
        answer = self.report(began=[context.key()])
        return bool(answer) and answer["began"] == ["ACCEPTED"]

    def note_progress(self, context, progress):
        with self.changed:
            self.progress[context.execution_id] = {**context.key(), "progress": progress}

    def report_loop(self):
        while not (self.done.is_set() and not self.outcomes):
            with self.changed:
                self.changed.wait_for(lambda: self.outcomes or self.done.is_set(), timeout=self.heartbeat_sec)
            self.report()

    def report(self, began=()):
        with self.reporting:
            with self.changed:
                outcomes, self.outcomes = self.outcomes, []
                news, self.progress = list(self.progress.values()), {}
                held = [context.key() for context in self.held.values()]
            body = {"outcomes": outcomes, "began": list(began), "progress": news, "held": held}
            answer = self.ask("POST", f"/v1/workers/{self.worker_id}/report", body)
            if answer is None:
                return None
            with self.changed:
                self.outcomes += [o for o, verdict in zip(outcomes, answer["outcomes"]) if verdict == "BUSY"]
            self.stop_those([{**lost, "reason": "LEASE_LOST"} for lost in answer["lost"]] + answer["cancellations"])
            return answer

    def stop_those(self, cancellations):
        for cancellation in cancellations:
            context = self.held.get(cancellation["executionId"])
            if context and context.fence == cancellation["fence"]:
                context.stop(cancellation["reason"])

    def wait_until_idle(self, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: not self.held, timeout=seconds)

    def register(self):
        pools = [{"pool": self.pool, "handlers": list(self.handlers), "slots": self.concurrency}]
        body = {"workerId": self.worker_id, "name": self.name, "pools": pools}
        welcome = self.ask("POST", "/v1/workers", body, leaving=self.stopping)
        if welcome:
            self.heartbeat_sec = welcome["heartbeatEveryMs"] / 1000
        elif not self.stopping.is_set():
            os._exit(1)  # from whichever thread: it cannot work, and a new process has a new id

    def ask(self, method, path, body=None, leaving=None):
        """Asks one node after the other until one answers. None: refused, or nobody is there and we are leaving."""
        leaving = leaving or self.done
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        pause = 0.1
        while pause < 2 or not leaving.is_set():
            request = urllib.request.Request(self.urls[0] + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=2 if self.stopping.is_set() else 65) as answer:
                    text = answer.read()
                    return json.loads(text) if text else {}
            except urllib.error.HTTPError as error:
                problem = error.read().decode(errors="replace")
                if "WORKER_UNKNOWN" in problem and path.startswith(f"/v1/workers/{self.worker_id}/"):
                    self.register()  # taken for lost meanwhile: come back under the same id, and say it again
                elif error.code < 500 and error.code not in (408, 429):
                    print(f"{method} {path} was refused: {problem}", flush=True)
                    return None
            except (OSError, ValueError):
                pass  # no node there, or it went away in the middle: the next one
            self.urls.append(self.urls.pop(0))
            if leaving.is_set():
                time.sleep(min(pause, 0.5))
            else:
                leaving.wait(pause)
            pause = min(5, pause * 2)
        return None


def greet(context):
    return f"Hello {context.payload['name']}"


def count(context):
    """A long one: goes on where the last attempt stopped, and stops when it should."""
    start = context.last_progress or 0
    for number in range(start, context.payload["to"]):
        if context.cancelled.wait(context.payload.get("everySec", 1)):
            raise InterruptedError(f"stopped at {number}")
        context.heartbeat(number + 1)
    return context.payload["to"]


if __name__ == "__main__":
    Worker({"greet": greet, "count": count}, pool=os.environ.get("CARILLON_POOL", "default")).run()
