import {
  type DuckDBBlobValue,
  type DuckDBDateValue,
  type DuckDBDecimalType,
  type DuckDBDecimalValue,
  type DuckDBTimestampValue,
  type DuckDBTimeValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from "@duckdb/node-api";
import type * as Arrow from "apache-arrow";

/**
 * Rows as Arrow record batches. The library is loaded with the first use. Values go into Arrow's buffers as the integers
 * that they are, never through JavaScript's numbers or dates; types without a plain counterpart are text.
 */

type Lib = typeof import("apache-arrow");

/** One column: its Arrow type, the SQL that brings a value to the form that it takes, and its buffer. */
interface ColumnKind {
  readonly type: (lib: Lib) => Arrow.DataType;
  /** True where the value is taken as text. */
  readonly asText?: boolean;
  readonly fill: (lib: Lib, type: Arrow.DataType, values: readonly DuckDBValue[]) => Arrow.Data;
}

type TypedArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

function fixed<Values extends TypedArray>(
  type: (lib: Lib) => Arrow.DataType,
  make: (length: number) => Values,
  take: (value: DuckDBValue) => Values[number],
): ColumnKind {
  return {
    type,
    fill: (lib, arrowType, values) => {
      const data = make(values.length);
      values.forEach((value, index) => {
        if (value !== null) data[index] = take(value);
      });
      return lib.makeData({ ...commonOf(values), type: arrowType as never, data: data as never });
    },
  };
}

function variable(
  type: (lib: Lib) => Arrow.DataType,
  take: (value: DuckDBValue) => Uint8Array,
  asText = false,
): ColumnKind {
  return {
    type,
    asText,
    fill: (lib, arrowType, values) => {
      const parts = values.map((value) => (value === null ? new Uint8Array() : take(value)));
      const valueOffsets = new Int32Array(values.length + 1);
      parts.forEach((part, index) => {
        valueOffsets[index + 1] = (valueOffsets[index] ?? 0) + part.length;
      });
      const data = Buffer.concat(parts);
      return lib.makeData({ ...commonOf(values), type: arrowType as never, valueOffsets, data: data as never });
    },
  };
}

function commonOf(values: readonly DuckDBValue[]): { length: number; nullCount: number; nullBitmap: Uint8Array } {
  return {
    length: values.length,
    nullCount: values.filter((value) => value === null).length,
    nullBitmap: bits(values, (value) => value !== null),
  };
}

function bits(values: readonly DuckDBValue[], isSet: (value: DuckDBValue) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(values.length / 8));
  values.forEach((value, index) => {
    if (isSet(value)) bitmap[index >> 3] = (bitmap[index >> 3] ?? 0) | (1 << (index & 7));
  });
  return bitmap;
}

function decimal(width: number, scale: number, take: (value: DuckDBValue) => bigint): ColumnKind {
  return {
    type: (lib) => new lib.Decimal(scale, width, 128),
    fill: (lib, arrowType, values) => {
      const data = new BigUint64Array(values.length * 2);
      values.forEach((value, index) => {
        if (value === null) return;
        const unscaled = BigInt.asUintN(128, take(value));
        data[2 * index] = BigInt.asUintN(64, unscaled);
        data[2 * index + 1] = unscaled >> 64n;
      });
      const words = new Uint32Array(data.buffer);
      return lib.makeData({ ...commonOf(values), type: arrowType as never, data: words as never });
    },
  };
}

const encoder = new TextEncoder();
const TEXT = variable(
  (lib) => new lib.Utf8(),
  (value) => encoder.encode(String(value)),
  true,
);
const asNumber = (value: DuckDBValue): number => value as number;
const asBigint = (value: DuckDBValue): bigint => value as bigint;

