import { toSvcError } from "../../base/errors.ts";
import type { Step } from "../../program/diagnosis/mod.ts";
import { releaseOutlook } from "../release-notes.ts";
import type { DoctorContext } from "./context.ts";

/** Whether peels that obey operators only can run what is in force, or could if they did. */
export const releaseStep: Step<DoctorContext> = {
  name: "releases",
  needs: ["masters"],
  next: "see svc states releases",
  async check(context) {
    const survey = await context.survey().catch((thrown) => {
      if (toSvcError(thrown).kind === "forbidden") return undefined;
      throw thrown;
    });
    if (survey === undefined) return { level: "skip", message: "your roles do not show the peels" };
    const outlook = releaseOutlook(survey);
    if (outlook === undefined) return { level: "ok", message: "not known without a master" };
    const { waiting, wouldWait, version } = outlook;
    const next = "release what is in force: svc states release in your checkout";
    if (waiting !== undefined) return { level: "warn", message: waiting, next };
    if (wouldWait !== undefined) {
      return { level: "ok", message: `${wouldWait} if they obeyed operators only (require_operator)` };
    }
    return {
      level: "ok",
      message: version === undefined ? "no state files are published" : `base is release ${version}`,
    };
  },
};
