import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { checkSource, checkTag } from "../../fleet/events/mod.ts";
import { type Cli, Exit, readFlag } from "../../program/command-line/mod.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { readPastTime } from "../past-time.ts";
import { createPrinter } from "./print.ts";
import { type Choice, readEvents } from "./read.ts";

/**
 * Prints events.
 *
 * @throws SvcError `usage` for what cannot be meant, before a master is asked; as the masters answer
 * @throws Exit 130 after Ctrl-C
 */
export async function printEvents(requested: Choice, cli: Cli): Promise<void> {
  const choice = readChoice(requested, cli.clock.now());
  const printer = createPrinter(cli, choice.follow);
  try {
    await withBus(cli, (bus) =>
      untilInterrupted(cli, (signal) => readEvents(bus, choice, printer.take, { signal, say: cli.say })),
    );
  } catch (thrown) {
    if (!(thrown instanceof Interrupted)) throw thrown;
    throw new Exit(interruptedExit);
  }
  await printer.end();
}

/** @param now milliseconds since the Unix epoch @throws SvcError `usage` */
function readChoice({ tag, source, since, follow }: Choice, now: number): Choice {
  const at = readPastTime("--since", since, now);
  return {
    ...defined({
      tag: tag === undefined ? undefined : readFlag("--tag", tag, checkTag),
      source: source === undefined ? undefined : readFlag("--source", source, checkSource),
    }),
    // A master counts a duration back from its own clock, which is that of the events.
    since: isDuration(since) ? since : at,
    follow,
  };
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch {
    return false;
  }
}
