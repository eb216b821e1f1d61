import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, inject, test } from "vitest";
import { json } from "../cli/command.js";
import { ORDERS, project, VIEWS } from "../cli/lake.js";
import { OpenLake } from "../setup/open-lake.js";

interface Event {
  readonly eventType: string;
  readonly run: { readonly runId: string; readonly facets: Record<string, { readonly [name: string]: unknown }> };
  readonly job: {
    readonly namespace: string;
    readonly name: string;
    readonly facets: Record<string, { readonly query?: string }>;
  };
  readonly inputs: readonly Dataset[];
  readonly outputs: readonly Dataset[];
}

interface Dataset {
  readonly namespace: string;
  readonly name: string;
  readonly facets: Record<string, { readonly [name: string]: unknown }>;
  readonly outputFacets?: Record<string, unknown>;
}

const FACETS = [
  "SchemaDatasetFacet",
  "ColumnLineageDatasetFacet",
  "DatasetVersionDatasetFacet",
  "ErrorMessageRunFacet",
  "JobTypeJobFacet",
  "OutputStatisticsOutputDatasetFacet",
  "ParentRunFacet",
  "SQLJobFacet",
];

/** What is wrong with events by OpenLineage's own schemas: the event's, and that of each facet. */
async function problemsOf(events: readonly Event[]): Promise<unknown[]> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const read = async (name: string) =>
    JSON.parse(await readFile(new URL(`openlineage/${name}.json`, import.meta.url), "utf8")) as { $id: string };
  ajv.addSchema(await read("OpenLineage"));
  for (const name of FACETS) ajv.addSchema(await read(name));
  const check = (schema: string, value: unknown): unknown[] => {
    const validate = ajv.getSchema(schema);
    if (validate === undefined) return [`no schema ${schema}`];
    return validate(value) ? [] : [{ schema, value, errors: validate.errors }];
  };
  return events.flatMap((event) => {
    const facets = [event.run, event.job, ...event.inputs, ...event.outputs].flatMap((owner) => [
      ...Object.values(owner.facets),
      ...("outputFacets" in owner ? Object.values(owner.outputFacets ?? {}) : []),
    ]) as { _schemaURL: string }[];
    return [
      ...check("https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent", event),
      ...facets.flatMap((facet) => check(facet._schemaURL, facet)),
    ];
  });
}

