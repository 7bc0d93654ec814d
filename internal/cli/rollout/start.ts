import { decodeStartReply } from "../../admin/rollout-message.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseSize } from "../../rollout/plan.ts";
import { command } from "../command.ts";
import { readFlag, readListFlag } from "../flag.ts";
import { readCall } from "../job/call.ts";
import { peelCount } from "../job/counts.ts";
import { untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { askAboutRollouts } from "./ask.ts";
import { watchRollout } from "./follow.ts";
import { formatWaves, printRolloutEnd } from "./format.ts";
import { openRollouts } from "./storage.ts";

export const startCommand = command({
  name: "start",
  description: "Run a function on a canary, then wave by wave for as long as it goes well.",
  args: {
    target: {
      type: "positional",
      required: true,
      description: "Which peels: a glob on the peel id, such as 'web-*', or a compound expression",
    },
    function: { type: "positional", required: true, description: "module.function, such as state.apply" },
    args: {
      type: "positional",
      rest: true,
      description: "Its arguments, in their order or as name=value; words behind -- are taken as they are",
    },
    canary: {
      type: "string",
      valueHint: "n|n%",
      default: "1",
      description: "The first wave: so many peels, or such a part of all; 0 for none",
    },
    waves: {
      type: "string",
      valueHint: "n|n%,…",
      default: "25%",
      description: "The waves after it, such as 5%,20%; the last size is taken again until all are done",
    },
    "wave-wait": {
      type: "string",
      valueHint: "duration",
      default: "0",
      description: "Wait so long after each wave before it is checked and the next begins",
    },
    "max-failures": {
      type: "string",
      valueHint: "n|n%",
      default: "0",
      description: "Begin no wave once more peels than this have failed",
    },
    check: {
      type: "string",
      valueHint: "function",
      description: "Run this on the peels of each wave; who fails it has failed: 'service.status name=nginx'",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "60s",
      description: "Of each wave: after this time no peel begins, and what still runs is stopped",
    },
    deadline: {
      type: "string",
      valueHint: "duration",
      default: "24h",
      description: "Begin no wave after this time",
    },
    async: { type: "boolean", description: "Do not wait: print the rollout id" },
    "dry-run": { type: "boolean", description: "Show the waves and who is in them, and start nothing" },
  },
  async run(args, cli) {
    const { check } = args;
    const isDry = args["dry-run"] === true;
    if (isDry && args.async === true) throw new SvcError("usage", "give --async or --dry-run, not both");
    const request: Record<string, Plain> = {
      target: args.target,
      ...readCall(args.function, args.args),
      canary: readSize("--canary", args.canary),
      waves: readListFlag("--waves", args.waves, checkedSize),
      wave_wait: readDuration("--wave-wait", args["wave-wait"]),
      max_failures: readSize("--max-failures", args["max-failures"]),
      timeout: readDuration("--timeout", args.timeout),
      deadline: readDuration("--deadline", args.deadline),
      ...(check === undefined ? {} : { check: readCheck(check) }),
      ...(isDry ? { dry_run: true } : {}),
    };
    await withBus(cli, async (bus) => {
      const { id, waves, max_failures } = await askAboutRollouts(bus, "start", request, decodeStartReply);
      const peels = waves.reduce((sum, wave) => sum + wave.peels.length, 0);
      const size = `${peelCount(peels)} in ${waves.length} waves, at most ${max_failures} may fail`;
      if (id === undefined) {
        await cli.print({ waves, max_failures }, () => formatWaves(waves, cli));
        return cli.say(`${size}; nothing was started`);
      }
      if (args.async === true) {
        await cli.print({ id, waves, max_failures }, () => id);
        return cli.say(`${size}; watch with svc rollout watch ${id}`);
      }
      cli.say(`${id}: ${size}`);
      cli.say(formatWaves(waves, { color: false }));
      const deps = await openRollouts(bus, cli);
      await printRolloutEnd(
        await untilInterrupted(cli, (signal) => watchRollout(deps, id, cli, signal)),
        cli,
      );
    });
  },
});

/** `service.status name=nginx` as a call, checked before anything is sent. */
function readCheck(text: string): { function: string; args: Record<string, Plain> } {
  const [name = "", ...words] = text.trim().split(/\s+/);
  return readFlag("--check", text, () => readCall(name, { words, literal: [] }));
}

function readSize(flag: string, text: string): string {
  return readFlag(flag, text, checkedSize);
}

/** The master reads it again; here it is only told early what is wrong with it. */
function checkedSize(text: string): string {
  parseSize(text);
  return text;
}

function readDuration(flag: string, text: string): string {
  readFlag(flag, text, parseDuration);
  return text;
}
