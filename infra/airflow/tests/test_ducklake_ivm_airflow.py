"""The factory and the operators by themselves; test/airflow/ in the repository runs whole DAGs on a real lake."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

import ducklake_ivm_airflow as factory

SECRET = "s3cret-of-the-lake"


def plan_text(**upstream: list[str]) -> str:
    views = [{"view": name, "upstream": names} for name, names in upstream.items()]
    return json.dumps({"apply": {"actions": []}, "refresh": {"horizon": 42, "views": views}})


def child(code: str) -> tuple[str, ...]:
    """A command that runs this code in the place of ducklake-ivm, with the words after it in `words`."""
    return (sys.executable, "-c", f"import json, os, signal, sys, time\nwords = sys.argv[1:]\n{code}")


def operator(code: str, **project: Any) -> factory.DucklakeIvmOperator:
    given = factory.Project(directory="/srv/shop", command=child(code), **project)
    return factory.DucklakeIvmOperator(task_id="task", project=given)


@pytest.fixture
def dag(tmp_path: Path) -> Any:
    plan = tmp_path / "plan.json"
    plan.write_text(
        plan_text(**{"day sales": [], "day_sales": ["day sales"], "plan": [], "total": ["day_sales", "plan"]})
    )
    return factory.refresh_dag(
        "shop",
        plan_file=plan,
        project=factory.Project("/srv/shop"),
        asset_prefix="ducklake://shop",
        retries=3,
        retry_delay=timedelta(seconds=7),
        schedule="@hourly",
        start_date=datetime(2026, 1, 1),
    )


def test_each_view_is_a_task_after_the_views_that_it_reads(dag: Any) -> None:
    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "views.pin_snapshot": [],
        "views.compare_plan": ["views.pin_snapshot"],
        "views.day_sales": ["views.pin_snapshot"],
        "views.day_sales_2": ["views.day_sales", "views.pin_snapshot"],
        "views.plan": ["views.pin_snapshot"],
        "views.total": ["views.day_sales_2", "views.pin_snapshot", "views.plan"],
    }
    assert dag.get_task("views.day_sales").view == "day sales"
    assert (dag.max_active_runs, dag.catchup) == (1, False)


def test_view_tasks_retry_and_run_after_skipped_ones(dag: Any) -> None:
    task = dag.get_task("views.total")
    assert (task.retries, task.retry_delay, task.trigger_rule) == (3, timedelta(seconds=7), "none_failed")
    assert [alias.name for alias in dag.get_task("views.day_sales").outlets] == ["ducklake://shop/day%20sales"]


def test_a_file_that_is_no_plan_is_refused() -> None:
    for text in ("", "[]", '{"error": {"code": "x"}}'):
        with pytest.raises(ValueError, match="plan --output json"):
            factory.read_plan(text)


def test_the_last_line_is_the_answer_and_stderr_goes_to_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    code = "print('building', 'one', file=sys.stderr)\nprint('x' * 200_000)\nprint(json.dumps({'words': words}))"
    answer = operator(code).run_command("refresh", "--", "a view")
    expected = ["refresh", "--project-dir", "/srv/shop", "--output", "json", "--", "a view"]
    assert answer == {"words": expected}
    assert "building one" in capfd.readouterr().out


@pytest.mark.parametrize("ending", ["sys.exit(75)", "sys.exit(130)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_can_pass_is_tried_again(ending: str) -> None:
    with pytest.raises(AirflowException) as raised:
        operator(ending).run_command("refresh")
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("code", [1, 2, 3])
def test_what_would_fail_again_is_final(code: int) -> None:
    answer = {"views": [{"error": None}, {"error": {"message": "View v: no table t.", "hint": "Create it."}}]}
    with pytest.raises(AirflowFailException, match=f"exit code {code}: View v: no table t. Create it."):
        operator(f"print(json.dumps({answer!r})); sys.exit({code})").run_command("refresh")


def test_connections_become_variables_of_the_child_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    postgres = {"conn_type": "postgres", "host": "db", "port": 5433, "login": "ivm", "password": SECRET}
    aws = {"conn_type": "aws", "login": "key", "password": SECRET, "extra": {"region_name": "eu-north-1"}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({**postgres, "schema": "lake", "extra": {"sslmode": "require"}}))
    monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(aws))
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "of Airflow alone")
    names = ("PG", "AWS_", "AIRFLOW__CORE", "AIRFLOW_CONN", "SHOP")
    for name in [name for name in os.environ if name.startswith(("PG", "AWS_"))]:
        monkeypatch.delenv(name)
    seen = operator(
        f"env = {{name: value for name, value in os.environ.items() if name.startswith({names})}}\n"
        "print(json.dumps({'env': env, 'words': words}))",
        postgres_conn_id="lake",
        aws_conn_id="store",
        env={"SHOP": "north"},
    )
    answer = seen.run_command("plan")
    assert answer["env"] == {
        "PGHOST": "db",
        "PGPORT": "5433",
        "PGUSER": "ivm",
        "PGPASSWORD": SECRET,
        "PGDATABASE": "lake",
        "PGSSLMODE": "require",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-north-1",
        "SHOP": "north",
    }
    assert SECRET not in json.dumps(answer["words"])
    logged = "".join(capfd.readouterr())
    assert "Running" in logged
    assert SECRET not in logged


def test_a_role_in_a_connection_is_not_passed_over_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_STORE", json.dumps({"conn_type": "aws", "extra": {"role_arn": "arn:aws:iam::1:r"}})
    )
    with pytest.raises(AirflowFailException, match="Connection store"):
        operator("", aws_conn_id="store").run_command("plan")


def test_a_killed_task_stops_its_child_in_order() -> None:
    task = operator(
        "def stop(*_):\n    print(json.dumps({}))\n    sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, stop)\nprint('ready', file=sys.stderr, flush=True)\ntime.sleep(60)"
    )
    ended: list[BaseException] = []

    def run() -> None:
        try:
            task.run_command("refresh")
        except AirflowException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    # Long enough for the child to have set its handler; without one it would end by the signal, which is retried too.
    time.sleep(2)
    task.on_kill()
    thread.join(10)
    assert "exit code 130" in str(ended[0])


def test_the_run_goes_to_the_newest_snapshot_of_the_plan() -> None:
    code = f"print({plan_text(a=[], b=['a'])!r})"
    project = factory.Project("/srv/shop", command=child(code))
    pinned = factory.PinSnapshotOperator(task_id="pin", project=project).execute({})
    assert pinned == {"horizon": "42", "views": [["a", []], ["b", ["a"]]]}


def test_a_plan_file_that_is_out_of_date_fails_and_names_the_views() -> None:
    known = [["a", []], ["b", ["a"]], ["c", []], ["d", ["a", "c"]]]
    found = [["c", []], ["a", []], ["b", ["c"]], ["d", ["c", "a"]], ["e", []]]
    with pytest.raises(AirflowFailException, match="out of date for: b, e\\."):
        factory.ComparePlanOperator(task_id="compare", known=known, pinned={"views": found}).execute({})
    factory.ComparePlanOperator(task_id="compare", known=known, pinned={"views": known[::-1]}).execute({})


class Events(dict[Any, Any]):
    """What Airflow gives to a task for its asset events."""

    def __missing__(self, alias: Any) -> Any:
        self[alias] = SimpleNamespace(added=[])
        self[alias].add = lambda asset, extra: self[alias].added.append((asset.uri, extra))
        return self[alias]


def refresh(inserted: int, deleted: int, try_number: int = 1, skip: bool = True) -> list[Any]:
    """The asset events of a task whose view changed by so many rows."""
    view = {"status": "refreshed", "strategy": "incremental", "rows": {"inserted": inserted, "deleted": deleted}}
    code = f"print(json.dumps({{'views': [{view!r}]}}))"
    task = factory.RefreshOperator(
        task_id="view",
        view="view",
        pinned={"horizon": "42"},
        skip_unchanged=skip,
        asset="ducklake://shop/view",
        project=factory.Project("/srv/shop", command=child(code)),
    )
    events = Events()
    task.execute({"ti": SimpleNamespace(try_number=try_number), "outlet_events": events})
    return [event for alias in events.values() for event in alias.added]


def test_assets_have_events_only_when_rows_changed() -> None:
    summary = {"snapshot": "42", "inserted": 0, "deleted": 2}
    assert refresh(0, 2) == [("ducklake://shop/view", summary)]
    assert refresh(0, 0, skip=False) == []
    with pytest.raises(AirflowSkipException):
        refresh(0, 0)


def test_a_try_after_one_that_was_killed_counts_as_changed() -> None:
    assert len(refresh(0, 0, try_number=2)) == 1
