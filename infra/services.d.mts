export interface S3Endpoint {
  /** `host:port`. */
  readonly endpoint: string;
  readonly region: string;
  readonly urlStyle: "path";
  readonly useSsl: false;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** A bucket that exists and is empty at first. */
  readonly bucket: string;
}

export interface PostgresEndpoint {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface Endpoints {
  readonly s3: S3Endpoint;
  readonly postgres: PostgresEndpoint;
}

/** Starts services that live as long as this process, or until `stop`; all of them where no names are given. */
export function startServices<Name extends keyof Endpoints = keyof Endpoints>(
  names?: readonly Name[],
): Promise<{ readonly endpoints: Pick<Endpoints, Name>; stop(): Promise<void> }>;
