import { join } from "node:path";
import { parseDuration } from "../../../base/duration.ts";
import { describeError, SvcError } from "../../../base/errors.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { clusterOperations } from "../../../fleet/cluster/mod.ts";
import {
  abortRotation,
  activateRotation,
  finishRotation,
  type Rotating,
  readRotation,
  startRotation,
} from "../../../identity/ca/mod.ts";
import {
  type Cli,
  command,
  Exit,
  flag,
  formatFields,
  readFlag,
  value,
} from "../../../program/command-line/mod.ts";
import { withBus } from "../../operator.ts";
import { NoMaster, request } from "../../request.ts";
import { dirArg } from "../args.ts";
import { formatSurvey } from "./format.ts";
import { updatePeelFile } from "./peel-file.ts";
import { surveyTrust, type TrustSurvey } from "./survey.ts";

const maxNamed = 10;
/** A master queries every server twice for what it shows about sites. */
const timeoutMs = 10_000;
const forceArg = flag("Continue although the check of the fleet fails");

const startCommand = command({
  name: "start",
  description:
    "Make the next root and its intermediate in next/ of the CA directory. Peels learn to trust it in addition. Needs root.key.",
  examples: ["svc ca rotate start"],
  args: {
    dir: dirArg,
    "root-validity": value("duration", "Validity of the next root; its intermediate is valid for 5 years", {
      default: "87600h",
    }),
    "without-root-key": flag(
      "The key of the current root is lost: peels that are off until activate need a visit",
    ),
  },
  async run(args, cli) {
    const { dir, "without-root-key": withoutRootKey = false } = args;
    const rootValidityMs = readFlag("--root-validity", args["root-validity"], parseDuration);
    const { clock, random } = cli;
    const rotating = await startRotation({ dir, rootValidityMs, withoutRootKey, clock, random });
    await report(dir, rotating, cli);
    cli.say(
      `Copy ${join(dir, "next")} to the CA directory of every other master, without root.key. Masters notice it within a minute. Then run svc ca rotate status, and svc ca rotate activate when no peel lacks the next root.`,
    );
  },
});

const activateCommand = command({
  name: "activate",
  description:
    "Let masters issue from the next authority. Refused while a running peel or master does not know the next root.",
  examples: ["svc ca rotate activate"],
  args: { dir: dirArg, force: forceArg },
  async run({ dir, force = false }, cli) {
    const { current, rotation } = await readRotation(dir);
    if (rotation?.phase === "start") await checkFleet("activate", { current, ...rotation }, force, cli);
    await report(dir, await activateRotation(dir), cli);
    cli.say(
      `Copy ${join(dir, "next")} to the other masters again. Masters with embedded_bus issue the certificate of their bus again and reload it. For another bus server, run svc ca issue nats-server --dir ${dir} --force with its names and its directory as --out, then nats-server --signal reload. Then run svc ca rotate finish.`,
    );
  },
});

const finishCommand = command({
  name: "finish",
  description:
    "Drop the current root: the next one takes its place. This cannot be undone. Refused while a running peel or master is not ready.",
  examples: ["svc ca rotate finish"],
  args: { dir: dirArg, force: forceArg },
  async run({ dir, force = false }, cli) {
    const { current, rotation } = await readRotation(dir);
    if (rotation?.phase === "activate") await checkFleet("finish", { current, ...rotation }, force, cli);
    const root = await finishRotation(dir);
    const file = updatePeelFile(dir, [root.pin]);
    await cli.print({ dir, phase: "none", current: root.pin }, () =>
      formatFields([
        ["Phase", "none: the rotation is finished"],
        ["Root", root.pin],
      ]),
    );
    sayPeelFile(file, cli);
    cli.say(
      `Copy ${dir} to the other masters, without root.key, and remove next/ there. New peels need the new pin as enroll_ca_pin; copies of nats-ca.crt for operators need the new root.`,
    );
  },
});

const abortCommand = command({
  name: "abort",
  description: "Go back to the current root, before finish. The next authority is removed.",
  examples: ["svc ca rotate abort"],
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const { root, ran } = await abortRotation(dir);
    const file = updatePeelFile(dir, [root.pin]);
    await cli.print({ dir, phase: "none", current: root.pin }, () =>
      formatFields([
        ["Phase", ran ? "none: the rotation was aborted" : "none: no rotation is in progress"],
        ["Root", root.pin],
      ]),
    );
    sayPeelFile(file, cli);
    if (ran) cli.say("Remove next/ from the CA directories of the other masters.");
  },
});

