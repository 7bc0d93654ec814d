import { version } from "../../base/version.ts";
import { judgeEnd } from "../../program/diagnosis/findings.ts";
import type { Step } from "../../program/diagnosis/step.ts";
import { readLeases, readMasters } from "../status/heartbeats.ts";
import { bucketOf, type DoctorContext } from "./context.ts";

/** Whether masters run, of one version, with certificates that last. */
export const masterStep: Step<DoctorContext> = {
  name: "masters",
  needs: ["storage"],
  next: "run svc-master check on the host of a master",
  async look(context) {
    const { clock } = context;
    const masters = await readMasters(await bucketOf(context, "master-heartbeat"));
    if (masters.length === 0) {
      return {
        level: "fail",
        message: "none is alive",
        next: "look at the log of a master, and run svc-master check on its host",
      };
    }
    const named = masters.map((one) => `${one.name} (${one.version})`).join(", ");
    const versions = new Set([version, ...masters.map((one) => one.version)]);
    if (versions.size > 1) {
      return {
        level: "warn",
        message: `${named}, and this svc is ${version}`,
        next: "install one version everywhere",
      };
    }
    for (const { name, certificate_ends_at } of masters) {
      if (certificate_ends_at === undefined) continue;
      const what = `the certificate of the master ${name}`;
      const ends = judgeEnd(what, Date.parse(certificate_ends_at), clock.now(), "see svc-master check there");
      // One that the embedded CA issues is renewed by itself in time.
      if (ends.level === "fail") return ends;
    }
    return { level: "ok", message: `${named} alive` };
  },
};

/** Who does what only one master does at a time, and since when. */
export const leaseStep: Step<DoctorContext> = {
  name: "leases",
  needs: ["masters"],
  next: "look for lease in the logs of the masters",
  async look(context) {
    const held = await readLeases(await bucketOf(context, "leases"));
    if (held.length === 0)
      return { level: "ok", message: "nobody holds one; a master takes each within 16 s" };
    const named = held.map(
      ({ name, holder, since }) => `${name} ${holder}${since === undefined ? "" : ` since ${since}`}`,
    );
    return { level: "ok", message: named.sort().join(", ") };
  },
};
