import { displayPeelId } from "../../base/names/peel-id.ts";
import { command, Exit, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { judgeWitnesses } from "./judge.ts";
import { readWholeChain } from "./read-chain.ts";
import { queryWitnesses } from "./witness.ts";

export const verifyCommand = command({
  name: "verify",
  description: "Verify the whole audit, and compare it with what peels remember of it.",
  examples: ["svc audit verify", "svc audit verify --witness '*'"],
  args: {
    witness: value("target", "Compare with the peels that this target selects", { ids: "members" }),
  },
  run: ({ witness }, cli) =>
    withBus(cli, async (bus) => {
      // Before the chain is read: what they saw must be in it.
      const requested = witness === undefined ? undefined : await queryWitnesses(bus, witness);
      const chain = await readWholeChain(bus, requested?.flatMap(({ heads }) => heads) ?? []);
      const witnesses = requested?.map((one) => judgeWitnesses(one, chain));
      const { problems, found, count, first, last, firstAt } = chain;
      const result = {
        entries: count,
        first,
        last,
        found,
        problems,
        ...(witnesses === undefined ? {} : { witnesses }),
      };
      await cli.print(result, () =>
        [
          `${count} entries, ${first} to ${last}`,
          ...(problems.length === 0 ? [] : [formatProblems(problems, cli)]),
          ...(witnesses === undefined ? [] : [formatWitnesses(witnesses, cli)]),
        ].join("\n\n"),
      );
      if (first > 1 && count > 0)
        cli.say(
          `the audit begins with entry ${first} of ${firstAt}: older ones expired, or were removed before any master or peel that was asked saw them`,
        );
      if (found > problems.length) cli.say(`${found - problems.length} more problems are not listed`);
      const agree = witnesses?.filter(({ heads, problem }) => heads > 0 && problem === undefined).length ?? 0;
      const isContradicted = witnesses?.some(({ problem }) => problem !== undefined) === true;
      if (witnesses !== undefined && agree === 0) cli.say("no peel confirms the audit");
      if (witnesses === undefined) cli.say("not compared with any peel: give --witness TARGET");
      if (found > 0 || isContradicted || (witnesses !== undefined && agree === 0)) throw new Exit(1);
    }),
});

/** What is wrong with the chain, by its entries. */
export function formatProblems(
  problems: readonly { seq: number; problem: string }[],
  style: TableStyle,
): string {
  return formatTable(
    { SEQ: "word", PROBLEM: "prose" },
    problems.map(({ seq, problem }) => [String(seq), problem]),
    style,
  );
}

/** What peels remember of the chain, and whether it agrees. */
export function formatWitnesses(
  witnesses: readonly ReturnType<typeof judgeWitnesses>[],
  style: TableStyle,
): string {
  return formatTable(
    { PEEL: "text", REMEMBERS: "word", NEWEST: "word", RESULT: "prose" },
    witnesses.map(({ peel, heads, newest, problem }) => [
      displayPeelId(peel),
      String(heads),
      newest === undefined ? "-" : String(newest),
      problem ?? "agrees",
    ]),
    style,
  );
}
