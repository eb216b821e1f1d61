import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import { IvmError, LakeError } from "../errors.js";
import type { S3Config } from "../types.js";
import {
  inScratchFolder,
  type ObjectStore,
  SIDE_BY_SIDE,
  type StoredObject,
  type TaggedText,
  whyStorageFailed,
} from "./store.js";

const CONNECT_TIMEOUT_MS = 5_000;
/** Between two packets; an upload that moves is never cut off. */
const IDLE_TIMEOUT_MS = 20_000;
const ATTEMPTS = 3;
/** A part of an upload in several parts; smaller files go as one. Parts are held in memory, several at a time. */
const PART_BYTES = 16 * 1024 * 1024;
/** As many names as one call to remove takes. */
const NAMES_A_CALL = 1_000;

/** A log root in a bucket. The SDK's modules are loaded with the first use, not with the program. */
export class S3Store implements ObjectStore {
  private readonly limit = pLimit(SIDE_BY_SIDE);
  private readonly bucket: string;
  private readonly prefix: string;
  private opened: Promise<{ sdk: typeof import("@aws-sdk/client-s3"); client: S3Client }> | undefined;

  constructor(
    root: string,
    private readonly config: S3Config,
    private readonly staging: string | undefined,
  ) {
    const [bucket = "", ...folders] = root.replace(/^s3:\/\//, "").split("/");
    this.bucket = bucket;
    const prefix = folders.filter((folder) => folder !== "").join("/");
    this.prefix = prefix === "" ? "" : `${prefix}/`;
  }

  address(name: string): string {
    return `s3://${this.bucket}/${this.prefix}${name}`;
  }

  write<Result>(name: string, produce: (path: string) => Promise<Result>): Promise<Result> {
    return this.limit(() =>
      this.scratch(async (path) => {
        const result = await produce(path);
        await this.translating("write", name, () => this.upload(name, path));
        return result;
      }),
    );
  }

  scratch<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
    return inScratchFolder(this.staging ?? tmpdir(), work);
  }

  readText(name: string): Promise<TaggedText | undefined> {
    return this.translating("read", name, async () => {
      const { sdk, client } = await this.open();
      try {
        const found = await client.send(new sdk.GetObjectCommand({ Bucket: this.bucket, Key: this.key(name) }));
        return { text: (await found.Body?.transformToString()) ?? "", tag: found.ETag ?? "" };
      } catch (error) {
        if ((error as Error).name === "NoSuchKey") return undefined;
        throw error;
      }
    });
  }

  swapText(name: string, text: string, tag: string | undefined): Promise<boolean> {
    return this.translating("write", name, async () => {
      const { sdk, client } = await this.open();
      const condition = tag === undefined ? { IfNoneMatch: "*" } : { IfMatch: tag };
      const request = { Bucket: this.bucket, Key: this.key(name), Body: text, ContentType: "application/json" };
      try {
        await client.send(new sdk.PutObjectCommand({ ...request, ...condition }));
        return true;
      } catch (error) {
        // 404: it had a tag and is gone; 409: another conditional write is under way.
        if ((error as Error).name === "NoSuchBucket") throw error;
        if ([404, 409, 412].includes(statusOf(error) ?? 0)) return false;
        throw error;
      }
    });
  }

  list(prefix: string): Promise<readonly StoredObject[]> {
    return this.translating("list", prefix, async () => {
      const { sdk, client } = await this.open();
      const pages = sdk.paginateListObjectsV2({ client }, { Bucket: this.bucket, Prefix: this.key(prefix) });
      const found: StoredObject[] = [];
      for await (const page of pages) {
        for (const object of page.Contents ?? []) {
          const name = (object.Key ?? "").slice(this.prefix.length);
          found.push({ name, bytes: BigInt(object.Size ?? 0), modified: object.LastModified ?? new Date() });
        }
      }
      return found;
    });
  }

  async remove(names: readonly string[]): Promise<void> {
    const calls: string[][] = [];
    for (let start = 0; start < names.length; start += NAMES_A_CALL)
      calls.push(names.slice(start, start + NAMES_A_CALL));
    await Promise.all(
      calls.map((call) => this.limit(() => this.translating("remove", call[0] ?? "", () => this.removeCall(call)))),
    );
  }

  close(): void {
    void this.opened?.then(({ client }) => client.destroy()).catch(() => undefined);
  }

  private async removeCall(names: readonly string[]): Promise<void> {
    const { sdk, client } = await this.open();
    const Objects = names.map((name) => ({ Key: this.key(name) }));
    const answer = await client.send(
      new sdk.DeleteObjectsCommand({ Bucket: this.bucket, Delete: { Objects, Quiet: true } }),
    );
    const [failed] = answer.Errors ?? [];
    if (failed !== undefined) throw Object.assign(new Error(failed.Message), { name: failed.Code ?? "Error" });
  }

  private async upload(name: string, path: string): Promise<void> {
    const { client } = await this.open();
    const { Upload } = await import("@aws-sdk/lib-storage");
    const upload = new Upload({
      client,
      params: {
        Bucket: this.bucket,
        Key: this.key(name),
        Body: createReadStream(path),
        ContentType: "application/vnd.apache.parquet",
      },
      partSize: PART_BYTES,
      queueSize: 2,
    });
    await upload.done();
  }

  private key(name: string): string {
    return `${this.prefix}${name}`;
  }

  private open(): Promise<{ sdk: typeof import("@aws-sdk/client-s3"); client: S3Client }> {
    this.opened ??= import("@aws-sdk/client-s3").then((sdk) => ({
      sdk,
      client: new sdk.S3Client(clientConfig(this.config)),
    }));
    return this.opened;
  }

  private async translating<Result>(what: string, name: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof IvmError) throw error;
      const status = statusOf(error);
      const [code, hint] =
        status === 401 || status === 403 || (error as Error).name === "AccessDenied"
          ? ["storage_denied", "Check the S3 keys and the rights on the bucket of `log.path`."]
          : ["log_store", "Check `log.path`, the S3 endpoint, and that its server is up."];
      const why = whyStorageFailed(error);
      throw new LakeError(code, `The change log could not ${what} ${this.address(name)}: ${why}.`, {
        hint,
        cause: error,
      });
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

/** What DuckDB's secret says, in the words of the SDK; keys that are left out come from its own credential chain. */
function clientConfig(config: S3Config): S3ClientConfig {
  const { accessKeyId, secretAccessKey, sessionToken } = config;
  const keys =
    accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } };
  const region =
    config.region ?? process.env["AWS_REGION"] ?? (config.endpoint === undefined ? undefined : "us-east-1");
  return {
    ...keys,
    ...(region === undefined ? {} : { region }),
    ...(config.endpoint === undefined ? {} : { endpoint: endpointUrl(config) }),
    // Servers other than AWS seldom have a host name for each bucket.
    forcePathStyle: (config.urlStyle ?? (config.endpoint === undefined ? "vhost" : "path")) === "path",
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: IDLE_TIMEOUT_MS },
  };
}

function endpointUrl(config: S3Config): string {
  const endpoint = config.endpoint ?? "";
  if (/^https?:\/\//.test(endpoint)) return endpoint;
  return `${config.useSsl === false ? "http" : "https"}://${endpoint}`;
}
