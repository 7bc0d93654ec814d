import { hasFullDisk } from "../../fleet/masters/mod.ts";
import { judgeClock, judgeServers, type Step } from "../../program/diagnosis/mod.ts";
import type { DoctorContext } from "./context.ts";

/** What storage looks like to the master that answers, or with `--direct` from here. */
export const storageSteps: readonly Step<DoctorContext>[] = [
  {
    name: "storage",
    needs: ["bus credentials"],
    next: "svc doctor --direct looks without a master; if that fails too, set jetstream in nats-server.conf on the host of the bus, and restart the bus",
    async check({ probe }) {
      const { missing, count } = await probe();
      if (missing.length === 0) return { level: "ok", message: `${count} buckets and streams exist` };
      return {
        level: "warn",
        message: `do not exist yet: ${missing.join(", ")}`,
        next: "start or restart a master: it creates the missing ones",
      };
    },
  },
  {
    name: "bus servers",
    needs: ["storage"],
    check: (context) => judgeServers(context, async () => (await context.probe()).replicas),
  },
  {
    name: "clock",
    needs: ["storage"],
    async check({ probe }) {
      const { stored_at: storedAt, roundTripMs, requestedAt } = await probe();
      if (storedAt === undefined) {
        return {
          level: "skip",
          message: "not compared: the bus stored no value",
          next: "see the step writes",
        };
      }
      return judgeClock("the bus", storedAt - requestedAt - roundTripMs / 2, roundTripMs / 2);
    },
  },
  {
    name: "writes",
    needs: ["storage"],
    async check({ probe, masters }) {
      const { problem, full } = await probe();
      // The rest of a block takes a small value on a full disk too.
      const { masters: all } = await masters().catch(() => ({ masters: [] }));
      const [crowded] = all.filter(hasFullDisk);
      if (crowded !== undefined) {
        return {
          level: "fail",
          message: `the disk of the bus of ${crowded.name} is full`,
          next: crowded.next ?? "see the step masters",
        };
      }
      if (problem !== undefined) {
        return {
          level: "fail",
          message: problem,
          next: "make room on the disk of the bus servers (the step masters names a full one), or restart them",
        };
      }
      if (full === undefined) return { level: "ok", message: "a value was written and read" };
      const [message = "", next = ""] = full.message.split(/: (.*)/);
      return { level: full.refuses ? "fail" : "warn", message, next };
    },
  },
];
