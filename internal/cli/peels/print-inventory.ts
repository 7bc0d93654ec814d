import { SvcError } from "../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { suggestName } from "../../base/nearest.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { ansibleInventory, hostVarsOf, usualFacts } from "./ansible.ts";
import { readInventory } from "./read-inventory.ts";

/**
 * Prints an inventory as Ansible asks its scripts for it.
 *
 * @param requested `host`: the variables of this one alone
 * @throws SvcError `not_found` for another host
 */
export async function printInventory(
  cli: Cli,
  requested: { target: string; facts: readonly string[]; host?: string },
): Promise<void> {
  const { target, host } = requested;
  const facts = requested.facts.length === 0 ? usualFacts : requested.facts;
  await withBus(cli, async (bus) => {
    const peels = await readInventory(bus, target, facts);
    if (host === undefined) return cli.print(ansibleInventory(peels), () => "");
    const peelId = encodePeelId(host);
    const id = displayPeelId(peelId);
    const found = peels.find(({ peel_id }) => peel_id === peelId);
    if (found !== undefined) return cli.print(hostVarsOf(found), () => "");
    const near = suggestName(
      id,
      peels.map(({ peel_id }) => displayPeelId(peel_id)),
    );
    throw new SvcError("not_found", `the inventory has no host ${JSON.stringify(id.slice(0, 255))}${near}`);
  });
}
