"""One Airflow task for each view of a ducklake-ivm project, all of them at one snapshot of the lake.

A DAG run pins one snapshot: its first task asks `ducklake-ivm plan` for the newest one, and every view's task brings
its view to exactly that snapshot, on whichever worker it runs. See docs/guides/airflow.md.

For Airflow 3, and 2.10 or later. Put this file where your DAGs can import it.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import quote

try:
    from airflow.sdk import DAG, Asset, AssetAlias, BaseHook, BaseOperator, TaskGroup
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.datasets import Dataset as Asset
    from airflow.datasets import DatasetAlias as AssetAlias
    from airflow.hooks.base import BaseHook
    from airflow.models import BaseOperator
    from airflow.utils.task_group import TaskGroup
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

__all__ = ["PlannedView", "Project", "read_plan", "refresh_dag", "refresh_views"]

# The exit codes of ducklake-ivm.
EXIT_OK = 0
EXIT_RETRY = 75
EXIT_INTERRUPTED = 130

# How long a child may take to stop in order.
STOP_SECONDS = 30

PIN_TASK = "pin_snapshot"
COMPARE_TASK = "compare_plan"


@dataclass(frozen=True)
class Project:
    """A project folder as the workers see it, and how ducklake-ivm is run on it.

    The connections become environment variables of the child process, the ones that PostgreSQL's and AWS's clients
    know (`PGHOST`, `PGPASSWORD`, `AWS_ACCESS_KEY_ID`, …); they are in no argument and no log. So the project's
    `lake.catalog` can be just `postgres:`, or name what the connection leaves out.
    """

    directory: str
    command: Sequence[str] = ("ducklake-ivm",)
    postgres_conn_id: str | None = None
    aws_conn_id: str | None = None
    env: Mapping[str, str] | None = None
    """Further variables for the child process, such as those that ducklake-ivm.yaml refers to as ${NAME}."""


@dataclass(frozen=True)
class PlannedView:
    name: str
    upstream: tuple[str, ...]
    """The views that it reads itself."""


def read_plan(text: str) -> tuple[PlannedView, ...]:
    """The views in what `ducklake-ivm plan --output json` prints, each after those that it reads."""
    try:
        views = json.loads(text)["refresh"]["views"]
        return tuple(PlannedView(view["view"], tuple(view["upstream"])) for view in views)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("this is not what `ducklake-ivm plan --output json` prints") from error


def refresh_dag(
    dag_id: str,
    *,
    plan_file: str | Path,
    project: Project,
    skip_unchanged: bool = False,
    asset_prefix: str | None = None,
    retries: int = 5,
    retry_delay: timedelta = timedelta(seconds=30),
    **dag_arguments: Any,
) -> DAG:
    """A DAG that does nothing but refresh all views. `dag_arguments` go to Airflow's DAG: schedule, start_date, …

    Runs do not overlap unless `max_active_runs` says otherwise, and missed ones are not made up for: each run takes
    the lake as it is.
    """
    with DAG(dag_id, **{"max_active_runs": 1, "catchup": False, **dag_arguments}) as dag:
        refresh_views(
            plan_file=plan_file,
            project=project,
            skip_unchanged=skip_unchanged,
            asset_prefix=asset_prefix,
            retries=retries,
            retry_delay=retry_delay,
        )
    return dag


def refresh_views(
    *,
    plan_file: str | Path,
    project: Project,
    group_id: str = "views",
    skip_unchanged: bool = False,
    asset_prefix: str | None = None,
    retries: int = 5,
    retry_delay: timedelta = timedelta(seconds=30),
) -> TaskGroup:
    """A task group that refreshes all views, for use inside of a DAG: after the tasks that load the tables, say.

    :param plan_file: What `ducklake-ivm plan --output json` printed when the project was deployed. It gives the tasks
        and their order; the lake is not asked while DAG files are parsed. Each run compares it with the lake's views:
        where they differ, the task `compare_plan` fails and says so, and all other views are refreshed as usual.
    :param skip_unchanged: Tasks that changed no row are marked skipped instead of success. Tasks after them run.
    :param asset_prefix: With `ducklake://shop`, say, a task emits an event of the asset `ducklake://shop/VIEW` when its
        view's rows changed, and only then. Other DAGs can be scheduled by it.
    :param retries: How often a task is tried again that met another writer, or whose process was killed. Other failures
        are final at once, since the same call would fail again.
    """
    views = read_plan(Path(plan_file).read_text(encoding="utf-8"))
    task_ids = _task_ids([view.name for view in views])
    trying = {"project": project, "retries": retries, "retry_delay": retry_delay, "retry_exponential_backoff": True}
    with TaskGroup(group_id) as group:
        plan = PinSnapshotOperator(task_id=PIN_TASK, **trying)
        ComparePlanOperator(task_id=COMPARE_TASK, known=_as_lists(views), pinned=plan.output)
        tasks: dict[str, RefreshOperator] = {}
        for view in views:
            tasks[view.name] = RefreshOperator(
                task_id=task_ids[view.name],
                task_display_name=view.name,
                view=view.name,
                pinned=plan.output,
                skip_unchanged=skip_unchanged,
                asset=None if asset_prefix is None else f"{asset_prefix}/{quote(view.name)}",
                # A skipped view is as good as a refreshed one.
                trigger_rule="none_failed",
                **trying,
            )
            for name in view.upstream:
                tasks[name] >> tasks[view.name]
    return group


class DucklakeIvmOperator(BaseOperator):
    """Runs ducklake-ivm and reads the object that it prints as its last line."""

    def __init__(self, *, project: Project, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.project = project
        self._child: subprocess.Popen[str] | None = None

    def run_command(self, *words: str) -> dict[str, Any]:
        """The printed object. Raises AirflowFailException where the same call would fail again."""
        everywhere = ("--project-dir", self.project.directory, "--output", "json")
        command = [*self.project.command, words[0], *everywhere, *words[1:]]
        self.log.info("Running %s", shlex.join(command))
        # What people read comes on stderr, and goes into the task's log as it comes; stdout has the result alone.
        with TemporaryFile("w+", encoding="utf-8") as result:
            self._child = subprocess.Popen(
                command,
                env=_environment(self.project),
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                # A signal for the worker is not one for the child: `on_kill` stops it in order.
                start_new_session=True,
            )
            for line in self._child.stderr or ():
                self.log.info("%s", line.rstrip())
            code = self._child.wait()
            result.seek(0)
            answer = _last_object(result.read())
        if code == EXIT_OK:
            return answer
        message = f"ducklake-ivm {words[0]} ended with exit code {code}: {_reason(answer)}"
        # Below zero the child was ended by a signal: short of memory, say, or with its worker.
        if code < 0 or code in (EXIT_RETRY, EXIT_INTERRUPTED):
            raise AirflowException(message)
        raise AirflowFailException(message)

    def on_kill(self) -> None:
        """Stops in order: nothing is half done, and the next run goes on from there."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()


