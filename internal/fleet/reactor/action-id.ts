import { keyedId } from "../../base/id.ts";
import type { RecordMac } from "../../identity/mod.ts";
import type { Event } from "./events/mod.ts";

/** One action of one rule for one event. */
export interface ActionOf {
  event: Pick<Event, "id" | "at">;
  rule: string;
  /** Its index among the actions of the rule. */
  index: number;
}

/**
 * The id of the job of an action: the same on every master and for every redelivery of the event. A peel
 * chooses the id of its event and can store jobs under ids that it knows, so it must not know this one.
 */
export function jobIdOf(mac: RecordMac, { event, rule, index }: ActionOf): string {
  return keyedId("job", event.at, mac("reactor job", [event.id, rule, index]));
}

/** The idempotency key of what an action sends, which no peel knows either. */
export function actionKeyOf(mac: RecordMac, action: ActionOf): string {
  return jobIdOf(mac, action).slice("job-".length);
}
