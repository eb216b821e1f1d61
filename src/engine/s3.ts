import { LakeError } from "../errors.js";
import { quoteLiteral } from "../sql/quote.js";
import type { S3Config } from "../types.js";
import type { Session } from "./session.js";

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Gives DuckDB the keys for S3: those of the configuration, else those of the AWS SDK's own credential chain. */
export async function createS3Secret(
  session: Session,
  config: S3Config,
  addSecret: (secret: string) => void,
): Promise<void> {
  const keys = await keysOf(config);
  addSecret(keys.secretAccessKey);
  if (keys.sessionToken !== undefined) addSecret(keys.sessionToken);
  const options: [string, string | undefined][] = [
    ["KEY_ID", keys.accessKeyId],
    ["SECRET", keys.secretAccessKey],
    ["SESSION_TOKEN", keys.sessionToken],
    ["ENDPOINT", config.endpoint?.replace(/^https?:\/\//, "").replace(/\/$/, "")],
    ["REGION", config.region ?? process.env["AWS_REGION"]],
    ["URL_STYLE", config.urlStyle],
  ];
  const parts = options.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${quoteLiteral(value)}`]));
  const useSsl = config.useSsl ?? !(config.endpoint?.startsWith("http://") ?? false);
  parts.push(`USE_SSL ${useSsl}`);
  await session.run(`CREATE OR REPLACE SECRET ducklake_ivm_s3 (TYPE s3, ${parts.join(", ")})`);
}

async function keysOf(config: S3Config): Promise<Keys> {
  if (config.accessKeyId !== undefined && config.secretAccessKey !== undefined) {
    return {
      accessKeyId: config.accessKeyId,
      secretAccessKey: config.secretAccessKey,
      sessionToken: config.sessionToken,
    };
  }
  const { fromNodeProviderChain } = await import("@aws-sdk/credential-providers");
  try {
    return await fromNodeProviderChain()();
  } catch (error) {
    throw new LakeError("storage_credentials", "No keys for S3 were found.", {
      hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or another source of the AWS SDK's credential chain.",
      cause: error,
    });
  }
}
