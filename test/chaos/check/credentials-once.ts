import { type Check, callsOf, isAcknowledged } from "../history.ts";

/** Credentials leave once for each enrollment. */
export const checkCredentialsOnce: Check = (history) => {
  const issued = Map.groupBy(
    callsOf(history, "credentials").filter(isAcknowledged),
    ({ enrollment }) => enrollment ?? "",
  );
  return [...issued].flatMap(([id, calls]) => {
    if (calls.length < 2) return [];
    const masters = calls.map(({ master }) => master).join(", ");
    const text = `${id} had its credentials issued ${calls.length} times: by ${masters}`;
    return [{ invariant: "credentials once", at: calls[0]?.at ?? 0, text }];
  });
};
