/**
 * Random scalar expressions of a wanted type. Every one is total: no input makes it raise an error, so a rule that
 * evaluates it on rows which never stood beside each other in any state of the lake stays right.
 */

import { type Call, type Expression, literal, type SqlType, scalar } from "../ast.js";
import type { Draw } from "./draw.js";
import { isDecimal, LIST, STRUCT, typedLiteral } from "./values.js";

const ORDERED: readonly SqlType[] = ["INTEGER", "BIGINT", "DECIMAL(9,2)", "VARCHAR", "DATE", "TIMESTAMP", "DOUBLE"];

/** `atoms` are what the expression may be built from: columns, or grouping keys and aggregates after GROUP BY. */
export class ExpressionMaker {
  constructor(
    private readonly draw: Draw,
    private readonly atoms: readonly Expression[],
    /** Makes a boolean subquery, where the view may hold one. */
    private readonly subquery: ((atoms: readonly Expression[]) => Expression | null) | null = null,
  ) {}

  make(type: SqlType, depth: number): Expression {
    const own = this.atoms.filter((atom) => atom.type === type);
    if (depth <= 0) return own.length > 0 && this.draw.chance(90) ? this.draw.pick(own) : typedLiteral(this.draw, type);
    const choice = this.draw.integer(0, 99);
    if (own.length > 0 && choice < 45) return this.draw.pick(own);
    if (choice < 52) return typedLiteral(this.draw, type);
    return choice < 68 ? this.common(type, depth - 1) : this.special(type, depth - 1);
  }

  /** An expression of any type that an atom has. */
  any(depth: number): Expression {
    if (this.atoms.length === 0) return this.make(this.draw.pick(["INTEGER", "VARCHAR"]), depth);
    return this.make(this.draw.pick(this.atoms).type, depth);
  }

  /** A condition; it reads at least one atom where there are atoms. */
  condition(depth: number): Expression {
    if (this.subquery !== null && this.draw.chance(35)) {
      const found = this.subquery(this.atoms);
      if (found !== null) return found;
    }
    if (depth > 0 && this.draw.chance(25)) {
      const [a, b] = [this.condition(depth - 1), this.condition(depth - 1)];
      const bool = scalar("BOOLEAN");
      return this.draw.weighted([
        [30, () => bool`(${a} AND ${b})`],
        [50, () => bool`(${a} OR ${b})`],
        [20, () => bool`(NOT (${a}))`],
      ])();
    }
    return this.comparison(depth);
  }

  private comparison(depth: number): Call {
    const bool = scalar("BOOLEAN");
    const left = this.atoms.length > 0 ? this.draw.pick(this.atoms) : this.make("INTEGER", depth);
    const { type } = left;
    // A column against itself says nothing.
    const others = new ExpressionMaker(
      this.draw,
      this.atoms.filter((atom) => !sameColumn(atom, left)),
    );
    const right = () => (this.draw.chance(60) ? typedLiteral(this.draw, type) : others.make(type, depth));
    // Conditions that most rows fail would leave most views empty.
    const options: (readonly [number, () => Call])[] = [
      [12, () => bool`(${left} = ${right()})`],
      [14, () => bool`(${left} <> ${right()})`],
      [10, () => bool`(${left} < ${right()})`],
      [14, () => bool`(${left} >= ${right()})`],
      [10, () => bool`(${left} IN (${right()}, ${right()}))`],
      [8, () => bool`(${left} NOT IN (${right()}, ${right()}))`],
      [5, () => bool`(${left} IS NULL)`],
      [14, () => bool`(${left} IS NOT NULL)`],
      [10, () => bool`(${left} IS DISTINCT FROM ${right()})`],
      [5, () => bool`(${left} IS NOT DISTINCT FROM ${right()})`],
    ];
    if (isOrdered(type)) options.push([8, () => bool`(${left} BETWEEN ${right()} AND ${right()})`]);
    if (type === "VARCHAR") {
      const pattern = literal("VARCHAR", this.draw.pick(["'a%'", "'%b'", "'_'"]));
      options.push([8, () => bool`(${left} LIKE ${pattern})`], [4, () => bool`starts_with(${left}, ${right()})`]);
    }
    if (type === LIST) options.push([10, () => bool`list_contains(${left}, ${this.make("INTEGER", 0)})`]);
    return this.draw.weighted(options)();
  }

