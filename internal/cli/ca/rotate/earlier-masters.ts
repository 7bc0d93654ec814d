import { describeError, SvcError } from "../../../base/errors.ts";
import type { Cli } from "../../../program/command-line/mod.ts";
import { type MasterKeys, readMasterKeys } from "../../keys/fleet-keys.ts";
import { withBus } from "../../operator.ts";

/**
 * Why a rotation must not start while these masters run; `undefined` when it may. A master of an earlier version,
 * which reports no keys, knows one root only: it writes the document with both roots again without the next one.
 */
export function earlierMastersProblem(
  masters: readonly Pick<MasterKeys, "name" | "command_keys">[],
): SvcError | undefined {
  const earlier = masters.filter(({ command_keys }) => command_keys.length === 0).map(({ name }) => name);
  if (earlier.length === 0) return undefined;
  const [subject, verb] = earlier.length === 1 ? ["master", "has"] : ["masters", "have"];
  return new SvcError(
    "conflict",
    `running ${subject} ${earlier.join(", ")} ${verb} an earlier version, which removes the next root from the document of the fleet: upgrade all masters, or use --force`,
  );
}

/**
 * Asks the fleet for such masters. The root key may be kept where the bus cannot be reached, so that an answer is
 * not required.
 *
 * @returns why the fleet could not be asked; `undefined` when it was
 * @throws SvcError `conflict` naming them, unless it is forced
 */
export async function checkEarlierMasters(force: boolean, cli: Cli): Promise<string | undefined> {
  let masters: MasterKeys[];
  try {
    masters = await withBus(cli, readMasterKeys);
  } catch (thrown) {
    return describeError(thrown);
  }
  const problem = earlierMastersProblem(masters);
  if (problem === undefined) return undefined;
  if (!force) throw problem;
  cli.warn(`forced: ${problem.message}`);
  return undefined;
}
