import type { ServerInfo } from "nats";
import { defined } from "../../internal/base/defined.ts";
import type { Bus } from "../../internal/bus/connection/mod.ts";
import { type BusBinding, serveRoom } from "../../internal/doors/bus/bind.ts";
import { routesOf } from "../../internal/doors/rest/bind.ts";
import type { Route } from "../../internal/doors/rest/route.ts";
import { restRooms, rooms } from "../../internal/doors/rooms/rooms.ts";
import type { Gate } from "../../internal/fleet/operation/operation.ts";
import { manualClock } from "./clock.ts";
import { type AnyOperation, joinedDoors } from "./joined-doors.ts";
import { recordingLog } from "./log.ts";
import { freeBudgets } from "./operator-budgets.ts";

// Every operation and every door, from the tables of the rooms.

export type { AnyOperation };
export type AnyBinding = BusBinding<never, never, never, never>;

export const operations = joinedDoors.map(({ operation }) => operation);
export const operationOf = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} is in no room`);
  return found;
};

export const clock = manualClock();
export const log = recordingLog();
const master = "master-1";

/** Dependencies that nothing may use: the operations do not run. */
const none: never = new Proxy(() => none, { get: (_, name) => (name === "clock" ? clock : none) }) as never;

/** The routes of the documentation bind no operation. @param gate judges each request */
export const routesThrough = (gate?: Gate): Route[] =>
  Object.values(restRooms).flatMap((room) => routesOf({ clock, ...defined({ gate }) }, room, none));
export const routes = routesThrough();

/** Every operation that the bus reaches, with its subject as masters serve it. */
export const bindings = joinedDoors.flatMap(({ operation, bus }): AnyBinding[] =>
  bus === undefined
    ? []
    : [
        {
          operation: operation as never,
          bus: { ...bus, subject: bus.subject.replace("{master}", master) } as never,
        },
      ],
);

type Answer = (data: Uint8Array, subject: string) => Promise<Uint8Array>;

/** What answers on each subject. @param gate judges each request */
export function servedThrough(gate?: Gate): Map<string, Answer> {
  const served = new Map<string, Answer>();
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
  const door = { bus, master, clock, log, budgets: freeBudgets, ...defined({ gate }) };
  for (const room of Object.values(rooms)) serveRoom(door, room, none);
  return served;
}
export const served = servedThrough();
