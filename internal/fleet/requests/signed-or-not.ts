import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { isEnvelope, openRequest } from "../../wire/signed-request.ts";
import type { OperatorCaller } from "../operation/mod.ts";
import { type RequestJudge, unsigned } from "./door.ts";
import { type OperatorRequest, readMap } from "./listen.ts";

/**
 * Verifies a request that is signed, and refuses one that is not where each must be.
 *
 * @returns the decoded request, and who signed it
 * @throws SvcError `unauthorized`
 */
export async function signedOrNot(
  { data, subject, user, sender, map }: Pick<OperatorRequest, "data" | "subject" | "user" | "sender" | "map">,
  changes: boolean,
  requests: RequestJudge | undefined,
): Promise<Pick<OperatorRequest, "map"> & { caller?: OperatorCaller }> {
  if (!isEnvelope(map)) {
    requests?.onUnsigned?.(subject, map?.operator);
    if (requests?.required === true) throw unsigned(map?.operator);
    return defined({ map });
  }
  if (requests === undefined) {
    throw new SvcError("unauthorized", "this master cannot verify signed requests: its registry is not read");
  }
  if (user !== undefined) assertSender(data, user);
  const { body, caller } = await requests.open(data, subject, changes, sender);
  return { ...readMap(body), caller };
}

/** Refuses a signature of another key than that of the bus user who sent it. @throws SvcError `unauthorized` */
function assertSender(envelope: Uint8Array, user: string): void {
  const { operator, key } = openRequest(envelope);
  if (key === user) return;
  throw new SvcError(
    "unauthorized",
    `the request of ${operator} is refused: it is signed with another key than the bus user who sent it has: connect with the operator file that signs, without master.creds_file`,
  );
}
