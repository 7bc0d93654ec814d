import { SvcError } from "../../../base/errors.ts";
import { displayPeelId, encodePeelId } from "../../../base/names/peel-id.ts";
import { suggestName } from "../../../base/nearest.ts";
import type { Directory, Member } from "./directory.ts";

/**
 * The member with this id, with dots or encoded.
 *
 * @throws SvcError `not_found` with the nearest one, or with the state of an enrollment that is not one of a member
 */
export function memberNamed(
  directory: Pick<Directory, "members" | "memberOf" | "stateOf">,
  id: string,
): { peelId: string; member: Member } {
  const peelId = encodePeelId(id);
  const member = directory.memberOf(peelId);
  if (member !== undefined) return { peelId, member };
  const name = displayPeelId(peelId).slice(0, 255);
  const state = directory.stateOf(peelId);
  if (state !== undefined) {
    throw new SvcError("not_found", `${name} is not a member of the fleet: its enrollment is ${state}`);
  }
  const near = suggestName(name, directory.members().map(displayPeelId));
  throw new SvcError(
    "not_found",
    `the peel ${JSON.stringify(name)} does not exist${near}: see svc peels list`,
  );
}
