"""Pipelines: how layers are split over stages, and what their schedules cost."""
