import { contentWords, releasedWords } from "../../../wire/content-words.ts";
import type { App } from "../../api/mod.ts";
import { Arguments } from "../../kit/arguments.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Duration, Time } from "../../kit/time.tsx";
import type { ShownJob } from "./job-rows.ts";

/** The request, its operator and its time. */
export function JobFacts({ app, job }: { app: App; job: ShownJob }) {
  return (
    <dl class="facts">
      <Fact name="Target" as="mono" value={job.target ?? `a list of ${job.targets.length}`} />
      <Arguments args={job.args} />
      <Fact name="Files" value={job.content && contentWords(job.content)} />
      <Fact name="Released files" value={job.released && releasedWords(job.released)} />
      <Fact name="By">
        {job.created_by}, <Time at={job.created_at} now={app.now} />
        {job.approved_by !== undefined && `, with ${job.approved_by.join(", ")}`}
        {job.finished_at !== undefined && (
          <>
            , took <Duration ms={Date.parse(job.finished_at) - Date.parse(job.created_at)} />
          </>
        )}
      </Fact>
      <Fact name="Cancelled by">{job.cancelled_by}</Fact>
      <Fact name="ID" as="mono" value={job.jid} />
    </dl>
  );
}
