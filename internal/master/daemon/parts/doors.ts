import { defined } from "../../../base/defined.ts";
import { createStreams, serveRoom } from "../../../doors/bus/mod.ts";
import { carriedBundle, consoleRoutes } from "../../../doors/console/mod.ts";
import { createDocs, routesOf, startListener } from "../../../doors/rest/mod.ts";
import { restRooms, rooms, served } from "../../../doors/rooms/mod.ts";
import { assemble } from "../../../program/health/mod.ts";
import { viewRotations } from "../../keys/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Certificate } from "./certificate.ts";
import type { Connected } from "./connect.ts";
import type { Gated } from "./gate.ts";
import type { Joining } from "./joining.ts";
import type { Knowledge } from "./knowledge.ts";
import type { Operations } from "./operations.ts";
import type { Requests } from "./requests.ts";
import type { SignedIn } from "./sign-in.ts";

interface DoorsNeed {
  base: MasterDeps;
  connection: Connected;
  certificate: Certificate;
  requests: Requests;
  knowledge: Knowledge;
  gate: Gated;
  joining: Joining;
  signIn: SignedIn;
  operations: Operations;
}

/** The doors of operators and of hosts without credentials: HTTPS, and the subjects of the bus. */
export const doors = {
  waits: { "enroll-server": "not started yet", "target-service": "not started yet" },
  start: (need: DoorsNeed) =>
    assemble(async (stack) => {
      const { base, connection, knowledge, gate, requests, signIn } = need;
      const { name, budgets, tracer, clock, log } = base;
      const { certificates } = need.certificate;
      const listener = await startListener(await listenerOptions(need));
      stack.defer(() => listener.stop());
      // Before the listener: its streams end, so that their readers continue at another master.
      stack.defer(need.operations.endStreams);
      signIn.listensOn(listener.port);
      stack.defer(certificates.onChange(listener.setCertificate));
      // A certificate that was renewed while the listener started.
      listener.setCertificate(certificates.current());
      const { approvals } = signIn;
      const streams = createStreams({ ...base, bus: connection.bus });
      stack.defer(() => streams.stop());
      const door = {
        ...{ bus: connection.bus, master: name, tracer, clock, log, gate: gate.gate },
        ...{ requests: requests.requests, starters: approvals.starters, streams, budgets },
      };
      // The master that reacts serves the reactor itself.
      const { reactor: _, ...overBus } = need.operations.deps;
      for (const [table, own] of served(rooms, overBus)) serveRoom(door, table, own);
      approvals.open();
      return {
        listener,
        checks: {
          "enroll-server": () =>
            listener.listening
              ? ({ status: "up" } as const)
              : ({ status: "down", message: "the listener has exited" } as const),
          "target-service": knowledge.targetCheck,
        },
        view: {
          connections: () => listener.connections,
          rotations: () =>
            viewRotations({
              ...{ certificate: certificates.current(), index: knowledge.index },
              ...{ rotation: knowledge.rotation, authDir: base.config.auth_dir },
              nextKey: base.keyring.next,
            }),
        },
      };
    }),
};

async function listenerOptions({
  base,
  certificate: { certificates },
  gate,
  joining,
  signIn: { signIn, sessions },
  operations: { deps },
}: DoorsNeed): Promise<Parameters<typeof startListener>[0]> {
  const { config, metrics, budgets, tracer, clock, log } = base;
  const { sessions: _, ...withoutConsole } = deps;
  const hasConsole = sessions.judge !== undefined;
  const routes = served(restRooms, hasConsole ? deps : withoutConsole).flatMap(([table, own]) =>
    routesOf({ clock, gate: gate.gate }, table, own, largestBodies(joining.accepted)),
  );
  const docs = config["api.docs_enabled"] ? await createDocs(routes) : undefined;
  const { isServed } = sessions.operations;
  const pages = hasConsole ? consoleRoutes({ bundle: await carriedBundle(), isServed }) : [];
  return {
    ...{ ...config["enroll.addr"], certificate: certificates.current(), tokens: config["api.tokens"] },
    ...{ bearers: signIn.bearers, ...defined({ sessions: sessions.judge, docs }), hidesWithoutTokens: true },
    ...{
      networks: config["enroll.networks"],
      joinTokens: joining.openTokens,
      metrics,
      budgets,
      tracer,
      clock,
      log,
      routes: [...routes, ...pages],
    },
  };
}

/** Only certificates need more than other bodies. */
function largestBodies({ evidence }: Joining["accepted"]): Record<string, number> {
  const bytes = 16 * 1024;
  return evidence === undefined ? {} : { enroll: bytes, challengeTpm: bytes };
}
