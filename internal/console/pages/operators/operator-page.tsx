import { useEffect } from "preact/hooks";
import { type App, routes, useAnswer } from "../../api/mod.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Time } from "../../kit/time.tsx";
import { commandsFor, type SignedChange } from "./commands.ts";
import { Standing } from "./standing.tsx";
import { Tags } from "./tags.tsx";

type Operator = NonNullable<NonNullable<(typeof routes.showOperator)["types"]>["answer"]["operator"]>;

/** Views that had an address where the name of an operator stands: it leads there, unless an operator has that name. */
const oldViews: ReadonlySet<string> = new Set(["tokens", "roles"]);

/** One operator, and the commands that change it. */
export function OperatorPage({ app, name }: { app: App; name: string }) {
  const { value, problem } = useAnswer(app, routes.showOperator, { name });
  const operator = value?.operator;
  const isView = value !== undefined && operator === undefined && oldViews.has(name);
  useEffect(() => {
    if (isView) app.router.go(`/operators?view=${name}`, { replace: true });
  }, [isView]);
  // Before masters answered nobody knows which of both it is: the name of a view is not a title.
  if (isView || (value === undefined && problem === undefined && oldViews.has(name))) return null;
  if (value !== undefined && operator === undefined) {
    return (
      <Empty whole title={`The operator ${name} does not exist`} command="svc operator list">
        <a href={hrefOf("/operators")}>All operators</a>
      </Empty>
    );
  }
  const commands = operator === undefined ? [] : commandsFor(operator, app.session);
  return (
    <Page
      title={name}
      up={{ to: "/operators", words: "Operators" }}
      beside={operator !== undefined && <Standing state={operator.state} />}
      actions={
        app.session.may("audit", "read") && (
          <LinkButton to={`/audit?by=${encodeURIComponent(name)}`}>In the audit</LinkButton>
        )
      }
    >
      <Problem problem={problem} />
      {operator !== undefined && (
        <div class="grid">
          <OperatorCard operator={operator} dependents={value?.dependents ?? []} now={app.now} />
          {commands.length > 0 && <Changes commands={commands} />}
        </div>
      )}
    </Page>
  );
}

function OperatorCard(props: { operator: Operator; dependents: readonly string[] } & Pick<App, "now">) {
  const { operator, dependents, now } = props;
  const { created_at: created, created_by: creator, expires_at: end } = operator;
  return (
    <Card id="operator-head" title="Operator" body="facts">
      <Fact name="Roles">
        <Tags words={operator.roles} />
      </Fact>
      <Fact name="Reason">{operator.reason}</Fact>
      <Fact name="Administrator">{operator.administrator ? "yes, in the file of the masters" : "no"}</Fact>
      <Fact name="Key" as="mono" value={operator.public_key} />
      <Fact name="Created">
        {created !== undefined && (
          <>
            <Time at={created} now={now} />
            {creator !== undefined && ` by ${creator}`}
          </>
        )}
      </Fact>
      <Fact name="Expires">{end !== undefined && <Time at={end} now={now} />}</Fact>
      <Fact name="Signed by" as="mono" value={operator.signed_by} />
      <Fact name="Depend on it">{dependents.length === 0 ? "nobody" : dependents.join(", ")}</Fact>
    </Card>
  );
}

function Changes({ commands }: { commands: readonly SignedChange[] }) {
  return (
    <Card id="change-head" title="Change it" body="stack">
      <p class="muted">
        An administrator signs each change with a key, and a browser has none: run the command where the key
        is.
      </p>
      {commands.map(({ title, command }) => (
        <div key={title} class="field">
          <span class="label">{title}</span>
          <code class="command">{command}</code>
        </div>
      ))}
    </Card>
  );
}
