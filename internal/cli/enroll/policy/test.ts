import { SvcError } from "../../../base/errors.ts";
import { atLine } from "../../../base/place.ts";
import { createWebhookAddresses } from "../../../base/webhook/addresses.ts";
import { addressesOf } from "../../../base/webhook/addresses-of.ts";
import { policyOperations, type Tried, type Verdict } from "../../../fleet/policy/mod.ts";
import { evidenceTypes } from "../../../identity/evidence/mod.ts";
import {
  type Cli,
  choice,
  command,
  flag,
  formatTable,
  type TableStyle,
  value,
  word,
} from "../../../program/command-line/mod.ts";
import { withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { formatLabels } from "./format-labels.ts";
import { readHost } from "./read-host.ts";

export const testCommand = command({
  name: "test",
  description: "Say which rule of the policy would decide about a host, and why.",
  examples: [
    "svc enroll policy test --peel web-1.example.com --address 10.20.0.7",
    "svc enroll policy test enroll-policy.yaml --peel web-1.example.com --evidence tpm --run",
  ],
  args: {
    file: word("A policy file, which is read here (default: the policy in force, which a master tells)", {
      required: false,
    }),
    peel: value("peel id", "Peel id of the host", { required: true }),
    address: value("ip", "Address from which it asks"),
    trust: choice(["ok", "unknown"], "Whether it trusts the root of this fleet, or did not say", {
      default: "ok",
    }),
    evidence: choice(evidenceTypes, "What it proves in addition to its key"),
    fields: value("json", "The fields of that evidence, as JSON"),
    run: flag("With FILE: run the program or call the webhook that would decide, and show its answer"),
    "webhook-allow": value(
      "host,...",
      "With --run: hosts and addresses that may be called, as enroll.policy_webhook_allow",
    ),
  },
  async run({ file, run, ...args }, cli) {
    const host = readHost(args);
    if (file === undefined) {
      if (run === true) throw new SvcError("usage", "--run is for a FILE: a master runs nothing for a test");
      return withBus(cli, async (bus) => {
        const { master, problem, ...verdict } = await request(bus, policyOperations.testPolicy, host);
        await show(verdict, cli);
        if (problem !== undefined) cli.say(`the policy file of ${master} cannot be used: ${problem}`);
      });
    }
    const { readApplicant, tryPolicy } = await import("../../../fleet/policy/mod.ts");
    const allow = (args["webhook-allow"] ?? "").split(",").filter((one) => one !== "");
    const running = {
      clock: cli.clock,
      signal: new AbortController().signal,
      webhook: { fetch, lookup: addressesOf, addresses: createWebhookAddresses(allow) },
    };
    const tried = await tryPolicy(file, readApplicant(host), run === true ? running : undefined);
    await show({ file, ...tried }, cli);
  },
});

async function show(shown: Verdict & { file: string; answer?: Tried }, cli: Cli): Promise<void> {
  await cli.print(shown, () => [formatVerdict(shown, cli), ...verdictLines(shown)].join("\n"));
}

/** What was asked for: it goes where the table goes, also into a file. */
function verdictLines({ rule, decides, labels, answer }: Verdict & { answer?: Tried }): string[] {
  const verdict =
    rule === undefined
      ? "no rule matches: the host waits for an operator"
      : `${rule} decides: ${decides}; labels: ${formatLabels(labels)}`;
  if (answer === undefined) return [verdict];
  const { decide, failure, reason } = answer;
  const why = failure?.reason ?? reason;
  const because = why === undefined ? "" : `; ${why}`;
  return [verdict, `answer: ${decide}; labels: ${formatLabels(answer.labels)}${because}`];
}

/** What each rule says of a host, and why. */
export function formatVerdict(
  { file, rules }: Pick<Verdict, "rules"> & { file: string },
  style: TableStyle,
): string {
  return formatTable(
    { RULE: "name", RESULT: "word", WHY: "prose", AT: "prose" },
    rules.map((one) => [one.rule, one.result, one.why, atLine(file, one.line)]),
    style,
  );
}
