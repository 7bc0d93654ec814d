import { checkJobRequest, type DispatchDeps, dispatchJob } from "../jobs/dispatch.ts";
import { type ShowDeps, showJob } from "../jobs/show.ts";
import { json, type Route } from "./route.ts";

export interface JobRouteDeps {
  dispatch: DispatchDeps;
  show: ShowDeps;
}

/** The operator's doors to jobs (specification, "Operator REST API"). */
export function jobRoutes(deps: JobRouteDeps): Route[] {
  return [
    {
      method: "POST",
      path: "/api/v1/jobs",
      auth: "bearer",
      budget: "relaxed",
      body: "json",
      async handle({ body, username, note, log }) {
        const job = await dispatchJob({ ...deps.dispatch, log }, checkJobRequest(body), username);
        note({ jid: job.jid });
        return json(202, { jid: job.jid, targets: job.targets, status: "running" });
      },
    },
    {
      method: "GET",
      path: "/api/v1/jobs/:jid",
      auth: "bearer",
      budget: "relaxed",
      async handle({ params, note }) {
        const view = await showJob(deps.show, params.jid ?? "");
        note({ jid: view.jid });
        return json(200, view);
      },
    },
  ];
}
