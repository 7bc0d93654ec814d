import type { ServerInfo } from "nats";
import type * as v from "valibot";
import type { Bus } from "../../internal/bus/mod.ts";
import * as approvals from "../../internal/fleet/approvals/operations.ts";
import * as audit from "../../internal/fleet/audit/operations.ts";
import * as upgrade from "../../internal/fleet/binaries/operations.ts";
import * as bootstrap from "../../internal/fleet/bootstrap/operations.ts";
import * as cluster from "../../internal/fleet/cluster/operations.ts";
import * as compliance from "../../internal/fleet/compliance/operations.ts";
import * as decisions from "../../internal/fleet/decisions/operations.ts";
import * as enrollment from "../../internal/fleet/enrollment/operations.ts";
import * as events from "../../internal/fleet/events/operations.ts";
import * as expected from "../../internal/fleet/expected/operations.ts";
import * as exported from "../../internal/fleet/exports/operations.ts";
import * as jobs from "../../internal/fleet/jobs/operations.ts";
import * as joinTokens from "../../internal/fleet/join-tokens/operations.ts";
import * as keys from "../../internal/fleet/keys/operations.ts";
import * as masters from "../../internal/fleet/masters/operations.ts";
import type { Operation } from "../../internal/fleet/operation/operation.ts";
import * as operators from "../../internal/fleet/operators/operations.ts";
import type { BusBinding } from "../../internal/fleet/over-bus/bind.ts";
import * as overBus from "../../internal/fleet/over-bus/mod.ts";
import * as peels from "../../internal/fleet/peels/mod.ts";
import * as policy from "../../internal/fleet/policy/operations.ts";
import * as reactor from "../../internal/fleet/reactor/operations.ts";
import * as roles from "../../internal/fleet/roles/operations.ts";
import * as rollout from "../../internal/fleet/rollout/operations.ts";
import * as sessions from "../../internal/fleet/sessions/operations.ts";
import * as settings from "../../internal/fleet/settings/operations.ts";
import * as sites from "../../internal/fleet/sites/operations.ts";
import * as targeting from "../../internal/fleet/targeting/operations.ts";
import * as tokens from "../../internal/fleet/tokens/operations.ts";
import * as http from "../../internal/master/doors/http/mod.ts";
import { manualClock } from "./clock.ts";
import { joinedRooms } from "./joined-rooms.ts";
import { recordingLog } from "./log.ts";

// Every operation and every door. What a room of doors exports by the names of its kind is found here: a new one is
// tested with the others before anyone thinks of it.

export type AnyOperation = Operation<never, never, v.GenericSchema>;
export type AnyBinding = BusBinding<never, never, never, never>;

export const operations = [
  approvals,
  audit,
  bootstrap,
  cluster,
  sites,
  compliance,
  decisions,
  enrollment,
  events,
  expected,
  exported,
  jobs,
  joinTokens,
  keys,
  masters,
  operators,
  peels,
  policy,
  reactor,
  roles,
  rollout,
  sessions,
  settings,
  targeting,
  tokens,
  upgrade,
]
  .flatMap((room): unknown[] => Object.values(room))
  .filter((value): value is AnyOperation => Object.hasOwn(Object(value), "touches"));
export const operationOf = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} is in no room`);
  return found;
};

export const clock = manualClock();
export const log = recordingLog();

/** Dependencies that nothing may use: the operations do not run. */
const none = new Proxy(() => none, { get: (_, name) => (name === "clock" ? clock : none) }) as never;

const { httpDoor, ...doors } = http;
const https = httpDoor({ clock });
export const routes: http.Route[] = [
  ...Object.entries(doors)
    .filter(([name]) => name.endsWith("Routes"))
    .flatMap(([, routesOf]) => (routesOf as (door: typeof https, deps: never) => http.Route[])(https, none)),
  ...joinedRooms.flatMap((room) => http.routesOf(https, room, none)),
];

const master = "master-1";
const { decisionsOverBus, serveDecisions, ...others } = overBus;
export const bindings: AnyBinding[] = [
  ...Object.entries({ ...others, decisionsOverBus: decisionsOverBus(master) })
    .filter(([name]) => name.endsWith("OverBus"))
    .map(([, room]) => room),
  ...joinedRooms,
].flatMap((room) => Object.values(room) as unknown as AnyBinding[]);

/** What answers on each subject. */
export const served = new Map<string, (data: Uint8Array, subject: string) => Promise<Uint8Array>>();
const bus = {
  nats: { info: { max_payload: 1024 * 1024 } as ServerInfo },
  serve(subject: string, _: string, answer: Parameters<Bus["serve"]>[2]) {
    served.set(
      subject,
      async (data, at) => (await answer(data, at, { reply: "_INBOX.test" })) ?? new Uint8Array(),
    );
    return { stop: () => {} };
  },
};
const door = { bus, clock, log };
serveDecisions(door, master, none);
for (const room of joinedRooms) overBus.serveRoom(door, room, none);
for (const [name, serve] of Object.entries(others)) {
  if (name.startsWith("serve") && name !== "serveRoom")
    (serve as (at: typeof door, deps: never) => void)(door, none);
}
