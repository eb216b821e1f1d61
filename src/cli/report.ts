/** `report` and `serve`: a page that tells how the lake's views are. */
import { basename, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { CliContext, Outcome, Session } from "./context.js";
import { readProject } from "./lake.js";

interface ReportOptions {
  readonly out: string;
  readonly title?: string;
}

interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly every: number;
  readonly name?: readonly string[];
  readonly title?: string;
}

export function registerReport(program: Command, context: CliContext): void {
  program
    .command("report")
    .description("write one page that tells what is stale, what failed, what is dear and what to do")
    .option("--out <file>", "the file to write", "report.html")
    .option("--title <text>", "what the lake is called on top; the project's folder where left out")
    .addHelpText("after", "\nExample:\n  ducklake-ivm report --out report.html")
    .action((options: ReportOptions, command: Command) =>
      context.run(command, (session) => writeReport(session, options)),
    );
}

export function registerServe(program: Command, context: CliContext): void {
  program
    .command("serve")
    .description("show the report live, read-only, in a browser on this machine")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--port <n>", "the port to listen on; 0 takes any that is free", parsePort, 8765)
    .option("--every <seconds>", "how old a look at the lake may become", parseSeconds, 5)
    .option("--name <host...>", "names under which the page may be asked for, such as a proxy's")
    .option("--title <text>", "what the lake is called on top; the project's folder where left out")
    .addHelpText("after", "\nExample:\n  ducklake-ivm serve --port 8080")
    .action((options: ServeOptions, command: Command) => context.run(command, (session) => serve(session, options)));
}

async function writeReport(session: Session, options: ReportOptions): Promise<Outcome> {
  const project = await readProject(session);
  const { readOverview, renderReport } = await import("../index.js");
  const { sizeText } = await import("./format.js");
  const { writeWhole } = await import("../report/write-file.js");
  const overview = await readOverview(project.lake, { logger: session.logger });
  const html = await renderReport(overview, { title: options.title ?? basename(project.directory) });
  const file = resolve(options.out);
  await writeWhole(file, html);
  const size = BigInt(Buffer.byteLength(html));
  return {
    json: { file, bytes: size, snapshot: overview.snapshot, views: overview.views.length },
    lines: [`${options.out} (${sizeText(size)}) tells of snapshot ${overview.snapshot}`],
  };
}

async function serve(session: Session, options: ServeOptions): Promise<Outcome> {
  const project = await readProject(session);
  const { serveReport } = await import("../index.js");
  const stop = session.stopSignal();
  const server = await serveReport(project.lake, {
    host: options.host,
    port: options.port,
    everyMs: options.every * 1000,
    names: options.name ?? [],
    title: options.title ?? basename(project.directory),
    logger: session.logger,
  });
  session.say(`${server.url} shows the lake; Ctrl-C ends it`);
  if (!stop.aborted) await new Promise((ended) => stop.addEventListener("abort", ended, { once: true }));
  await server.close();
  return { json: { url: server.url }, lines: [], runsUntilStopped: true };
}

function parsePort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : -1;
  if (port < 0 || port > 65_535) throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
  return port;
}

function parseSeconds(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds <= 0) throw new InvalidArgumentError("It is a number of seconds above 0.");
  return seconds;
}
