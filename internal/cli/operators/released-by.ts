import type { Bus } from "../../bus/connection/mod.ts";
import { releaseOperations } from "../../fleet/releases/mod.ts";
import type { OperatorRecord } from "../../wire/operator-record.ts";
import { type AnswerTo, request } from "../request.ts";

/**
 * What stays released of an operator who is disabled: the newest versions that masters have from this operator. Without
 * them the state files of an environment would no longer be released, and with more a thief of the key could release.
 */
export async function releasedBy(
  bus: Bus,
  { name, publicKey }: Pick<OperatorRecord, "name" | "publicKey">,
): Promise<Pick<OperatorRecord, "released">> {
  const { environments } = await request(bus, releaseOperations.listReleases, {});
  return releasedOf(environments, { name, publicKey });
}

/** The same, from what masters have. */
export function releasedOf(
  environments: AnswerTo<typeof releaseOperations.listReleases>["environments"],
  { name, publicKey }: Pick<OperatorRecord, "name" | "publicKey">,
): Pick<OperatorRecord, "released"> {
  const own = environments.flatMap(({ environment, newest, before }) => {
    // The newest one comes first.
    const found = [newest, before].find((one) => one?.operator === name && one.key === publicKey);
    return found === undefined ? [] : [[environment, found.version] as const];
  });
  return own.length === 0 ? {} : { released: Object.fromEntries(own) };
}
