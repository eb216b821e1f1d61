import { expect, test } from "vitest";
import { kept, prove, size } from "./proof.js";
import { TPCH } from "./tpch.js";

const { scale, rounds } = size({ scale: 0.1, rounds: 10 }, { scale: 0.1, rounds: 3 });

test(
  `TPC-H: views of all 22 queries are exact after each of ${rounds} rounds at scale ${scale}`,
  async () => {
    const proof = await prove(TPCH, { scale, rounds });
    expect(proof.definitions).toHaveLength(22);
    expect(kept(proof, TPCH).length).toBeGreaterThanOrEqual(21);
    expect(proof.rounds.flatMap((round) => round.wrong)).toEqual([]);
    // Tests that test nothing pass as well.
    expect(
      proof.rounds.flatMap((round) => round.views).filter((view) => view.strategy === "incremental").length,
    ).toBeGreaterThan(15 * rounds);
  },
  3 * 60 * 60_000,
);
