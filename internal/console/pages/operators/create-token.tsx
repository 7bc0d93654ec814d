import { useSignal } from "@preact/signals";
import { type App, routes } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { RoleChoice } from "./role-choice.tsx";
import { TokenCreated } from "./token-created.tsx";

/** Asks for a new token, and shows it once. */
export function CreateToken({ app, close }: { app: App; close(): void }) {
  const name = useSignal("");
  const roles = useSignal<readonly string[]>([]);
  const expires = useSignal("90d");
  const problem = useSignal("");
  const busy = useSignal(false);
  const created = useSignal<{ name: string; token: string } | undefined>(undefined);
  const fields = [
    { id: "name", title: "Name, which the audit records", value: name, hint: "nightly" },
    { id: "expires", title: "Lasts: 1m to 366d", value: expires, hint: "90d" },
  ];
  if (created.value !== undefined) return <TokenCreated {...created.value} close={close} />;
  return (
    <Dialog label="Create a token" onClose={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (busy.value) return;
          busy.value = true;
          problem.value = "";
          try {
            const answer = await app.client.call(routes.createToken, {
              name: name.value.trim(),
              roles: [...roles.value],
              expires: expires.value.trim(),
            });
            created.value = { name: answer.name, token: answer.token ?? "" };
          } catch (thrown) {
            problem.value = thrown instanceof Error ? thrown.message : String(thrown);
          } finally {
            busy.value = false;
          }
        }}
      >
        <h2>Create a token</h2>
        {fields.map(({ id, title, value, hint }) => (
          <Field
            key={id}
            {...{ id: `token-${id}`, label: title, placeholder: hint, value: value.value }}
            onText={(text) => {
              value.value = text;
            }}
          />
        ))}
        <RoleChoice
          app={app}
          chosen={roles.value}
          onChange={(names) => {
            roles.value = names;
          }}
        />
        <p class="muted small">
          A session that began with a token of its own, or with a provider of identities, cannot create one:
          come in with <code>svc console</code>.
        </p>
        {problem.value !== "" && (
          <p id="token-refused" class="problem" role="alert">
            {problem.value}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <button type="submit" class="button primary" disabled={busy.value}>
            {busy.value ? "Create …" : "Create"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
