"""The ASGI application."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from transduce.serve.middleware import Surroundings
from transduce.serve.openapi import description
from transduce.serve.refusal import RefusalError
from transduce.serve.routes import Service

PAGE, API = Path(__file__).with_name("page"), Path(__file__).with_name("api")


def build_app(service: Service) -> ASGIApp:
    """All routes, with what surrounds them."""
    posts = {
        "/translate": service.translate,
        "/detect": service.detect,
        "/score": service.score,
        "/attention": service.attention,
        "/beam": service.beam,
        "/explain": service.explain,
        "/parse": service.parse,
        "/generate": service.generate,
        "/suggest": service.suggest,
        "/translate_file": service.translate_file,
    }
    gets = {
        "/": front,
        "/languages": service.languages,
        "/frontend/settings": service.settings,
        "/health": service.health,
        "/metrics": service.show_metrics,
        "/openapi.json": openapi,
        "/docs": api_page,
    }
    routes = [Route(path, call, methods=["POST"]) for path, call in posts.items()]
    routes += [Route(path, call, methods=["GET"]) for path, call in gets.items()]
    folders = {"/api": API, "/page": PAGE}
    mounts = [Mount(path, StaticFiles(directory=d)) for path, d in folders.items() if d.is_dir()]
    app: ASGIApp = Starlette(
        routes=[*routes, *mounts],
        exception_handlers={RefusalError: refused, HTTPException: failed},
    )
    if service.config.cors:
        app = CORSMiddleware(
            app,
            allow_origins=service.config.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    known = {*posts, *gets}

    def route_of(path: str) -> str:
        return (
            path if path in known else "/page" if path.startswith(("/page/", "/api/")) else "other"
        )

    return Surroundings(app, service.traffic, service.metrics, service.log, route_of)


async def front(request: Request) -> Response:
    """The page, or the description of the API."""
    index = PAGE / "index.html"
    return FileResponse(index if index.is_file() else API / "index.html")


async def api_page(_request: Request) -> Response:
    return FileResponse(API / "index.html")


async def openapi(_request: Request) -> Response:
    return JSONResponse(description())


async def refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)
    return JSONResponse({"error": error.sentence}, error.status, error.headers)


async def failed(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
