"""What Prometheus is told at /metrics: requests, the queue, batches, characters. Nothing about texts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "alidade_requests", "Answered requests", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "alidade_request_seconds",
            "From a request's first byte to its answer's last",
            ["route"],
            registry=self.registry,
            buckets=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120),
        )
        self.characters = Counter("alidade_characters", "Characters of texts accepted", registry=self.registry)
        self._batch_size = Histogram(
            "alidade_batch_texts",
            "Texts of a batch",
            ["kind"],
            registry=self.registry,
            buckets=(1, 2, 4, 8, 16, 32, 64),
        )
        self._batch_seconds = Histogram("alidade_batch_seconds", "Time of a batch", ["kind"], registry=self.registry)
        self.workers_lost = Counter("alidade_workers_lost", "Workers that had to be replaced", registry=self.registry)
        self.refused = Counter("alidade_refused", "Requests refused", ["reason"], registry=self.registry)

    def watch_queue(
        self, num_waiting: Callable[[], int], num_ready: Callable[[], int], num_busy: Callable[[], int]
    ) -> None:
        Gauge("alidade_waiting_texts", "Texts in the queue", registry=self.registry).set_function(num_waiting)
        Gauge("alidade_workers_ready", "Workers that can work", registry=self.registry).set_function(num_ready)
        Gauge("alidade_workers_busy", "Workers that have a batch", registry=self.registry).set_function(num_busy)

    def saw_request(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def saw_batch(self, kind: str, size: int, seconds: float) -> None:
        self._batch_size.labels(kind).observe(size)
        self._batch_seconds.labels(kind).observe(seconds)

    def render(self) -> bytes:
        return generate_latest(self.registry)
