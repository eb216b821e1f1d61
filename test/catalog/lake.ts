import { currentSnapshot } from "../../src/catalog/snapshots.js";
import { tableAt } from "../../src/catalog/tables.js";
import type { WindowRequest } from "../../src/catalog/window.js";
import { Engine } from "../../src/engine/lake.js";
import type { Session } from "../../src/engine/session.js";
import { tempLake } from "../setup/lake.js";

/** A real lake in a temporary folder, with a connection to change it and to ask its catalog. */
export class CatalogLake implements AsyncDisposable {
  private constructor(
    readonly engine: Engine,
    readonly session: Session,
    private readonly cleanup: () => Promise<void>,
  ) {}

  static async open(): Promise<CatalogLake> {
    const place = await tempLake();
    const engine = await Engine.open(place.config);
    return new CatalogLake(engine, await engine.session(), place.cleanup);
  }

  /** As another program would: DuckLake's maintenance can't run as a prepared statement. */
  async run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.session.connection.run(statement);
  }

  now(): Promise<bigint> {
    return currentSnapshot(this.session);
  }

  /** The request for a window that begins now, all columns used; `to` is filled in when it ends. */
  async cursor(table: string, columns?: readonly string[]): Promise<Omit<WindowRequest, "to">> {
    const from = await this.now();
    const name = { schema: "main", table };
    const version = await tableAt(this.session, this.engine, name, from);
    if (version === undefined) throw new Error(`no table ${table}`);
    const used = columns ?? version.columns.map((column) => column.name);
    return { table: name, from, tableId: version.id, tableUuid: version.uuid, columns: used };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.session.close();
    this.engine.close();
    await this.cleanup();
  }
}
