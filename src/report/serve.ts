import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { ConfigError, IvmError } from "../errors.js";
import { toJson } from "../json.js";
import type { Logger } from "../logger.js";
import type { Overview } from "../types.js";
import { renderMetrics } from "./metrics.js";
import { contentPolicy, type PageOptions, renderPage } from "./page.js";

/** Where the page's data comes from. */
export interface LookSource {
  look(): Promise<Overview>;
  /** Changes when the lake does; null where only a look can tell. */
  stamp(): Promise<string | null>;
}

/** Where and how often a report is served. */
export interface ServeOptions {
  /** The address to listen on. Default `127.0.0.1`, which only this machine can reach. */
  readonly host?: string;
  /** Default 8765; 0 takes any that is free. */
  readonly port?: number;
  /** How old a look at the lake may become before the next one, in milliseconds. Default 5,000. */
  readonly everyMs?: number;
  /** What the lake is called, on top of the page. */
  readonly title?: string;
  /** Names, besides addresses and `localhost`, under which the server may be asked, such as that of a proxy. */
  readonly names?: readonly string[];
  readonly logger?: Logger;
}

/** A report that is served live; closing it ends it. */
export interface ReportServer extends AsyncDisposable {
  /** Where the page is. */
  readonly url: string;
  /** Answers what was asked already, and ends. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 8765;
const DEFAULT_EVERY_MS = 5_000;
/** A lake that did not change is looked at all the same, now and then, for the ages on the page. */
const LONGEST_MS = 60_000;

/** Serves the report of a lake that changes, as a page, as JSON and as metrics. @throws ConfigError `port_taken`. */
export async function serve(source: LookSource, options: ServeOptions): Promise<ReportServer> {
  const host = options.host ?? "127.0.0.1";
  const report = new LiveReport(source, options);
  const server = createServer((request, response) => {
    answer(request, response, report, options).catch((error: unknown) => {
      options.logger?.warn("an answer failed", { reason: error instanceof Error ? error.message : String(error) });
      response.destroy();
    });
  });
  await listen(server, host, options.port ?? DEFAULT_PORT);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeIdleConnections();
    await closed;
  };
  return { url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`, close, [Symbol.asyncDispose]: close };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new ConfigError("port_taken", `${host}:${port} can't be listened on: ${(error as Error).message}`, {
      hint: "Give another --port, or 0 for any that is free.",
      cause: error,
    });
  }
}

interface Content {
  readonly type: string;
  readonly render: (overview: Overview, page: PageOptions) => string;
  /** What an old answer is worth while the lake can't be looked at: a page says so, a number can't. */
  readonly outlivesLake: boolean;
}

/** What is served, by its path: the page, its data, and what Prometheus scrapes. */
const CONTENTS: Readonly<Record<string, Content>> = {
  "/": { type: "text/html; charset=utf-8", render: renderPage, outlivesLake: true },
  "/report.json": {
    type: "application/json; charset=utf-8",
    render: (overview) => `${JSON.stringify(toJson(overview))}\n`,
    outlivesLake: true,
  },
  "/metrics": {
    type: "text/plain; version=0.0.4; charset=utf-8",
    render: (overview) => renderMetrics(overview),
    outlivesLake: false,
  },
};

interface Rendered {
  readonly text: string;
  readonly tag: string;
}

/** The newest look at the lake. One at a time; whoever asks meanwhile gets its answer. */
class LiveReport {
  private shown: { readonly overview: Overview; readonly rendered: Map<Content, Rendered> } | undefined;
  private stamp: string | null = null;
  private shownAt = Number.NEGATIVE_INFINITY;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  /** Why the newest look failed; what it shows then stays as it was. */
  problem: IvmError | undefined;

  constructor(
    private readonly source: LookSource,
    private readonly options: ServeOptions,
  ) {}

  get everyMs(): number {
    return this.options.everyMs ?? DEFAULT_EVERY_MS;
  }

  /** @throws IvmError where there is nothing to show yet. */
  async current(content: Content): Promise<Rendered> {
    if (performance.now() - this.lookedAt >= this.everyMs) {
      this.looking ??= this.look().finally(() => {
        this.looking = undefined;
      });
    }
    await this.looking;
    if (this.shown === undefined || (this.problem !== undefined && !content.outlivesLake)) {
      throw this.problem ?? new TypeError("a look gives an overview or a problem");
    }
    const { overview, rendered } = this.shown;
    const known = rendered.get(content) ?? this.render(overview, content);
    rendered.set(content, known);
    return known;
  }

  private async look(): Promise<void> {
    try {
      const stamp = await this.source.stamp();
      const young = performance.now() - this.shownAt < LONGEST_MS;
      const same = stamp !== null && stamp === this.stamp && this.problem === undefined;
      if (!(same && young)) {
        this.shown = { overview: await this.source.look(), rendered: new Map() };
        this.shownAt = performance.now();
      }
      this.stamp = stamp;
      this.problem = undefined;
    } catch (error) {
      if (!(error instanceof IvmError)) throw error;
      this.problem = error;
      this.options.logger?.warn("the lake could not be looked at", { code: error.code, reason: error.message });
    } finally {
      this.lookedAt = performance.now();
    }
  }

  private render(overview: Overview, { render }: Content): Rendered {
    const { title } = this.options;
    const text = render(overview, { everyMs: this.everyMs, ...(title === undefined ? {} : { title }) });
    return { text, tag: `"${createHash("sha256").update(text).digest("base64url")}"` };
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  report: LiveReport,
  options: ServeOptions,
): Promise<void> {
  if (!isKnownHost(request.headers.host, options)) {
    return plain(response, 421, "This server does not answer under that name; see --name.\n");
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return plain(response, 405, "This server only shows.\n");
  }
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const content = Object.hasOwn(CONTENTS, pathname) ? CONTENTS[pathname] : undefined;
  if (content === undefined) return plain(response, 404, `There is ${Object.keys(CONTENTS).join(", ")} here.\n`);
  try {
    const { text, tag } = await report.current(content);
    // A name of the user's own could be in a message: the header has the code only.
    if (report.problem !== undefined) response.setHeader("x-lake-problem", report.problem.code);
    for (const [name, value] of Object.entries(headers(report.everyMs))) response.setHeader(name, value);
    response.setHeader("etag", tag);
    if (request.headers["if-none-match"] === tag) {
      response.writeHead(304).end();
      return;
    }
    response.writeHead(200, { "content-type": content.type });
    response.end(request.method === "HEAD" ? undefined : text);
  } catch (error) {
    if (!(error instanceof IvmError)) throw error;
    plain(response, 503, `${error.message}\n${error.hint ?? ""}\n`);
  }
}

function headers(everyMs: number): Readonly<Record<string, string>> {
  return {
    "cache-control": "no-store",
    "content-security-policy": `${contentPolicy({ everyMs })}; frame-ancestors 'none'`,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
  response.end(text);
}

/**
 * A page of another site can make a browser ask this server under a name of that site's own, which resolves to this
 * machine, and would then read the answer. So a name must be known; an address can't be rebound.
 */
function isKnownHost(header: string | undefined, { host, names = [] }: ServeOptions): boolean {
  if (header === undefined) return false;
  const name = header.toLowerCase().replace(/:\d+$/, "");
  const known = ["localhost", host, ...names].map((candidate) => candidate?.toLowerCase());
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || known.includes(name);
}
