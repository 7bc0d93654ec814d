import type { App, ConsolePage, Session } from "../../api/mod.ts";
import { Choices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import type { Place } from "../../kit/router.ts";
import { OperatorList } from "./operator-list.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { RoleList } from "./role-list.tsx";
import { TokenList } from "./token-list.tsx";

const mayList =
  (kind: "operators" | "tokens") =>
  ({ may }: Session) =>
    may(kind, "list");

// Names of operators are in the path: the views are in the query, where no name can hide one.
const views = [
  { id: "", title: "Operators", may: mayList("operators"), View: OperatorList },
  { id: "tokens", title: "Tokens", may: mayList("tokens"), View: TokenList },
  { id: "roles", title: "Roles", may: ({ may }: Session) => may("roles", "read"), View: RoleList },
] as const;

export const operatorsPage: ConsolePage = {
  name: "Operators",
  path: "/operators",
  key: "t",
  may: ({ may }) => may("operators", "list") || may("tokens", "list") || may("roles", "read"),
  View: Operators,
};

/** Operators, tokens and roles, or one operator: `/operators/<name>`. */
function Operators({ app, place }: { app: App; place: Place }) {
  const [, , name] = place.path.split("/");
  if (name !== undefined) return <OperatorPage key={name} app={app} name={name} />;
  const offered = views.filter(({ may }) => may(app.session));
  const requested = place.query.get("view");
  const shown = requested === null ? offered[0] : offered.find(({ id }) => id === requested);
  const choices = offered.map(({ id, title }) => ({
    to: id === "" ? "/operators" : `/operators?view=${id}`,
    words: title,
    isHere: shown?.id === id,
  }));
  return (
    <Page title="Operators" tall>
      <Choices as="tabs" label="Views of operators" choices={choices} />
      {shown === undefined ? (
        <Empty title="Your roles do not include this view, or there is none" />
      ) : (
        <shown.View key={shown.id} app={app} place={place} />
      )}
    </Page>
  );
}
