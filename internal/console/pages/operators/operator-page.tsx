import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { commandsFor } from "./commands.ts";
import { standings } from "./standing.ts";
import { Tags } from "./tags.tsx";

/** One operator, and the commands that change it. */
export function OperatorPage({ app, name }: { app: App; name: string }) {
  const { value, problem } = useQuery(app, name, (signal) =>
    app.client.call(routes.showOperator, { name }, signal),
  );
  const operator = value?.operator;
  if (value !== undefined && operator === undefined) {
    return (
      <Empty whole title={`The operator ${name} does not exist`} command="svc operator list">
        <a href={hrefOf("/operators")}>All operators</a>
      </Empty>
    );
  }
  const commands = operator === undefined ? [] : commandsFor(operator, app.session);
  return (
    <div class="page">
      <header class="page-head">
        <h1>{name}</h1>
        {operator !== undefined && (
          <Status word={operator.state} outcome={standings[operator.state] ?? "skipped"} />
        )}
        <div class="actions">
          {app.session.may("audit", "read") && (
            <a class="button" href={hrefOf(`/audit?by=${encodeURIComponent(name)}`)}>
              In the audit
            </a>
          )}
        </div>
      </header>
      <Problem problem={problem} />
      {operator !== undefined && (
        <div class="grid">
          <section class="card" aria-labelledby="operator-head">
            <header>
              <h2 id="operator-head">Operator</h2>
            </header>
            <dl class="body facts">
              <dt>Roles</dt>
              <dd>
                <Tags words={operator.roles} />
              </dd>
              {operator.reason !== undefined && (
                <>
                  <dt>Reason</dt>
                  <dd>{operator.reason}</dd>
                </>
              )}
              <dt>Administrator</dt>
              <dd>{operator.administrator ? "yes, in the file of the masters" : "no"}</dd>
              <dt>Key</dt>
              <dd class="mono">{operator.public_key}</dd>
              {operator.created_at !== undefined && (
                <>
                  <dt>Created</dt>
                  <dd>
                    <Time at={operator.created_at} now={app.now} />
                    {operator.created_by !== undefined && ` by ${operator.created_by}`}
                  </dd>
                </>
              )}
              {operator.expires_at !== undefined && (
                <>
                  <dt>Expires</dt>
                  <dd>
                    <Time at={operator.expires_at} now={app.now} />
                  </dd>
                </>
              )}
              {operator.signed_by !== undefined && (
                <>
                  <dt>Signed by</dt>
                  <dd class="mono">{operator.signed_by}</dd>
                </>
              )}
              <dt>Depend on it</dt>
              <dd>{value?.dependents.length === 0 ? "nobody" : value?.dependents.join(", ")}</dd>
            </dl>
          </section>
          {commands.length > 0 && (
            <section class="card" aria-labelledby="change-head">
              <header>
                <h2 id="change-head">Change it</h2>
              </header>
              <div class="body stack">
                <p class="muted">
                  An administrator signs each change with a key, and a browser has none: run the command where
                  the key is.
                </p>
                {commands.map(({ title, command }) => (
                  <div key={title} class="field">
                    <span class="label">{title}</span>
                    <code class="command">{command}</code>
                  </div>
                ))}
              </div>
            </section>
          )}
        </div>
      )}
    </div>
  );
}