async function receiver(answer: (count: number) => number | "nothing") {
  const events: Event[] = [];
  const tokens: (string | undefined)[] = [];
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    const status = answer(asked);
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      tokens.push(request.headers.authorization);
      if (status === "nothing") return;
      if (request.url === "/api/v1/lineage") events.push(JSON.parse(Buffer.concat(parts).toString()) as Event);
      response.writeHead(status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { events, tokens, url, asked: () => asked, close, [Symbol.asyncDispose]: close };
}

async function shop(): Promise<OpenLake> {
  const world = await OpenLake.start();
  await world.rows("CREATE TABLE customers AS SELECT range AS id, 'c' || range AS name FROM range(5)");
  await world.rows(
    "CREATE TABLE orders AS SELECT range AS id, range % 5 AS customer, CAST(range AS DECIMAL(10, 2)) AS amount FROM range(50)",
  );
  await world.lake.define([
    {
      name: "spent",
      sql: "SELECT c.name, upper(c.name) AS loud, sum(o.amount * 2) AS amount FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id > 0 GROUP BY c.name",
      refresh: "incremental",
    },
    { name: "big", sql: "SELECT name, amount FROM spent WHERE amount > 10", refresh: "incremental" },
    { name: "still", sql: "SELECT name FROM customers" },
  ]);
  return world;
}

test("events tell each view's run, its datasets, their versions and columns, as OpenLineage's schemas want them", async () => {
  await using world = await shop();
  const { lake } = world;
  await using server = await receiver(() => 201);
  const file = join(inject("workspace"), "lineage.jsonl");
  const openLineage = { url: server.url, file, namespace: "shop", apiKey: "token-1" };
  await lake.refresh();
  await world.rows("INSERT INTO orders VALUES (100, 1, 5)");
  const result = await lake.refresh({ openLineage });
  expect(result).toMatchObject({ status: "refreshed", warnings: [] });
  const { events } = server;
  expect(await problemsOf(events)).toEqual([]);
  expect(events.map(({ eventType, job }) => [eventType, job.name])).toEqual([
    ["START", "refresh"],
    ["START", "spent"],
    ["COMPLETE", "spent"],
    ["START", "big"],
    ["COMPLETE", "big"],
    ["COMPLETE", "refresh"],
  ]);
  expect(
    (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Event),
  ).toEqual(events);
  expect(new Set(server.tokens)).toEqual(new Set(["Bearer token-1"]));
  const [parent, start, complete] = events;
  expect(parent?.run.runId).toBe(result.runId);
  expect(start?.run.runId).toBe(complete?.run.runId);
  expect(complete?.run.facets["parent"]).toMatchObject({
    run: { runId: result.runId },
    job: { namespace: "shop", name: "refresh" },
  });
  expect(complete?.inputs.map(({ name, facets }) => [name, facets["version"]?.["datasetVersion"]])).toEqual([
    ["main.orders", String(result.horizon)],
    ["main.customers", String(result.horizon)],
  ]);
  const [output] = complete?.outputs ?? [];
  expect(output).toMatchObject({
    namespace: "shop",
    name: "main.spent",
    outputFacets: { outputStatistics: { rowCount: 2 } },
  });
  expect(output?.facets["schema"]?.["fields"]).toMatchObject([
    { name: "name", type: "VARCHAR" },
    { name: "loud", type: "VARCHAR" },
    { name: "amount" },
  ]);
  const from = (name: string, field: string, type: string, subtype: string) => ({
    namespace: "shop",
    name,
    field,
    transformations: [{ type, subtype, description: "", masking: false }],
  });
  expect(output?.facets["columnLineage"]?.["fields"]).toEqual({
    name: { inputFields: [from("main.customers", "name", "DIRECT", "IDENTITY")] },
    loud: { inputFields: [from("main.customers", "name", "DIRECT", "TRANSFORMATION")] },
    amount: { inputFields: [from("main.orders", "amount", "DIRECT", "AGGREGATION")] },
  });
  const rows = output?.facets["columnLineage"]?.["dataset"] as unknown[];
  expect(rows).toHaveLength(4);
  expect(rows).toEqual(
    expect.arrayContaining([
      from("main.orders", "id", "INDIRECT", "FILTER"),
      from("main.orders", "customer", "INDIRECT", "JOIN"),
      from("main.customers", "id", "INDIRECT", "JOIN"),
      from("main.customers", "name", "INDIRECT", "GROUP_BY"),
    ]),
  );
  // A view that is read is a dataset under the name that its own run writes.
  expect(events[4]?.inputs.map(({ name }) => name)).toEqual(["main.spent"]);
  server.events.length = 0;
  expect((await lake.refresh({ openLineage })).status).toBe("unchanged");
  expect(server.events).toEqual([]);
});

test("a view that fails is told with its error, and so is the run", async () => {
  await using world = await shop();
  await world.lake.refresh();
  await world.rows("DROP TABLE customers");
  await using server = await receiver(() => 200);
  await world.lake.refresh({ openLineage: { url: server.url } });
  expect(await problemsOf(server.events)).toEqual([]);
  const failed = server.events.filter(({ eventType }) => eventType === "FAIL");
  expect(failed.map(({ job }) => job.name)).toContain("spent");
  expect(failed.at(-1)?.job.name).toBe("refresh");
  const own = failed.find(({ job }) => job.name === "spent");
  expect(own?.run.facets["errorMessage"]?.["message"]).toContain("main.customers does not exist");
});

test.each([
  ["is not there", "ECONNREFUSED"],
  ["never answers", "no answer in time"],
  ["refuses", "it answered 500"],
])("a server that %s fails no refresh and stalls none", async (what, reason) => {
  await using world = await shop();
  await using server = await receiver(() => (what === "refuses" ? 500 : "nothing"));
  const { url } = server;
  if (what === "is not there") await server.close();
  const began = performance.now();
  const result = await world.lake.refresh({ openLineage: { url, timeoutMs: 700 } });
  const sending = performance.now() - began;
  expect(result.status).toBe("refreshed");
  expect(result.warnings).toEqual([
    { code: "lineage_not_delivered", text: `8 lineage events could not be delivered to ${url}: ${reason}` },
  ]);
  expect(server.asked()).toBeLessThanOrEqual(1);
  expect(sending).toBeLessThan(result.elapsedMs + 5_000);
  expect((await world.lake.verify()).every(({ ok }) => ok)).toBe(true);
});

test("the configuration says where the events go, and what is wrong with that", async () => {
  const config = "lake:\n  catalog: lake.ducklake\n  data_path: lake_files\nopenlineage:\n  file: events.jsonl\n";
  const directory = await project({ ...VIEWS, "ducklake-ivm.yaml": config }, ORDERS);
  await json(["apply"], { cwd: directory });
  await json(["refresh"], { cwd: directory });
  const lines = (await readFile(join(directory, "events.jsonl"), "utf8")).trim().split("\n");
  expect(await problemsOf(lines.map((line) => JSON.parse(line) as Event))).toEqual([]);
  expect(lines).toHaveLength(6);
  const wrong = await project({ ...VIEWS, "ducklake-ivm.yaml": `${config}  url: "file:///etc/passwd"\n` }, []);
  const { exitCode, value } = await json<{ error: { message: string } }>(["refresh"], { cwd: wrong });
  expect(exitCode).toBe(2);
  expect(value.error.message).toContain("openlineage.url");
});
