import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { checkSource, checkTag, eventOperations, type ShownEvent } from "../../fleet/events/mod.ts";
import { type Cli, Exit, readFlag } from "../../program/command-line/mod.ts";
import { followEndless } from "../feed/follow.ts";
import { checkEndless } from "../feed/lines.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { readPastTime } from "../past-time.ts";
import { createPrinter } from "./print.ts";
import { type Choice, readEvents } from "./read.ts";

/**
 * Prints events.
 *
 * @param follow whether to continue with what happens from now on
 * @throws SvcError `usage` for what cannot be meant, before a master is requested; as the masters answer
 * @throws Exit 130 after Ctrl-C
 */
export async function printEvents(requested: Choice, follow: boolean, cli: Cli): Promise<void> {
  const choice = readChoice(requested, cli.clock.now());
  if (follow) checkEndless(cli);
  try {
    await withBus(cli, (bus) =>
      untilInterrupted(cli, async (signal) => {
        const { take, end } = createPrinter(cli, signal);
        if (!follow) {
          await readEvents(bus, choice, take, signal);
          return end();
        }
        const takeOne = (event: unknown) => take([event as ShownEvent]);
        await followEndless(bus, eventOperations.streamEvents, choice, takeOne, { signal, say: cli.say });
      }),
    );
  } catch (thrown) {
    if (!(thrown instanceof Interrupted)) throw thrown;
    throw new Exit(interruptedExit);
  }
}

/** @param now milliseconds since the Unix epoch @throws SvcError `usage` */
function readChoice({ tag, source, since }: Choice, now: number): Choice {
  const at = readPastTime("--since", since, now);
  return {
    ...defined({
      tag: tag === undefined ? undefined : readFlag("--tag", encodePeelId(tag), checkTag),
      source: source === undefined ? undefined : readFlag("--source", source, checkSource),
    }),
    // A master counts a duration back from its own clock, which is that of the events.
    since: isDuration(since) ? since : at,
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