const KINDS: ReadonlyMap<DuckDBTypeId, ColumnKind> = new Map<DuckDBTypeId, ColumnKind>([
  [
    DuckDBTypeId.BOOLEAN,
    {
      type: (lib) => new lib.Bool(),
      fill: (lib, type, values) =>
        lib.makeData({
          ...commonOf(values),
          type: type as never,
          data: bits(values, (value) => value === true) as never,
        }),
    },
  ],
  [
    DuckDBTypeId.TINYINT,
    fixed(
      (lib) => new lib.Int8(),
      (length) => new Int8Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.SMALLINT,
    fixed(
      (lib) => new lib.Int16(),
      (length) => new Int16Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.INTEGER,
    fixed(
      (lib) => new lib.Int32(),
      (length) => new Int32Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.BIGINT,
    fixed(
      (lib) => new lib.Int64(),
      (length) => new BigInt64Array(length),
      asBigint,
    ),
  ],
  [
    DuckDBTypeId.UTINYINT,
    fixed(
      (lib) => new lib.Uint8(),
      (length) => new Uint8Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.USMALLINT,
    fixed(
      (lib) => new lib.Uint16(),
      (length) => new Uint16Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.UINTEGER,
    fixed(
      (lib) => new lib.Uint32(),
      (length) => new Uint32Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.UBIGINT,
    fixed(
      (lib) => new lib.Uint64(),
      (length) => new BigUint64Array(length),
      asBigint,
    ),
  ],
  [
    DuckDBTypeId.FLOAT,
    fixed(
      (lib) => new lib.Float32(),
      (length) => new Float32Array(length),
      asNumber,
    ),
  ],
  [
    DuckDBTypeId.DOUBLE,
    fixed(
      (lib) => new lib.Float64(),
      (length) => new Float64Array(length),
      asNumber,
    ),
  ],
  [DuckDBTypeId.HUGEINT, decimal(38, 0, asBigint)],
  [
    DuckDBTypeId.DATE,
    fixed(
      (lib) => new lib.DateDay(),
      (length) => new Int32Array(length),
      (value) => (value as DuckDBDateValue).days,
    ),
  ],
  [
    DuckDBTypeId.TIME,
    fixed(
      (lib) => new lib.TimeMicrosecond(),
      (length) => new BigInt64Array(length),
      (value) => (value as DuckDBTimeValue).micros,
    ),
  ],
  [
    DuckDBTypeId.TIMESTAMP,
    fixed(
      (lib) => new lib.TimestampMicrosecond(),
      (length) => new BigInt64Array(length),
      (value) => (value as DuckDBTimestampValue).micros,
    ),
  ],
  [
    DuckDBTypeId.TIMESTAMP_TZ,
    fixed(
      (lib) => new lib.TimestampMicrosecond("UTC"),
      (length) => new BigInt64Array(length),
      (value) => (value as DuckDBTimestampValue).micros,
    ),
  ],
  [
    DuckDBTypeId.BLOB,
    variable(
      (lib) => new lib.Binary(),
      (value) => (value as DuckDBBlobValue).bytes,
    ),
  ],
]);

function kindOf(type: DuckDBType): ColumnKind {
  if (type.typeId === DuckDBTypeId.DECIMAL) {
    const { width, scale } = type as DuckDBDecimalType;
    return decimal(width, scale, (value) => (value as DuckDBDecimalValue).value);
  }
  return KINDS.get(type.typeId) ?? TEXT;
}

/** Turns chunks of rows into the bytes of an Arrow IPC stream. */
export class ArrowStream {
  private readonly kinds: readonly ColumnKind[];

  constructor(
    private readonly names: readonly string[],
    types: readonly DuckDBType[],
  ) {
    this.kinds = types.map(kindOf);
  }

  /** True for columns that the rows must give as text. */
  get asText(): readonly boolean[] {
    return this.kinds.map((kind) => kind.asText === true);
  }

  /**
   * A batch is written by itself and its part of the stream passed on before the next one is read, so that a slow
   * reader holds up the reading: the library's own writers keep everything that nobody has taken yet.
   * @param chunks rows of values in the order of the names.
   */
  async *bytes(chunks: AsyncIterable<readonly (readonly DuckDBValue[])[]>): AsyncGenerator<Uint8Array> {
    const lib = await import("apache-arrow");
    const types = this.kinds.map((kind) => kind.type(lib));
    const schema = new lib.Schema(
      this.names.map((name, index) => new lib.Field(name, types[index] ?? new lib.Utf8(), true)),
    );
    const streamOf = (batches: readonly Arrow.RecordBatch[]): Uint8Array => {
      const writer = new lib.RecordBatchStreamWriter();
      writer.reset(undefined, schema);
      for (const batch of batches) writer.write(batch);
      writer.finish();
      return writer.toUint8Array(true);
    };
    const empty = streamOf([]);
    const head = empty.length - END_BYTES;
    yield empty.subarray(0, head);
    for await (const rows of chunks) {
      const children = this.kinds.map((kind, index) => {
        const values = rows.map((row) => row[index] ?? null);
        return kind.fill(lib, types[index] ?? new lib.Utf8(), values);
      });
      const data = lib.makeData({ type: new lib.Struct(schema.fields), length: rows.length, nullCount: 0, children });
      const stream = streamOf([new lib.RecordBatch(schema, data)]);
      yield stream.subarray(head, stream.length - END_BYTES);
    }
    yield empty.subarray(head);
  }
}

/** The mark at the end of a stream. */
const END_BYTES = 8;