  /** Forms that any type has. */
  private common(type: SqlType, depth: number): Expression {
    const [a, b] = [this.make(type, depth), this.make(type, depth)];
    const make = scalar(type, a.exact && b.exact);
    return this.draw.pick([
      () => make`COALESCE(${a}, ${b})`,
      () => make`CASE WHEN ${this.condition(0)} THEN ${a} ELSE ${b} END`,
      () => make`CASE WHEN ${this.condition(0)} THEN ${a} END`,
      () => make`CASE ${this.make("INTEGER", 0)} WHEN 1 THEN ${a} WHEN 2 THEN ${b} END`,
      () => make`NULLIF(${a}, ${b})`,
      () => make`greatest(${a}, ${b})`,
      () => make`if(${this.condition(0)}, ${a}, ${b})`,
    ])();
  }

  private special(type: SqlType, depth: number): Expression {
    const from = (other: SqlType) => this.make(other, depth);
    const make = scalar(type);
    const options = this.specials(type, from, make);
    if (options === null) return this.condition(depth);
    return this.draw.pick(options)();
  }

  private specials(
    type: SqlType,
    from: (type: SqlType) => Expression,
    make: ReturnType<typeof scalar>,
  ): readonly (() => Expression)[] | null {
    switch (type) {
      case "INTEGER":
        return [
          () => make`(${from(type)} % 3)`,
          () => make`CAST(length(${from("VARCHAR")}) AS INTEGER)`,
          () => make`CAST(${from("BIGINT")} % 1000 AS INTEGER)`,
          () => make`CAST(${from("BOOLEAN")} AS INTEGER)`,
          () => make`TRY_CAST(${from("VARCHAR")} AS INTEGER)`,
          () => make`TRY_CAST(${from("DECIMAL(9,2)")} AS INTEGER)`,
          () => make`(${from(STRUCT)}).x`,
          () => make`(${from(LIST)})[1]`,
          () => make`CAST(year(${from("DATE")}) AS INTEGER)`,
          () => make`list_sum(list_transform(${from(LIST)}, lambda e: e % 3))::INTEGER`,
        ];
      case "BIGINT":
        return [
          () => make`(CAST(${from("INTEGER")} AS BIGINT) + ${from("INTEGER")})`,
          () => make`(CAST(${from("INTEGER")} AS BIGINT) - ${from("INTEGER")})`,
          () => make`(CAST(${from("INTEGER")} AS BIGINT) * ${from("INTEGER")})`,
          () => make`(${from(type)} // 3)`,
          () => make`length(${from("VARCHAR")})`,
          () => make`len(${from(LIST)})`,
          () => make`date_diff('day', ${from("DATE")}, ${from("DATE")})`,
          () => make`CAST(${from("HUGEINT")} % 1000003 AS BIGINT)`,
          () => make`day(${from("TIMESTAMP")})`,
        ];
      case "HUGEINT":
        return [
          () => make`(CAST(${from("BIGINT")} AS HUGEINT) + ${from("BIGINT")})`,
          () => make`(CAST(${from("BIGINT")} AS HUGEINT) - ${from("INTEGER")})`,
          () => make`(${from(type)} % 1000003 * 3)`,
        ];
      case "DOUBLE":
        return this.doubles(from);
      case "VARCHAR":
        return [
          () => make`upper(${from(type)})`,
          () => make`(${from(type)} || ${from(type)})`,
          () => make`concat(${from(type)}, '-', ${from("INTEGER")})`,
          () => make`left(${from(type)}, 1)`,
          () => make`reverse(${from(type)})`,
          () => make`trim(${from(type)})`,
          () => make`replace(${from(type)}, 'a', 'z')`,
          () =>
            make`CAST(${from(this.draw.pick(["INTEGER", "BIGINT", "DATE", "TIMESTAMP", "BOOLEAN", LIST]))} AS VARCHAR)`,
          () => make`strftime(${from("TIMESTAMP")}, '%Y-%m')`,
          () => make`(${from(STRUCT)}).y`,
        ];
      case "DATE":
        return [
          () => make`CAST(${from("TIMESTAMP")} AS DATE)`,
          () => make`(${from(type)} + (${from("INTEGER")} % 5))`,
          () => make`CAST(date_trunc('month', ${from(type)}) AS DATE)`,
          () => make`TRY_CAST(${from("VARCHAR")} AS DATE)`,
        ];
      case "TIMESTAMP":
        return [
          () => make`CAST(${from("DATE")} AS TIMESTAMP)`,
          () => make`(${from(type)} + INTERVAL 1 DAY)`,
          () => make`CAST(date_trunc('hour', ${from(type)}) AS TIMESTAMP)`,
        ];
      case "BOOLEAN":
        return null;
      case LIST:
        return [
          () => make`[${from("INTEGER")}, ${from("INTEGER")}]`,
          () => make`list_concat(${from(type)}, ${from(type)})`,
          () => make`list_sort(${from(type)})`,
          () => make`(${from(type)})[1:2]`,
        ];
      case STRUCT:
        return [() => make`{'x': ${from("INTEGER")}, 'y': ${from("VARCHAR")}}`];
      default:
        return isDecimal(type) ? this.decimals(type, from, make) : [() => typedLiteral(this.draw, type)];
    }
  }

