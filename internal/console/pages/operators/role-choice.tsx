import { type App, routes, useQuery } from "../../api/mod.ts";
import { Field } from "../../kit/field.tsx";

/**
 * Roles to choose from: those in force on the masters, or those of the session where roles may not be read.
 * Credentials without roles may do everything, and then the names are typed.
 */
export function RoleChoice(props: { app: App; chosen: readonly string[]; onChange(roles: string[]): void }) {
  const { app, chosen, onChange } = props;
  const mayRead = app.session.may("roles", "read");
  const { value, problem } = useQuery(app, "token-roles", async (signal) =>
    mayRead
      ? (await app.client.call(routes.showRoles, {}, signal)).roles.map(({ name }) => name)
      : (app.session.view.value?.roles ?? []),
  );
  if (value === undefined && problem === undefined) return <p class="muted small">Reading the roles …</p>;
  if (value === undefined || value.length === 0) {
    return (
      <Field
        id="token-roles"
        label="Roles, no more than your own"
        placeholder="viewer"
        value={chosen.join(" ")}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value.split(/[\s,]+/).filter((role) => role !== ""))
        }
      />
    );
  }
  return (
    <fieldset class="checks">
      <legend class="label">Roles, no more than your own</legend>
      {value.map((role) => (
        <label key={role}>
          <input
            type="checkbox"
            name="token-role"
            value={role}
            checked={chosen.includes(role)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(value.filter((one) => (one === role ? checked : chosen.includes(one))))
            }
          />
          {role}
        </label>
      ))}
    </fieldset>
  );
}
