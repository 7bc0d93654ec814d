import { sizeText } from "../../../base/byte-size.ts";
import type { App } from "../../api/mod.ts";
import { Bars, Curves, extent, type Line, type Span } from "../../charts/mod.ts";
import type { AddressField } from "../../kit/address-field.ts";
import { fieldValue } from "../../kit/address-field.ts";
import { Card } from "../../kit/card.tsx";
import { FieldRadios } from "../../kit/choices.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { levelSentence } from "./said.ts";
import { type Period, type Samples, useSamples } from "./use-samples.ts";

const periods: AddressField<Period> = { name: "period", values: ["24h", "30d"], usual: "24h" };

/** How the fleet was: whether it gets better or worse. */
export function FleetCurves({ app, place }: { app: App; place: Place }) {
  const period = fieldValue(periods, place);
  const { value, problem } = useSamples(app, period);
  const choice = <FieldRadios label="Period" field={periods} {...{ place, router: app.router }} />;
  return (
    <Card id="curves-head" title="Over time" beside={choice} body="stack">
      {/* A master that has just started reads them first. */}
      {problem?.status === 503 ? <p class="muted">{problem.message}</p> : <Problem problem={problem} />}
      {value !== undefined &&
        (value.samples.at.length === 0 ? (
          <p class="muted">Masters take the first sample within a minute.</p>
        ) : (
          <Pictures samples={value.samples} />
        ))}
    </Card>
  );
}

function Pictures({ samples }: { samples: Samples }) {
  const span: Span = { from: Date.parse(samples.from), until: Date.parse(samples.until) };
  const at = samples.at.map((time) => Date.parse(time));
  const ago = samples.period === "24h" ? "24 h ago" : "30 days ago";
  // Two samples may be missing, as while a master takes over.
  const gapMs = 3 * samples.step_ms;
  const line = (name: string, outcome: Line["outcome"], values: Line["values"]): Line => ({
    ...{ name, outcome, at, values },
  });
  const last = (values: Line["values"]) => extent({ values })?.last;
  const ended = { jobs_completed: 0, jobs_failed: 0, jobs_cancelled: 0 };
  for (const name of ["jobs_completed", "jobs_failed", "jobs_cancelled"] as const)
    ended[name] = samples[name].reduce((sum, one) => sum + one, 0);
  const limit = last(samples.limit_bytes);
  return (
    <div class="charts">
      <Curves
        title="Peels"
        said={`${levelSentence(samples.alive, "alive", ago)}, ${(last(samples.silent) ?? 0).toLocaleString("en")} silent.`}
        lines={[line("alive", "ok", samples.alive), line("silent", "failed", samples.silent)]}
        {...{ span, gapMs }}
      />
      <Bars
        title="Jobs that ended"
        said={`${ended.jobs_failed.toLocaleString("en")} failed, ${ended.jobs_completed.toLocaleString("en")} completed, ${ended.jobs_cancelled.toLocaleString("en")} cancelled.`}
        lines={[
          line("failed", "failed", samples.jobs_failed),
          line("completed", "ok", samples.jobs_completed),
          line("cancelled", "cancelled", samples.jobs_cancelled),
        ]}
        span={span}
      />
      <Curves
        title="Drift"
        said={`${levelSentence(samples.drifted, "drifted", ago)}, ${(last(samples.states_failed) ?? 0).toLocaleString("en")} with failed states.`}
        lines={[
          line("drifted", "changed", samples.drifted),
          line("states failed", "failed", samples.states_failed),
        ]}
        {...{ span, gapMs }}
      />
      <Curves
        title="Disk of the bus"
        said={`${sizeText(last(samples.stored_bytes) ?? 0)} stored${limit === undefined ? "" : ` of ${sizeText(limit)} that it may store`}.`}
        lines={[line("stored", "running", samples.stored_bytes)]}
        format={sizeText}
        base={1024}
        {...{ span, gapMs }}
      />
    </div>
  );
}