const statusCommand = command({
  name: "status",
  description: "Show the phase, how many peels trust which root, and which lack the next one.",
  examples: ["svc ca rotate status"],
  args: { dir: dirArg },
  async run({ dir }, cli) {
    const { current, rotation } = await readRotation(dir);
    if (rotation === undefined) {
      return cli.print({ dir, phase: "none", current: current.pin }, () =>
        formatFields([
          ["Phase", "none: no rotation runs"],
          ["Root", current.pin],
        ]),
      );
    }
    const { phase, next } = rotation;
    const shown = { dir, phase, current: current.pin, next: next.pin };
    let survey: TrustSurvey;
    try {
      survey = await surveyFleet({ current, ...rotation }, cli);
    } catch (thrown) {
      await cli.print(shown, () => formatRotating({ current, ...rotation }));
      cli.warn(`the fleet is not shown: ${describeError(thrown)}`);
      throw new Exit(1);
    }
    await cli.print({ ...shown, ...survey }, () =>
      formatSurvey(formatRotating({ current, ...rotation }), survey, cli),
    );
  },
});

/** The commands of `svc ca rotate`. */
export const rotateCommands = [startCommand, statusCommand, activateCommand, finishCommand, abortCommand];

async function report(dir: string, rotating: Rotating, cli: Cli): Promise<void> {
  const { phase, current, next } = rotating;
  const file = updatePeelFile(dir, [current.pin, next.pin]);
  await cli.print({ dir, phase, current: current.pin, next: next.pin }, () => formatRotating(rotating));
  sayPeelFile(file, cli);
}

function formatRotating({ phase, current, next }: Rotating): string {
  return formatFields([
    ["Phase", phase],
    ["Current root", current.pin],
    ["Next root", next.pin],
  ]);
}

function sayPeelFile(file: string | undefined, cli: Pick<Cli, "say">): void {
  if (file !== undefined)
    cli.say(`${file} has the pins of this phase. Install it on hosts that join from now on.`);
}

const surveyFleet = ({ current, next }: Rotating, cli: Cli): Promise<TrustSurvey> =>
  withBus(cli, (bus) =>
    surveyTrust(bus, { current: current.pin, next }, async () => {
      try {
        return (await request(bus, clusterOperations.showCluster, {}, { timeoutMs })).sites ?? [];
      } catch (thrown) {
        // Masters of a version before clusters have no sites.
        if (thrown instanceof NoMaster) return [];
        throw thrown;
      }
    }),
  );

/**
 * Refuses a step that would cut off a running peel, or that a running master has not prepared.
 *
 * @throws SvcError `conflict` naming them, `unavailable` when the fleet cannot be asked
 */
async function checkFleet(
  step: "activate" | "finish",
  rotating: Rotating,
  force: boolean,
  cli: Cli,
): Promise<void> {
  let problem: SvcError | undefined;
  try {
    problem = problemOf(step, await surveyFleet(rotating, cli));
  } catch (thrown) {
    problem = new SvcError(
      "unavailable",
      `the fleet cannot be asked which roots it trusts: ${describeError(thrown)}; name it with --config, or use --force`,
    );
  }
  if (problem === undefined) return;
  if (!force) throw problem;
  cli.warn(`forced: ${problem.message}`);
}

function problemOf(
  step: "activate" | "finish",
  { masters, sites, lacking }: TrustSurvey,
): SvcError | undefined {
  const late = masters.filter(
    ({ phase, knows_next }) => !knows_next || (step === "finish" && phase === "start"),
  );
  if (late.length > 0) {
    return new SvcError(
      "conflict",
      `${countOf(late.length, "running master")} ${step === "finish" ? "did not activate the next root" : "did not notice the next root"} yet: ${named(late.map(({ name }) => name))}; copy next/ there, wait a minute, and try again, or use --force`,
    );
  }
  const alive = lacking.filter((peel) => peel.alive);
  // Until then it is served through the certificate that leads from one root to the other.
  if (alive.length === 0 && (step === "activate" || sites.length === 0)) return undefined;
  if (alive.length === 0) {
    return new SvcError(
      "conflict",
      `${countOf(sites.length, "site")} without a certificate of the next root: ${named(sites.map(({ site }) => site))}; see svc ca rotate status, or use --force`,
    );
  }
  return new SvcError(
    "conflict",
    `${countOf(alive.length, "running peel")} without the next root: ${named(alive.map(({ peel_id }) => displayPeelId(peel_id)))}; see svc ca rotate status, or use --force`,
  );
}

const countOf = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

function named(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  return `${names.slice(0, maxNamed).join(", ")}${more}`;
}