  private decimals(type: SqlType, from: (type: SqlType) => Expression, make: ReturnType<typeof scalar>) {
    const result = [
      () => make`CAST((${from("INTEGER")} % 1000) AS ${literal(type, type)})`,
      () => make`(-(${from(type)}))`,
      () => make`abs(${from(type)})`,
    ];
    if (type === "DECIMAL(9,2)") return [...result, () => make`TRY_CAST(${from("VARCHAR")} AS DECIMAL(9,2))`];
    const [a, b] = [from("DECIMAL(9,2)"), from("DECIMAL(9,2)")];
    const named = literal(type, type);
    return [
      ...result,
      () => make`CAST((CAST(${a} AS DECIMAL(18,4)) + ${b}) AS ${named})`,
      () => make`CAST((${a} * ${b}) AS ${named})`,
    ];
  }

  /** Sums of doubles are compared closely, so values that are not multiples of a power of two are marked. */
  private doubles(from: (type: SqlType) => Expression): readonly (() => Expression)[] {
    const rounded = scalar("DOUBLE", false);
    const pair = (make: (a: Expression, b: Expression, call: ReturnType<typeof scalar>) => Expression) => {
      const [a, b] = [from("DOUBLE"), from("DOUBLE")];
      return make(a, b, scalar("DOUBLE", a.exact && b.exact));
    };
    return [
      () => scalar("DOUBLE")`CAST(${from("INTEGER")} AS DOUBLE)`,
      () => pair((a, b, call) => call`(${a} + ${b})`),
      () => pair((a, b, call) => call`(${a} - ${b})`),
      () => pair((a, _, call) => call`(${a} * 0.5)`),
      () => rounded`(${from("DOUBLE")} / 3)`,
      () => rounded`(${from("INTEGER")} / ${from("INTEGER")})`,
      () => rounded`CAST(${from("DECIMAL(9,2)")} AS DOUBLE)`,
      () => rounded`sqrt(abs(${from("DOUBLE")}))`,
    ];
  }
}

function sameColumn(a: Expression, b: Expression): boolean {
  return a === b || (a.kind === "column" && b.kind === "column" && a.name === b.name);
}

/** Types whose MIN, MAX and order are plain. */
export function isOrdered(type: SqlType): boolean {
  return ORDERED.includes(type) || isDecimal(type) || type === "HUGEINT" || type === "BOOLEAN";
}
