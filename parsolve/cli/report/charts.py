"""Plots as Vega-Lite specifications, and the JavaScript that draws them.

The page fills in the data by name. Vega evaluates its expressions with its interpreter, so that
the page needs no permission to make code from text.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from parsolve.constraints.fields import Misuse

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

VERSION = "6.4"
"""Vega-Lite's, the one for which the specifications are written."""


class NoCharts(Misuse):
    """What draws the plots is not installed."""


def require_charts() -> None:
    """Raise `NoCharts` where the package that brings the plots' JavaScript is missing."""
    if find_spec("vl_convert") is None:
        message = "parsolve report needs vl-convert-python: pip install 'parsolve[report]'"
        raise NoCharts(message)


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, which sets ``vegaEmbed``."""
    import vl_convert  # noqa: PLC0415  (an optional dependency)

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VERSION)
    return bundle.replace("</script", "<\\/script")


def _colour(name: str) -> str:
    """A colour of the style sheet: it follows the theme and the printer without drawing anew."""
    return f"var(--{name})"


def _config() -> dict[str, Any]:
    text, muted, line = _colour("text"), _colour("muted"), _colour("line")
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "axis": {
            "labelColor": muted,
            "titleColor": text,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 600,
        },
        "legend": {"labelColor": text, "labelFontSize": 12},
        "view": {"stroke": None},
        "text": {"color": text},
        "rule": {"color": _colour("bound")},
    }


def _spec(**parts: Any) -> dict[str, Any]:  # noqa: ANN401  (JSON)
    return {
        "$schema": SCHEMA,
        "width": "container",
        "autosize": AUTOSIZE,
        "config": _config(),
        **parts,
    }


AUTOSIZE = {"type": "fit-x", "contains": "padding"}


def comparison() -> dict[str, Any]:
    """Two quantities of each configuration; the front, the selected one and the limits on top.

    A point is a place at which one or more configurations are.
    """
    axis = {"tickCount": 8}
    x = {"field": "x", "type": "quantitative", "axis": axis}
    y = {"field": "y", "type": "quantitative", "axis": axis}
    place = {"x": x, "y": y}
    kinds = ["valid", "front", "rejected"]
    return _spec(
        description="Two quantities of every valid configuration",
        height=340,
        data={"name": "points", "values": []},
        layer=[
            {
                "data": {"name": "limits_x", "values": []},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "encoding": {"x": {"field": "at", "type": "quantitative"}},
            },
            {
                "data": {"name": "limits_y", "values": []},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 1.5},
                "encoding": {"y": {"field": "at", "type": "quantitative"}},
            },
            {
                "transform": [{"filter": "datum.kind === 'front'"}],
                "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.7},
                "encoding": {
                    **place,
                    "color": {"datum": "front"},
                    "order": {"field": "x", "type": "quantitative"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "cursor": "pointer", "name": "places"},
                "encoding": {
                    **place,
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {
                            "domain": kinds,
                            "range": [_colour(c) for c in ("point", "front", "no")],
                        },
                        "legend": None,
                    },
                    "shape": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {"domain": kinds, "range": ["circle", "diamond", "cross"]},
                        "legend": None,
                    },
                    "size": {
                        "condition": {"test": "datum.kind === 'front'", "value": 150},
                        "value": 70,
                    },
                    "opacity": {"value": 0.9},
                    "tooltip": {"field": "words", "type": "nominal"},
                    "description": {"field": "words", "type": "nominal"},
                },
            },
            {
                "data": {"name": "selected", "values": []},
                "mark": {
                    "type": "point",
                    "filled": False,
                    "size": 320,
                    "strokeWidth": 2.5,
                    "color": _colour("text"),
                },
                "encoding": {**place, "tooltip": {"value": None}},
            },
        ],
    )


def memory() -> dict[str, Any]:
    """Bytes of each part in GiB, the largest first, with the total and the GPU's memory."""
    parts = {
        "field": "part",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": 160},
    }
    return _spec(
        description="What fills the fullest GPU, part by part, in GiB",
        layer=[
            {
                "data": {"name": "parts", "values": []},
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "y": parts,
                    "x": {
                        "field": "gib",
                        "type": "quantitative",
                        "title": "GiB",
                        "axis": {"tickCount": 8},
                    },
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {
                            "domain": ["part", "fits", "near", "over"],
                            "range": [_colour(c) for c in ("part", "yes", "open", "no")],
                        },
                        "legend": None,
                    },
                    "tooltip": {"field": "words", "type": "nominal"},
                },
            },
            {
                "data": {"name": "limit", "values": []},
                "mark": {"type": "rule", "strokeWidth": 2, "strokeDash": [6, 4]},
                "encoding": {
                    "x": {"field": "gib", "type": "quantitative"},
                    "tooltip": {"field": "words", "type": "nominal"},
                },
            },
        ],
    )


def timeline() -> dict[str, Any]:
    """A bar for each forward and backward, a row for each pipeline rank."""
    return _spec(
        description="What each pipeline rank does in one step",
        data={"name": "items", "values": []},
        encoding={
            "y": {
                "field": "rank",
                "type": "ordinal",
                "axis": {"title": "pipeline rank"},
                "scale": {"paddingInner": 0.15},
            },
            "x": {
                "field": "start",
                "type": "quantitative",
                "title": "units of time",
                "axis": {"grid": False, "tickCount": 10},
            },
            "x2": {"field": "end"},
        },
        layer=[
            {
                "mark": {"type": "bar", "strokeWidth": 1},
                "encoding": {
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {
                            "domain": ["forward", "backward"],
                            "range": [_colour("forward"), _colour("backward")],
                        },
                        "legend": {"title": None, "orient": "top"},
                    },
                    "opacity": {
                        "field": "chunk",
                        "type": "ordinal",
                        "legend": None,
                        "scale": {"range": [1, 0.55]},
                    },
                    "tooltip": {"field": "words", "type": "nominal"},
                },
            },
            {
                "data": {"name": "labels", "values": []},
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {
                    "x": {"field": "middle", "type": "quantitative"},
                    "x2": None,
                    "text": {"field": "label", "type": "nominal"},
                },
            },
        ],
    )
