import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { type ReactorAction, reactorSubject } from "../../bus/subjects.ts";
import type { Cli } from "../../program/command-line/command.ts";
import { askMasters } from "../ask-masters.ts";

/**
 * Asks the master that reacts.
 *
 * @throws SvcError what it answered, or `unavailable` when no master reacts
 */
export async function askReactor<T>(
  bus: Bus,
  action: ReactorAction,
  request: Readonly<Record<string, Plain>>,
  read: (reply: Uint8Array) => T,
): Promise<T> {
  const answer = await askMasters(bus, reactorSubject(action), request, read);
  if (answer !== undefined) return answer;
  throw new SvcError(
    "unavailable",
    "no master runs the reactor: start svc-master with reactor.enabled; after one was lost another takes over within 20 s",
  );
}

/** Says on standard error what is wrong with the rule files, if anything is. */
export function sayProblem(
  cli: Pick<Cli, "say">,
  { master, problem }: { master: string; problem?: string | undefined },
): void {
  if (problem === undefined) return;
  cli.say(`the rules on ${master} are the last good ones, as the files are not: ${problem}`);
}