class PinSnapshotOperator(DucklakeIvmOperator):
    """Finds the snapshot that this DAG run brings all views to, and the views that the lake has now."""

    def execute(self, context: Any) -> dict[str, Any]:
        plan = self.run_command("plan")
        waiting = [action["view"] for action in plan["apply"]["actions"] if action["action"] in ("create", "rebuild")]
        if waiting:
            self.log.warning("New definitions wait for `ducklake-ivm apply`: %s", ", ".join(waiting))
        horizon = plan["refresh"]["horizon"]
        self.log.info("All views go to snapshot %s.", horizon)
        return {"horizon": str(horizon), "views": _as_lists(read_plan(json.dumps(plan)))}


class ComparePlanOperator(BaseOperator):
    """Fails where the lake has other views than the DAG was made for, so that nobody misses it."""

    template_fields = ("pinned",)

    def __init__(self, *, known: list[list[Any]], pinned: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.known = known
        self.pinned = pinned

    def execute(self, context: Any) -> None:
        known, found = (dict(map(_view_and_upstream, views)) for views in (self.known, self.pinned["views"]))
        changed = sorted(name for name in {*known, *found} if known.get(name) != found.get(name))
        if changed:
            raise AirflowFailException(
                f"The plan file is out of date for: {', '.join(changed)}. Make it anew with "
                "`ducklake-ivm plan --output json`. The other views were refreshed as usual."
            )


class RefreshOperator(DucklakeIvmOperator):
    """Brings one view to a snapshot; the views that it reads stand there already."""

    template_fields = ("pinned",)

    def __init__(self, *, view: str, pinned: Any, skip_unchanged: bool, asset: str | None, **arguments: Any) -> None:
        self.alias = None if asset is None else AssetAlias(asset)
        super().__init__(outlets=[] if self.alias is None else [self.alias], **arguments)
        self.view = view
        self.pinned = pinned
        self.skip_unchanged = skip_unchanged
        self.asset = asset

    def execute(self, context: Any) -> dict[str, Any]:
        horizon = self.pinned["horizon"]
        # Several tasks share the project's folder: what one of them leaves there tells nothing of the others.
        options = ("--to-snapshot", horizon, "--no-upstream", "--no-write-json")
        (result,) = self.run_command("refresh", *options, "--", self.view)["views"]
        inserted, deleted = (int(result["rows"][kind]) for kind in ("inserted", "deleted"))
        self.log.info("View %s %s: %s rows inserted, %s deleted.", self.view, result["status"], inserted, deleted)
        # A try before this one may have committed, and ended before it could say so.
        changed = inserted + deleted > 0 or context["ti"].try_number > 1
        summary = {"snapshot": horizon, "inserted": inserted, "deleted": deleted}
        if changed and self.alias is not None:
            context["outlet_events"][self.alias].add(Asset(self.asset), extra=summary)
        if self.skip_unchanged and not changed:
            raise AirflowSkipException(f"No row of {self.view} changed.")
        return {**summary, "status": result["status"], "strategy": result["strategy"]}


def _task_ids(names: Sequence[str]) -> dict[str, str]:
    """Airflow allows fewer characters than SQL, and has no two tasks of one name."""
    taken = {PIN_TASK, COMPARE_TASK}
    task_ids: dict[str, str] = {}
    for name in names:
        wanted = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)[:200]
        numbered = (f"{wanted}_{number}" for number in itertools.count(2))
        task_ids[name] = next(task_id for task_id in itertools.chain([wanted], numbered) if task_id not in taken)
        taken.add(task_ids[name])
    return task_ids


