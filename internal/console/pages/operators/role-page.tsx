import { Empty } from "../../kit/empty.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Table } from "../../kit/table.tsx";
import type { Holders } from "./holders.ts";
import { rulesOf, type ShownRole } from "./roles.ts";
import { Tags } from "./tags.tsx";

/** What one role allows, and who has it. */
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
      <section class="card" aria-labelledby="role-head">
        <header>
          <h2 id="role-head">{name}</h2>
          {all}
        </header>
        <dl class="body facts">
          <dt>From</dt>
          <dd>{role.built_in ? "built in: every master has it" : <code>{file}</code>}</dd>
          <dt>Operators</dt>
          <dd>
            <Tags words={held?.operators ?? []} />
          </dd>
          <dt>Tokens</dt>
          <dd>
            <Tags words={held?.tokens ?? []} />
          </dd>
        </dl>
      </section>
      <Table
        label={`What the role ${name} allows`}
        short
        rows={rulesOf(role)}
        rowKey={({ may, on, approvals }) => `${may} ${on} ${approvals}`}
        columns={[
          {
            id: "may",
            title: "May",
            show: ({ may }) => (
              <span class="mono" title={may}>
                {may}
              </span>
            ),
          },
          {
            id: "on",
            title: "On",
            show: ({ on }) => (on === undefined ? "" : <span class="mono">{on}</span>),
          },
          {
            id: "approvals",
            title: "Others who must agree",
            align: "end",
            show: ({ approvals }) => (approvals === 0 ? "none" : approvals),
          },
        ]}
        empty={<Empty title="It allows nothing" />}
      />
    </>
  );
}
