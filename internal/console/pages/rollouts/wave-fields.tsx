import { TextField } from "../../calls/mod.ts";
import type { RolloutForm } from "./use-rollout-form.ts";
import { WavePicture } from "./wave-picture.tsx";

/** The picture is for rollouts that a person can overlook. */
const maxDrawn = 100;

/** The sizes of the waves, what stops them, and the waves that they give. */
export function WaveFields({ form }: { form: RolloutForm }) {
  const { canary, waves, wait, failures, deadline, planned, wrongSizes, total } = form;
  const sizes = planned !== undefined && "waves" in planned.plan ? planned.plan.waves : [];
  return (
    <>
      <div class="short-fields">
        <TextField
          id="rollout-canary"
          label="First wave"
          value={canary}
          problem={wrongSizes.canary}
          hint="A number of peels or a percentage; 0 for no wave of its own."
        />
        <TextField
          id="rollout-waves"
          label="Waves after it"
          value={waves}
          problem={wrongSizes.waves}
          hint="One size, or several with commas: 5%, 25%. The last one repeats."
        />
        <TextField
          id="rollout-wait"
          label="Wait after each wave"
          value={wait}
          hint="Before its check and the next wave: 0 or 5m, at most 24h."
        />
        <TextField
          id="rollout-failures"
          label="Failures allowed"
          value={failures}
          problem={wrongSizes.max_failures}
          hint="If more peels than this fail, or this percentage, no further wave starts."
        />
        <TextField
          id="rollout-deadline"
          label="No wave starts after"
          value={deadline}
          hint="Time from now, at most 144h."
        />
      </div>
      {total > 0 && sizes.length > 0 && (
        <section class="stack" aria-label="Planned waves">
          <p role="status" class="number">
            {planned?.words}
          </p>
          {sizes.length <= maxDrawn && (
            <WavePicture rollout={{ status: "running", waves: sizes.map(wave) }} />
          )}
        </section>
      )}
    </>
  );
}

/** A wave of a number of peels, as the picture takes it: which peels they are is decided by masters. */
const wave = (size: number) => ({ peels: new Array<string>(size).fill("") });
