/** One random history of a lake with change logs; everything is compared on the way. */
import fc from "fast-check";
import { expect } from "vitest";
import { IvmError, type LogConfig, type Retention, type ViewDefinition } from "../../src/index.js";
import { quoteIdentifier } from "../../src/sql/quote.js";
import type { LakeKind } from "../setup/lake.js";
import { basesOf, endOf, partsOf, positionsOf, segmentsOf } from "./proof.js";
import { LogScene } from "./scene.js";
import { KINDS, NAMES, TABLES, viewOf, writesOf } from "./views.js";

type Step =
  | { readonly kind: "write" | "write and refresh"; readonly number: number }
  | { readonly kind: "refresh" | "compact" | "expire" | "reopen" | "maintain" }
  | { readonly kind: "refresh one" | "gap" | "drop and define"; readonly view: number }
  | { readonly kind: "redefine"; readonly view: number; readonly columns: number | null; readonly p: number }
  | { readonly kind: "add consumer"; readonly view: number; readonly at: "end" | "oldest" | "nowhere" }
  | { readonly kind: "consume"; readonly consumer: number; readonly commit: boolean };

export interface History {
  readonly views: readonly { readonly name: number; readonly kind: number; readonly p: number }[];
  readonly keep: number;
  readonly maxLag: number | null;
  readonly fanOut: number;
  readonly fileBytes: number;
  readonly compact: "auto" | "manual";
  readonly steps: readonly Step[];
}

const number = fc.nat(1_000_000);
const index = fc.nat(7);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("write and refresh" as const), number }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("write" as const), number }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("refresh" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("compact", "expire", "reopen", "maintain") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("refresh one" as const), view: index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("gap", "drop and define"), view: index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("redefine" as const),
      view: index,
      columns: fc.option(fc.nat(KINDS.length - 1)),
      p: fc.nat(9),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("add consumer" as const),
      view: index,
      at: fc.constantFrom("end", "oldest", "nowhere"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("consume" as const), consumer: fc.nat(3), commit: fc.boolean() }),
  },
);

export function histories(steps: { readonly least: number; readonly most: number }): fc.Arbitrary<History> {
  return fc.record({
    views: fc.uniqueArray(fc.record({ name: fc.nat(NAMES.length - 1), kind: fc.nat(KINDS.length - 1), p: fc.nat(9) }), {
      minLength: 2,
      maxLength: 3,
      selector: (view) => view.name,
    }),
    keep: fc.constantFrom(3, 20, 60, 1_000),
    maxLag: fc.option(fc.constantFrom(3, 40)),
    fanOut: fc.constantFrom(2, 3),
    fileBytes: fc.constantFrom(1, 100_000_000),
    compact: fc.constantFrom("auto", "auto", "manual"),
    steps: fc.array(step, { minLength: steps.least, maxLength: steps.most, size: "max" }),
  });
}

/** How often each kind of thing happened: tests that test nothing pass as well. */
export class Tally {
  readonly counts = new Map<string, number>();

  add(what: string, count = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + count);
  }

  of(what: string): number {
    return this.counts.get(what) ?? 0;
  }
}

export async function runHistory(kind: LakeKind, history: History, tally: Tally): Promise<void> {
  const retention = (snapshots: number): Retention => ({ snapshots: BigInt(snapshots) });
  const log: Partial<LogConfig> = {
    keep: retention(history.keep),
    fanOut: history.fanOut,
    fileBytes: history.fileBytes,
    compact: history.compact,
    ...(history.maxLag === null ? {} : { maxLag: retention(history.maxLag) }),
  };
  await using scene = await LogScene.start(kind, log);
  const run = new Run(scene, history, tally);
  await run.begin();
  for (const one of history.steps) await run.step(one);
  await scene.refresh();
  await run.check();
  await scene.lake.compact();
  await run.check();
}

class Run {
  private readonly definitions: ViewDefinition[] = [];
  private nextId = 1_000;
  private readonly consumers: { readonly name: string; readonly view: string; mirror: Mirror | null }[] = [];

  constructor(
    private readonly scene: LogScene,
    private readonly history: History,
    private readonly tally: Tally,
  ) {}

