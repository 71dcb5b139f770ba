"""Counters for Prometheus; labels are routes, statuses and directions, never text or addresses."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from transduce.serve.models import Models

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics of a server."""

    def __init__(self, models: Models) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "transduce_requests", "Requests", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "transduce_request_seconds",
            "Seconds from arrival to answer",
            ["route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        batch = Histogram(
            "transduce_batch_texts", "Texts of a batch", buckets=SIZES, registry=self.registry
        )
        for model in models.all:
            model.batcher.observe = batch.observe
        self.registry.register(_Gauges(models))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Gauges(Collector):
    def __init__(self, models: Models) -> None:
        self.models = models

    def collect(self) -> list[Metric]:
        waiting = GaugeMetricFamily(
            "transduce_queue_texts", "Texts that wait", labels=["direction"]
        )
        restarts = GaugeMetricFamily(
            "transduce_engine_restarts", "Engines replaced", labels=["direction"]
        )
        ready = GaugeMetricFamily(
            "transduce_engine_ready", "1 if the model can be used", labels=["direction"]
        )
        for (source, target), model in self.models.by_pair.items():
            labels = [f"{source}-{target}"]
            waiting.add_metric(labels, model.batcher.waiting)
            restarts.add_metric(labels, model.engine.restarts)
            ready.add_metric(labels, float(model.engine.ready))
        return [waiting, restarts, ready]
