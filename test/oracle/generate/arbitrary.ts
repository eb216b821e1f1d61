/** The scenarios as a fast-check arbitrary: drawn from its random numbers, shrunk along their structure. */

import { Arbitrary, type Random, Stream, Value } from "fast-check";
import type { Scenario } from "../scenario.js";
import { smaller } from "../shrink/scenario.js";
import { Draw } from "./draw.js";
import { makeScenario } from "./scenario.js";

class ScenarioArbitrary extends Arbitrary<Scenario> {
  override generate(random: Random): Value<Scenario> {
    return new Value(makeScenario(new Draw(random)), undefined);
  }

  override canShrinkWithoutContext(_value: unknown): _value is Scenario {
    return false;
  }

  override shrink(value: Scenario): Stream<Value<Scenario>> {
    return new Stream(smaller(value)).map((scenario) => new Value(scenario, undefined));
  }
}

export const scenarios = (): Arbitrary<Scenario> => new ScenarioArbitrary();
