import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { unpadded } from "../docs/tables.js";
import { kept, prove, size } from "./proof.js";
import { report } from "./report.js";
import { TPCDS } from "./tpcds.js";

const { scale, rounds } = size({ scale: 0.1, rounds: 10 }, { scale: 0.01, rounds: 1 });
const page = new URL("../../docs/tpc.md", import.meta.url);

test(
  `TPC-DS: views of all 99 queries are exact after each of ${rounds} rounds at scale ${scale}`,
  async () => {
    const proof = await prove(TPCDS, { scale, rounds });
    expect(proof.definitions).toHaveLength(99);
    expect(kept(proof, TPCDS).length).toBeGreaterThanOrEqual(85);
    expect(proof.rounds.flatMap((round) => round.wrong)).toEqual([]);
    const text = report(proof.definitions, TPCDS);
    if (process.env["IVM_WRITE_DOCS"] !== undefined) await writeFile(page, text);
    expect(unpadded(await readFile(page, "utf8")), "docs/tpc.md; `npm run tpc -- --write` writes it").toBe(
      unpadded(text),
    );
  },
  5 * 60 * 60_000,
);
