import { useSignal } from "@preact/signals";
import { ApiError, type App } from "../../api/mod.ts";

/** A field for the token of an operator. */
export function TokenForm({ app: { session }, verb }: { app: App; verb: string }) {
  const token = useSignal("");
  const problem = useSignal("");
  const busy = useSignal(false);
  return (
    <form
      class="stack"
      onSubmit={async (event) => {
        event.preventDefault();
        busy.value = true;
        problem.value = "";
        try {
          await session.signIn({ token: token.value.trim() });
        } catch (thrown) {
          problem.value = reasonOf(thrown);
        }
        busy.value = false;
      }}
    >
      <div class="field">
        <label for="token">Token</label>
        <input
          id="token"
          class="input mono"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          aria-describedby="token-problem"
          aria-invalid={problem.value !== ""}
          value={token.value}
          onInput={({ currentTarget }) => {
            token.value = currentTarget.value;
          }}
        />
        <p id="token-problem" class="problem" role="alert">
          {problem.value}
        </p>
      </div>
      <button type="submit" class="button primary" disabled={busy.value}>
        {busy.value ? "Signing in …" : verb}
      </button>
    </form>
  );
}

/** A token that does not count is typed again; the master reports other problems. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof ApiError && thrown.status === 401)
    return "No operator has this token, or it has ended.";
  return thrown instanceof Error ? thrown.message : String(thrown);
}
