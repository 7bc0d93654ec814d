import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { readList, storedCandidates } from "../enroll/read-list.ts";
import { chooseEnrollment, isEnrollmentId, type Wanted } from "./choose-enrollment.ts";
import { fullId } from "./full-id.ts";

/**
 * The whole id of the enrollment that an operator named: by its id, the beginning of it, the id of its peel, or the
 * name of its host. It is looked up before any request and printed on standard error, so that a master decides on,
 * records and signs whole ids only.
 *
 * @param isDirect whether storage is read, without a master
 * @throws SvcError `not_found` for none; `conflict` for several, with their list; `forbidden` without the right to
 *   list enrollments
 */
export async function enrollmentId(
  text: string,
  bus: Bus,
  cli: Pick<Cli, "say">,
  { wanted, isDirect = false }: { wanted?: Wanted; isDirect?: boolean } = {},
): Promise<string> {
  if (isEnrollmentId(text)) return fullId("enr", text, bus, cli, isDirect ? storedCandidates : undefined);
  const { found } = await readList(bus, "all", isDirect).catch((thrown) => {
    if (!(thrown instanceof SvcError) || thrown.kind !== "forbidden") throw thrown;
    throw new SvcError(
      "forbidden",
      `${text} cannot be looked up, give the id of the enrollment: ${thrown.message}`,
      { cause: thrown },
    );
  });
  const { id, peel_id } = chooseEnrollment(text, found, wanted);
  cli.say(`${text} is ${id} (${displayPeelId(peel_id)})`);
  return id;
}
