import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { type Candidate, chooseOne, isShortId, nounOf, type ShortKind } from "./choose.ts";
import { readCandidates } from "./read-candidates.ts";

/**
 * The whole id of what an operator named, who may give its beginning. It is looked up before any request, and
 * printed on standard error, so that a master decides on, records and signs whole ids only, and what appears
 * meanwhile is never meant.
 *
 * @param text a whole id, or what is not the beginning of one, stays as it is without a look
 * @param candidatesOf lists what begins so; the masters unless given
 * @throws SvcError `not_found` when none begins so, `conflict` with the candidates when several do, `forbidden`
 *   without the right to list them
 */
export async function fullId<Kind extends ShortKind>(
  kind: Kind,
  text: string,
  bus: Bus,
  cli: Pick<Cli, "say">,
  candidatesOf: (bus: Bus, kind: Kind, beginning: string) => Promise<Candidate[]> = readCandidates,
): Promise<string> {
  if (!isShortId(kind, text)) return text;
  const candidates = await candidatesOf(bus, kind, text).catch((thrown) => {
    if (!(thrown instanceof SvcError)) throw thrown;
    throw new SvcError(thrown.kind, `${text} cannot be looked up, give the whole id: ${thrown.message}`, {
      cause: thrown,
    });
  });
  if (candidates.some(({ name }) => name === text)) return text;
  const { id } = chooseOne(nounOf(kind), text, candidates);
  cli.say(`${text} is ${id}`);
  return id;
}