  async begin(): Promise<void> {
    await this.scene.sql(...TABLES);
    for (const { name, kind, p } of this.history.views) this.definitions.push(viewOf(NAMES[name] ?? "", kind, p));
    const [first] = this.definitions;
    this.definitions.push({ name: "chained", sql: `SELECT count(*) AS n FROM ${quoteIdentifier(first?.name ?? "")}` });
    await this.scene.define(this.definitions);
    await this.scene.refresh();
    await this.addConsumer({ kind: "add consumer", view: 0, at: "end" });
    await this.addConsumer({ kind: "add consumer", view: 1, at: "nowhere" });
  }

  async step(step: Step): Promise<void> {
    this.tally.add(step.kind);
    switch (step.kind) {
      case "write":
        await this.write(step.number);
        return;
      case "write and refresh":
        await this.write(step.number);
        await this.scene.refresh();
        return;
      case "refresh":
        await this.scene.refresh();
        return;
      case "refresh one":
        await this.scene.refresh([this.viewAt(step.view).name]);
        return;
      case "compact":
        await this.scene.lake.compact();
        await this.check();
        return;
      case "expire":
        await this.scene.sql("CALL ducklake_expire_snapshots('lake', older_than => now())");
        return;
      case "maintain":
        await this.scene.sql(
          "CALL ducklake_flush_inlined_data('lake')",
          "CALL ducklake_merge_adjacent_files('lake')",
          "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
        );
        return;
      case "reopen":
        await this.scene.reopen();
        return;
      case "gap":
        await this.scene.reopen(this.scene.withoutLog);
        await this.write(step.view * 97);
        await this.scene.refresh(step.view % 2 === 0 ? undefined : [this.viewAt(step.view).name]);
        await this.scene.reopen();
        return;
      case "redefine":
        await this.redefine(step);
        return;
      case "drop and define":
        await this.dropAndDefine(step.view);
        return;
      case "add consumer":
        await this.addConsumer(step);
        return;
      case "consume":
        await this.consume(step);
        return;
    }
  }

  private async write(number: number): Promise<void> {
    await this.scene.sql(...writesOf(number, this.nextId));
    this.nextId += 100;
  }

  private viewAt(number: number): ViewDefinition {
    const view = this.definitions[number % this.definitions.length];
    if (view === undefined) throw new Error("there are views");
    return view;
  }

  private async redefine({ view, columns, p }: Step & { kind: "redefine" }): Promise<void> {
    const at = view % this.history.views.length;
    const { kind = 0 } = this.history.views[at] ?? {};
    this.definitions[at] = viewOf(this.viewAt(at).name, columns ?? kind, p);
    await this.scene.define(this.definitions);
  }

  /** Its log ends, and another one begins; consumers of the old one are gone. */
  private async dropAndDefine(view: number): Promise<void> {
    const [dropped] = this.definitions.slice(1).filter((_, index) => index === view % (this.definitions.length - 1));
    if (dropped === undefined) return;
    await this.scene.define(this.definitions.filter((definition) => definition !== dropped));
    await this.scene.define(this.definitions);
    for (const consumer of this.consumers.filter((one) => one.view === dropped.name)) {
      this.consumers.splice(this.consumers.indexOf(consumer), 1);
    }
  }

  private async addConsumer({ view, at }: Step & { kind: "add consumer" }): Promise<void> {
    const { name: log } = this.viewAt(view);
    const facts = await this.scene.facts(log).catch(() => undefined);
    if (facts === undefined || this.consumers.length >= 4) return;
    const name = `reader ${this.nextId}-${this.consumers.length}`;
    this.nextId += 1;
    const [oldest] = positionsOf(facts);
    const position = at === "nowhere" ? undefined : at === "end" ? endOf(facts) : oldest;
    await this.scene.lake.addConsumer(name, log, at === "end" ? "end" : position);
    const mirror = position === undefined ? null : await Mirror.at(this.scene, log, facts.epoch, position);
    this.consumers.push({ name, view: log, mirror });
  }

