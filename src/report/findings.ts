/** What in a lake asks for somebody's attention, and what to do about it. */
import type { ConsumerStatus, Overview, ViewOverview } from "../types.js";
import { adviceWithRewrite } from "./advice.js";
import { duration, times } from "./format.js";
import { costOf, type Health, healthOf } from "./health.js";

export interface Finding {
  /** `error`: something is broken; `warning`: readers see old rows, or will; `note`: something is dearer than it need be. */
  readonly severity: "error" | "warning" | "note";
  /** The views that it is about. */
  readonly views: readonly string[];
  /** What is the matter, without the views' names. */
  readonly title: string;
  readonly text: string;
  /** The command line that helps. */
  readonly command: string | null;
}

/** An incremental refresh that takes so many times a recompute is worth a word. */
const TOO_DEAR = 1.5;
/** So many runs tell a habit. */
const HABIT = 3;

/** The most pressing first. */
export function findingsOf(overview: Overview): Finding[] {
  const having = (health: Health): ViewOverview[] => overview.views.filter((view) => healthOf(view) === health);
  return [
    ...failures(having("failed")),
    ...waiting(having("pending"), "never built", "Applied, and no refresh has built it yet."),
    ...waiting(having("rebuild"), "to be rebuilt", "A new definition is applied; the next refresh goes over to it."),
    ...behind(having("stale")),
    ...expired(overview),
    ...expiring(overview),
    ...overview.consumers.flatMap(ofConsumer),
    ...overview.views.flatMap(ofColumns),
    ...overview.views.flatMap(ofCost),
  ];
}

function failures(views: readonly ViewOverview[]): Finding[] {
  const codeOf = (view: ViewOverview): string | undefined => view.recent[0]?.error?.code;
  const followers = views.filter((view) => codeOf(view) === "upstream_failed");
  const own = views.filter((view) => !followers.includes(view));
  return [
    ...own.map((view): Finding => {
      const error = view.recent[0]?.error;
      const text = [error?.message, error?.hint].filter((part) => part !== null && part !== undefined).join(" ");
      return { severity: "error", views: [view.view], title: failureTitle(view), text, command: refreshOf([view]) };
    }),
    ...(followers.length === 0
      ? []
      : [
          {
            severity: "error",
            views: followers.map(({ view }) => view),
            title: "left alone, because a view that is read failed",
            text: "They follow as soon as that one can be refreshed.",
            command: null,
          } as const,
        ]),
  ];
}

function failureTitle(view: ViewOverview): string {
  const first = view.recent.findIndex((run) => run.status !== "failed");
  const inRow = first === -1 ? view.recent.length : first;
  return inRow > 1 ? `failed ${inRow} times in a row` : "failed";
}

function waiting(views: readonly ViewOverview[], title: string, text: string): Finding[] {
  if (views.length === 0) return [];
  return [{ severity: "warning", views: views.map(({ view }) => view), title, text, command: refreshOf(views) }];
}

function behind(views: readonly ViewOverview[]): Finding[] {
  if (views.length === 0) return [];
  const longest = [...views].sort((a, b) => (b.lagMs ?? 0) - (a.lagMs ?? 0))[0];
  const names = views.map(({ view }) => view);
  const lag = longest?.lagMs ?? null;
  const text =
    lag === null
      ? "Their sources changed since they were refreshed."
      : `The oldest change that ${views.length === 1 ? "it does" : "they do"} not show yet was committed ${duration(lag)} ago.`;
  return [
    {
      severity: "warning",
      views: names,
      title: views.length === 1 ? "is behind" : "are behind",
      text,
      command: refreshOf(views),
    },
  ];
}

/** Many names are left out of a command; it then takes all views. */
function refreshOf(views: readonly ViewOverview[]): string {
  const words = views.length > 3 ? [] : views.map(({ view }) => (/^[\w.-]+$/.test(view) ? view : `'${view}'`));
  return ["ducklake-ivm refresh", ...words].join(" ");
}

function expired({ retention, views }: Overview): Finding[] {
  const lost = retention.cursors.filter(({ at, view }) => {
    const state = views.find((candidate) => candidate.view === view)?.state;
    return at === null && state === "stale";
  });
  if (lost.length === 0) return [];
  return [
    {
      severity: "warning",
      views: lost.map(({ view }) => view),
      title: "can't catch up from snapshots",
      text: "The snapshot up to which a source was consumed was expired, so the next refresh recomputes the view unless a change log has the window. Keep snapshots longer than the time between two refreshes.",
      command: null,
    },
  ];
}

/** Snapshots that are still there, and will soon not be. */
function expiring({ retention }: Overview): Finding[] {
  const views = retention.needs.filter(
    ({ kind, snapshot }) => kind === "view" && snapshot === retention.needed?.snapshot,
  );
  return retention.warnings
    .filter(({ code }) => code === "snapshot_expires")
    .map(({ text }) => ({
      severity: "warning",
      views: [...new Set(views.map(({ name }) => name))],
      title: views.length === 1 ? "needs a snapshot that expires soon" : "need a snapshot that expires soon",
      text: `${upperFirst(text)}.`,
      command: "ducklake-ivm refresh",
    }));
}

function ofConsumer(consumer: ConsumerStatus): Finding[] {
  const { name, view, reset, held, lagMs } = consumer;
  if (reset) {
    const text = `Consumer ${name} has not taken the state of the view yet, or its position is gone from the log.`;
    const command = `ducklake-ivm state --consumer ${name}`;
    return [
      {
        severity: "warning",
        views: [view],
        title: `has a consumer that must take the whole state: ${name}`,
        text,
        command,
      },
    ];
  }
  if (held) return [];
  const text = `It is ${lagMs === null ? "too far" : duration(lagMs)} behind, so compaction no longer keeps the windows that it has not read.`;
  const command = `ducklake-ivm changes --consumer ${name} --commit`;
  return [{ severity: "warning", views: [view], title: `has a consumer that fell behind: ${name}`, text, command }];
}

function ofColumns(view: ViewOverview): Finding[] {
  return view.reasons
    .filter(({ code }) => code === "columns_added")
    .map(({ text }) => ({
      severity: "note",
      views: [view.view],
      title: "leaves out new columns",
      text: `${text}.`,
      command: "ducklake-ivm apply",
    }));
}

function ofCost(view: ViewOverview): Finding[] {
  const { totals } = view;
  if (view.strategy === "recompute" && view.refresh !== "full" && totals.recompute >= BigInt(HABIT)) {
    const why = view.reasons.find(({ code }) => code !== "columns_added");
    const rewrite = adviceWithRewrite(view.advice)[0]?.rewrite;
    const text = [
      `${why === undefined ? "It has no incremental rule" : upperFirst(why.text)}.`,
      `It took ${duration(totals.fullMs ?? 0)} the last time, whatever changed.`,
      ...(rewrite === undefined ? [] : [rewrite]),
    ].join(" ");
    const command = `ducklake-ivm explain ${view.view}`;
    return [{ severity: "note", views: [view.view], title: "is recomputed at every refresh", text, command }];
  }
  const { incrementalMs, fullMs, measured } = costOf(view);
  if (incrementalMs === null || fullMs === null || !measured || incrementalMs < TOO_DEAR * fullMs) return [];
  if (view.refresh !== "incremental" || totals.incremental < BigInt(HABIT)) return [];
  const text = `A refresh takes ${duration(incrementalMs)}, ${times(incrementalMs / fullMs)} what computing the whole view took. Without \`refresh: incremental\` the cheaper way is chosen at each run.`;
  return [{ severity: "note", views: [view.view], title: "would be cheaper to recompute", text, command: null }];
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
