/**
 * The end of a form: why it cannot be sent, and the button that says on how many peels it starts.
 *
 * @param problem a sentence; empty when nothing is wrong
 * @param total 0 while it is not known
 */
export function SubmitFields({ problem, verb, total }: { problem: string; verb: string; total: number }) {
  return (
    <>
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="tools">
        <button type="submit" class="button primary">
          {total === 0 ? verb : `${verb} on ${total.toLocaleString("en")} ${total === 1 ? "peel" : "peels"}`}
        </button>
      </div>
    </>
  );
}
