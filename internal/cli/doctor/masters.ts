import { SvcError } from "../../base/errors.ts";
import { version } from "../../base/version.ts";
import { hasFailed, type MasterReadiness } from "../../fleet/masters/mod.ts";
import { judgeEnd, type Step } from "../../program/diagnosis/mod.ts";
import { limitedSources } from "../limited-sources.ts";
import { NoMaster } from "../request.ts";
import { filesTotal, refusedRows } from "../status/files.ts";
import type { DoctorContext } from "./context.ts";

/** Of refused state files, in one line. */
const maxProblems = 3;

/** Checks that masters run, are ready as they say themselves, have the same version, certificates that do not expire soon, and limit no source. */
export const masterStep: Step<DoctorContext> = {
  name: "masters",
  needs: ["bus credentials"],
  next: "run svc-master check on the host of a master",
  async check({ clock, ...context }) {
    const { masters } = await context.masters();
    if (masters.length === 0) {
      return {
        level: "fail",
        message: "no master is alive",
        next: "systemctl start svc-master, on the host of a master; where it does not start, svc-master check says why",
      };
    }
    const failed = masters.filter(hasFailed);
    if (failed.length > 0) {
      return {
        level: "fail",
        message: failed.map(report).join("; "),
        next: nextOf(failed),
      };
    }
    const named = masters.map((one) => `${one.name} (${one.version})`).join(", ");
    const versions = new Set([version, ...masters.map((one) => one.version)]);
    if (versions.size > 1) {
      return {
        level: "warn",
        message: `${named}, and this svc is ${version}`,
        next: "install the same version everywhere",
      };
    }
    for (const { name, certificate_ends_at } of masters) {
      if (certificate_ends_at === undefined) continue;
      const what = `the certificate of the master ${name}`;
      const ends = judgeEnd(
        what,
        Date.parse(certificate_ends_at),
        clock.now(),
        "run svc-master check on its host",
      );
      // A certificate from the embedded CA is renewed automatically.
      if (ends.level === "fail") return ends;
    }
    const degraded = masters.filter(({ readiness }) => readiness !== "up");
    if (degraded.length > 0) {
      return {
        level: "warn",
        message: degraded.map(report).join("; "),
        next: nextOf(degraded),
      };
    }
    const [limited] = limitedSources({ masters });
    return limited === undefined ? { level: "ok", message: `${named} alive` } : { level: "warn", ...limited };
  },
};

const report = ({ name, readiness, reason }: { name: string } & MasterReadiness) =>
  `${name} is ${readiness}${reason === undefined ? "" : `: ${reason}`}`;

/** The next steps that each names; a master of the version before names none. */
function nextOf(masters: readonly MasterReadiness[]): string {
  const steps = masters.flatMap(({ next }) => next ?? []);
  return steps.length === 0 ? "run svc-master check on its host" : [...new Set(steps)].join("; ");
}

/** Shows the holder of each lease, and since when. */
export const leaseStep: Step<DoctorContext> = {
  name: "leases",
  needs: ["masters"],
  next: "see the step storage",
  async check(context) {
    const [{ leases: held }, { missing }] = await Promise.all([context.masters(), context.probe()]);
    if (missing.includes("leases")) {
      return {
        level: "fail",
        message: "the bucket leases does not exist",
        next: "systemctl restart svc-master, on the host of a master: it creates what is missing",
      };
    }
    if (held.length === 0)
      return { level: "ok", message: "no lease is held; masters acquire them within 16 s" };
    const named = held.map(
      ({ name, holder, since }) => `${name} ${holder}${since === undefined ? "" : ` since ${since}`}`,
    );
    return { level: "ok", message: named.sort().join(", ") };
  },
};

/** Checks that all state files come into force, and names the first problems. */
export const filesStep: Step<DoctorContext> = {
  name: "state files",
  needs: ["masters"],
  next: "run svc status, which names all of them",
  async check(context) {
    const found = await context.files().catch(notShown);
    if (found === undefined) return { level: "ok", message: "not read without a master" };
    if (typeof found === "string") return { level: "ok", message: found };
    const rows = (found.report?.refused ?? []).flatMap(refusedRows);
    if (rows.length === 0) return { level: "ok", message: filesTotal(found) };
    const shown = rows.slice(0, maxProblems).map((cells) => cells.join(" "));
    const more = rows.length - shown.length;
    const message = `${shown.join("; ")}${more > 0 ? `; and ${more} more: svc status` : ""}`;
    return { level: "warn", message, next: nextOfRow(rows[0]) };
  },
};

/** What to do about refused files, or about a repository that is not read. */
function nextOfRow([environment, place]: readonly string[] = []): string {
  if (place === undefined || place === "-") return "see the step masters";
  return `correct ${place} of environment ${environment}`;
}

/** The version before does not say, and a role need not allow it. */
function notShown(thrown: unknown): string {
  if (thrown instanceof NoMaster) return "masters do not report them";
  if (thrown instanceof SvcError && thrown.kind === "forbidden") return `not shown: ${thrown.message}`;
  throw thrown;
}
