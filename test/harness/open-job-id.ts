import { keyedId } from "../../internal/base/id.ts";
import { sha256 } from "../../internal/base/sha256.ts";
import type { ActionOf } from "../../internal/fleet/reactor/action-id.ts";

/** The id that anyone could compute for the job of an action, without a key of the masters. */
export function openJobIdOf({ event, rule, index }: ActionOf): string {
  return keyedId("job", event.at, sha256(JSON.stringify([event.id, rule, String(index)])));
}
