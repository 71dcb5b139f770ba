"""The engine process: loads one model and answers the server's requests, in threads."""

import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from socket import socket
from threading import Lock
from typing import Any

from transduce.directory import ModelDirectory
from transduce.errors import ModelError, UserError, optional
from transduce.generate import KIND as LANGUAGE_MODEL
from transduce.generate import TextGenerator
from transduce.model_names import model_path
from transduce.serve.engine import ModelInfo
from transduce.serve.frames import Frame, receive_frame
from transduce.serve.work import Work, generator_work, parser_work, translator_work

PAD_TO = 24  # tokens: requests at the same time are few, and their lengths differ
LARGEST_SHORTLIST = 0.4  # CTranslate2 takes longer to select more tokens than they save
TRANSLATE = "translate"  # the task that is batched; others take turns, so as not to delay it
TEXTS = 4  # that a language model writes at the same time


def main() -> None:
    """Serves the socket whose descriptor is the first argument, until it is closed."""
    connection = socket(fileno=int(sys.argv[1]))
    first = receive_frame(connection)
    if first is None:
        return
    sending = Lock()

    def send(frame: Frame) -> None:
        try:
            with sending:
                connection.sendall(frame.encode())
        except OSError:
            os._exit(0)  # the server has ended

    try:
        info, work = load(first.fields, lambda message: send(Frame({"log": message})))
    except UserError as error:
        send(Frame({"failure": str(error)}))
        return
    except (OSError, RuntimeError, ModuleNotFoundError, MemoryError) as error:
        send(Frame({"failure": f"{first.fields['model']} cannot be loaded: {error}"}))
        return
    send(Frame(asdict(info)))
    batches = ThreadPoolExecutor(first.fields["batches"])
    others = ThreadPoolExecutor(TEXTS if "generate" in work else 1)
    awaited: set[int] = set()  # the numbers of requests whose answers are wanted
    while (frame := receive_frame(connection)) is not None:
        if "cancel" in frame.fields:
            awaited.discard(frame.fields["cancel"])
            continue
        awaited.add(frame.fields["number"])
        pool = batches if frame.fields["task"] == TRANSLATE else others
        pool.submit(answer, work, frame.fields, send, awaited)
    os._exit(0)  # without waiting for work that nobody will read


def answer(
    work: Work, fields: dict[str, Any], send: Callable[[Frame], None], awaited: set[int]
) -> None:
    """Sends the frames of a task's result, or the sentence of its error."""
    number, task = fields.pop("number"), fields.pop("task")
    try:
        done = work[task](**fields) if number in awaited else iter(())
        for frame in [done] if isinstance(done, Frame) else done:
            if number not in awaited:
                break
            send(Frame({"number": number, **frame.fields}, frame.block))
        return
    except UserError as error:
        result = Frame({"number": number, "status": 400, "error": str(error)})
    except ModuleNotFoundError as error:
        result = Frame({"number": number, "status": 501, "error": str(error)})
    except Exception as error:  # a bug, or no memory: the request fails, the engine lives
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"  # without the text
        send(Frame({"log": f"{task} failed with {type(error).__name__} in {where}"}))
        result = Frame({"number": number, "status": 500, "error": "an internal error"})
    finally:
        awaited.discard(number)
    send(result)


def load(fields: dict[str, Any], log: Callable[[str], None]) -> tuple[ModelInfo, Work]:
    """The description of a model, and what can be asked of it."""
    pair, _, name = fields["model"].rpartition("=")
    path = model_path(name, log=log)
    directory = ModelDirectory.open(path)
    described = directory.description
    if described.task == "parsing":
        from transduce.parsing.parser import Parser

        return ModelInfo(name, described.task), parser_work(Parser.load(path))
    if directory.config.kind == LANGUAGE_MODEL:
        with optional("a language model"):
            generator = TextGenerator.load(path, engine="torch", device=fields["device"], log=log)
            generator.network.eval()
        return ModelInfo(name, described.task, runs="torch"), generator_work(generator)
    from transduce.translate.translator import Translator

    options = {key: fields[key] for key in ("engine", "device", "compute")}
    translator = Translator.load(path, **options, log=log)
    source, _, target = pair.partition("-")
    source, target = source or described.source_language, target or described.target_language
    if not source or not target:
        raise ModelError(f"{name} does not name its languages: add them as --model en-fr={name}")
    fast = getattr(translator.engine, "fast", None)
    if fast is not None:
        fast.pad_to, fast.largest_shortlist = PAD_TO, LARGEST_SHORTLIST
    runs = f"{translator.engine.name} {translator.engine.compute}"
    return ModelInfo(name, described.task, source, target, runs), translator_work(translator)


if __name__ == "__main__":
    main()
