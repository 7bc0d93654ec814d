import { serveDecisions, serveEnrollments, serveJobs, serveTargets } from "../../../fleet/over-bus/mod.ts";
import { assemble } from "../../../program/health/mod.ts";
import {
  bootstrapRoutes,
  docsRoutes,
  enrollmentRoutes,
  enrollRoutes,
  jobRoutes,
  startListener,
  warnOfTokenFiles,
} from "../../doors/http/mod.ts";
import { serveHello } from "../../doors/peels/mod.ts";
import { startDocument } from "../document.ts";
import type { MasterDeps } from "../options.ts";
import type { Certificate } from "./certificate.ts";
import type { Connected } from "./connect.ts";
import type { Decisions } from "./decisions.ts";
import type { Fleet } from "./fleet.ts";
import type { Stored } from "./storage.ts";
import type { Work } from "./work.ts";

/** How operators and peels come in: HTTPS, and the subjects of the bus. */
export const doors = {
  waits: { "enroll-server": "not started yet", "target-service": "not started yet" },
  start: (deps: MasterDeps & Certificate & Connected & Stored & Decisions & Fleet & Work) =>
    assemble(async (stack) => {
      const { config, keys, certificates, bus, storage, directory, resolver, jobs, rollouts } = deps;
      const { metrics, clock, random, log } = deps;
      const { revocations, enforcer, disconnections } = deps;
      const { enrollments } = storage;
      const decisions = {
        directory,
        enrollments,
        clock,
        revocations,
        enforce: { enforcer, disconnections, metrics, clock, log },
      };
      const tokens = config["api.tokens"];
      warnOfTokenFiles(tokens, log);
      const commandKeys = [keys.command.publicKey];
      const document = startDocument({
        certificates,
        urls: config.bus_advertise_urls,
        commandKeys,
        secrets: storage.secrets,
        clock,
        log,
      });
      stack.defer(() => document.stop());
      const hello = serveHello({
        bus,
        document: document.current,
        missed: deps.missed,
        settings: deps.settings.answer,
        states: deps.stateFiles.inForce,
        clock,
        log,
      });
      stack.defer(() => hello.stop());
      const routes = [
        ...enrollRoutes({
          state: { enrollments, directory, metrics },
          challenge: { challenges: storage.challenges, clock, random },
          enroll: {
            enrollments,
            challenges: storage.challenges,
            clock,
            random,
            get ownCaSpki() {
              return certificates.current().root?.pin;
            },
            metrics,
            log,
          },
          deliver: { enrollments, account: keys.account, commandKeys, clock, random, log },
          clock,
        }),
        ...bootstrapRoutes({ document: document.current }, clock),
        ...(tokens.length === 0
          ? []
          : [...enrollmentRoutes(decisions), ...jobRoutes(jobs, clock), ...rollouts.routes]),
      ];
      const listener = await startListener({
        ...config["enroll.addr"],
        certificate: certificates.current(),
        tokens,
        metrics,
        clock,
        log,
        routes: config["api.docs_enabled"] ? [...routes, ...docsRoutes(routes)] : routes,
      });
      stack.defer(() => listener.stop());
      stack.defer(certificates.onChange(listener.setCertificate));
      // One that was renewed while the listener started.
      listener.setCertificate(certificates.current());
      const busDoor = { bus, clock, log };
      serveEnrollments(busDoor, decisions);
      serveDecisions(busDoor, deps.name, deps.decisions);
      serveJobs(busDoor, jobs);
      serveTargets(busDoor, { resolver });
      rollouts.serve();
      return {
        listener,
        checks: {
          "enroll-server": () =>
            listener.listening
              ? ({ status: "up" } as const)
              : ({ status: "down", message: "the listener has exited" } as const),
          "target-service": deps.targetCheck,
        },
      };
    }),
};
