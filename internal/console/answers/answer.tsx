import type { Plain } from "../../base/msgpack.ts";
import {
  type CommandOutput,
  countsOf,
  outputOf,
  plainLines,
  readStates,
  type States,
  standingOf,
  textLines,
} from "../../program/answers/mod.ts";
import { Card } from "../kit/card.tsx";
import { took } from "../kit/times.ts";
import { StateCard } from "./state-card.tsx";

/** What a function returned, for people: what a command wrote, what states did, or values by their names. */
export function Answer({ value }: { value: unknown }) {
  const plain = value as Plain;
  const states = readStates(plain);
  if (states !== undefined) return <StatesAnswer states={states} />;
  const output = outputOf(plain);
  if (output !== undefined) return <CommandAnswer output={output} />;
  return <Text title="Returned" lines={plainLines(plain)} />;
}

function CommandAnswer({ output: { stdout, stderr, rest } }: { output: CommandOutput }) {
  const others = Object.keys(rest).length === 0 ? [] : plainLines(rest);
  return (
    <>
      {stdout === "" && stderr === "" && <p class="muted">The command wrote nothing.</p>}
      {/* Of a command that failed, this says why. */}
      {stderr !== "" && <Text title="Standard error" lines={textLines(stderr)} />}
      {stdout !== "" && <Text title="Output" lines={textLines(stdout)} />}
      {others.length > 0 && <Text title="Also returned" lines={others} />}
    </>
  );
}

const ranks = { FAILED: 0, changed: 1, skipped: 2, ok: 3 } as const;

/** The states that did something, those that failed first. */
function StatesAnswer({ states: { states, summary, warnings } }: { states: States }) {
  const shown = states
    .filter((state) => standingOf(state) !== "ok")
    .toSorted((one, other) => ranks[standingOf(one)] - ranks[standingOf(other)]);
  return (
    <>
      <p>
        {countsOf(summary)}, took {took(summary.duration_ms)}
        {summary.test && "; a test run, which changed nothing"}
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="notice">
          {warning}
        </p>
      ))}
      {shown.map((state) => (
        <StateCard key={`${state.function} ${state.id}`} state={state} />
      ))}
      {(summary.left_out ?? 0) > 0 && (
        <p class="muted">{summary.left_out} more states are not listed: the return would be too long.</p>
      )}
    </>
  );
}

function Text({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <Card title={title}>
      <div class="output">
        <pre>{lines.join("\n")}</pre>
      </div>
    </Card>
  );
}
