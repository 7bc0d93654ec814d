import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import type { Column } from "../../kit/table/column.ts";
import { Table } from "../../kit/table/table.tsx";
import type { Holders } from "./holders.ts";
import { type Rule, rulesOf, type ShownRole } from "./roles.ts";
import { Tags } from "./tags.tsx";

const columns: readonly Column<Rule>[] = [
  {
    id: "may",
    title: "May",
    show: ({ may }) => (
      <span class="mono" title={may}>
        {may}
      </span>
    ),
  },
  { id: "on", title: "On", show: ({ on }) => on !== undefined && <span class="mono">{on}</span> },
  { id: "files", title: "State files", show: ({ files }) => files },
  {
    id: "approvals",
    title: "Others who must agree",
    align: "end",
    show: ({ approvals }) => (approvals === 0 ? "none" : approvals),
  },
];

/** What one role allows, and its holders. */
export function RolePage(props: {
  name: string;
  /** The roles file of the masters. */
  file: string;
  role: ShownRole | undefined;
  held: Holders | undefined;
}) {
  const { name, file, role, held } = props;
  const all = <a href={hrefOf("/operators?view=roles")}>All roles</a>;
  if (role === undefined) {
    return (
      <Empty title={`The role ${name} does not exist`} command="svc roles show">
        {all}
      </Empty>
    );
  }
  return (
    <>
      <Card id="role-head" title={name} beside={all} body="facts">
        <Fact name="From">{role.built_in ? "built in: every master has it" : <code>{file}</code>}</Fact>
        <Fact name="Operators">
          <Tags words={held?.operators ?? []} />
        </Fact>
        <Fact name="Tokens">
          <Tags words={held?.tokens ?? []} />
        </Fact>
      </Card>
      <Table
        label={`What the role ${name} allows`}
        short
        rows={rulesOf(role)}
        rowKey={({ may, on, files, approvals }) => `${may} ${on} ${files} ${approvals}`}
        columns={columns}
        empty={<Empty title="It allows nothing" />}
      />
    </>
  );
}