  /** Reads what a consumer has to read next, and keeps its mirror of the view. */
  private async consume({ consumer, commit }: Step & { kind: "consume" }): Promise<void> {
    const one = this.consumers[consumer % Math.max(1, this.consumers.length)];
    if (one === undefined) return;
    const facts = await this.scene.facts(one.view);
    let next: Mirror;
    try {
      const changes = await this.scene.lake.changes(undefined, { consumer: one.name });
      expect(one.mirror?.epoch, one.name).toBe(facts.epoch);
      expect(changes.from, one.name).toBe(one.mirror?.position);
      const rows = new Map(one.mirror?.rows);
      for await (const line of changes.jsonLines()) {
        const { row, weight } = partsOf(line);
        rows.set(row, (rows.get(row) ?? 0) + weight);
      }
      next = new Mirror(facts.epoch, changes.to, rows);
      this.tally.add("consumed");
    } catch (error) {
      if (!(error instanceof IvmError && error.code === "consumer_reset")) throw error;
      this.expectReset(one.mirror, facts);
      const state = await this.scene.lake.state(undefined, { consumer: one.name });
      next = new Mirror(facts.epoch, state.to, new Map());
      for await (const line of state.jsonLines()) next.add(line.slice('{"row":'.length, -1));
      this.tally.add("reset");
    }
    expect(next.position).toBe(endOf(facts));
    next.expectSame(await Mirror.at(this.scene, one.view, facts.epoch, next.position));
    if (!commit) return;
    expect(await this.scene.lake.commitConsumer(one.name, next.position, one.mirror?.position ?? null)).toBe(
      one.mirror?.position !== next.position || one.mirror.epoch !== next.epoch,
    );
    one.mirror = next;
  }

  /** A consumer is sent away only where its log is another one by now, or it lagged behind too far. */
  private expectReset(mirror: Mirror | null, facts: Parameters<typeof endOf>[0]): void {
    if (mirror === null || mirror.epoch !== facts.epoch) return;
    expect(this.history.maxLag, "the consumer did not lag behind").not.toBeNull();
    expect(Number((endOf(facts) ?? 0n) - mirror.position)).toBeGreaterThan(this.history.maxLag ?? 0);
  }

  async check(): Promise<void> {
    await this.checkConsumers();
    await this.scene.check();
    for (const { name } of this.definitions) {
      const facts = await this.scene.facts(name).catch(() => undefined);
      if (facts === undefined) continue;
      this.tally.add("positions", positionsOf(facts).length);
      this.tally.add("merged", segmentsOf(facts).filter((entry) => entry.level > 0).length);
      this.tally.add("folded", basesOf(facts).filter((entry) => entry.level > 0 && entry.part === 0).length);
    }
  }

  /** Who has not lagged behind finds its position. */
  private async checkConsumers(): Promise<void> {
    const listed = await this.scene.lake.consumers();
    for (const { name, view, mirror } of this.consumers) {
      const facts = await this.scene.facts(view).catch(() => undefined);
      const status = listed.find((one) => one.name === name);
      if (facts === undefined) continue;
      expect(status, name).toMatchObject({ view, position: mirror?.position ?? null, end: endOf(facts) });
      if (mirror === null || mirror.epoch !== facts.epoch) {
        expect(status?.reset, name).toBe(true);
        continue;
      }
      const lag = Number((endOf(facts) ?? 0n) - mirror.position);
      if (this.history.maxLag !== null && lag > this.history.maxLag) continue;
      expect(positionsOf(facts), name).toContain(mirror.position);
      const next = segmentsOf(facts).filter(({ from }) => (from ?? 0n) >= mirror.position);
      const rows = next.reduce((sum, entry) => sum + entry.rows, 0n);
      expect(status, name).toMatchObject({ reset: false, windows: next.length, rows });
      expect(basesOf(facts)[0]?.to ?? 0n, name).toBeLessThanOrEqual(mirror.position);
    }
  }
}

/** What a consumer has made of what it read. */
class Mirror {
  constructor(
    readonly epoch: string,
    readonly position: bigint,
    readonly rows: Map<string, number>,
  ) {}

  /** What the log says the view held. */
  static async at(scene: LogScene, view: string, epoch: string, position: bigint): Promise<Mirror> {
    const mirror = new Mirror(epoch, position, new Map());
    const state = await scene.lake.state(view, { at: position });
    for await (const line of state.jsonLines()) mirror.add(line.slice('{"row":'.length, -1));
    return mirror;
  }

  add(row: string): void {
    this.rows.set(row, (this.rows.get(row) ?? 0) + 1);
  }

  expectSame(other: Mirror): void {
    const sorted = ({ rows }: Mirror) => [...rows].filter(([, copies]) => copies !== 0).sort();
    expect(sorted(this)).toEqual(sorted(other));
  }
}