def _as_lists(views: Sequence[PlannedView]) -> list[list[Any]]:
    return [[view.name, list(view.upstream)] for view in views]


def _view_and_upstream(view: Sequence[Any]) -> tuple[str, frozenset[str]]:
    name, upstream = view
    return name, frozenset(upstream)


def _environment(project: Project) -> dict[str, str]:
    """Airflow's own settings, with its database's password among them, are no business of the child."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    postgres = {} if project.postgres_conn_id is None else _postgres(BaseHook.get_connection(project.postgres_conn_id))
    aws = {} if project.aws_conn_id is None else _aws(BaseHook.get_connection(project.aws_conn_id))
    given = {**postgres, **aws, **(project.env or {})}
    return {**own, **{name: str(value) for name, value in given.items() if value not in (None, "")}}


def _postgres(connection: Any) -> dict[str, Any]:
    extra = connection.extra_dejson
    return {
        "PGHOST": connection.host,
        "PGPORT": connection.port,
        "PGUSER": connection.login,
        "PGPASSWORD": connection.password,
        "PGDATABASE": connection.schema,
        **{f"PG{name.upper()}": extra.get(name) for name in ("sslmode", "sslcert", "sslkey", "sslrootcert")},
    }


def _aws(connection: Any) -> dict[str, Any]:
    extra = connection.extra_dejson
    if "role_arn" in extra or "profile_name" in extra:
        raise AirflowFailException(
            f"Connection {connection.conn_id}: only keys can be passed on. For a role or a profile leave out "
            "aws_conn_id and give it to the worker: ducklake-ivm uses AWS's own credential chain."
        )
    return {
        "AWS_ACCESS_KEY_ID": connection.login,
        "AWS_SECRET_ACCESS_KEY": connection.password,
        "AWS_SESSION_TOKEN": extra.get("aws_session_token"),
        "AWS_REGION": extra.get("region_name"),
    }


def _last_object(output: str) -> dict[str, Any]:
    """Nothing, where the process ended before it could print its result."""
    lines = output.splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _reason(answer: Mapping[str, Any]) -> str:
    errors = [answer.get("error"), *(view.get("error") for view in answer.get("views", []))]
    texts = [" ".join(filter(None, (error["message"], error["hint"]))) for error in errors if error]
    return " ".join(texts) or "it left no message"
