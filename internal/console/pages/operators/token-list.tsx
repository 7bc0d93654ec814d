import { useSignal } from "@preact/signals";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { CreateToken } from "./create-token.tsx";
import { TokenTable } from "./token-table.tsx";

/** The tokens of the REST interface: created, and revoked. */
export function TokenList({ app }: { app: App }) {
  const creating = useSignal(false);
  const revoking = useSignal<string | undefined>(undefined);
  const { value, problem, reload } = useQuery(app, "tokens", (signal) =>
    app.client.call(routes.listTokens, {}, signal),
  );
  const mayCreate = app.session.may("tokens", "create");
  const name = revoking.value;
  return (
    <>
      {mayCreate && (
        <div class="tools">
          <button
            type="button"
            class="button primary"
            onClick={() => {
              creating.value = true;
            }}
          >
            Create a token
          </button>
        </div>
      )}
      <Problem problem={problem} />
      {value !== undefined && (
        <TokenTable
          app={app}
          tokens={value.tokens}
          revoke={(one) => {
            revoking.value = one;
          }}
          empty={
            <Empty title="No tokens" command="svc token create --name nightly --role viewer --expires 30d">
              A token lets a program ask over REST, with the roles of the token, until it ends or is revoked.
            </Empty>
          }
        />
      )}
      {creating.value && (
        <CreateToken
          app={app}
          close={() => {
            creating.value = false;
            reload();
          }}
        />
      )}
      {name !== undefined && (
        <Confirm
          title={`Revoke the token ${name}?`}
          verb="Revoke"
          // A program loses it; no host does.
          count={0}
          danger
          close={() => {
            revoking.value = undefined;
            reload();
          }}
          act={async () => {
            const words = { done: `The token ${name} is revoked`, waiting: `Revoking the token ${name}` };
            await decide(app, words, () => app.client.call(routes.revokeToken, { id: name }));
          }}
        >
          <p>
            Every master refuses it at once, and the sessions that began with it end. It cannot be taken back:
            its programs need another token.
          </p>
          <DecisionOutlook app={app} question={{ kind: "tokens", action: "revoke" }} />
        </Confirm>
      )}
    </>
  );
}
