import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { CreateToken } from "./create-token.tsx";
import { TokenTable } from "./token-table.tsx";

/** The tokens of the REST interface: created, and revoked. */
export function TokenList({ app }: { app: App }) {
  const { value, problem, reload } = useAnswer(app, routes.listTokens, {});
  const creating = useDialog(reload);
  const revoking = useDialog<string>(reload);
  return (
    <>
      {app.session.may("tokens", "create") && (
        <div class="tools">
          <Button kind="primary" onClick={() => creating.open(true)}>
            Create a token
          </Button>
        </div>
      )}
      <Problem problem={problem} />
      {value !== undefined && (
        <TokenTable
          app={app}
          tokens={value.tokens}
          revoke={revoking.open}
          empty={
            <Empty title="No tokens" command="svc token create --name nightly --role viewer --expires 30d">
              A token lets a program ask over REST, with the roles of the token, until it ends or is revoked.
            </Empty>
          }
        />
      )}
      {creating.about && <CreateToken app={app} close={creating.close} />}
      {revoking.about !== undefined && <RevokeToken app={app} name={revoking.about} close={revoking.close} />}
    </>
  );
}

function RevokeToken({ app, name, close }: { app: App; name: string; close(): void }) {
  const words = { done: `The token ${name} is revoked`, waiting: `Revoking the token ${name}` };
  return (
    <Confirm
      title={`Revoke the token ${name}?`}
      verb="Revoke"
      // A program loses it; no host does.
      count={0}
      danger
      close={close}
      act={() => decide(app, words, () => app.client.call(routes.revokeToken, { id: name }))}
    >
      <p>
        Every master refuses it at once, and the sessions that began with it end. It cannot be taken back: its
        programs need another token.
      </p>
      <DecisionOutlook app={app} question={{ kind: "tokens", action: "revoke" }} />
    </Confirm>
  );
}
