import type { ListedPeel } from "../../api/mod.ts";

/** The bytes of a target that masters take; all ids are ASCII. */
const maxTarget = 4_096;

/** The target that means exactly these peels; `undefined` when they are too many to be named in one. */
export function chosenTarget(peels: readonly Pick<ListedPeel, "id">[]): string | undefined {
  const target = `L@${peels.map(({ id }) => id).join(",")}`;
  return target.length <= maxTarget ? target : undefined;
}
